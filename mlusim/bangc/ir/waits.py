"""Classifies the scalar loads of a function by the wait that they cause; both engines count loads by these classes.

A core issues in order and waits when the data of a load is used. So the loads in one straight piece of code
share one wait, if no address depends on another of these loads. Each iteration of a loop is such a piece,
unless the compiler unrolls the loop. A branch whose test depends on a load of the same iteration waits for
the data.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import inner_names, walk
from mlusim.time.quantities import DECIDES, HIDDEN, WAITED

WRITTEN_OUT = 300  # most operations of a loop that a compiler unrolls completely (LLVM at -O3)
_TURN = 2  # operations per iteration beside the body: the address, the counter
_CALLED = 30  # operations counted for a call


def waits_of(function: ir.Function) -> Mapping[int, int]:
    """Return the class of each load of a number from memory in *function*, by node id: `HIDDEN`, `WAITED` or `DECIDES`."""
    reading = _Reading()
    reading.statements(function.body)
    reading.ends()
    return reading.marks


@define
class _Value:
    """The wait for a value: the number of dependent loads in this piece of code, and the last load in this iteration."""

    level: int = 0
    load: ir.Load | ir.Update | None = None

    def beside(self, other: "_Value") -> "_Value":
        """Return the wait for both values together."""
        return _Value(max(self.level, other.level), other.load or self.load)


@define(eq=False)
class _Reading:
    """The state while a function is read in order; ``turn`` is the enclosing loop, ``chained`` whether an address in it depends on a load."""

    marks: dict[int, int] = field(factory=dict)
    turn: ir.Loop | None = None
    chained: bool = False
    constants: dict[ir.Local, int] = field(factory=dict)
    _held: dict[ir.Local, _Value] = field(factory=dict)
    _groups: dict[int, list[Any]] = field(factory=dict)  # loads of this piece of code, by level
    _turns: dict[int, Any] = field(factory=dict)  # the enclosing loop of each load
    _deciding: set[int] = field(factory=set)

    def ends(self) -> None:
        """End a straight piece of code: on each level the core waits for the last load only, during which the others arrive."""
        for loads in self._groups.values():
            for load in loads:
                self.marks[id(load)] = HIDDEN
            decides = any(id(load) in self._deciding for load in loads)
            self.marks[id(loads[-1])] = DECIDES if decides else WAITED
        self._groups.clear()
        for value in self._held.values():
            value.level = 0

    # -- values ------------------------------------------------------------------------------------

    def value(self, node: object) -> _Value:
        """Read an expression or a place, and return the wait for its value."""
        if isinstance(node, ir.Load | ir.Update) and is_number_in_memory(node.place):
            address = self.value(node.place)
            if isinstance(node, ir.Update):
                self.value(node.value)
            return self._loads(node, address)
        if isinstance(node, ir.LocalStorage):
            held = self._held.get(node.local)
            return _Value() if held is None else _Value(held.level, held.load)
        if isinstance(node, ir.Assign | ir.Update) and isinstance(node.place, ir.LocalStorage):
            return self._given(node.place.local, node.value, update=isinstance(node, ir.Update))
        if isinstance(node, ir.Logical):
            left = self.value(node.left)
            self._decided_by(left)
            return left.beside(self.value(node.right))
        wait = self._all(_parts(node))
        if isinstance(node, ir.IntrinsicCall):  # an instruction may change memory
            self.ends()
        return wait

    def _all(self, nodes: Iterable[object]) -> _Value:
        wait = _Value()
        for node in nodes:
            wait = wait.beside(self.value(node))
        return wait

    def _loads(self, node: ir.Load | ir.Update, address: _Value) -> _Value:
        self.chained |= address.load is not None
        self._groups.setdefault(address.level, []).append(node)
        self._turns[id(node)] = self.turn
        return _Value(address.level + 1, node)

    def _given(self, local: ir.Local, value: ir.Expr, *, update: bool = False) -> _Value:
        if isinstance(value, ir.Const) and isinstance(value.value, int) and not update:
            self.constants[local] = value.value
        else:
            self.constants.pop(local, None)
        wait = self.value(value)
        if update and local in self._held:
            wait = self._held[local].beside(wait)
        self._held[local] = wait
        return _Value(wait.level, wait.load)

    def _decided_by(self, test: _Value) -> None:
        """Record that a branch waits for *test*, if that was loaded in the same iteration."""
        if test.load is not None and self._turns.get(id(test.load)) is self.turn:
            self._deciding.add(id(test.load))
            if id(test.load) in self.marks:  # its piece of code has ended
                self.marks[id(test.load)] = DECIDES

    # -- statements --------------------------------------------------------------------------------

    def statements(self, body: tuple[Any, ...]) -> None:
        """Read statements in order."""
        for node in body:
            self._statement(node)

    def _statement(self, node: object) -> None:
        match node:
            case ir.Declare():
                if node.value is not None:
                    self._given(node.local, node.value)
            case ir.If():
                self._decided_by(self.value(node.test))
                self._apart(node.then, node.other)
            case ir.Switch():
                self._decided_by(self.value(node.value))
                self._apart(*(section.body for section in node.sections))
            case ir.Loop():
                self._loop(node)
            case ir.Block():
                self.statements(node.body)
            case ir.Labelled():
                self._apart(*node.sections)
            case ir.Finally():
                self._apart(node.body, node.last)
            case _:
                self._all(_parts(node))

    def _apart(self, *bodies: tuple[Any, ...]) -> None:
        """Read *bodies*, each as a separate piece of code."""
        self.ends()
        for body in bodies:
            self.statements(body)
            self.ends()

    def _loop(self, node: ir.Loop) -> None:
        self.ends()
        turns = _turns_of(node, self.constants)
        inside = walk((node.body, node.step or ()))
        around, chained, outer = self.turn, self.chained, self._held
        self.turn, self.chained = node, False
        self._held = dict(_carried(inside))
        for n in inside:
            if isinstance(n, ir.Assign | ir.Update) and isinstance(n.place, ir.LocalStorage):
                self.constants.pop(n.place.local, None)
        if node.test is not None and not node.late:
            self._decided_by(self.value(node.test))
            self.ends()
        self.statements(node.body)
        if node.step is not None:
            self.value(node.step)
        if node.test is not None and node.late:
            self._decided_by(self.value(node.test))
        self.ends()
        loads = [n for n in inside if id(n) in self.marks]
        written_out = node.unrolled or turns * (_operations(inside) + _TURN) <= WRITTEN_OUT
        steady = not self.chained and not any(self.marks[id(n)] == DECIDES for n in loads)
        if turns and written_out and steady and not any(isinstance(n, ir.Loop) for n in inside):
            self.marks.update((id(n), HIDDEN) for n in loads)
        self.turn, self.chained = around, self.chained or chained
        self._held = {**outer, **self._held}


def _parts(node: Any) -> list[Any]:
    """Return the child nodes of *node*, a tuple of nodes or a node."""
    parts = (
        node
        if node.__class__ is tuple
        else [getattr(node, name) for name in inner_names(node.__class__) or ()]
    )
    return [part for part in parts if part.__class__ is tuple or inner_names(part.__class__) is not None]


def is_number_in_memory(place: object) -> bool:
    """Return whether *place* is an element of memory with a number; only loads of such places are classified."""
    return isinstance(place, ir.Element) and isinstance(place.type, t.Arithmetic)


def _carried(nodes: list[Any]) -> Mapping[ir.Local, _Value]:
    """Return the variables to which the loop *nodes* assign loaded values: the next iteration uses them."""
    carried = {}
    for node in nodes:
        if isinstance(node, ir.Assign | ir.Update) and isinstance(node.place, ir.LocalStorage):
            loads = [
                n
                for n in walk(node.value)
                if isinstance(n, ir.Load | ir.Update) and is_number_in_memory(n.place)
            ]
            if loads:
                carried[node.place.local] = _Value(0, loads[-1])
    return carried


def _turns_of(node: ir.Loop, constants: Mapping[ir.Local, int]) -> int:
    """Return the number of iterations of a loop that counts from a constant to a constant; 0 if it is unknown."""
    test, step = node.test, node.step
    if node.late or not isinstance(test, ir.Compare) or not isinstance(step, ir.Update):
        return 0
    counter, last, by = _plain(test.left), _plain(test.right), _plain(step.value)
    if (
        not isinstance(step.place, ir.LocalStorage)
        or not isinstance(last, ir.Const)
        or not isinstance(by, ir.Const)
    ):
        return 0
    local = step.place.local
    same = (
        isinstance(counter, ir.Load)
        and isinstance(counter.place, ir.LocalStorage)
        and counter.place.local is local
    )
    first = constants.get(local)
    if not same or first is None or not isinstance(last.value, int) or not by.value:
        return 0
    ends = last.value + (test.op in ("<=", ">="))
    return max(0, -(-abs(ends - first) // abs(int(by.value))))


def _plain(node: object) -> object:
    while isinstance(node, ir.Convert):
        node = node.value
    return node


def _operations(nodes: list[Any]) -> int:
    """Estimate the number of operations that a compiler generates for *nodes*; indices are constants in unrolled code."""
    indices = {id(n) for node in nodes if isinstance(node, ir.Element) for n in walk(node.index)}
    count = 0
    for node in nodes:
        if id(node) in indices:
            continue
        stores = isinstance(node, ir.Assign | ir.Update) and is_number_in_memory(node.place)
        loads = isinstance(node, ir.Load | ir.Update) and is_number_in_memory(node.place)
        count += stores + loads + isinstance(node, ir.Binary | ir.Compare | ir.Update | ir.If)
        count += _CALLED * isinstance(node, ir.Call | ir.LibraryCall | ir.IntrinsicCall | ir.Invoke)
    return count
