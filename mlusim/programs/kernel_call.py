"""One launch of a kernel of BANG C sources, with arguments that are given as text."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from mlusim.arch.board import Board
from mlusim.arch.dtypes import as_dtype
from mlusim.counted import with_article
from mlusim.errors import UsageError, shown_file
from mlusim.files.arrays import read_array
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.entry import BangKernel
from mlusim.frontend.bangc.errors import SourceError, diagnostic_of, excerpt_of
from mlusim.frontend.bangc.fitting import other_elements
from mlusim.frontend.bangc.module import Module, load_module
from mlusim.frontend.bangc.parse.sources import read
from mlusim.machine.device import Device
from mlusim.machine.kernel import KINDS, Kind
from mlusim.machine.launch import Launch
from mlusim.machine.tensor import DeviceTensor
from mlusim.programs.source_files import source_facts

Array = np.ndarray[Any, Any]


@frozen
class Sources:
    """BANG C files, and how they are compiled."""

    paths: tuple[str, ...]
    board: Board
    include: tuple[str, ...] = ()
    define: Mapping[str, str | None] = field(factory=dict)

    def load(self) -> Module:
        """Load them.  Raises `SourceError` for what does not parse."""
        return load_module(self.paths, self.include, self.define, self.board)


@frozen(eq=False)
class Called:
    """The results of a call: the outputs by the name of the argument, and the launch."""

    outputs: Mapping[str, Array]
    launch: Launch

    @property
    def findings(self) -> tuple[Any, ...]:
        """The findings of the observers."""
        return self.launch.findings


@define(eq=False)
class KernelCall:
    """A kernel of BANG C sources with its launch dimensions and arguments; a `Program`.

    *arguments* are texts by the name of a parameter: a number, ``F.npy`` (goes in), ``out:float32:8,1024``
    (comes back), ``inout:F.npy`` (both), ``null``.  *given* are arrays by the name of a parameter, which stand for
    the files that *arguments* name.
    """

    sources: Sources
    kernel: str | None
    dim: tuple[int, int, int]
    kind: Kind
    arguments: Mapping[str, str]
    checks: tuple[str, ...] = ()
    seed: int | None = None
    effects: str = "late"
    engine: str = "auto"
    given: Mapping[str, Array] = field(factory=dict)
    _module: Module | None = field(default=None, init=False)  # no part of a call with other sources
    _arrays: dict[str, Array] = field(factory=dict, init=False)

    @property
    def name(self) -> str:
        """The kernel's name, or the file's."""
        return self.kernel or Path(self.sources.paths[0]).name

    def arrays(self) -> dict[str, Array]:
        """The arrays that go in, under ``input.NAME``."""
        return self._arrays

    def recorded(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what a recording holds of it: its sources by name and digest, the call, and the arrays that go in."""
        module = self._module or self.sources.load()
        facts = {
            "kind": "kernel",
            "sources": source_facts(self.sources, module),
            "kernel": self.kernel,
            "dim": list(self.dim),
            "type": self.kind.name,
            "arguments": dict(self.arguments),
            "checks": list(self.checks),
            "seed": self.seed,
            "effects": self.effects,
            "engine": self.engine,
        }
        return facts, dict(self._arrays)

    def run(self, observe: Iterable[Any]) -> Called:
        """Launch the kernel once on a new device."""
        kernel = self.loaded()
        device = Device(self.sources.board)
        wanted = {p.source_name: p for p in kernel.form.parameters}
        for name in self.arguments:
            if name not in wanted:
                legal = ", ".join(wanted) or "it has none"
                raise UsageError(f"{kernel.name} has no parameter {name!r}; its parameters: {legal}")
        given = [self._argument(device, kernel, p) for p in kernel.form.parameters]
        launch = device.launch(
            kernel,
            self.dim,
            self.kind,
            given,
            observe=(*self.checks, *observe),
            seed=self.seed,
            effects=self.effects,
            engine=self.engine,
        )
        back = {
            name: device.get(tensor)
            for name, tensor in zip(wanted, given, strict=True)
            if isinstance(tensor, DeviceTensor) and self.arguments[name].startswith(("out:", "inout:"))
        }
        return Called(back, launch)

    def watched(self) -> "KernelCall":
        """Return the same call on the Python engine, whose instructions can be watched, with the sources that are loaded."""
        return self._alike(engine="python", checks=())

    def loaded(self) -> BangKernel:
        """The kernel, from the sources, which are loaded once."""
        if self._module is not None:
            return self._found(self._module)
        self._module = self.sources.load()
        found = self._found(self._module)
        self._module.warn_of_broken()
        return found

    def with_argument(self, name: str, text: str) -> "KernelCall":
        """The same call with another value of argument *name*; the sources are not loaded again."""
        return self._alike(arguments={**self.arguments, name: text})

    def _alike(self, **changes: Any) -> "KernelCall":
        """Return this call of the same sources with *changes*; they are not loaded, and warned of, again."""
        found = evolve(self, **changes)
        found._module = self._module  # noqa: SLF001 - of its own class
        return found

    def _found(self, module: Module) -> BangKernel:
        if self.kernel is not None:
            return module[self.kernel]
        names = list(module.kernels)
        if len(names) == 1:
            return module[names[0]]
        absent = [f for _, f in module.functions_of("kernel") if f.problem is not None]
        if absent and not names:
            raise SourceError(tuple(diagnostic_of(f) for f in absent))
        what = f"{', '.join(names)} are in it" if names else "it has no kernel that could be launched"
        raise UsageError(f"name the kernel of {self.sources.paths[0]} with --kernel; {what}")

    def _argument(self, device: Device, kernel: BangKernel, parameter: ir.Local) -> Any:
        try:
            return self._given(device, kernel, parameter)
        except UsageError as error:
            span = parameter.span
            error.shown = error.shown or excerpt_of(read(span.file), span.line, span.column)
            raise

    def _given(self, device: Device, kernel: BangKernel, parameter: ir.Local) -> Any:
        name, kind = parameter.source_name, parameter.type
        text = self.arguments.get(name)
        what = f"{parameter.spelling} {name} of {kernel.name} ({shown_file(parameter.span.file)}:{parameter.span.line})"
        if text is None:
            example = "1"
            if isinstance(kind, t.Pointer):
                example = f"{name}.npy" if parameter.spelling.startswith("const ") else "out:float32:1024"
            if isinstance(kind, t.Record):
                example = ",".join("1" for _ in kind.fields)
            raise UsageError(f"{what} has no value; give one, as --arg {name}={example}")
        if isinstance(kind, t.Pointer):
            if text in ("null", "nullptr"):
                return None
            tensor = self._tensor(device, name, text, what)
            _fit(tensor, kind.to, text, what)
            tensor.allocation.declared = evolve(tensor.allocation.declared, name=name)
            return tensor
        if isinstance(kind, t.Record):
            return _structure(text, kind, what)
        if not isinstance(kind, t.Arithmetic):
            raise UsageError(
                f"{what} is {with_article(str(kind))}, which the command line cannot give; launch it from Python"
            )
        return _number(text, kind, what)

    def _tensor(self, device: Device, name: str, text: str, what: str) -> DeviceTensor:
        if text.startswith("out:"):
            return device.empty(*_shape(text, what))
        path = text.removeprefix("inout:")
        if not path.endswith(".npy"):
            raise UsageError(
                f"{what} is given {text!r}; a pointer takes F.npy, inout:F.npy, out:float32:8,1024 or null"
            )
        array = self.given.get(name)
        if array is None:
            array = read_array(path, f"{what} takes F.npy, inout:F.npy, out:float32:8,1024 or null")
        self._arrays[f"input.{name}"] = array
        # Lent, so that a store through a cast is a fault and no silent change of an input.
        return device.put(array) if text.startswith("inout:") else device.share(array)


