"""Software pipelining of loops: an iteration computes while the next one's loads and the last one's stores are in flight.

Blocks that such a loop loads or stores exist twice in NRAM and are used alternately. An iteration starts the
loads of the next one, computes, waits for both (``__sync``), and starts its stores; loads and stores share
one pipe, in order.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, evolve, frozen

from mlusim.triton import control
from mlusim.triton.copies import LOAD, STORE, TileCopy, stored, window_of
from mlusim.triton.lowering import KernelLowering, Lowered, Operations, every, result_of
from mlusim.triton.text import NRAM, TextLine
from mlusim.triton.ttir import JitFunction, TtirOperation, count
from mlusim.triton.values import BYTES, Mask, Ramp, ScalarValue, Tile, Uniform, Value

FORMULAS = (
    "arith.", "tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.make_range", "tt.reshape", "tt.trans", "tt.unsplat",
)  # fmt: skip
"""Prefixes of operations that read no memory, so that they may be computed one iteration early."""
MEMORY = ("tt.load", "tt.store", "tt.atomic")
SAME_MEMORY = "it stores to what it loads"
DEPENDS = "where it loads depends on what it loads or computes"
UNKNOWN_ROUND = (
    "whether a while loop has a next round is known when it begins; write it as `for ... in range(...)`"
)
OTHER = "its loads have an `other` that is not a number from outside of the loop"


def stages_of(low: KernelLowering, op: TtirOperation) -> int:
    """Return the number of stages of a loop: its own, from ``tl.range``, or that of the kernel."""
    stages = re.search(r"tt\.num_stages = (\d+)", op.attributes)
    return int(stages[1]) if stages is not None else low.num_stages


def loop(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``scf.for``: with two or more stages as a pipeline, if its loads and stores permit that."""
    if stages_of(low, op) < 2:
        return control.loop(low, op)
    plan = _plan(op, low.function, low.values)
    low.text.place = op.place or low.text.place
    for reason in plan.reasons:
        low.text.note(
            f"with num_stages {stages_of(low, op)}: loads of this loop are not started early: {reason}"
        )
    return _Pipeline(low, op, plan).write() if plan.loads or plan.stores else control.loop(low, op)


# -- which loads can be early, and which stores late ---------------------------------------------------


@frozen
class _Plan:
    """The loads that start one iteration early, the stores that are not waited for, and the reasons why other loads are not early."""

    loads: tuple[TtirOperation, ...]
    stores: tuple[TtirOperation, ...]
    reasons: tuple[str, ...]


def _parts(op: TtirOperation) -> tuple[list[TtirOperation], tuple[str, ...]]:
    """Return the operations of an iteration, and the names of the values for the next one; a loop without carried values has no yield."""
    body = op.regions[0]
    if body and body[-1].name == "scf.yield":
        return body[:-1], tuple(body[-1].operands)
    return body, ()


def _plan(op: TtirOperation, function: JitFunction, values: Mapping[str, Value]) -> _Plan:
    body, memory = (
        op.regions[0],
        [operation for operation in every(op.regions[0]) if operation.name.startswith(MEMORY)],
    )
    origin = _Origins(function)
    written = {origin.of(operation) for operation in memory if operation.name != "tt.load"}
    loads, reasons = [], dict[str, None]()
    for operation in body:
        if operation.name != "tt.load" or not result_of(operation)[0]:
            continue
        reason = _against(operation, op, written, origin, values)
        loads += [operation] if reason is None else []
        reasons |= {} if reason is None else {reason: None}
    # A store may end late if no other operation on its pipe accesses the same memory.
    others = {
        origin.of(operation)
        for operation in memory
        if operation not in loads and not _is_late(operation, body)
    }
    late = [operation for operation in body if _is_late(operation, body)]
    apart = [
        operation for operation in late if not {origin.of(operation), ""} & others and origin.of(operation)
    ]
    return _Plan(tuple(loads), tuple(apart if len(apart) == len(late) else ()), tuple(reasons))


def _is_late(operation: TtirOperation, body: Sequence[TtirOperation]) -> bool:
    return (
        operation.name == "tt.store"
        and "tensor" in " ".join(operation.types)
        and any(operation is direct for direct in body)
    )


def _against(
    load: TtirOperation, op: TtirOperation, written: set[str], origin: "_Origins", values: Mapping[str, Value]
) -> str | None:
    """Return the reason why *load* cannot start one iteration early, or None."""
    if _early(load.operands, op) is None:
        return DEPENDS
    if written & {origin.of(load), ""}:
        return SAME_MEMORY
    other = load.operands[2:3]
    return None if all(isinstance(values.get(name), Uniform | ScalarValue) for name in other) else OTHER


@frozen
class _Early:
    """The operations that compute the addresses of the next iteration's loads: those that update carried values, and the others."""

    carried: tuple[str, ...]
    names: frozenset[str]


