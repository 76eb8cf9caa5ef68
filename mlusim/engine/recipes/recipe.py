"""The recipe of a row on one kind of core, computed from the row and the policy of a launch.

All decisions about an instruction that do not depend on its arguments are made here, once for all engines.
"""

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.arch.board import Arch, Pipe
from mlusim.arch.dtypes import as_dtype
from mlusim.engine.recipes import actions
from mlusim.engine.recipes.copy_rows import Copy, copy_of
from mlusim.formula.render import to_python
from mlusim.isa.vv import BYTES as REGISTER
from mlusim.memory.space import GDRAM, GDRAM2GDRAM, NRAM2GDRAM, SRAM2SRAM
from mlusim.time.work import VECTOR_BYTES

if TYPE_CHECKING:
    from mlusim.engine.recipes.actions import Action
    from mlusim.isa.declare import Intrinsic, Operand


@frozen
class LaunchPolicy:
    """The decisions of a launch that apply to all its instructions on one kind of core.

    ``compiled`` is true for compiled code on a cluster with a memory core; there, instructions that belong to
    the other kind of core have no effect. With ``noted`` every instruction is recorded for timelines and
    source lines.
    """

    arch: Arch
    memory_core: bool = False
    compiled: bool = False
    noted: bool = False


@functools.lru_cache(maxsize=64)
def policies(arch: Arch, away: bool, noted: bool) -> tuple[LaunchPolicy, LaunchPolicy]:
    """Return the policies of a launch, for instructions on an IPU core and on a memory core.

    Equal arguments give the same objects, which are faster to compare. *away*: compiled code in which
    instructions of the other kind of core have no effect; *noted*: every instruction is recorded.
    """
    return LaunchPolicy(arch, False, away, noted), LaunchPolicy(arch, True, away, noted)


@frozen(eq=False)
class Recipe:
    """The actions of *row*, row *number* of the table, in order."""

    row: "Intrinsic"
    number: int
    policy: LaunchPolicy
    actions: tuple["Action | Copy", ...]


def recipe(row: "Intrinsic", number: int, policy: LaunchPolicy) -> Recipe:
    """Return the recipe of *row*, row *number* of the table, under *policy*."""
    return Recipe(row, number, policy, tuple(_Maker(row, policy).in_order()))


def lanes_of(row: "Intrinsic") -> int:
    """Return the index of the argument of *row* that is its element count or its copy direction; -1 if it has neither."""
    names = [p.name for p in row.given]
    if "direction" in names:
        return names.index("direction")
    lanes = to_python(row.cost.extent) if row.cost is not None else ""
    return names.index(lanes) if lanes in names else -1


