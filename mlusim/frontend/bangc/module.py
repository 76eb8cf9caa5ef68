"""A loaded module: BANG C files, translated and linked, whose kernels a device launches."""

import importlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.counted import plural
from mlusim.errors import UsageError, shown_file
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.entry import BangKernel
from mlusim.frontend.bangc.errors import ERROR, Diagnostic, SourceError, SourceWarning, diagnostic_of
from mlusim.frontend.bangc.form_data import Translated
from mlusim.frontend.bangc.link import File, link
from mlusim.frontend.bangc.parse.sources import Options
from mlusim.frontend.bangc.translate import translate
from mlusim.machine.launch import Launch

_HOST = "mlusim.toolkit.host_functions"  # by name: kernels alone need no compiler
MOST_WARNINGS = 3  # of functions that do not compile


class Module:
    """BANG C files that were loaded together.

    ``kernels`` has the kernels by name; ``module["K<float>"]`` instantiates a template where no source does.
    """

    def __init__(
        self, paths: Sequence[str], options: Options, units: Sequence[Translated] | None = None
    ) -> None:
        """*units* are the files' translations, where they are known."""
        self.paths = tuple(paths)
        self.options = options
        self.files: list[File] = []
        self.units: list[Translated] = []
        self._requests: list[list[str]] = [[] for _ in paths]
        self._made: dict[str, BangKernel] = {}
        self._launched: dict[str, BangKernel] = {}
        self.host_calls: Any = None  # what calls them, where one was called
        self.launches: list[Launch] = []  # that host functions made
        for unit in units or [translate(path, options) for path in self.paths]:
            self.units.append(unit)
            self.files.append(File(unit.form))

    def __repr__(self) -> str:
        paths = ", ".join(map(shown_file, self.paths))
        return f"<module of {paths} with the kernels {', '.join(self._names('kernel')) or 'none'}>"

    def functions_of(self, kind: str) -> Iterator[tuple[File, ir.Function]]:
        """Yield the functions of one kind ("kernel", "device", "host") that the files define, each with its file."""
        for file in self.files:
            for function in file.form.functions.values():
                if function.kind == kind and not function.external:
                    yield file, function

    @property
    def kernels(self) -> Mapping[str, BangKernel]:
        """The kernels that the sources define or instantiate, by name.

        Those that do not translate are left out, and static ones of several files that share a name.
        """
        named = named_kernels(function for _, function in self.functions_of("kernel"))
        return {
            name: self[name]
            for name, (function, *more) in named.items()
            if function.problem is None and not more
        }

    @property
    def broken(self) -> tuple[Diagnostic, ...]:
        """The errors of the compiler in functions of the sources; without one in each of a file's kernels the file is loaded."""
        every = (f for file in self.files for f in file.form.functions.values())
        return tuple(
            diagnostic_of(f) for f in every if f.problem is not None and f.problem.construct == ERROR
        )

    def warn_of_broken(self) -> None:
        """Warn of functions that do not compile: those that are asked for run beside them."""
        broken = self.broken
        for diagnostic in broken[:MOST_WARNINGS]:
            warnings.warn(f"{diagnostic.head}; other functions of the file run", SourceWarning, stacklevel=3)
        if len(broken) > MOST_WARNINGS:
            more = len(broken) - MOST_WARNINGS
            warnings.warn(
                f"{more} more {plural(more, 'function does', 'functions do')} not compile",
                SourceWarning,
                stacklevel=3,
            )

    def __getitem__(self, name: str) -> BangKernel:
        """Return the kernel called *name*; a template is instantiated.

        Kernels that share a name are told apart by their namespace, ``a::K``, or their parameters, ``K(float *)``.
        Raises `UsageError` for a name that no source has or several kernels have, and `SourceError` for an
        instantiation that does not compile and for a kernel that does not translate.
        """
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._kernel(name)
        return found

    def _kernel(self, name: str) -> BangKernel:
        have = list(self.functions_of("kernel"))
        named = named_kernels(function for _, function in have)
        exact = {f.definition for f in named.get(name, ())}  # K is the one at file scope, beside a::K
        found = {
            f.definition: (file, f)
            for file, f in reversed(have)
            if (f.definition in exact if exact else called(f, name))
        }
        if len(found) > 1:
            several = [
                f"{n} ({shown_file(f.span.file)}:{f.span.line})"
                for n, functions in named.items()
                for f in functions
                if f.definition in found
            ]
            apart = all(len(named[n]) == 1 for n in named if any(f.definition in found for f in named[n]))
            raise UsageError(
                f"{name!r} is the name of {len(found)} {plural(len(found), 'kernel')} of {', '.join(map(shown_file, self.paths))}; "
                f"{'give one of' if apart else 'load one of their files alone, or rename one:'} {', '.join(several)}"
            )
        for file, function in found.values():
            return self._wrapped(file, function)
        number = self.instantiate(name, f"kernel {name!r}", self._names("kernel"))
        symbol = self.units[number].requested.get(name)
        if symbol is None:
            raise self._unknown(f"kernel {name!r}", self._names("kernel"))
        file = self.files[number]
        return self._wrapped(file, file.form.functions[symbol])

    def instantiate(self, name: str, what: str, have: Sequence[str]) -> int:
        """Have the file that has the template make the specialisation; its number.

        Raises `UsageError`, with the names that it does *have*, where no file has a template of that name.
        """
        base = name.partition("<")[0].rpartition("::")[2].strip()
        for number, (path, unit) in enumerate(zip(self.paths, self.units, strict=True)):
            if "<" in name and any(d.name == base for d in unit.templates):
                wanted = [*self._requests[number], name]
                made = translate(path, self.options, wanted)
                self._requests[number], self.units[number] = wanted, made
                self.files[number] = File(made.form)
                self._made.clear()
                self._launched.clear()
                self.host_calls = None
                return number
        raise self._unknown(what, have)

    def _names(self, kind: str) -> list[str]:
        have = sorted(named_kernels(function for _, function in self.functions_of(kind)))
        templates = {d.name for u in self.units for d in u.templates if d.kernel}
        return [*have, *(f"{n}<...>" for n in sorted(templates))]

    def _unknown(self, what: str, names: Sequence[str]) -> UsageError:
        hint = f"it has {', '.join(names)}" if names else "it has none"
        return UsageError(f"there is no {what} in {', '.join(map(shown_file, self.paths))}; {hint}")

    def kernel_of_symbol(self, symbol: str) -> BangKernel:
        """Return the kernel that host code launches.  Raises `UsageError` where no file defines it."""
        found = self._launched.get(symbol)
        if found is None:
            for file, function in self.functions_of("kernel"):
                if function.symbol == symbol:
                    found = self._launched[symbol] = self._wrapped(file, function)
                    return found
            raise UsageError(
                f"no loaded file defines the kernel {self._declared(symbol)}; load the file that does, too"
            )
        return found

    def _declared(self, symbol: str) -> str:
        return next((f.form.functions[symbol].name for f in self.files if symbol in f.form.functions), symbol)

    @property
    def functions(self) -> Mapping[str, Any]:
        """The host functions of the sources by name, to be called from Python; see `HostFunction`."""
        found: Mapping[str, Any] = importlib.import_module(_HOST).HostFunctions(self)
        return found

    @property
    def has_main(self) -> bool:
        """Return whether a file defines ``main``."""
        return any(function.name == "main" for _, function in self.functions_of("host"))

    def _wrapped(self, file: File, function: ir.Function) -> BangKernel:
        if function.problem is not None:
            raise SourceError((diagnostic_of(function),))
        return BangKernel(
            function, link(self.files, file, function.symbol), self.options.board.arch.bang_arch
        )


