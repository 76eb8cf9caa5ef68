"""The returns of a screened kernel, and of the functions below it that may reach a barrier: for tasks that never come to one."""

from collections.abc import Mapping, Sequence, Set as AbstractSet

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import walk
from mlusim.bangc.native.emit import CWalker
from mlusim.kernel_frames import own_file

BARRIERS = ("sync_all", "sync_cluster")  # the beginnings of the names of all barriers


def returned(c: CWalker, span: ir.Span) -> list[str]:
    """Return the line that records a return at *span* from the current function, if it may reach a barrier."""
    if c.symbol not in c.reaching:
        return []
    return [f"returns_(m, {c.returns.setdefault((c.within, c.site(span)), len(c.returns))});"]


def reaching(
    kernel: ir.Function, forms: Sequence[ir.Function], called: Mapping[str, AbstractSet[str]]
) -> frozenset[str]:
    """Return the symbols of *kernel* and of those of *forms* that may reach a barrier; *called* has the functions that each may call."""
    reach = {
        form.symbol
        for form in forms
        if any(isinstance(n, ir.IntrinsicCall) and n.row.startswith(BARRIERS) for n in walk(form.body))
    }
    more = True
    while more:
        further = {symbol for symbol, callees in called.items() if symbol not in reach and callees & reach}
        reach |= further
        more = bool(further)
    return frozenset(reach | {kernel.symbol})


def hidden(reach: AbstractSet[str], form: ir.Function, pointed: AbstractSet[str]) -> bool:
    """Return whether *form* has calls or returns of the functions *reach* that C cannot follow as Python follows its frames.

    These are calls by pointer, virtual ones, those from functions of mlusim's own, and returns on which objects end.
    """
    for node in walk(form.body):
        if isinstance(node, ir.Finally) and form.symbol in reach:
            return True
        if isinstance(node, ir.Invoke) and pointed & reach:
            return True
        if isinstance(node, ir.Dispatch) and not reach.isdisjoint(node.targets.values()):
            return True
        odd = own_file(form.span.file) or isinstance(getattr(node, "type", None), t.VectorRegister)
        if isinstance(node, ir.Call) and node.symbol in reach and odd:
            return True
    return False
