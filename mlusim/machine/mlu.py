"""`Mlu`: the first argument of a kernel.  Its intrinsics are installed from the table by `engine.issue`."""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mlusim.engine.contract import IssuingMlu
from mlusim.memory.space import LDRAM, NRAM, WRAM
from mlusim.near import near
from mlusim.time.quantities import WORK

if TYPE_CHECKING:
    from mlusim.engine.copies import Routes
    from mlusim.machine.core import Core
    from mlusim.memory.pointer import Ptr

NO_WORK = WORK.zeros()


class _Described(type):
    """The metaclass of `Mlu`, which returns for an intrinsic's name a function with its documentation.

    The classes of kernels' arguments are made for an architecture and have methods of their own.  The table is
    imported by name, because it is in another layer.
    """

    def __getattr__(cls, name: str) -> Any:
        attribute = _described().described(name) if cls.__base__ is IssuingMlu and name[:1] != "_" else None
        if attribute is None:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return attribute

    def __dir__(cls) -> list[str]:
        names = list(type.__dir__(cls))
        return sorted({*names, *_described().names()}) if cls.__base__ is IssuingMlu else names


def _described() -> Any:
    return importlib.import_module("mlusim.isa.table")


class Mlu(IssuingMlu, metaclass=_Described):
    """The machine as one task sees it: the built-in variables, its memories, and the intrinsics.

    The built-in variables keep the vendor's spelling: ``taskId``, ``taskIdX/Y/Z``, ``taskDim``,
    ``taskDimX/Y/Z``, ``clusterId``, ``clusterDim`` (0 for a Block task), ``coreId`` (128 on a memory
    core), ``coreDim``; ``MAX_NRAM_SIZE``, ``MAX_WRAM_SIZE`` and ``MAX_SRAM_SIZE`` are bytes that a
    kernel may use; ``BANG_ARCH`` is ``__BANG_ARCH__``.
    """

    # `help` and `mlusim isa` print the text after a name.
    __slots__ = {
        "BANG_ARCH": "the number of the architecture, __BANG_ARCH__ of BANG C",
        "MAX_NRAM_SIZE": "bytes of NRAM that a kernel may declare",
        "MAX_SRAM_SIZE": "bytes of SRAM that a cluster may declare",
        "MAX_WRAM_SIZE": "bytes of WRAM that a kernel may declare",
        "clusterDim": "the number of clusters in the union; 0 for a Block task",
        "clusterId": "the number of the cluster among those of the launch's union",
        "coreDim": "the number of IPU cores in a cluster",
        "coreId": "the number of the core in its cluster; 128 on a memory core",
        "taskDim": "the number of tasks: taskDimX * taskDimY * taskDimZ",
        "taskDimX": "the number of tasks along X",
        "taskDimY": "the number of tasks along Y",
        "taskDimZ": "the number of tasks along Z",
        "taskId": "the number of this task: taskIdZ * taskDimY * taskDimX + taskIdY * taskDimX + taskIdX",
        "taskIdX": "the number of this task along X",
        "taskIdY": "the number of this task along Y",
        "taskIdZ": "the number of this task along Z",
    }

    def __init__(
        self,
        core: "Core",
        built_ins: Sequence[int],
        counters: tuple[list[int], list[int]],
        sums: tuple[list[int], list[int]],
        directions: "Routes",
    ) -> None:
        place = core.place
        self.core = core
        self.taskId = place.task
        self.taskIdX, self.taskIdY, self.taskIdZ = place.task_x, place.task_y, place.task_z
        self.clusterId, self.coreId = place.cluster_id, place.core_id
        (
            self.taskDim, self.taskDimX, self.taskDimY, self.taskDimZ, self.clusterDim, self.coreDim,
            self.MAX_NRAM_SIZE, self.MAX_WRAM_SIZE, self.MAX_SRAM_SIZE, self.BANG_ARCH,
        ) = built_ins  # fmt: skip
        self.counts, self.traffic = counters
        self.work = NO_WORK.copy()
        self.lines, self.spare = sums
        self.directions = directions
        self.watch = None

    def __repr__(self) -> str:
        return f"<Mlu {self.core.place.label} of {self.taskDim}>"

    # -- memory --------------------------------------------------------------------------------

    def nram(self, dtype: object, count: int, values: Sequence[Any] | None = None) -> "Ptr":
        """Declare *count* elements of NRAM, as ``__nram__ T name[count]``; *values* initialise it.

        Fresh memory is poison: NaN in every float type, -1 in every integer.  Raises `OutOfMemory`
        with the bytes left when the board's NRAM (per core, less the 128 KiB reserve) is exceeded; a kernel of
        BANG C may declare all of it.
        """
        return self.core.declare(NRAM, dtype, count, values)

    def wram(self, dtype: object, count: int, values: Sequence[Any] | None = None) -> "Ptr":
        """Declare *count* elements of WRAM, as ``__wram__ T name[count]``."""
        return self.core.declare(WRAM, dtype, count, values)

    def ldram(self, dtype: object, count: int, values: Sequence[Any] | None = None) -> "Ptr":
        """Declare *count* elements of the core's own off-chip memory, as ``__ldram__ T name[count]``."""
        return self.core.declare(LDRAM, dtype, count, values)

    def shared(self, dtype: object, count: int) -> "Ptr":
        """Declare *count* elements of the cluster's SRAM, as ``__mlu_shared__ T name[count]``.

        Every core of the cluster declares the same arrays in the same order and gets the same bytes.
        """
        return self.core.declare_shared(dtype, count)

    def __getattr__(self, name: str) -> Any:
        """Raise `AttributeError` for an unknown name, with the intrinsic that was probably meant."""
        bare = name.lstrip("_")
        if bare.startswith("mluop_"):
            raise AttributeError(
                f"mlu has no {name!r}; helpers are functions: from mlusim.bang import {bare}, then {bare}(mlu, ...)"
            )
        guesses = near(bare, [n for n in dir(type(self)) if n[0] != "_"], beside="bang_")
        hint = _described().REPLACED.get(name) or (
            f"did you mean mlu.{' or mlu.'.join(guesses)}?"
            if guesses
            else "`mlusim isa` lists the intrinsics"
        )
        raise AttributeError(f"mlu has no {name!r}; {hint}")