def _fit(tensor: DeviceTensor, to: t.Type, text: str, what: str) -> None:
    """Refuse elements of another kind than the parameter points to."""
    wanted = other_elements(tensor.dtype, to)
    if wanted is not None:
        raise UsageError(f"{what} is given {text!r}, elements of {tensor.dtype}; it takes {wanted}")


def _structure(text: str, kind: t.Record, what: str) -> tuple[float | bool, ...]:
    """The members of a structure of numbers, in their order: ``--arg p=2,1.5``."""
    words = text.split(",")
    fields = [(f.name, f.type) for f in kind.fields if isinstance(f.type, t.Arithmetic)]
    if len(fields) != len(kind.fields):
        raise UsageError(
            f"{what} has members that are no numbers, which the command line cannot give; launch it from Python"
        )
    if len(words) != len(fields):
        names = ", ".join(name for name, _ in fields)
        raise UsageError(f"{what} is given {text!r}; it takes {len(fields)} numbers: {names}")
    return tuple(_number(w, of, f"{name} of {what}") for w, (name, of) in zip(words, fields, strict=True))


def _shape(text: str, what: str) -> tuple[tuple[int, ...], Any]:
    """The shape and type that ``out:float32:8,1024`` asks for."""
    parts = text.split(":")
    sizes = parts[2].split(",") if len(parts) == 3 else [""]
    if not all(size.strip().isdigit() for size in sizes):
        raise UsageError(f"{what} is given {text!r}; write out:TYPE:SIZES, as out:float32:8,1024")
    return tuple(int(size) for size in sizes), as_dtype(parts[1])


def _number(text: str, kind: t.Arithmetic, what: str) -> float | bool:
    words = {"true": 1, "false": 0}
    try:
        if kind.kind == "float":
            return float(text)
        return words[text] if text in words else int(text, 0)
    except ValueError:
        form = "a number" if kind.kind == "float" else "a whole number"
        raise UsageError(f"{what} is given {text!r}; give {form}") from None


def kind_of(text: str | None) -> Kind:
    """The task type called *text* in any case; vendor names too."""
    name = (text or "BLOCK").upper().removeprefix("CNRTFUNCTYPE")
    found = next((kind for kind in KINDS if kind.name == name), None)
    if found is None:
        raise UsageError(f"kind {text!r} is unknown; use one of {', '.join(k.name.lower() for k in KINDS)}")
    return found


def dim_of(text: str | None) -> tuple[int, int, int]:
    """Three numbers of tasks; those that are left out are 1."""
    words = (text or "1").split(",")
    try:
        sizes = [int(word, 0) for word in words]
    except ValueError:
        sizes = []
    if not 1 <= len(sizes) <= 3:
        raise UsageError(f"dim {text!r} is no grid; write X,Y,Z, as 4,8,1")
    x, y, z = [*sizes, 1, 1][:3]
    return x, y, z


def arguments_of(words: Sequence[str]) -> dict[str, str]:
    """The arguments of ``--arg NAME=VALUE``."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"--arg {word!r} gives no value; write NAME=VALUE, as --arg n=8192")
        if name in found:
            raise UsageError(f"--arg gives {name} twice; give it once")
        found[name] = value
    return found
