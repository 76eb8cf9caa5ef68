"""A loaded module: translated and linked BANG C files, and their kernels, which a device launches."""

import importlib
import inspect
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import repeat
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from mlusim.arch.board import Arch, Board
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import DType
from mlusim.bangc import ir, names, types as t
from mlusim.bangc.errors import ERROR, Diagnostic, SourceError, SourceWarning, diagnostic_of
from mlusim.bangc.fitting import Fitting, check_structure, device_variable, made_structure
from mlusim.bangc.form_data import Translated
from mlusim.bangc.ir.walk import Outlived, branches, may_store, outlived, steps, walk
from mlusim.bangc.link import File, LinkPlan, StackFrames, declared_memory, link
from mlusim.bangc.native.form import BangForm
from mlusim.bangc.parse.sources import Options
from mlusim.bangc.runtime.core import Task, room_for_recursion, translating_faults
from mlusim.bangc.runtime.layouts import NULL, Object
from mlusim.bangc.runtime.pointers import see
from mlusim.bangc.runtime.resolve import layout
from mlusim.bangc.scalars import converted
from mlusim.bangc.translate import translate
from mlusim.counted import counted, plural
from mlusim.errors import LaunchError, UsageError, shown_file
from mlusim.kernel_frames import SCOPES, own_file
from mlusim.lazy import lazy
from mlusim.machine.kernel import DeviceVariable, Kernel, estimate_in
from mlusim.machine.launch import Launch
from mlusim.memory.allocation import StackVariable

if TYPE_CHECKING:
    from mlusim.bangc import c_scope
else:
    (c_scope,) = lazy("mlusim.bangc.c_scope")


# A function of the sources as a kernel: it takes ``mlu`` and the parameters, and has a name, a file and a
# line.


class Body:
    """The callable that the machine runs for each task.

    For tools that need the kernel's location, ``__wrapped__`` is a function with its code, whose globals
    contain all functions that it reaches; it is never run.
    """

    def __init__(self, form: ir.Function, plan: LinkPlan, bang_arch: int) -> None:
        self.form = form
        self.plan = plan
        self.bang_arch = bang_arch
        self.__name__ = self.__qualname__ = form.name
        self.__doc__ = None
        declared = [p.name for p in form.parameters]
        first = f"{names.OWN}mlu" if "mlu" in declared else "mlu"
        # C has no keyword arguments.
        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in (first, *declared)]
        self.__signature__ = inspect.Signature(parameters)

    @cached_property
    def __wrapped__(self) -> Any:
        """A function with its code, created on demand: a native kernel does not need one."""
        return _shown(self.plan)

    @property
    def __code__(self) -> Any:
        """The code object, with the kernel's file and line."""
        return self.__wrapped__.__code__

    @property
    def __globals__(self) -> dict[str, Any]:
        """The functions that the kernel reaches, by symbol."""
        functions: dict[str, Any] = self.__wrapped__.__globals__
        return functions

    def returns(self) -> dict[tuple[str, int, str], tuple[tuple[ir.Span, ...], int]]:
        """Return where each reached function, by `kernel_frames.function_of`, returns: its return statements, and the line of its end."""
        return {
            form.framed: (
                tuple(n.span for n in walk(form.body) if isinstance(n, ir.Return)),
                form.end,
            )
            for part in self.plan.parts
            for form in map(part.file.form.functions.__getitem__, part.code)
        }

    @cached_property
    def _coverable(self) -> dict[str, tuple[set[tuple[int, int]], set[tuple[int, int]]]]:
        """The result of `coverable`: the locations in all reached functions, and in other kernels and device functions of the file."""
        places: dict[str, tuple[set[tuple[int, int]], set[tuple[int, int]]]] = {}
        for part in self.plan.parts:
            for function in part.file.form.functions.values():
                span = function.span
                beside = span.file == part.file.form.path and function.kind in ("kernel", "device")
                if function.symbol in part.code or (beside and not function.external):
                    for n, spans in enumerate(([span, *steps(function.body)], branches(function.body))):
                        for at in spans:
                            places.setdefault(at.file, (set(), set()))[n].add((at.line, at.column))
        return {file: both for file, both in places.items() if not own_file(file)}

    def coverable(self) -> dict[str, tuple[set[tuple[int, int]], set[tuple[int, int]]]]:
        """Return the locations of statements and tests that can be covered, by file, as (line, column)."""
        return self._coverable

    def __call__(self, mlu: object, *arguments: object) -> None:
        """Run the function on the core of *mlu*."""
        self.prepared(mlu, arguments)()

    def prepared(self, mlu: Any, arguments: Sequence[Any]) -> Callable[[], None]:
        """Return a callable that runs the function with *arguments* on the core of *mlu*, once per task."""
        if self.bang_arch != mlu.BANG_ARCH:  # sources are parsed with one architecture's macros
            raise LaunchError(
                f"{self.form.name} was loaded for __BANG_ARCH__ {self.bang_arch} and this board has {mlu.BANG_ARCH}; "
                "give the board to mlusim.bangc.load(board=...)"
            )
        plan, scopes = self.plan, self.__globals__[SCOPES]
        hub = mlu.core.machine.hub
        checked = hub.value is not None or hub.taken is not None
        covered = hub.branch is not None or hub.passed is not None
        if checked or covered:
            plan = plan.watched(checked=checked, covered=covered)
            scopes = _scopes(plan)
        return _repeated(Task(mlu, plan, scopes), arguments, self.form.parameters)


