"""Several plans for one kernel: the first that fits is the one that runs."""

from collections.abc import Mapping, Sequence

from mlusim.arch.board import Board
from mlusim.errors import UsageError
from mlusim.plan.layout import Layout
from mlusim.plan.plan import Plan


def values_of(plan: Plan, values: Mapping[str, int]) -> dict[str, int]:
    """Return those of *values* that *plan* has a variable for."""
    return {name: value for name, value in values.items() if name in plan.variables}


def check_names(plans: Sequence[Plan], names: Sequence[str]) -> None:
    """Raise `UsageError` for a name that is a variable of none of *plans*."""
    known = list(dict.fromkeys(name for plan in plans for name in plan.variables))
    for name in names:
        if name not in known:
            raise UsageError(
                f"{plans[0].name} has no variable {name!r}; its variables are {', '.join(known) or 'none'}"
            )


def choose(
    plans: Sequence[Plan], board: Board | str, values: Mapping[str, int], *, dtype: object = None
) -> tuple[Plan, Layout]:
    """Return the first of *plans* that fits, tiles chosen, with its layout; the last when none fits.

    Raises `UsageError` for a value that no plan knows or that the plan in question lacks.
    """
    check_names(plans, list(values))
    for plan in plans:
        layout = plan.describe(board, dtype=dtype, **values_of(plan, values))
        if layout.fits:
            break
    return plan, layout