def load_module(
    paths: str | Path | Sequence[str | Path],
    include: Sequence[str | Path],
    define: Mapping[str, str | int | None] | None,
    board: str | Board,
) -> Module:
    """Load the sources for `mlusim.bangc.load`."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise UsageError("no BANG C file was given; name one at least")
    defines = tuple((name, None if value is None else str(value)) for name, value in (define or {}).items())
    options = Options(tuple(str(i) for i in include), defines, find_board(board))
    return Module([str(Path(p).resolve()) for p in given], options)


# The names by which kernels are asked for: where several share one, with namespace or parameters.


def named_kernels(functions: Iterable[ir.Function]) -> dict[str, tuple[ir.Function, ...]]:
    """Return the kernels by the shortest of their names that no other has: ``K``, ``a::K``, ``a::K(float *)``.

    Static kernels of several files may share all of them.
    """
    every = list({f.definition: f for f in functions}.values())
    forms: tuple[Callable[[ir.Function], str], ...] = (lambda f: f.name, qualified, signature)
    counts = [Counter(form(f) for f in every) for form in forms]
    named: dict[str, tuple[ir.Function, ...]] = {}
    for function in every:
        name = _shortest(function, forms, counts)
        named[name] = (*named.get(name, ()), function)
    return named


def _shortest(
    function: ir.Function, forms: tuple[Callable[[ir.Function], str], ...], counts: list[Counter[str]]
) -> str:
    for form, count in zip(forms, counts, strict=True):
        if count[form(function)] == 1:
            return form(function)
    return signature(function)


def qualified(function: ir.Function) -> str:
    """Return the name behind the namespaces around it, ``a::K``."""
    return function.scope + function.name


def signature(function: ir.Function) -> str:
    """Return the qualified name with the types of the parameters."""
    return f"{qualified(function)}({', '.join(p.spelling for p in function.parameters)})"


def called(function: ir.Function, wanted: str) -> bool:
    """Return whether *wanted* is a spelling of one of its names: spaces do not count, and the compiler calls half _Float16."""
    types = signature(function).removeprefix(qualified(function))
    names = (function.name, qualified(function), function.name + types, signature(function))
    plain = _plain(wanted.replace("_Float16", "half").replace("__bf16", "bfloat16_t"))
    return plain in map(_plain, names)


def _plain(name: str) -> str:
    return name.replace(" ", "")
