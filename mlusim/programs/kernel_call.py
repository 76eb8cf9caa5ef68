"""The value that says in texts what is asked, and calls of kernels of BANG C sources that are asked so."""

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
from mlusim.counted import with_article
from mlusim.document import members
from mlusim.engine.preference import MEMORY_CORES, NATIVE
from mlusim.errors import UsageError, shown_file
from mlusim.files.reading import shown
from mlusim.formula.parse import parse_formula
from mlusim.frontend.bangc import ir, types as t
from mlusim.frontend.bangc.errors import SourceError, diagnostic_of, excerpt_of
from mlusim.frontend.bangc.fitting import other_elements
from mlusim.frontend.bangc.module import BangKernel, Module, load_module
from mlusim.frontend.bangc.parse.sources import included_texts, read
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
    """A call of a kernel or a host function that can be run; a `Program`.

    *supplied* are arrays by the name of an argument, which stand for those that its text reads or draws.  A name that is not a parameter
    stands in formulas of others: of the arguments, or of *formulas*, the texts that others of their values had.
    """

    asked: AskedCall
    supplied: Mapping[str, Array] = field(factory=dict)
    formulas: tuple[str, ...] = ()
    _kept: dict[str, Any] = field(factory=dict)  # what was loaded, which other calls of the same share
    _arrays: dict[str, Array] = field(factory=dict, init=False)
    _plain: dict[str, Any] = field(factory=dict, init=False)

    LOADED: ClassVar[frozenset[str]] = frozenset({"program", "board", "include", "define"})
    """The parts of what is asked that decide what is loaded."""

    @property
    def name(self) -> str:
        """The name of what is called, or of its file."""
        return self.asked.kernel or Path(self.asked.file).name

    @property
    def called(self) -> str:
        """The name of what is called, as its sources have it."""
        return self.name

    @property
    def board(self) -> Board:
        """The board that it runs on."""
        return find_board(self.asked.board)

    @property
    def dim(self) -> tuple[int, int, int]:
        """The tasks in x, y and z."""
        return self.asked.dim

    @property
    def kind(self) -> Kind:
        """The kind of its launches."""
        return kind_called(self.asked.kind)

    @property
    def arguments(self) -> Mapping[str, str]:
        """The texts of its arguments."""
        return self.asked.arguments

    @property
    def macros(self) -> Mapping[str, str | None]:
        """The macros of its sources."""
        return self.asked.define

    def parameters(self) -> tuple[str, ...]:
        """Return the names of what it takes."""
        raise NotImplementedError

    def needed(self) -> tuple[str, ...]:
        """Return those that have no value by themselves."""
        return self.parameters()

    def usual(self) -> Mapping[str, DType]:
        """Return the element types that its pointers point to, where these say so."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that went in, under ``input.NAME``."""
        return self._arrays

    def plain(self) -> dict[str, Any]:
        """Return the arguments of the last run other than tensors, by name: a number, a tuple for a structure, or None."""
        return self._plain

    def inputs(self) -> dict[str, Any]:
        """Return the arrays that went in and the other arguments, as a reference takes them."""
        return {name.removeprefix("input."): array for name, array in self.arrays().items()} | self.plain()

    def scope(self) -> ArgumentScope:
        """Return all arguments in one scope, since formulas of one may name another.  Raises `UsageError` for a name that is misspelt."""
        asked = self.asked
        seed = asked.seed if asked.draws is None else asked.draws
        scope = ArgumentScope(
            asked.arguments, asked.define, self.board, seed or 0, self.supplied, self._arrays
        )
        scope.refuse_misspelt(self.called, self.parameters(), self.needed(), self.formulas)
        return scope

    def asking(self, **changes: Any) -> Self:
        """Return the same program with *changes* of what is asked; it is loaded again where they decide what is loaded."""
        # The same object, and not a copy: what one of two calls loads later the other need not load again.
        loaded = {} if self.LOADED & changes.keys() else self._kept
        return evolve(self, asked=evolve(self.asked, **changes), kept=loaded)

    def given_arrays(self, arguments: Mapping[str, str], arrays: Mapping[str, Array], **changes: Any) -> Self:
        """Return the same call with other *arguments*, whose files stand for *arrays*, and *changes* of the rest."""
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
        """Return the tensor that argument *name* makes, of *usual* elements where it does not say; None for a null pointer."""
        if scope.value(name, what).is_null:
            self._plain[name] = None
            return None
        return scope.tensor(device, name, what, usual, read_only=read_only)

    def outputs(self, device: Device, scope: ArgumentScope, values: Mapping[str, Any]) -> dict[str, Array]:
        """Return the arrays that come back among the *values* of arguments."""
        return {
            # Of a device that nothing uses again.
            name: value if isinstance(value, np.ndarray) else device.elements(value)
            for name, value in values.items()
            if isinstance(value, DeviceTensor | np.ndarray) and scope.value(name, name).comes_back
        }

    def recorded(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Raise `UsageError`: recordings are made of other programs."""
        raise UsageError(f"a call of {self.name} by --arg is not recorded; launch it from a script")

    def run(self, observe: Iterable[Any]) -> Any:
        """Run the call once."""
        raise NotImplementedError


# -- sources of BANG C -----------------------------------------------------------------------------


def load(asked: AskedCall) -> Module:
    """Load the sources of *asked*.  Raises `SourceError` for what does not parse."""
    return load_module(asked.program, asked.include, asked.define, find_board(asked.board))


def source_facts(asked: AskedCall, module: Module) -> dict[str, Any]:
    """Return *asked* with what its sources are found again by: where they lie, and digests of what *module* was compiled from.

    mlusim's own headers are left out: they are those of the version that reads the record.
    """
    folder = Path(module.files[0].form.path).parent
    every = {path: digest for file in module.files for path, digest in file.form.includes.items()}
    relative = evolve(
        asked,
        program=tuple(_from(file.form.path, folder) for file in module.files),
        include=tuple(_from(path, folder) for path in asked.include),
        criterion=USUAL_CRITERION,  # whose function would be looked for elsewhere
    )
    return {
        "folder": str(folder),
        "digests": {_from(path, folder): digest for path, digest in every.items() if not installed(path)},
        "asked": asdict(relative),
    }


_NUMBER = r"(0[xX][0-9a-fA-F]+|0|[1-9]\d*)[uUlL]*"  # as C writes a whole one


@frozen
class MacroTexts:
    """The texts of sources by their paths, and what they do with a macro of ``-D``."""

    texts: Mapping[str, str]

    @classmethod
    def of(cls, asked: AskedCall) -> Self:
        """Return the user's files of *asked*, with those that they include, without compiling them."""
        texts = {path: read(path) for path in asked.program}
        for path, text in tuple(texts.items()):
            texts |= dict(included_texts(path, text, asked.include))
        return cls({path: text for path, text in texts.items() if not installed(path)})

    def identifiers(self) -> set[str]:
        """Return the words that may be names."""
        return set(re.findall(r"\b[A-Za-z_]\w*\b", " ".join(self.texts.values())))

    def defined(self, name: str) -> int | None:
        """Return the whole number that they give macro *name* unless ``-D`` does, or None if they give none."""
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
        """Return the whole numbers that are written in them, each once, in order."""
        words = re.findall(rf"(?<![\w.]){_NUMBER}\b(?!\.)", " ".join(self.texts.values()))
        return list(dict.fromkeys(int(word, 0) for word in words))

    def refuse_fixed(self, name: str) -> None:
        """Raise `UsageError` where they define macro *name* whatever ``-D`` says."""
        for path, text in self.texts.items():
            defined = _defined(name, text)
            if defined is not None and not _guarded(name, text):
                line = text.count("\n", 0, defined.start()) + 1
                raise UsageError(
                    f"{shown(path)}:{line} defines {name} whatever -D says; put it between #ifndef {name} and #endif"
                )


def _defined(name: str, text: str) -> re.Match[str] | None:
    """Return the first definition of macro *name*, whose group is what it stands for."""
    return re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b(.*)$", text, re.MULTILINE)


def _whole(text: str) -> int | None:
    """Return the whole number that *text*, behind the name of a macro, is or computes from others; None if it is none."""
    words = re.sub(r"//.*|/\*.*?\*/", "", text)
    plain = re.sub(rf"\b{_NUMBER}\b", lambda word: str(int(word[1], 0)), words)
    try:
        return parse_formula(plain, {}).evaluate({})
    except UsageError:
        return None


def _guarded(name: str, text: str) -> bool:
    """Return whether a condition asks for macro *name*."""
    return bool(re.search(rf"^[ \t]*#[ \t]*(ifndef[ \t]+{name}\b|if\b.*\b{name}\b)", text, re.MULTILINE))


@frozen(eq=False)
class Called:
    """The results of a call: the outputs by the name of the argument, the launch, and what the outputs were compared with."""

    outputs: Mapping[str, Array]
    launch: Launch
    judged: Mapping[str, Any] = field(factory=dict)

    @property
    def passed(self) -> bool:
        """Return whether every output that was compared is accurate."""
        return all(compared.accuracy.passed for compared in self.judged.values())

    @property
    def findings(self) -> tuple[Any, ...]:
        """The findings of the observers."""
        return self.launch.findings


@define(eq=False)
class SourceCall(CallProgram):
    """A call of what BANG C sources have."""

    @property
    def module(self) -> Module:
        """Return the module of the sources, which are loaded once."""
        if "module" not in self._kept:
            self._kept["module"] = load(self.asked)
        module: Module = self._kept["module"]
        return module

    def formals(self) -> Sequence[ir.Local]:
        """Return the parameters of what is called."""
        raise NotImplementedError

    def usual(self) -> Mapping[str, DType]:
        """Return the element types of its pointers, by parameter; those of ``void *`` are left out."""
        pointed = ((p.source_name or p.name, t.pointed_dtype(p.type)) for p in self.formals())
        return {name: dtype for name, dtype in pointed if dtype is not None}

    def with_values(
        self, arguments: Mapping[str, str], macros: Mapping[str, str], dim: tuple[int, int, int] | None = None
    ) -> Self:
        """Return the same call with other values of *arguments*, of *macros*, for which the sources are loaded again, and of *dim*."""
        formulas = self.formulas or tuple(self.arguments.values())
        changes: dict[str, Any] = {"arguments": {**self.arguments, **arguments}, "dim": dim or self.dim}
        if macros:
            changes["define"] = {**self.asked.define, **macros}
        return evolve(self.asking(**changes), formulas=formulas)


@define(eq=False)
class KernelCall(SourceCall):
    """A call of a kernel of BANG C sources, whose outputs are compared with *expectation* at the end of a run."""

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
        """Return what a recording holds of it: its sources by name and digest, the call, and the arrays that go in."""
        facts = {"kind": "kernel", **source_facts(self.asked, self.module)}
        arrays = dict(self._arrays)
        if self.expectation is not None:
            facts["expectation"] = self._expected_facts(self.expectation, arrays)
        return facts, arrays

    def _expected_facts(self, expectation: "Expectation", arrays: dict[str, Array]) -> dict[str, Any]:
        """Return the facts of what the outputs are compared with, whose arrays go into *arrays*, but for those that are there already."""
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
        # A new one: what an earlier run left in memory is not seen.
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
            # C has one schedule, and refuses a seed: there it is for the arguments that are drawn, if any.
            seed=None if drawn and self.asked.engine == NATIVE else self.asked.seed,
            effects=self.asked.effects,
            engine=self.asked.engine,
        )
        back = self.outputs(device, scope, dict(zip(self.parameters(), arguments, strict=True)))
        expected = self.expectation
        judged = {} if expected is None else expected.compared(self.scope(), self.inputs, back)
        return Called(back, launch, judged)

    def depends_on_memory_cores(self, done: Called) -> str:
        """Return a sentence if the outputs of *done* are others where memory cores begin in the other order, else "".

        It runs the kernel again, which takes as long as *done* took.
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
        """Return the same call on the Python engine, whose instructions can be watched, with the sources that are loaded."""
        return self.asking(engine="python", checks=())

    def natively(self) -> "KernelCall":
        """Return the same call on the engine in C, without checkers."""
        return self.asking(engine=NATIVE, checks=())

    def loaded(self) -> BangKernel:
        """Return the kernel, from the sources, which are loaded once."""
        loaded_before = "module" in self._kept
        kernel = self._found(self.module)
        # Once: calls with other values share the module.
        if not loaded_before:
            self.module.warn_of_broken()
        return kernel

    def _found(self, module: Module) -> BangKernel:
        if self.asked.kernel is not None:
            return module[self.asked.kernel]
        names = list(module.kernels)
        if len(names) == 1:
            return module[names[0]]
        # Where no kernel translates, the reason is of more use than a missing name.
        absent = [f for _, f in module.functions_of("kernel") if f.problem is not None]
        if absent and not names:
            raise SourceError(tuple(diagnostic_of(f) for f in absent))
        what = f"{', '.join(names)} are in it" if names else "it has no kernel that could be launched"
        raise UsageError(f"name the kernel of {self.asked.file} with --kernel; {what}")

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
            if isinstance(kind, t.Record):
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
        if isinstance(kind, t.Record):
            self._plain[name] = _structure(text, kind, what)
        elif isinstance(kind, t.Arithmetic):
            written_out = kind.kind == "float" and value.form is not DRAW
            self._plain[name] = _member(text, kind, what) if written_out else scope.whole(name, what)
        else:
            raise UsageError(
                f"{what} is {with_article(str(kind))}, which the command line cannot give; launch it from Python"
            )
        return self._plain[name]


def _structure(text: str, kind: t.Record, what: str) -> tuple[float | bool, ...]:
    """Return the members of a structure of numbers, in their order: ``--arg p=2,1.5``."""
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
    """Return a number that is written out."""
    words = {"true": 1, "false": 0}
    try:
        if kind.kind == "float":
            return float(text)
        return words[text] if text in words else int(text, 0)
    except ValueError:
        form = "a number" if kind.kind == "float" else "a whole number"
        raise UsageError(f"{what} is given {text!r}; give {form}") from None


def kind_of(text: str | None) -> Kind:
    """Return the task type called *text* in any case; vendor names too."""
    return kind_called(text or BLOCK)


def dim_of(text: str | None) -> tuple[int, int, int]:
    """Return three numbers of tasks; those that are left out are 1."""
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
    """Return the values of *option*, each ``NAME=VALUE``, by name."""
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            example = "n=8192" if option == "--arg" else "y=ref.npy"
            raise UsageError(f"{option} {word!r} gives no value; write NAME=VALUE, as {option} {example}")
        if name in values:
            raise UsageError(f"{option} gives {name} twice; give it once")
        values[name] = value
    return values


def _from(path: str, folder: Path) -> str:
    return Path(os.path.relpath(Path(path).absolute(), folder)).as_posix()
