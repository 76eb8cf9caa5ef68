"""Entry points of the library (``mluOp...``): their sources loaded together, called with arguments by name."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from benchmarks.vendor.board import BOARD
from mlusim import bangc
from mlusim.errors import UsageError
from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.machine.kernel import UNION1

DRIVERS = Path(__file__).parent / "drivers"  # of entry points that want a descriptor of their own, by folder
SHARED = ("tensor_stride_process", "unary_op", "binary_op")  # folders that others call
_DEFINED = re.compile(r"\b(mluOp[A-Z]\w+)\s*\([^;{}]*\)\s*\{")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@define(eq=False)
class Library:
    """A checkout: which folder has which entry point, and the modules that were loaded."""

    root: Path
    folders: dict[str, str] = field(factory=dict)
    modules: dict[str, Any] = field(factory=dict)
    public: list[str] = field(factory=list)
    driven: dict[str, list[str]] = field(factory=dict)  # the entry points that a driver calls
    declared: int = 0  # functions in the library's header

    def __attrs_post_init__(self) -> None:
        for path in sorted(p for s in ("cpp", "mlu") for p in self.root.glob(f"kernels/**/*.{s}")):
            for name in _DEFINED.findall(_COMMENT.sub("", path.read_text())):
                self.folders.setdefault(name, path.relative_to(self.root).parts[1])
        for path in DRIVERS.glob("*.cpp"):
            for part in re.split(r"(?=\bDrive\w+\()", path.read_text())[1:]:
                name = part.partition("(")[0]
                self.folders[name], self.driven[name] = path.stem, re.findall(r"\b(mluOp[A-Z]\w+)\(", part)
        declared = re.findall(
            r"MLUOP_WIN_API\s+(mluOp\w+)\(", _COMMENT.sub("", (self.root / "mlu_op.h").read_text())
        )
        self.declared = len(set(declared))
        self.public = [name for name in dict.fromkeys(declared) if name in self.folders]

    def module(self, name: str) -> Any:
        """The module of the folder that defines *name*, with those that it calls."""
        folder = self.folders[name]
        if folder not in self.modules:
            used = [folder]
            text = "".join(p.read_text() for p in (self.root / "kernels" / folder).rglob("*.[ch]*"))
            used += [other for other in SHARED if other != folder and f"{other}/" in text]
            if len(used) > 1 and SHARED[0] not in used:
                used.append(SHARED[0])
            paths = [
                p
                for u in used
                for s in ("cpp", "mlu")
                for library in ("kernels", "kernels_light")
                for p in sorted((self.root / library / u).rglob(f"*.{s}"))
            ]
            paths += DRIVERS.glob(f"{folder}.cpp")
            self.modules[folder] = bangc.load(
                paths, include=[self.root], define={"NDEBUG": None}, board=BOARD
            )
        return self.modules[folder]

    def parameters(self, name: str) -> list[tuple[str, str]]:
        """The parameters of an entry point: type as it is written, and name."""
        function = self.module(name).functions[name].forms[0]
        return [(p.spelling, p.source_name) for p in function.parameters]


class Watched(Handle):
    """A handle that knows which file each kernel came from, and what observers found."""

    def __init__(
        self,
        checkers: tuple[str, ...] = (),
        engine: str = "auto",
        note: Callable[..., None] | None = None,
    ) -> None:
        super().__init__(BOARD, observe=checkers, engine=engine)
        self.files: set[str] = set()
        self.note = note  # hears each launch and its arguments

    def launch(self, kernel: Any, dim: Any, kind: Any = UNION1, args: Sequence[Any] = ()) -> Any:
        """Launch, and note the kernel's file."""
        self.files.add(kernel.form.span.file)
        launch = super().launch(kernel, dim, kind, args)
        if self.note is not None:
            self.note(launch, args)
        return launch