def _early(operands: Iterable[str], op: TtirOperation) -> _Early | None:
    """Return the operations that compute *operands* for the next iteration from this one's values; None if they read memory or are not formulas."""
    body, ends = _parts(op)
    makers = {name: operation for operation in body for name in operation.results}
    nexts = dict(zip(op.arguments[0][1:], ends, strict=True))
    names, carried, waiting = set[str](), dict[str, None](), [*operands]
    while waiting:
        name = waiting.pop()
        if name in names or name in carried:
            continue
        if name in nexts:
            carried[name] = None
            waiting.append(nexts[name])
        elif name in makers:
            if not makers[name].name.startswith(FORMULAS):
                return None
            names.add(name)
            waiting += makers[name].operands
    return _Early(tuple(carried), frozenset(names))


class _Origins:
    """The parameter from which each pointer of a function is computed; "" if unknown."""

    def __init__(self, function: JitFunction) -> None:
        self._from = {name: name for name, kind in function.parameters if kind.startswith("!tt.ptr")}
        for operation in every(function.body):
            if operation.name == "scf.for":
                pairs = zip(operation.arguments[0][1:], operation.operands[3:], strict=False)
                self._from |= {inner: self._from.get(outer, "") for inner, outer in pairs}
                self._from |= {
                    r: self._from.get(o, "")
                    for r, o in zip(operation.results, operation.operands[3:], strict=False)
                }
            elif operation.name.startswith(FORMULAS) and operation.operands:
                first = self._from.get(operation.operands[0], "")
                self._from |= dict.fromkeys(operation.results, first)

    def of(self, operation: TtirOperation) -> str:
        """Return the parameter behind the pointer of a load, a store or an atomic."""
        return self._from.get(operation.operands[0], "")


# -- generating the text -------------------------------------------------------------------------------


@define
class _Ahead:
    """A load that starts early: *block* is this iteration's copy, *both* the block with both copies, *elements* apart.

    *other* is the value of masked lanes, *partial* is true with a mask, *turned* is the block that remains to
    be transposed.
    """

    op: TtirOperation
    block: Tile
    both: str
    elements: int
    other: str | None
    partial: bool = False
    turned: tuple[int, int] | None = None

    def half(self, turn: str) -> str:
        """Return the address of copy 0 or 1."""
        return f"{self.both} + {turn} * {self.elements}"


