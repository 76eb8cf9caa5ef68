"""Calls of kernels in BANG C sources, requested by texts."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from attrs import asdict, define, evolve, field, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import DType
from mlusim.bangc import ir, types as t
from mlusim.bangc.errors import SourceError, diagnostic_of, excerpt_of
from mlusim.bangc.fitting import other_elements
from mlusim.bangc.module import BangKernel, Module, load_module
from mlusim.bangc.parse.sources import included_texts, read
from mlusim.counted import with_article
from mlusim.document import members
from mlusim.engine.preference import MEMORY_CORES, NATIVE
from mlusim.errors import UsageError, shown_file
from mlusim.files.reading import shown
from mlusim.formula.parse import parse_formula
from mlusim.kernel_frames import installed
from mlusim.machine.device import Device
from mlusim.machine.kernel import BLOCK, Kind, kind_called
from mlusim.machine.launch import Launch
from mlusim.machine.scheduling.schedule import begin_memory_cores_first, other_order_of_memory_cores
from mlusim.machine.tensor import DeviceTensor
from mlusim.programs.argument_forms import DRAW, USUAL_CRITERION, AskedCall
from mlusim.programs.argument_values import ArgumentScope

if TYPE_CHECKING:
    from mlusim.programs.expectation import Expectation

Array = np.ndarray[Any, Any]


@define(eq=False)
class CallProgram:
    """A `Program` that calls a kernel or a host function.

    *supplied* are arrays by argument that replace the arrays that texts describe.  An argument that is not a
    parameter serves formulas: those of other arguments, or *formulas*, the earlier texts of arguments whose values
    were replaced.
    """

    asked: AskedCall
    supplied: Mapping[str, Array] = field(factory=dict)
    formulas: tuple[str, ...] = ()
    _kept: dict[str, Any] = field(factory=dict)  # the loaded sources, shared by calls of the same
    _arrays: dict[str, Array] = field(factory=dict, init=False)
    _plain: dict[str, Any] = field(factory=dict, init=False)

    LOADED: ClassVar[frozenset[str]] = frozenset({"program", "board", "include", "define"})
    """The members of a request that decide which files are loaded and how."""

    @property
    def name(self) -> str:
        """The name of the kernel, or of its file."""
        return self.asked.kernel or Path(self.asked.file).name

    @property
    def called(self) -> str:
        """The name of the called function in its sources."""
        return self.name

    @property
    def board(self) -> Board:
        """The board of the launch."""
        return find_board(self.asked.board)

    @property
    def dim(self) -> tuple[int, int, int]:
        """The tasks in x, y and z."""
        return self.asked.dim

    @property
    def kind(self) -> Kind:
        """The kind of the launches."""
        return kind_called(self.asked.kind)

    @property
    def arguments(self) -> Mapping[str, str]:
        """The texts of the arguments."""
        return self.asked.arguments

    @property
    def macros(self) -> Mapping[str, str | None]:
        """The macros for the sources."""
        return self.asked.define

    def parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters."""
        raise NotImplementedError

    def needed(self) -> tuple[str, ...]:
        """Return the parameters that have no default."""
        return self.parameters()

    def usual(self) -> Mapping[str, DType]:
        """Return the element types of pointer parameters, where they are declared."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Return the input arrays of the last run, under ``input.NAME``."""
        return self._arrays

    def plain(self) -> dict[str, Any]:
        """Return the arguments of the last run that are no arrays, by name: a number, a tuple for a structure, or None."""
        return self._plain

    def inputs(self) -> dict[str, Any]:
        """Return the input arrays and the other arguments, as a reference takes them."""
        return {name.removeprefix("input."): array for name, array in self.arrays().items()} | self.plain()

    def scope(self) -> ArgumentScope:
        """Return all arguments in one scope, since formulas may refer to other arguments.  Raises `UsageError` for a misspelt name."""
        asked = self.asked
        seed = asked.seed if asked.draws is None else asked.draws
        scope = ArgumentScope(
            asked.arguments, asked.define, self.board, seed or 0, self.supplied, self._arrays
        )
        scope.refuse_misspelt(self.called, self.parameters(), self.needed(), self.formulas)
        return scope

    def asking(self, **changes: Any) -> Self:
        """Return the same program with *changes* of the request; it is loaded again only if they affect loading."""
        # The same dictionary, not a copy: what one of two calls loads later is loaded for the other, too.
        loaded = {} if self.LOADED & changes.keys() else self._kept
        return evolve(self, asked=evolve(self.asked, **changes), kept=loaded)

    def given_arrays(self, arguments: Mapping[str, str], arrays: Mapping[str, Array], **changes: Any) -> Self:
        """Return the same call with other *arguments*, whose file names stand for *arrays*, and other *changes*."""
        return evolve(self.asking(arguments=dict(arguments), **changes), supplied=dict(arrays))

    def tensor(
        self,
        device: Device,
        scope: ArgumentScope,
        name: str,
        what: str,
        usual: DType | None = None,
        *,
        read_only: bool = False,
    ) -> DeviceTensor | None:
        """Make the tensor of argument *name*, with *usual* elements if its text names none; None for a null pointer."""
        if scope.value(name, what).is_null:
            self._plain[name] = None
            return None
        return scope.tensor(device, name, what, usual, read_only=read_only)

    def outputs(self, device: Device, scope: ArgumentScope, values: Mapping[str, Any]) -> dict[str, Array]:
        """Return the output arrays among the *values* of arguments."""
        return {
            # The device is not used again, so that no copy is needed.
            name: value if isinstance(value, np.ndarray) else device.elements(value)
            for name, value in values.items()
            if isinstance(value, DeviceTensor | np.ndarray) and scope.value(name, name).comes_back
        }

    def recorded(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Raise `UsageError`: a call with --arg cannot be recorded."""
        raise UsageError(f"a call of {self.name} by --arg is not recorded; launch it from a script")

    def run(self, observe: Iterable[Any]) -> Any:
        """Run the call once."""
        raise NotImplementedError


# -- sources of BANG C -----------------------------------------------------------------------------


def load(asked: AskedCall) -> Module:
    """Load the sources of *asked*.  Raises `SourceError` if they do not parse."""
    return load_module(asked.program, asked.include, asked.define, find_board(asked.board))


def source_facts(asked: AskedCall, module: Module) -> dict[str, Any]:
    """Return *asked* with relative paths of its sources, and digests of all files that *module* was compiled from.

    mlusim's own headers are left out: a record is read with those of the reading version.
    """
    folder = Path(module.files[0].form.path).parent
    every = {path: digest for file in module.files for path, digest in file.form.includes.items()}
    relative = evolve(
        asked,
        program=tuple(_from(file.form.path, folder) for file in module.files),
        include=tuple(_from(path, folder) for path in asked.include),
        criterion=USUAL_CRITERION,  # its function would be searched in another folder
    )
    return {
        "folder": str(folder),
        "digests": {_from(path, folder): digest for path, digest in every.items() if not installed(path)},
        "asked": asdict(relative),
    }


_NUMBER = r"(0[xX][0-9a-fA-F]+|0|[1-9]\d*)[uUlL]*"  # an integer as C writes it


@frozen
class MacroTexts:
    """The texts of sources by path, and how they define and use a macro of ``-D``."""

    texts: Mapping[str, str]

    @classmethod
    def of(cls, asked: AskedCall) -> Self:
        """Read the user's files of *asked*, and the files that they include, without compiling them."""
        texts = {path: read(path) for path in asked.program}
        for path, text in tuple(texts.items()):
            texts |= dict(included_texts(path, text, asked.include))
        return cls({path: text for path, text in texts.items() if not installed(path)})

    def identifiers(self) -> set[str]:
        """Return all identifiers in the texts."""
        return set(re.findall(r"\b[A-Za-z_]\w*\b", " ".join(self.texts.values())))

    def defined(self, name: str) -> int | None:
        """Return the integer that the texts define macro *name* as unless ``-D`` does; None if there is no such definition."""
        definitions = (_defined(name, text) for text in self.texts.values() if _guarded(name, text))
        return next(
            (
                number
                for definition in definitions
                if definition is not None and (number := _whole(definition[1])) is not None
            ),
            None,
        )

    def numbers(self) -> list[int]:
        """Return the integers in the texts, each once, in order."""
        words = re.findall(rf"(?<![\w.]){_NUMBER}\b(?!\.)", " ".join(self.texts.values()))
        return list(dict.fromkeys(int(word, 0) for word in words))

    def refuse_fixed(self, name: str) -> None:
        """Raise `UsageError` if the texts define macro *name* regardless of ``-D``."""
        for path, text in self.texts.items():
            defined = _defined(name, text)
            if defined is not None and not _guarded(name, text):
                line = text.count("\n", 0, defined.start()) + 1
                raise UsageError(
                    f"{shown(path)}:{line} defines {name} whatever -D says; put it between #ifndef {name} and #endif"
                )


def _defined(name: str, text: str) -> re.Match[str] | None:
    """Return the first definition of macro *name*; the group of the match is its replacement."""
    return re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b(.*)$", text, re.MULTILINE)


def _whole(text: str) -> int | None:
    """Return the value of *text*, the replacement of a macro, if it is an integer or a formula of integers; otherwise None."""
    words = re.sub(r"//.*|/\*.*?\*/", "", text)
    plain = re.sub(rf"\b{_NUMBER}\b", lambda word: str(int(word[1], 0)), words)
    try:
        return parse_formula(plain, {}).evaluate({})
    except UsageError:
        return None


def _guarded(name: str, text: str) -> bool:
    """Return whether a conditional directive tests macro *name*."""
    return bool(re.search(rf"^[ \t]*#[ \t]*(ifndef[ \t]+{name}\b|if\b.*\b{name}\b)", text, re.MULTILINE))


@frozen(eq=False)
class Called:
    """The results of a call: the outputs by argument, the launch, and the comparisons of the outputs."""

    outputs: Mapping[str, Array]
    launch: Launch
    judged: Mapping[str, Any] = field(factory=dict)

    @property
    def passed(self) -> bool:
        """Return whether every compared output is accurate."""
        return all(compared.accuracy.passed for compared in self.judged.values())

    @property
    def findings(self) -> tuple[Any, ...]:
        """The findings of the observers."""
        return self.launch.findings


@define(eq=False)
class SourceCall(CallProgram):
    """A call of a kernel or a host function in BANG C sources."""

    @property
    def module(self) -> Module:
        """Return the module of the sources, which is loaded once."""
        if "module" not in self._kept:
            self._kept["module"] = load(self.asked)
        module: Module = self._kept["module"]
        return module

    def formals(self) -> Sequence[ir.Local]:
        """Return the parameters of the called function."""
        raise NotImplementedError

    def usual(self) -> Mapping[str, DType]:
        """Return the element types of its pointers, by parameter, without those of ``void *``."""
        pointed = ((p.source_name or p.name, t.pointed_dtype(p.type)) for p in self.formals())
        return {name: dtype for name, dtype in pointed if dtype is not None}

    def with_values(
        self, arguments: Mapping[str, str], macros: Mapping[str, str], dim: tuple[int, int, int] | None = None
    ) -> Self:
        """Return the same call with other values of *arguments*, *macros* (the sources are then loaded again) and *dim*."""
        formulas = self.formulas or tuple(self.arguments.values())
        changes: dict[str, Any] = {"arguments": {**self.arguments, **arguments}, "dim": dim or self.dim}
        if macros:
            changes["define"] = {**self.asked.define, **macros}
        return evolve(self.asking(**changes), formulas=formulas)


@define(eq=False)
class KernelCall(SourceCall):
    """A call of a kernel in BANG C sources; its outputs are compared with *expectation* at the end of a run."""

    expectation: "Expectation | None" = None

    @property
    def called(self) -> str:
        """The kernel's name, as its sources have it."""
        return self.loaded().name

    def formals(self) -> Sequence[ir.Local]:
        """Return the parameters of the kernel."""
        return self.loaded().form.parameters

    def parameters(self) -> tuple[str, ...]:
        """Return the names of its parameters."""
        return tuple(self.loaded().parameters)

    def recorded(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the call for a recording: its sources by name and digest, its arguments, and the input arrays."""
        facts = {"kind": "kernel", **source_facts(self.asked, self.module)}
        arrays = dict(self._arrays)
        if self.expectation is not None:
            facts["expectation"] = self._expected_facts(self.expectation, arrays)
        return facts, arrays

    def _expected_facts(self, expectation: "Expectation", arrays: dict[str, Array]) -> dict[str, Any]:
        """Return the facts of the expected outputs; add their arrays to *arrays*, unless equal arrays are there already."""
        scope = self.scope()
        back = [n for n in self.parameters() if n in self.arguments and scope.value(n, n).comes_back]
        keys = {}
        for name, array in expectation.expected(scope, self.inputs, back).items():
            form = array.dtype, array.shape
            same = (
                key
                for key, stored in arrays.items()
                if (stored.dtype, stored.shape) == form and stored.tobytes() == array.tobytes()
            )
            keys[name] = next(same, f"expect.{name}")
            arrays.setdefault(keys[name], array)
        errors = members(expectation.close, "diff1", "diff2", "diff3")
        return {"name": expectation.name, "outputs": keys, **errors}

    def run(self, observe: Iterable[Any]) -> Called:
        """Launch the kernel once on a new device."""
        kernel = self.loaded()
        # A new device, so that contents of memory from an earlier run are not visible.
        device = Device(self.board)
        scope = self.scope()
        arguments = [self._argument(device, scope, kernel, p) for p in kernel.form.parameters]
        drawn = any(scope.value(name, name).form.drawn for name in self.arguments)
        launch = device.launch(
            kernel,
            self.dim,
            self.kind,
            arguments,
            observe=(*self.asked.checks, *observe),
            # C has one schedule and refuses a seed; there the seed only serves arguments that are drawn.
            seed=None if drawn and self.asked.engine == NATIVE else self.asked.seed,
            effects=self.asked.effects,
            engine=self.asked.engine,
        )
        back = self.outputs(device, scope, dict(zip(self.parameters(), arguments, strict=True)))
        expected = self.expectation
        judged = {} if expected is None else expected.compared(self.scope(), self.inputs, back)
        return Called(back, launch, judged)

    def depends_on_memory_cores(self, done: Called) -> str:
        """Return a sentence if the outputs differ from *done* when memory cores start in the opposite order, else "".

        The kernel runs again, which takes as long as *done* did.
        """
        if not self.kind.unions:
            return ""
        with other_order_of_memory_cores():
            other = evolve(self.asking(checks=()), expectation=None).run(())
        if all(a.tobytes() == other.outputs[name].tobytes() for name, a in done.outputs.items()):
            return ""
        order = "last" if begin_memory_cores_first() else "first"
        return (
            f"the result depends on when memory cores store: with {MEMORY_CORES}={order} it differs; `mlusim check` names the line that "
            "lacks a guard (`if (__is_mpu()) return;`, the same as coreId == 0x80) or a barrier"
        )

    def watched(self) -> "KernelCall":
        """Return the same call on the Python engine, whose instructions can be observed, with the same loaded sources."""
        return self.asking(engine="python", checks=())

    def natively(self) -> "KernelCall":
        """Return the same call on the C engine, without checkers."""
        return self.asking(engine=NATIVE, checks=())

    def loaded(self) -> BangKernel:
        """Return the kernel from the sources, which are loaded once."""
        loaded_before = "module" in self._kept
        kernel = self._found(self.module)
        # Only once: calls with other values share the module.
        if not loaded_before:
            self.module.warn_of_broken()
        return kernel

    def _found(self, module: Module) -> BangKernel:
        if self.asked.kernel is not None:
            return module[self.asked.kernel]
        names = list(module.kernels)
        if len(names) == 1:
            return module[names[0]]
        # If no kernel translates, the reason is more useful than the message about a missing name.
        absent = [f for _, f in module.functions_of("kernel") if f.problem is not None]
        if absent and not names:
            raise SourceError(tuple(diagnostic_of(f) for f in absent))
        if not names:
            hint = "one of a template is named with its types, as in --kernel 'K<float>'"
            raise UsageError(f"{self.asked.file} has no kernel that could be launched; {hint}")
        raise UsageError(f"name the kernel of {self.asked.file} with --kernel; {', '.join(names)} are in it")

    def _argument(self, device: Device, scope: ArgumentScope, kernel: BangKernel, parameter: ir.Local) -> Any:
        try:
            return self._given(device, scope, kernel, parameter)
        except UsageError as error:
            span = parameter.span
            error.shown = error.shown or excerpt_of(read(span.file), span.line, span.column)
            raise

    def _given(self, device: Device, scope: ArgumentScope, kernel: BangKernel, parameter: ir.Local) -> Any:
        name, kind = parameter.source_name, parameter.type
        text = self.arguments.get(name)
        what = f"{parameter.spelling} {name} of {kernel.name} ({shown_file(parameter.span.file)}:{parameter.span.line})"
        if text is None:
            example = "1"
            if isinstance(kind, t.Pointer):
                example = f"{name}.npy" if parameter.points_to_const else "out:float32:1024"
            if isinstance(kind, t.Struct):
                example = ",".join("1" for _ in kind.fields)
            raise UsageError(f"{what} has no value; give one, as --arg {name}={example}")
        if isinstance(kind, t.Pointer):
            usual, only = t.pointed_dtype(kind), parameter.points_to_const
            tensor = self.tensor(device, scope, name, what, usual, read_only=only)
            wanted = None if tensor is None else other_elements(tensor.dtype, kind.to)
            if tensor is not None and wanted is not None:
                raise UsageError(f"{what} is given {text!r}, elements of {tensor.dtype}; it takes {wanted}")
            return tensor
        value = scope.value(name, what)
        if isinstance(kind, t.Struct):
            self._plain[name] = _structure(text, kind, what)
        elif isinstance(kind, t.Arithmetic):
            written_out = kind.kind == "float" and value.form is not DRAW
            self._plain[name] = _member(text, kind, what) if written_out else scope.whole(name, what)
        else:
            raise UsageError(
                f"{what} is {with_article(str(kind))}, which the command line cannot give; launch it from Python"
            )
        return self._plain[name]


def _structure(text: str, kind: t.Struct, what: str) -> tuple[float | bool, ...]:
    """Parse the members of a structure of numbers, in order: ``--arg p=2,1.5``."""
    words = text.split(",")
    fields = [(f.name, f.type) for f in kind.fields if isinstance(f.type, t.Arithmetic)]
    if len(fields) != len(kind.fields):
        raise UsageError(
            f"{what} has members that are not numbers, which the command line cannot give; launch it from Python"
        )
    if len(words) != len(fields):
        names = ", ".join(name for name, _ in fields)
        raise UsageError(f"{what} is given {text!r}; it takes {len(fields)} numbers: {names}")
    return tuple(_member(w, of, f"{name} of {what}") for w, (name, of) in zip(words, fields, strict=True))


def _member(text: str, kind: t.Arithmetic, what: str) -> float | bool:
    """Parse a literal number."""
    words = {"true": 1, "false": 0}
    try:
        if kind.kind == "float":
            return float(text)
        return words[text] if text in words else int(text, 0)
    except ValueError:
        form = "a number" if kind.kind == "float" else "a whole number"
        raise UsageError(f"{what} is given {text!r}; give {form}") from None


def kind_of(text: str | None) -> Kind:
    """Return the task type called *text*, in upper or lower case; vendor names are accepted."""
    return kind_called(text or BLOCK)


def dim_of(text: str | None) -> tuple[int, int, int]:
    """Parse three numbers of tasks; missing ones are 1."""
    words = (text or "1").split(",")
    try:
        sizes = [int(word, 0) for word in words]
    except ValueError:
        sizes = []
    if not 1 <= len(sizes) <= 3:
        raise UsageError(f"dim {text!r} is not a grid; write X,Y,Z, as 4,8,1")
    x, y, z = [*sizes, 1, 1][:3]
    return x, y, z


def named_values(words: Sequence[str], option: str) -> dict[str, str]:
    """Parse the values of *option*, each ``NAME=VALUE``, by name."""
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            example = "n=8192" if option == "--arg" else "y=ref.npy"
            lacks = "value" if name else "name"
            raise UsageError(f"{option} {word!r} gives no {lacks}; write NAME=VALUE, as {option} {example}")
        if name in values:
            raise UsageError(f"{option} gives {name} twice; give it once")
        values[name] = value
    return values


def _from(path: str, folder: Path) -> str:
    return Path(os.path.relpath(Path(path).absolute(), folder)).as_posix()
