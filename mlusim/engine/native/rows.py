"""Which rows have a body in C."""

import functools
from collections.abc import Mapping
from types import MappingProxyType

from mlusim.arch.board import Arch
from mlusim.arch.dtypes import DType, float32, int32, uint32
from mlusim.engine.native.door import NativeArgument, Use, door
from mlusim.isa.declare import Intrinsic, Parameter
from mlusim.isa.table import ISA
from mlusim.time.log import FOR_ALL, FOR_IO, FOR_MOVE

_PIPES = {"all": FOR_ALL, "io": FOR_IO, "move": FOR_MOVE}
# The rows that only wait for pipes, and for which.
WAITS: Mapping[str, int] = MappingProxyType(
    {row.name: _PIPES[row.native[1]] for row in ISA.values() if row.native and row.native[0] == "wait"}
)
# The rows that wait for other cores, and which kind of core does; Python knows who they are.
MEETS: Mapping[str, str] = MappingProxyType(
    {row.name: row.native[1] for row in ISA.values() if row.native and row.native[0] == "meet"}
)
# Rows of vector registers, whose C is in registers.h.
REGISTERS = frozenset({row.name for row in ISA.values() if row.form == "register"} | {"vv_store"})
# Rows that the run-time itself performs.
RUN_TIME = frozenset({"memcpy", "memcpy_async", "sync_compute", "is_mpu", "is_ipu", *WAITS, *REGISTERS})


class _Asker:
    """Takes down which barrier a row asks for."""

    asked = "", ""

    def barrier(self, name: str, scope: str) -> None:
        """Name the barrier that a core would go to."""
        self.asked = name, scope


@functools.cache
def barrier(name: str) -> tuple[str, str]:
    """Return the spelling and the scope of the barrier that the row *name* is."""
    asker = _Asker()
    ISA[name].body(asker)
    return asker.asked


def is_native(row: Intrinsic, arch: Arch) -> bool:
    """Return whether the native engine has *row* in C on *arch*, for some element type at least."""
    if row.name in RUN_TIME:
        return True
    return any(door(use, arch) is not None for use in _uses(row))


def _uses(row: Intrinsic) -> list[Use]:
    """Return the calls of *row* with operands of each type, without what may be left out."""
    lead = next(
        (o for o in row.operands.values() if o.name in row.same), next(iter(row.operands.values()), None)
    )
    made = []
    for dtype in lead.dtypes if lead is not None else (float32, uint32):
        given = []
        for p in row.given:
            if p.default is None:
                break
            operand = row.operands.get(p.name)
            if operand is not None:
                fitting = [d for d in operand.dtypes if d.size == dtype.size] or operand.dtypes
                own = dtype if p.name in row.same or not fitting else fitting[0]
                given.append(NativeArgument(True, None if p.name in row.void else own))
            elif p.name == "pointer":
                given.append(NativeArgument(True, None))
            else:
                given.append(NativeArgument(False, _number(row, p, dtype)))
        made.append(Use(row.name, tuple(given)))
    return made


def _number(row: Intrinsic, p: Parameter, dtype: DType) -> DType:
    """Return the type of a number that is given for *p*."""
    if p.kind == "value" or p.name in row.void.values():
        return dtype
    return int32 if p.kind == "count" or row.operands else dtype