class _Maker:
    def __init__(self, row: "Intrinsic", policy: LaunchPolicy) -> None:
        self.row, self.policy = row, policy
        self.generation = policy.arch.generation
        self.operands = tuple(row.operands.values())
        self.kinds = {p.name: p.kind for p in row.parameters}
        self.counts = tuple(p for p in row.given if p.kind == "count")
        self.plain = tuple(o for o in self.operands if self.kinds[o.name] != "either")

    def in_order(self) -> Iterator["Action | Copy"]:
        row, policy = self.row, self.policy
        if policy.compiled and row.form == "copy":
            yield actions.LeaveOthers(policy.memory_core)
        elif policy.compiled and policy.memory_core and not row.memory_core:
            yield actions.Nothing(None if row.returns == "None" else 0)
            return
        if policy.noted:
            yield actions.Note(lanes_of(row))
        if not row.available(policy.arch.bang_arch) or (policy.memory_core and not row.memory_core):
            yield actions.Refuse()
        elif row.form == "copy":
            yield copy_of(row)
        elif row.form in ("gather", "discrete"):
            moves = "update" if row.atomic else "move"
            yield (
                actions.AtOffsets("repeat", True) if row.offsets is None else actions.AtOffsets(moves, False)
            )
        else:
            yield from self._asked()
            yield from self._checks()
            yield from self._announced()
            yield actions.Count()
            yield from self._charges()
            yield from self._done()

    # -- resolving operands ------------------------------------------------------------------------

    def _asked(self) -> Iterator["Action"]:
        row = self.row
        if row.overload is not None:
            yield actions.PassOn(self.counts)
        yield actions.Integers(self.counts, padded=row.pipe is Pipe.VECTOR)
        typed = [how for how in dict.fromkeys(row.void.values()) if how in self.kinds]
        yield from map(actions.TypeOf, typed)
        for name, how in row.void.items():
            yield actions.Retype(name, how if how in typed else as_dtype(how))
        strides = {name for o in self.operands for name in o.stride_names}
        names = tuple(p.name for p in row.given if p.name in strides)
        if row.form in ("async", "strided"):
            yield actions.Strided(())
        elif names:
            yield actions.Strided(names)
        yield actions.Resolve(self.plain)

    # -- checks ----------------------------------------------------------------------------------

    def _checks(self) -> Iterator["Action"]:
        row = self.row
        conditions = [c for o in self.plain for c in self._conditions(o)]
        rules = (r for r in row.rules if not r.generations or self.generation in r.generations)
        yield actions.CheckAll((*conditions, *map(actions.Holds, rules)))
        lead = row.operands[row.same[0]] if row.same else next(iter(self.operands), None)
        for o in self.operands:
            if self.kinds[o.name] == "either":
                assert lead is not None
                check = actions.CheckAll(tuple(self._conditions(o)))
                yield actions.Either(o, lead, check, tuple(self._apart(o)))
        for o in self.plain:
            yield from self._apart(o)
        scalars = (p.name for p in row.given if p.kind == "value" and p.name not in row.void.values())
        if lead is not None and (names := tuple(scalars)):
            yield actions.Constants(names, lead)

    def _conditions(self, o: "Operand") -> Iterator[actions.Condition]:
        row = self.row
        first = row.operands[row.same[0]] if o.name in row.same else o
        like = None if first is o else first
        yield actions.OfKind(o, o.spaces, o.dtypes_on(self.generation), like)
        if like is None or o.extent != first.extent:  # one check covers all operands of equal extent
            yield actions.Filled(o)
        yield actions.Inside(o)
        if o.access != "read" and GDRAM in o.spaces:
            yield actions.Writable(o)
        if self.generation == 2 and o.name in row.aligned:
            yield actions.Aligned(o)

    def _apart(self, source: "Operand") -> Iterator[actions.Apart]:
        how = self.row.overlap_on(source.name, self.policy.arch.bang_arch)
        for target in self.operands:
            if how != "free" and target.access != "read" and set(target.spaces) & set(source.spaces):
                yield actions.Apart(target, source, how)

    # -- costs -----------------------------------------------------------------------------------

    def _charges(self) -> Iterator["Action"]:
        row = self.row
        if row.pipe is Pipe.SCALAR:
            if not row.control and row.form not in ("load", "store"):
                yield actions.ChargeScalar()
            return
        if row.form == "register":
            yield actions.ChargeRegisters(REGISTER // VECTOR_BYTES)
        if row.cost is None or row.cost.operand not in row.operands:
            return
        lead = row.operands[row.cost.operand]
        amount = actions.ChargedElements(lead, row.cost.extent, whole=row.cost.extent == lead.extent)
        if row.pipe is Pipe.VECTOR:
            yield actions.ChargeVector(amount, self._width(lead), row.passes, self.counts)
        elif row.pipe is Pipe.TENSOR:
            yield actions.ChargeTensor(amount)
        # Fills and atomics have no direction: they are charged as a copy that uses the same ports.
        elif row.pipe is Pipe.MOVE:
            yield actions.ChargeTransfer(amount, Pipe.MOVE, SRAM2SRAM, row.atomic)
        else:
            yield actions.ChargeTransfer(
                amount, Pipe.IO, GDRAM2GDRAM if row.atomic else NRAM2GDRAM, row.atomic
            )

    def _width(self, lead: "Operand") -> actions.Width:
        """Return the width (bytes) of the widest operand, which decides the charge; single bytes count as two per lane."""
        row = self.row
        beside = (
            o
            for o in self.operands
            if o.extent == lead.extent
            and self.kinds[o.name] == "tile"
            and o.name not in (lead.name, *row.same)
        )
        varied = len({d.size for o in self.operands for d in o.dtypes}) > 1
        narrow = any(d.size == 1 for d in lead.dtypes_on(self.generation)) and not row.void
        return actions.Width(lead, tuple(beside) if varied else (), 2 if narrow else 1)

    # -- effects ---------------------------------------------------------------------------------

    @property
    def _accesses(self) -> bool:
        """True for scalar loads and stores, which the core charges and announces like accesses through a pointer."""
        return self.row.form in ("load", "store")

    def _announced(self) -> Iterator["Action"]:
        if self.operands and not self._accesses:
            if self.row.pipe in (Pipe.IO, Pipe.MOVE):
                yield actions.Settle(self.row.pipe)
            yield actions.Announce(self.operands, tuple(p.name for p in self.row.given))

    def _done(self) -> Iterator["Action"]:
        row = self.row
        result = row.returns != "None"
        spun = [o for o in self.operands if o.access == "update"][:1] if row.polls and row.atomic else []
        yield from map(actions.KeepBefore, spun)
        if self._accesses:
            stored = next((p.name for p in row.given if p.kind == "value"), None)
            yield actions.AccessScalar(self.operands[0], stored)
        yield actions.CallBody(row.call, row.parameters, result)
        if self.operands and not self._accesses:
            yield actions.Retire(result)
        yield from map(actions.Spin, spun)
        if result:
            yield actions.ReturnResult()
