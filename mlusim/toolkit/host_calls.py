"""Host functions of a module, compiled by ``cncc`` into a library without those that are broken, which a process of its own calls."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, evolve, field, frozen

from mlusim.errors import shown_file
from mlusim.frontend.bangc import ir, prelude
from mlusim.frontend.bangc import types as t
from mlusim.machine.device import Device
from mlusim.machine.launch import Launch
from mlusim.toolkit.built import HostBuildError, HostSources, built
from mlusim.toolkit.server.called import CallingProcess

if TYPE_CHECKING:
    from mlusim.frontend.bangc.module import Module


# Host functions that do not compile: which they are by what the compiler says, and their files without
# their bodies.

_ERROR = re.compile(
    r"^(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<message>.*)$", re.MULTILINE
)


@frozen
class BrokenFunction:
    """A host function that does not compile: the place of its body, and the compiler's first error in it."""

    name: str
    body: ir.Span
    said: str

    @property
    def sentence(self) -> str:
        """Why it cannot be called."""
        return f"{self.name} does not compile: {self.said}"


def broken_functions(functions: Iterable[ir.Function], said: str) -> list[BrokenFunction] | None:
    """Return the functions whose bodies have the errors in what the compiler *said*; None where one stands elsewhere."""
    known = [(f, f.hosted) for f in functions if f.hosted is not None]
    found: dict[ir.Span, BrokenFunction] = {}
    for error in _ERROR.finditer(said):
        place = int(error["line"]), int(error["column"])
        file = os.path.realpath(error["file"])
        around = [
            (f, body)
            for f, body in known
            if (body.line, body.column) <= place <= (body.end_line, body.end_column)
            and os.path.realpath(body.file) == file
        ]
        if not around:
            return None
        function, body = max(around, key=lambda one: one[1][1:3])
        shown = f"{error['file']}:{error['line']}:{error['column']}: {error['message']}"
        found.setdefault(body, BrokenFunction(function.name, body, shown))
    return [*found.values()] or None


def first_error(said: str) -> str:
    """Return the first error in what the compiler *said*, with its place; "" where it has none."""
    found = _ERROR.search(said)
    return "" if found is None else found[0].replace(": fatal error: ", ": ").replace(": error: ", ": ")


def without(broken: Sequence[BrokenFunction]) -> Mapping[str, str] | None:
    """Return the files of *broken* functions, each with bodies that say what is wrong; None where a macro wrote a body."""
    texts: dict[str, bytes] = {}
    # The last first: the others keep their place.
    for one in sorted(broken, key=lambda one: one.body[1:3], reverse=True):
        body = one.body
        text = texts.get(body.file) or Path(body.file).read_bytes()
        first, end = _offset(text, body.line, body.column), _offset(text, body.end_line, body.end_column)
        if text[first : first + 1] != b"{" or text[end - 1 : end] != b"}":
            return None
        lines = b"\n" * text.count(b"\n", first, end)  # the others keep their lines
        texts[body.file] = b"%s{ __mlusim_broken(%s); %s}%s" % (
            text[:first],
            _literal(one.sentence),
            lines,
            text[end:],
        )
    return {file: text.decode("utf-8", "surrogateescape") for file, text in texts.items()}


def _offset(text: bytes, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.index(b"\n", start) + 1
    return start + column - 1


def _literal(text: str) -> bytes:
    return b'"%s"' % b"".join(_escaped(text))


def _escaped(text: str) -> Iterator[bytes]:
    for byte in text.encode("utf-8", "surrogateescape"):
        yield b"\\%03o" % byte if byte in b'"\\?' or not 32 <= byte < 127 else bytes((byte,))


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
