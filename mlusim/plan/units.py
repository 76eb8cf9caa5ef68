"""Elements are not bytes: finding the places where a formula mixes them."""

from attrs import frozen

from mlusim.formula import expr as e


@frozen
class UnitFault:
    """A place where units do not meet: *where* is the smallest formula that mixes, *why* the sentence."""

    where: e.Expr
    why: str


def unit(expr: e.Expr) -> e.Unit | None:
    """Return the unit of *expr*; None for 0, which fits both.  A mixed sum counts as bytes."""
    if isinstance(expr, e.Amount):
        return None if expr.value == 0 else expr.unit
    if isinstance(expr, e.BoardConst):
        return expr.unit
    if isinstance(expr, e.SizeOf):
        return e.Unit.BYTES
    if not isinstance(expr, e.Operation):
        return e.Unit.COUNT
    units = [unit(a) for a in expr.args]
    if expr.op in {e.DIV, e.CEIL}:
        return e.Unit.COUNT if units[1] is e.Unit.BYTES else units[0]
    if expr.op in {e.UP, e.DOWN}:
        return units[0]
    if e.Unit.BYTES in units:
        return e.Unit.BYTES
    return None if all(u is None for u in units) else e.Unit.COUNT


def _mixed(expr: e.Operation) -> UnitFault | None:
    units = {unit(a) for a in expr.args} - {None}
    if len(units) < 2:
        return None
    elements = next(a for a in expr.args if unit(a) is e.Unit.COUNT)
    nbytes = next(a for a in expr.args if unit(a) is e.Unit.BYTES)
    meets = {e.ADD: "is added to", e.SUB: "and", e.UP: "pads", e.DOWN: "pads"}.get(
        expr.op, "is compared with"
    )
    tail = " are subtracted" if expr.op is e.SUB else ""
    cure = (
        f"write nbytes({elements}) if it is a number of bytes, {elements}*sizeof(...) if it counts elements"
        if isinstance(elements, e.Amount)
        else f"multiply {elements} by the sizeof of its elements"
    )
    if expr.op in {e.UP, e.DOWN}:
        first, second = expr.args
        one, two = ("elements", "bytes") if unit(first) is e.Unit.COUNT else ("bytes", "elements")
        return UnitFault(expr, f"{first} ({one}) is padded to a multiple of {second} ({two}); {cure}")
    return UnitFault(
        expr, f"{elements} (elements) {meets} {nbytes} (bytes){tail}: a sizeof is missing; {cure}"
    )


def unit_faults(expr: e.Expr) -> tuple[UnitFault, ...]:
    """Return every place in *expr* where elements meet bytes, or where bytes are multiplied by bytes."""
    if not isinstance(expr, e.Operation):
        return ()
    found = [f for a in expr.args for f in unit_faults(a)]
    if expr.op in {e.ADD, e.SUB, e.MIN, e.MAX, e.UP, e.DOWN}:
        fault = _mixed(expr)
        found += [fault] if fault else []
    if expr.op is e.MUL and all(unit(a) is e.Unit.BYTES for a in expr.args):
        first, second = expr.args
        found.append(
            UnitFault(expr, f"{first} and {second} are both bytes: a sizeof is there twice; take one out")
        )
    if (
        expr.op in {e.DIV, e.CEIL}
        and unit(expr.args[0]) is e.Unit.COUNT
        and unit(expr.args[1]) is e.Unit.BYTES
    ):
        first, second = expr.args
        found.append(
            UnitFault(
                expr, f"{first} (elements) is divided by {second} (bytes); divide a number of bytes by it"
            )
        )
    return tuple(found)