def _repeated(task: Task, arguments: Sequence[Any], parameters: Sequence[ir.Local]) -> Callable[[], None]:
    """Return a callable that runs the core's current task; work that is equal for all tasks is done once."""
    constant: tuple[Any, ...] | None = None
    room: AbstractContextManager[None] = room_for_recursion() if task.plan.deep else nullcontext()

    def run() -> None:
        nonlocal constant
        with translating_faults(task.core), room:
            function = task.function()
            values = constant
            if values is None:
                values = tuple(map(_argument, repeat(task), arguments, parameters))
                if not any(isinstance(value, Object) for value in values):  # a task may change these
                    constant = values
            function(*values)

    return run


def _scopes(plan: LinkPlan) -> Any:
    return c_scope.Scopes((plan,))


def _shown(plan: LinkPlan) -> FunctionType:
    space: dict[str, Any] = {"__builtins__": __builtins__, SCOPES: _scopes(plan)}
    for part in plan.parts:
        for symbol, code in part.code.items():
            space[names.of_function(symbol)] = FunctionType(code, space, code.co_name)
    function: FunctionType = space[names.of_function(plan.symbol)]
    return function


# The last loaded file of each path.
_LOADED: "weakref.WeakValueDictionary[str, File]" = weakref.WeakValueDictionary()


