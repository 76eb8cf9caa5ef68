"""Elements are not bytes: finding the places where a formula mixes them."""

from attrs import frozen

from mlusim.formula.expr import (
    ADD,
    CEIL,
    DIV,
    DOWN,
    MAX,
    MIN,
    MUL,
    SUB,
    UP,
    Amount,
    BoardConst,
    Expr,
    Operation,
    SizeOf,
    Unit,
)


@frozen
class UnitFault:
    """A place where units do not meet: *where* is the smallest formula that mixes, *why* the sentence."""

    where: Expr
    why: str


def unit(expr: Expr) -> Unit | None:
    """Return the unit of *expr*; None for 0, which fits both.  A mixed sum counts as bytes."""
    if isinstance(expr, Amount):
        return None if expr.value == 0 else expr.unit
    if isinstance(expr, BoardConst):
        return expr.unit
    if isinstance(expr, SizeOf):
        return Unit.BYTES
    if not isinstance(expr, Operation):
        return Unit.COUNT
    units = [unit(a) for a in expr.args]
    if expr.op in {DIV, CEIL}:
        return Unit.COUNT if units[1] is Unit.BYTES else units[0]
    if expr.op in {UP, DOWN}:
        return units[0]
    if Unit.BYTES in units:
        return Unit.BYTES
    return None if all(u is None for u in units) else Unit.COUNT


def _mixed(expr: Operation) -> UnitFault | None:
    units = {unit(a) for a in expr.args} - {None}
    if len(units) < 2:
        return None
    elements = next(a for a in expr.args if unit(a) is Unit.COUNT)
    nbytes = next(a for a in expr.args if unit(a) is Unit.BYTES)
    meets = {ADD: "is added to", SUB: "and", UP: "pads", DOWN: "pads"}.get(expr.op, "is compared with")
    tail = " are subtracted" if expr.op is SUB else ""
    cure = (
        f"write nbytes({elements}) if it is a number of bytes, {elements}*sizeof(...) if it counts elements"
        if isinstance(elements, Amount)
        else f"multiply {elements} by the sizeof of its elements"
    )
    if expr.op in {UP, DOWN}:
        first, second = expr.args
        one, two = ("elements", "bytes") if unit(first) is Unit.COUNT else ("bytes", "elements")
        return UnitFault(expr, f"{first} ({one}) is padded to a multiple of {second} ({two}); {cure}")
    return UnitFault(
        expr, f"{elements} (elements) {meets} {nbytes} (bytes){tail}: a sizeof is missing; {cure}"
    )


def unit_faults(expr: Expr) -> tuple[UnitFault, ...]:
    """Return every place in *expr* where elements meet bytes, or where bytes are multiplied by bytes."""
    if not isinstance(expr, Operation):
        return ()
    found = [f for a in expr.args for f in unit_faults(a)]
    if expr.op in {ADD, SUB, MIN, MAX, UP, DOWN}:
        fault = _mixed(expr)
        found += [fault] if fault else []
    if expr.op is MUL and all(unit(a) is Unit.BYTES for a in expr.args):
        first, second = expr.args
        found.append(
            UnitFault(expr, f"{first} and {second} are both bytes: a sizeof is there twice; take one out")
        )
    if expr.op in {DIV, CEIL} and unit(expr.args[0]) is Unit.COUNT and unit(expr.args[1]) is Unit.BYTES:
        first, second = expr.args
        found.append(
            UnitFault(
                expr, f"{first} (elements) is divided by {second} (bytes); divide a number of bytes by it"
            )
        )
    return tuple(found)
