"""Host functions of a module, compiled by ``cncc`` into a library, which a process of its own calls."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from mlusim.errors import shown_file
from mlusim.frontend.bangc import ir, prelude
from mlusim.frontend.bangc import types as t
from mlusim.machine.device import Device
from mlusim.machine.launch import Launch
from mlusim.toolkit.built import HostBuildError, HostSources, built
from mlusim.toolkit.server.called import CallingProcess
from mlusim.toolkit.without_broken import BrokenFunction, broken_functions, first_error, without

if TYPE_CHECKING:
    from mlusim.frontend.bangc.module import Module

PUBLIC = Path("mluops")
"""The folder of the toolkit's headers that has those of the public library."""


def host_functions(module: "Module") -> Iterator[tuple[int, ir.Function]]:
    """Yield the functions of the host that Python may call, each with the number of its file: no methods, and no ``main``."""
    supplied = str(prelude.INCLUDE)
    for number, file in enumerate(module.files):
        for function in file.form.functions.values():
            first = function.parameters[0].name if function.parameters else ""
            method = first == "this" or function.name.startswith("lambda:")
            if (
                function.kind == "host"
                and not function.external
                and not method
                and function.name != "main"
                and not function.span.file.startswith(supplied)
            ):
                yield number, function


def passes(function: ir.Function) -> bool:
    """Return whether Python can give its arguments, and take its result: numbers, pointers and structures of these."""
    kinds = [p.type for p in function.parameters]
    return (
        not function.variadic
        and all(map(_plain, kinds))
        and (_plain(function.result) or isinstance(function.result, t.Void))
    )


def _plain(kind: t.Type) -> bool:
    """Return whether the front end knows the bytes of a *kind*, and of what a reference is to: those of library classes it does not."""
    if isinstance(kind, t.Pointer):
        return not kind.reference or _plain(kind.to)
    if isinstance(kind, t.Array):
        return _plain(kind.of)
    if isinstance(kind, t.Record):
        return not kind.destroyed and not kind.virtual and all(_plain(f.type) for f in kind.fields)
    return isinstance(kind, t.Arithmetic)


@define(eq=False)
class HostCalls:
    """The library of a module's host functions, and the processes that call them, one for each device."""

    module: "Module"
    symbols: dict[tuple[str, str, int], str] = field(factory=dict)
    # Functions that do not compile, by their bodies.
    broken: dict[ir.Span, BrokenFunction] = field(factory=dict)
    _library: Path | None = None
    _processes: dict[int, CallingProcess] = field(factory=dict)

    def process_on(self, device: Device, launches: list[Launch]) -> CallingProcess:
        """Return the process that calls for *device*; variables at file scope keep their values there.  Raises as `built`."""
        found = self._processes.get(id(device))
        if found is None:
            if self._library is None:
                self._library = self._built()
            found = self._processes[id(device)] = CallingProcess(self._library, device, launches)
        return found

    def _built(self) -> Path:
        options = self.module.options
        by_file: dict[int, list[ir.Function]] = {n: [] for n in range(len(self.module.paths))}
        shared: dict[str, int] = {}
        for number, function in host_functions(self.module):
            shared[function.scope + function.name] = shared.get(function.scope + function.name, 0) + 1
            if passes(function):
                by_file[number].append(function)
        texts = []
        for number, path in enumerate(self.module.paths):
            texts.append((f"calls-{number}.mlu", self._text(number, path, by_file[number], shared)))
        include = tuple(str(Path(folder).resolve()) for folder in options.include)
        return self._whole(
            HostSources(
                (), options.board, include, options.define, tuple(texts), library=True, first=str(PUBLIC)
            )
        )

    def _whole(self, sources: HostSources) -> Path:
        """Return the library of *sources*, without the bodies of functions that do not compile.

        Raises `HostBuildError`, with the first error, where one stands outside of the functions' bodies.
        """
        forms = [f for file in self.module.files for f in file.form.functions.values()]
        while True:
            try:
                return built(sources)
            except HostBuildError as error:
                more = broken_functions(forms, error.shown)
                # A body that is out already: to leave it out once more changes nothing.
                if more is None or any(one.body in self.broken for one in more):
                    raise self._refused(error) from None
                self.broken.update({one.body: one for one in more})
                instead = without([*self.broken.values()])
                if instead is None:
                    raise self._refused(error) from None
                sources = evolve(sources, instead=tuple(instead.items()))

    def _refused(self, error: HostBuildError) -> HostBuildError:
        first = first_error(error.shown)
        names = ", ".join(map(shown_file, self.module.paths))
        made = HostBuildError(f"host functions of {names} cannot be called: {first or error}")
        made.shown = error.shown
        return made

    def _text(
        self, number: int, path: str, functions: Sequence[ir.Function], shared: Mapping[str, int]
    ) -> str:
        lines = [
            '#include "mlusim_calls.h"',
            f'#include "{path}"',
            "#ifdef __mlusim_native__",
            'extern "C" {',
        ]
        for n, function in enumerate(functions):
            symbol = f"mlusim_call_{number}_{n}"
            self.symbols[function.definition] = symbol
            # C++ cannot name that namespace, and finds its members without.
            name = f"{function.scope}{function.name}".replace("(anonymous namespace)::", "")
            what = f"&{name}"
            if shared[function.scope + function.name] > 1:  # overloads: the cast chooses one
                kinds = ", ".join(p.spelling for p in function.parameters)
                what = f"static_cast<{function.result} (*)({kinds})>({what})"
            lines.append(
                f'__attribute__((visibility("default"))) void {symbol}(void **at, void *result) '
                f"{{ mlusim_calls::call({what}, at, result); }}"
            )
        return "\n".join([*lines, "}", "#endif", ""])