class BangKernel(Kernel):
    """A kernel of BANG C sources: ``form`` is its intermediate form, ``plan`` everything that it reaches."""

    compiled = True
    beside: Callable[[], Iterable[File]] = staticmethod(lambda: list(_LOADED.values()))
    """The files of the program, for tools that look up other kernels: those of all loaded modules, or of a native program."""

    def __init__(self, form: ir.Function, plan: LinkPlan, bang_arch: int) -> None:
        super().__init__(Body(form, plan, bang_arch))
        self.form = form
        self.plan = plan
        self.native = BangForm(form, lambda: plan, bang_arch)
        self.estimate = estimate_in(form.span.file)
        self._oversize: dict[str, str | None] = {}
        self._fittings = [Fitting(parameter) for parameter in form.parameters]

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters."""
        return [p.source_name or p.name for p in self.form.parameters]

    @cached_property
    def element_types(self) -> Mapping[str, DType]:
        """The element types of pointers to numbers, by parameter name."""
        pointed = ((p.source_name or p.name, t.pointed_dtype(p.type)) for p in self.form.parameters)
        return {name: dtype for name, dtype in pointed if dtype is not None}

    @cached_property
    def variables(self) -> tuple[DeviceVariable, ...]:
        """The GDRAM variables at file scope that the kernel reaches."""
        return tuple(device_variable(variable, file.home) for variable, file in self.plan.variables.items())

    @cached_property
    def unguarded(self) -> bool:
        """True if the code may store to memory by itself, and never tests on which kind of core it runs."""
        code = (c for part in self.plan.parts for c in part.code.values())
        if {"is_mpu", "is_ipu"} & set(self.plan.rows) or any("coreId" in c.co_names for c in code):
            return False
        functions = (part.file.form.functions[s] for part in self.plan.parts for s in part.code)
        return any(may_store(walk(function.body)) for function in functions)

    @cached_property
    def outlived(self) -> tuple[Outlived, ...]:
        """The stack variables of the kernel's functions that pointers outlive."""
        reached = (part.file.form.functions[s] for part in self.plan.parts for s in part.code)
        return tuple(variable for function in reached for variable in outlived(function))

    @cached_property
    def on_stack(self) -> tuple[StackVariable, ...]:
        """The local variables that are on the stack at the peak of its use."""
        reached = {s: part.file.form.functions[s] for part in self.plan.parts for s in part.code}
        return StackFrames(reached).most(self.form.symbol)[1]

    def oversize(self, arch: Arch) -> str | None:
        """Return why *arch* has too little memory for the kernel's declarations, or None."""
        if arch.name not in self._oversize:
            excess = next(declared_memory(self.plan).too_large(self.name, arch), None)
            span = self.form.span
            self._oversize[arch.name] = excess and f"{excess} ({shown_file(span.file)}:{span.line})"
        return self._oversize[arch.name]

    def complaint(self, arguments: tuple[Any, ...]) -> str | None:
        """Return why the arguments do not fit, by number or by type, or None."""
        wanted = self.form.parameters
        if len(arguments) != len(wanted):
            declared = ", ".join(f"{p.spelling} {p.source_name}" for p in wanted)
            many = counted(len(arguments), "argument")
            return f"{self.name}({declared}) takes {len(wanted)} and is given {many}"
        for argument, fitting in zip(arguments, self._fittings, strict=True):
            parameter = fitting.parameter
            if isinstance(parameter.type, t.Struct):
                check_structure(argument, parameter)
                continue
            misfit = fitting.misfit(argument)
            if misfit is not None:
                place = f"{shown_file(parameter.span.file)}:{parameter.span.line}"
                return (
                    f"{parameter.spelling} {parameter.source_name} of {self.name} ({place}) is given {misfit}"
                )
        return None


def _argument(task: Task, argument: object, parameter: ir.Local) -> Any:
    """Return a kernel argument in the form that the rendered code expects."""
    kind = parameter.type
    if isinstance(kind, t.Pointer):
        if argument is None:
            return NULL
        if isinstance(kind.to, t.Void) or not hasattr(argument, "cast"):
            return argument
        return see(argument, layout(kind.to, task.find, {}))
    if isinstance(kind, t.Arithmetic):
        value = argument.item() if hasattr(argument, "item") else argument
        if not isinstance(value, int | float):
            raise LaunchError(
                f"{parameter.source_name} of {parameter.type} at {parameter.span} is given {argument!r:.80}; give a number"
            )
        return converted(value, kind)
    if isinstance(kind, t.Struct):
        return made_structure(argument, kind, layout(kind, task.find, {}))
    return argument


# A set of files that were loaded together.

_HOST = "mlusim.toolkit.host_functions"  # imported on use: kernels need no compiler
MOST_WARNINGS = 3  # of functions that do not compile