@define(eq=False)
class Call:
    """One call of an entry point: *given* has tensors as arrays and numbers, by the names of parameters."""

    library: Library
    handle: Watched
    name: str
    given: dict[str, Any]
    layouts: dict[str, str] = field(factory=dict)
    strides: dict[str, tuple[int, ...]] = field(factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(factory=dict)  # where the array is flat, for its strides
    put: dict[str, Any] = field(factory=dict)

    def run(self) -> Status:
        """Call it; tensors are on the device afterwards."""
        parameters = self.library.parameters(self.name)
        made = [self._value(parameters, n) for n in range(len(parameters))]
        return self.library.module(self.name).functions[self.name](*made)

    def result(self, name: str) -> Any:
        """A tensor as the call left it."""
        given = self.given[name]
        found = np.asarray(self.handle.device.get(self.put[name]))
        return self.logical(name, found.view(given.dtype).reshape(given.shape))

    def logical(self, name: str, stored: Any) -> Any:
        """A tensor as its strides say that it lies in what is stored."""
        if name not in self.strides:
            return stored
        steps = [n * stored.dtype.itemsize for n in self.strides[name]]
        return np.lib.stride_tricks.as_strided(stored, self.shapes[name], steps)

    def _value(self, parameters: list[tuple[str, str]], n: int) -> Any:
        kind, name = parameters[n]
        if "mluOpHandle_t" in kind:
            return self.handle
        if "mluOpTensorDescriptor_t" in kind and "*" not in kind:
            owner = name if name in self.given else self.owner(parameters, n)
            return self._descriptor(owner)
        if name == "workspace":
            return self._workspace()
        if name == "workspace_size":
            return self._workspace_size()
        if name not in self.given and "*" in kind and not kind.startswith("const"):
            self.given[name] = np.zeros(1, np.int32)  # a count that the call gives
        if name not in self.given:
            raise UsageError(f"{self.name}: no value for {kind} {name}")
        value = self.given[name]
        described = any(other in (f"{name}_desc", f"desc_{name}") for _, other in parameters)
        if "[" in kind or (kind.startswith("const int *") and not described):
            return np.array(value, np.int64 if "64" in kind else np.int32)
        return (
            self._tensor(name)
            if isinstance(value, np.ndarray) and "[]" not in kind and "int64_t *" not in kind
            else value
        )

    def owner(self, parameters: list[tuple[str, str]], n: int) -> str:
        """The pointer that belongs to a descriptor: that of its name, or the next."""
        name = parameters[n][1]
        plain = name.removesuffix("_desc").removeprefix("desc_")
        if plain in self.given:
            return plain
        return next(other for kind, other in parameters[n + 1 :] if "*" in kind)

    def _descriptor(self, name: str) -> Any:
        if name not in self.given:
            raise UsageError(f"{self.name}: no value for the tensor {name}")
        value = self.given[name]
        if value is None:
            return None
        kind = value.dtype.name if value.dtype.name.startswith("complex") else value.dtype
        shape = self.shapes.get(name, value.shape)
        return TensorDescriptor(shape, kind, self.layouts.get(name, "ARRAY"), self.strides.get(name))

    def _tensor(self, name: str) -> Any:
        if name not in self.put:
            value = np.ascontiguousarray(self.given[name])
            if value.dtype.kind in "cb":
                value = value.view(np.float32 if value.dtype.kind == "c" else np.uint8)
            self.put[name] = self.handle.device.put(value)
        return self.put[name]

    def _workspace_size(self) -> int:
        if "workspace_size" not in self.put:
            self.put["workspace_size"] = self._asked()
        return self.put["workspace_size"]

    def _asked(self) -> int:
        """What the entry point's own function says that it needs."""
        base = self.name.removeprefix("mluOp")
        wanted = {f"mluopget{base}workspacesize".lower()} | {
            f"mluopget{base.split('_v')[0]}workspacesize".lower()
        }
        found = [n for n in self.library.folders if n.lower() in wanted]
        if not found:
            return 1 << 20
        size = np.zeros(1, np.uint64)
        inner = Call(self.library, self.handle, found[0], self.given, self.layouts, self.strides)
        inner.put = self.put
        parameters = self.library.parameters(found[0])
        made = [
            size if "size_t *" in kind else inner._value(parameters, n)
            for n, (kind, _) in enumerate(parameters)
        ]
        self.library.module(found[0]).functions[found[0]](*made)
        return int(size[0])

    def _workspace(self) -> Any:
        if "workspace" not in self.put:
            size = max(self._workspace_size(), 64)
            self.put["workspace"] = self.handle.device.put(np.zeros(size, np.uint8))
        return self.put["workspace"]