class _Pipeline:
    """The lowering of one loop."""

    def __init__(self, low: KernelLowering, op: TtirOperation, plan: _Plan) -> None:
        self.low, self.text, self.op, self.plan = low, low.text, op, plan
        self.body, self.nexts = _parts(op)
        self.turn = self.text.name("turn")  # alternates between 0 and 1
        self.early = _early([name for load in plan.loads for name in load.operands], op)
        self.ahead = [self._buffer(load) for load in plan.loads]
        self.pointers: list[str] = []  # of this iteration, declared at its start
        self.kept: list[str] = [ahead.both for ahead in self.ahead]

    def _buffer(self, load: TtirOperation) -> _Ahead:
        shape, kind = result_of(load)
        block = self.text.block(kind, shape, "load", word=load.results[0])
        both, elements = self.text.doubled(block.name)
        other = self.low.values[load.operands[2]] if len(load.operands) > 2 else None
        number = other.c if isinstance(other, Uniform | ScalarValue) else None
        return _Ahead(load, block, both, elements, number)

    def write(self) -> Lowered:
        """Write the code before the loop, the loop, and the wait after it."""
        low, text = self.low, self.text
        first, last, step, *initial = low.operands(self.op)
        index, *names = self.op.arguments[0]
        carried = control.carried_values(low, initial, names, self.op.regions[0])
        assert isinstance(first, ScalarValue)
        assert isinstance(last, ScalarValue)
        assert isinstance(step, ScalarValue)
        low.values |= {**dict(zip(names, carried, strict=True)), index: first}
        self._before(f"{first.c} < {last.c}")
        counter = text.name(index)
        low.values[index] = ScalarValue(counter, first.type)
        head = f"for ({first.type} {counter} = {first.c}; {counter} < {last.c}; {counter} += {step.c})"
        with text.inside(head, loop=True):
            begin = text.placeholder()
            if self.ahead:
                with text.inside(f"if ({counter} + {step.c} < {last.c})"):
                    self._next(index, ScalarValue(f"({counter} + {step.c})", first.type))
            self._round(begin, carried)
        # Naming both copies here keeps them alive until all transfers are complete.
        text.line(f"__sync();  // {', '.join(self.kept)}")
        return carried

    def _before(self, test: str) -> None:
        """Fill masked lanes, and start the loads of the first iteration."""
        filled = [ahead for ahead in self.ahead if ahead.other is not None]
        for ahead in filled:
            all_of_it = (2 * ahead.elements,)
            self.low.fill(evolve(ahead.block, name=ahead.both, held=all_of_it), ahead.other or "0")
        if filled:  # the fill uses another pipe than the loads
            self.text.line("__sync();")
        if self.ahead:
            with self.text.inside(f"if ({test})"):
                self._fetch({ahead.both: ahead.both for ahead in self.ahead})
            self.text.line("__sync();")
        self.text.line(f"int {self.turn} = 0;")

    def _next(self, index: str, following: ScalarValue) -> None:
        """Start the loads of the next iteration, with its values."""
        low = self.low
        before = dict(low.values)
        assert self.early is not None
        if self.early.carried:
            nexts = dict(zip(self.op.arguments[0][1:], self.nexts, strict=True))
            low.body([operation for operation in self.body if self.early.names & {*operation.results}])
            low.values |= {name: low.values[nexts[name]] for name in self.early.carried}
        low.values[index] = following
        targets = {}
        for ahead in self.ahead:
            targets[ahead.both] = name = self.text.name(f"{ahead.block.name}_next")
            self.text.line(f"{ahead.block.type} *{name} = {ahead.half(f'(1 - {self.turn})')};")
        self._fetch(targets)
        low.values = before

    def _fetch(self, targets: Mapping[str, str]) -> None:
        """Start the loads into *targets*, pointers into the blocks with both copies."""
        assert self.early is not None
        low = self.low
        low.body([operation for operation in self.body if self.early.names & {*operation.results}])
        for ahead in self.ahead:
            self.text.place = ahead.op.place or self.text.place
            pointer, mask = [*low.operands(ahead.op), None][:2]
            assert isinstance(pointer, Ramp)
            window = window_of(low, mask, pointer.shape)
            copy = TileCopy(low, evolve(ahead.block, name=targets[ahead.both]), LOAD, waits=False)
            copy.write(pointer, window)
            ahead.partial, ahead.turned = window is not None, copy.turned

    def _round(self, begin: TextLine, carried: Sequence[Value]) -> None:
        """Write the computations and stores of an iteration, and the values for the next one."""
        low, text = self.low, self.text
        before = text.blocks()
        stores = []
        for operation in self.body:
            text.place = operation.place or text.place
            if any(operation is load for load in self.plan.loads):
                low.values[operation.results[0]] = self._arrived(
                    next(a for a in self.ahead if a.op is operation)
                )
            elif any(operation is store for store in self.plan.stores):
                stores.append(self._held(operation, before))
            elif not self._is_idle(operation):
                low.body([operation])
        for load in self.ahead:
            text.place = load.op.place or text.place
            if load.other is not None and load.partial:
                low.fill(load.block, load.other)
        text.line("__sync();")
        for store, pointer, block, window in stores:
            text.place = store.place or text.place
            TileCopy(low, block, STORE, waits=False).write(pointer, window)
        text.place = self.op.place or text.place
        control.assign(low, carried, [low.values[name] for name in self.nexts])
        text.line(f"{self.turn} = 1 - {self.turn};  // {', '.join(self.kept)}")
        begin.text = " ".join(self.pointers)

    def _is_idle(self, operation: TtirOperation) -> bool:
        """Return whether only early loads need the results of *operation*."""
        readers = [r for r in every(self.op.regions[0]) if {*r.operands} & {*operation.results}]
        only = self.early is not None and bool(self.early.names & {*operation.results})
        return only and all(any(r is load for load in self.plan.loads) or self._is_idle(r) for r in readers)

    def _arrived(self, ahead: _Ahead) -> Tile:
        """Return the block that was loaded for this iteration."""
        block = ahead.block
        self.pointers.append(f"{block.type} *{block.name} = {ahead.half(self.turn)};")
        if ahead.turned is None:
            return block
        wide, high = ahead.turned
        out = self.text.block(block.type, block.shape, "load", word=block.name)
        self.text.line(f"__bang_transpose({out.name}, {block.name}, {wide}, {high});", out.name)
        return out

    def _held(
        self, store: TtirOperation, before: frozenset[str]
    ) -> tuple[TtirOperation, Ramp, Tile, Mask | None]:
        """Return a store whose source block is not overwritten by the next iteration."""
        text = self.text
        pointer, block, window = stored(self.low, store)
        # Only a block that every iteration creates again: another block may change while the store is in
        # flight.
        if block.name in before or block.name not in text.blocks(NRAM):
            copy = text.block(block.type, block.shape, "store", word=block.name, logic=block.logic)
            size = count(block.shape) * BYTES[block.type]
            text.line(f"__bang_move({copy.name}, {block.name}, {size});")
            block = copy
        both, elements = text.doubled(block.name)
        self.kept.append(both)
        self.pointers.append(f"{block.type} *{block.name} = {both} + {self.turn} * {elements};")
        return store, pointer, block, window


def while_loop(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``scf.while`` without a pipeline; if stages are requested, add a note about it."""
    low.text.place = op.place or low.text.place
    loads = [
        operation
        for region in op.regions
        for operation in every(region)
        if operation.name == "tt.load" and result_of(operation)[0]
    ]
    if low.num_stages > 1 and loads:
        low.text.note(
            f"with num_stages {low.num_stages}: loads of this loop are not started early: {UNKNOWN_ROUND}"
        )
    return control.while_loop(low, op)


OPERATIONS: Operations = {"scf.for": loop, "scf.while": while_loop}
