"""Statements that are instructions on the same elements, one after the other: rendered as one call that performs all of them at once.

Their arguments are computed before the first of them runs, so only those without effects count that none of the
instructions can change: numbers and pointers in variables, and what follows from them.  A call of a function that
consists of such instructions stands for them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from attrs import evolve, frozen

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import walk
from mlusim.bangc.native.emit import CWalker, in_cell, in_register
from mlusim.bangc.scalars import BINARY

_JUMPS = (ir.Break, ir.Continue, ir.Return, ir.Goto)


Call = TypeVar("Call")  # an instruction as the engine joins it


@frozen
class Joining(Generic[Call]):
    """How a program joins its instructions.

    *functions* are its functions by their symbols. *translated* makes of an instruction what the other three take, or
    None if it cannot be joined; *fits* returns whether one can be performed together with those before it, and *call*
    renders a call that performs all of some, or none, and returns whether it did; "" if it is not worth it. If *strict*,
    each argument of a function has to be that of an instruction, because it is tested.
    """

    functions: Mapping[str, ir.Function]
    translated: Callable[[ir.IntrinsicCall], Call | None]
    fits: Callable[[Sequence[Call], Call], bool]
    call: Callable[[Sequence[Call]], str]
    strict: bool = False

    def body(
        self, c: CWalker, nodes: Sequence[ir.Statement], render: Callable[[Sequence[ir.Statement]], list[str]]
    ) -> list[str]:
        """Return the statements *nodes* as *render* does, those that can be joined behind a call that performs them if it can."""
        lines: list[str] = []
        for calls, some in self._groups(_reached(nodes)):
            # What a block or a function consists of is joined there.
            call = self.call(calls) if calls and len(some) > 1 else ""
            if not call:
                lines += render(some)
                continue
            lines += c.located([f"if (!AT_ONCE_({call})) {{"], some[0])
            c.joining = None
            lines += [*render(some), "}"]
            c.joining = self
        return lines

    def _groups(self, nodes: Sequence[ir.Statement]) -> Iterator[tuple[list[Call], list[ir.Statement]]]:
        """Yield *nodes* in order in groups: those that can be joined with their instructions, others with none."""
        calls: list[Call] = []
        group: list[ir.Statement] = []
        for node in nodes:
            new = self._calls(node)
            if group and bool(new) is bool(calls) and self._fit(calls, new):
                calls += new
                group.append(node)
                continue
            if group:
                yield calls, group
            calls, group = new if self._fit(new[:1], new[1:]) else [], [node]
        if group:
            yield calls, group

    def _fit(self, calls: Sequence[Call], new: Sequence[Call]) -> bool:
        """Return whether all of *new* can be joined with *calls*."""
        return all(self.fits([*calls, *new[:n]], call) for n, call in enumerate(new))

    def _calls(self, node: ir.Statement) -> list[Call]:
        """Return the instructions that *node* is, if they may be joined with others; else none."""
        if not isinstance(node, ir.Evaluate | ir.Block):
            return []
        calls: list[Call] = []
        for part in _instructions(node, self.functions, strict=self.strict):
            call = None if part is None else self.translated(part)
            if call is None:
                return []
            calls.append(call)
        return calls


def _reached(nodes: Sequence[ir.Statement]) -> Sequence[ir.Statement]:
    """Return *nodes* up to the first that always leaves them."""
    ends = (n for n, node in enumerate(nodes, 1) if isinstance(node, _JUMPS))
    return nodes[: next(ends, len(nodes))]


def _instructions(
    node: ir.Statement, functions: Mapping[str, ir.Function], *, strict: bool
) -> Iterator[ir.IntrinsicCall | None]:
    """Yield the instructions that *node* consists of; None for anything else."""
    value = node.value if isinstance(node, ir.Evaluate) else None
    if isinstance(node, ir.Block):
        for inner in node.body:
            yield from _instructions(inner, functions, strict=strict)
    elif isinstance(value, ir.IntrinsicCall):
        yield value
    elif isinstance(value, ir.Call) and value.symbol in functions:
        yield from _called(value, functions[value.symbol], strict=strict)
    else:
        yield None


def _called(node: ir.Call, function: ir.Function, *, strict: bool) -> Iterator[ir.IntrinsicCall | None]:
    """Yield the instructions of *function*, which *node* calls, with the arguments in place of its parameters."""
    values = dict(zip(function.parameters, node.arguments, strict=False))
    simple = len(node.arguments) == len(function.parameters) and all(
        in_register(p) and p.type == a.type and lasts(a) for p, a in values.items()
    )
    if strict:
        loads = (n.place for n in walk(function.body) if isinstance(n, ir.Load))
        used = {place.local for place in loads if isinstance(place, ir.LocalStorage)}
        simple = simple and all(p in used or isinstance(a, ir.Const) for p, a in values.items())
    for part in function.body if simple and function.problem is None else ():
        for call in _instructions(part, {}, strict=strict):
            if call is None or not all(map(lasts, call.arguments)):
                yield None
            else:
                yield evolve(call, arguments=tuple(_with(a, values) for a in call.arguments))
    if not simple or not function.body:
        yield None


def lasts(node: ir.Expr) -> bool:
    """Return whether computing *node* has no effect and cannot fail, and no instruction changes its value."""
    if isinstance(node, ir.Const | ir.Builtin):
        return True
    if isinstance(node, ir.Load):
        place = node.place
        return (
            isinstance(place, ir.LocalStorage)
            and isinstance(place.type, t.Arithmetic | t.Pointer)
            and (in_register(place.local) or in_cell(place.local))
        )
    if isinstance(node, ir.AddressOf):
        return isinstance(node.place, ir.LocalStorage | ir.GlobalPlace)
    if isinstance(node, ir.Convert | ir.Unary):
        return lasts(node.value)
    if isinstance(node, ir.Offset):
        return not node.referred and lasts(node.pointer) and lasts(node.count)
    return (
        isinstance(node, ir.Binary)
        and not BINARY[node.op].c  # those that a function computes may fail
        and lasts(node.left)
        and lasts(node.right)
    )


def _with(node: ir.Expr, values: Mapping[ir.Local, ir.Expr]) -> ir.Expr:
    """Return *node* with *values* in place of the variables that have them."""
    if isinstance(node, ir.Load) and isinstance(node.place, ir.LocalStorage):
        return values.get(node.place.local, node)
    if isinstance(node, ir.Convert | ir.Unary):
        return evolve(node, value=_with(node.value, values))
    if isinstance(node, ir.Offset):
        return evolve(node, pointer=_with(node.pointer, values), count=_with(node.count, values))
    if isinstance(node, ir.Binary):
        return evolve(node, left=_with(node.left, values), right=_with(node.right, values))
    return node