class Module:
    """BANG C files that were loaded together.

    ``kernels`` has the kernels by name; ``module["K<float>"]`` instantiates a template where no source does.
    """

    def __init__(
        self, paths: Sequence[str], options: Options, units: Sequence[Translated] | None = None
    ) -> None:
        """Load *paths*; *units* are their translations, if available."""
        self.paths = tuple(paths)
        self.options = options
        self._requests: list[list[str]] = [[] for _ in paths]
        self._made: dict[str, BangKernel] = {}
        self._launched: dict[str, BangKernel] = {}
        self.host_calls: Any = None  # calls host functions; None until the first call
        self.launches: list[Launch] = []  # made by host functions
        self.units = [*(units or (translate(path, options) for path in self.paths))]
        self.files = [File(unit.form) for unit in self.units]
        _LOADED.update({file.form.path: file for file in self.files})

    def __repr__(self) -> str:
        paths = ", ".join(map(shown_file, self.paths))
        return f"<module of {paths} with the kernels {', '.join(self._names('kernel')) or 'none'}>"

    def functions_of(self, kind: str) -> Iterator[tuple[File, ir.Function]]:
        """Yield the functions of one kind ("kernel", "device", "host") with their files."""
        for file in self.files:
            for function in file.form.functions.values():
                if function.kind == kind and not function.external:
                    yield file, function

    @property
    def kernels(self) -> Mapping[str, BangKernel]:
        """The kernels that the sources define or instantiate, by name.

        Kernels that do not translate are left out, as are static kernels of several files with the same name.
        """
        named = named_kernels(function for _, function in self.functions_of("kernel"))
        return {
            name: self[name]
            for name, (function, *more) in named.items()
            if function.problem is None and not more
        }

    @property
    def broken(self) -> tuple[Diagnostic, ...]:
        """The compiler errors in functions of the sources; a file is loaded as long as one kernel has no error."""
        every = (f for file in self.files for f in file.form.functions.values())
        return tuple(
            diagnostic_of(f) for f in every if f.problem is not None and f.problem.construct == ERROR
        )

    def warn_of_broken(self) -> None:
        """Warn about functions that do not compile; the other functions can run."""
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
        """Return the kernel called *name*, instantiating a template if needed.

        Kernels that share a name are distinguished by their namespace, ``a::K``, or their parameters,
        ``K(float *)``. Raises `UsageError` for an unknown or ambiguous name, and `SourceError` for an
        instantiation that does not compile and for a kernel that does not translate.
        """
        if name not in self._made:
            self._made[name] = self._kernel(name)
        return self._made[name]

    def _kernel(self, name: str) -> BangKernel:
        have = list(self.functions_of("kernel"))
        named = named_kernels(function for _, function in have)
        exact = {f.definition for f in named.get(name, ())}  # K means the one at file scope, beside a::K
        matching = {
            f.definition: (file, f)
            for file, f in reversed(have)
            if (f.definition in exact if exact else called(f, name))
        }
        if len(matching) > 1:
            several = [
                f"{n} ({shown_file(f.span.file)}:{f.span.line})"
                for n, functions in named.items()
                for f in functions
                if f.definition in matching
            ]
            apart = all(len(named[n]) == 1 for n in named if any(f.definition in matching for f in named[n]))
            raise UsageError(
                f"{name!r} is the name of {len(matching)} {plural(len(matching), 'kernel')} of {', '.join(map(shown_file, self.paths))}; "
                f"{'give one of' if apart else 'load one of their files alone, or rename one:'} {', '.join(several)}"
            )
        for file, function in matching.values():
            return self._wrapped(file, function)
        number = self.instantiate(name, f"kernel {name!r}", self._names("kernel"))
        symbol = self.units[number].requested.get(name)
        if symbol is None:
            raise self._unknown(f"kernel {name!r}", self._names("kernel"))
        file = self.files[number]
        return self._wrapped(file, file.form.functions[symbol])

    def instantiate(self, name: str, what: str, have: Sequence[str]) -> int:
        """Instantiate a template in the file that defines it, and return the index of the file.

        Raises `UsageError`, which lists the names *have*, if no file has such a template.
        """
        base = name.partition("<")[0].rpartition("::")[2].strip()
        for number, (path, unit) in enumerate(zip(self.paths, self.units, strict=True)):
            if "<" in name and any(d.name == base for d in unit.templates):
                wanted = [*self._requests[number], name]
                translated = translate(path, self.options, wanted)
                self._requests[number], self.units[number] = wanted, translated
                self.files[number] = File(translated.form, self.files[number].home)
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
        """Return the kernel with this symbol, for a launch by host code. Raises `UsageError` if no file defines it."""
        if symbol not in self._launched:
            kernels = ((file, f) for file, f in self.functions_of("kernel") if f.symbol == symbol)
            definition = next(kernels, None)
            if definition is None:
                forms = (f.form.functions for f in self.files)
                name = next((functions[symbol].name for functions in forms if symbol in functions), symbol)
                raise UsageError(f"no loaded file defines the kernel {name}; load the file that does, too")
            self._launched[symbol] = self._wrapped(*definition)
        return self._launched[symbol]

    @property
    def functions(self) -> Mapping[str, Any]:
        """The host functions of the sources by name, callable from Python; see `HostFunction`."""
        functions: Mapping[str, Any] = importlib.import_module(_HOST).HostFunctions(self)
        return functions

    @property
    def has_main(self) -> bool:
        """Return whether a file defines ``main``."""
        return any(function.name == "main" for _, function in self.functions_of("host"))

    def _wrapped(self, file: File, function: ir.Function) -> BangKernel:
        if function.problem is not None:
            raise SourceError((diagnostic_of(function),))
        plan = link(self.files, file, function.symbol)
        return BangKernel(function, plan, self.options.board.arch.bang_arch)


