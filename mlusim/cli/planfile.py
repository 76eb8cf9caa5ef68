"""Plans in a user's own Python file."""

import runpy
from pathlib import Path

from mlusim.errors import MlusimError, UsageError
from mlusim.files.reading import refuse_no_file
from mlusim.plan.plan import Plan


def plans_in(path: Path) -> tuple[Plan, ...]:
    """Return the plans that the file at *path* defines at top level, in order.

    Raises `UsageError` when the file cannot be read, fails, or defines none.
    """
    refuse_no_file(str(path), "give the name of an operator or of a Python file")
    try:
        names = runpy.run_path(str(path), run_name="__mlusim_plan__")
    except MlusimError as error:
        raise UsageError(f"{path}: {error}") from error
    except RecursionError:
        raise UsageError(
            f"{path}: a formula is nested too deep, or the file calls itself; add up many terms by several regions"
        ) from None
    except Exception as error:
        raise UsageError(f"{path} fails with {type(error).__name__}: {error}") from error
    plans = {id(value): value for value in names.values() if isinstance(value, Plan)}
    drawn = {id(drawing) for plan in plans.values() for drawing in plan.drawings}
    found = [plan for key, plan in plans.items() if key not in drawn]
    if not found:
        raise UsageError(f"{path} defines no Plan; see the tutorial 'plan your NRAM'")
    return tuple(found)