def load_module(
    paths: str | Path | Sequence[str | Path],
    include: Sequence[str | Path],
    define: Mapping[str, str | int | None] | None,
    board: str | Board,
) -> Module:
    """Load the sources for `mlusim.bangc.load`."""
    sources = [paths] if isinstance(paths, str | Path) else list(paths)
    if not sources:
        raise UsageError("no BANG C file was given; name one at least")
    defines = tuple((name, None if value is None else str(value)) for name, value in (define or {}).items())
    options = Options(tuple(str(i) for i in include), defines, find_board(board))
    return Module([str(Path(p).resolve()) for p in sources], options)


# The names of kernels: with namespace or parameters if several share the plain name.


def named_kernels(functions: Iterable[ir.Function]) -> dict[str, tuple[ir.Function, ...]]:
    """Return the kernels by their shortest unique name: ``K``, ``a::K``, ``a::K(float *)``.

    Static kernels in several files may share even the longest name.
    """
    every = list({f.definition: f for f in functions}.values())
    forms: tuple[Callable[[ir.Function], str], ...] = (lambda f: f.name, qualified, signature)
    counts = [Counter(form(f) for f in every) for form in forms]
    named: dict[str, tuple[ir.Function, ...]] = {}
    for function in every:
        alone = (form(function) for form, n in zip(forms, counts, strict=True) if n[form(function)] == 1)
        name = next(alone, signature(function))
        named[name] = (*named.get(name, ()), function)
    return named


def qualified(function: ir.Function) -> str:
    """Return the name with its namespaces, ``a::K``."""
    return function.scope + function.name


def signature(function: ir.Function) -> str:
    """Return the qualified name with the parameter types."""
    return f"{qualified(function)}({', '.join(p.spelling for p in function.parameters)})"


def called(function: ir.Function, wanted: str) -> bool:
    """Return whether *wanted* is one of the names of *function*, ignoring spaces and the compiler's names of half and bfloat16."""
    types = signature(function).removeprefix(qualified(function))
    names = (function.name, qualified(function), function.name + types, signature(function))
    plain = wanted.replace("_Float16", "half").replace("__bf16", "bfloat16_t").replace(" ", "")
    return plain in (name.replace(" ", "") for name in names)
