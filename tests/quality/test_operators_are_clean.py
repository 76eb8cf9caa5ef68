"""The operators under all checkers: no finding, on either board."""

import pytest

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.observe.names import CHECKERS
from mlusim.operators.registry import operators
from mlusim.operators.runner import run_case

BOARDS = DEFAULT_BOARDS[:2]
# One case in so many: each is long under all checkers; `mlusim check --all` runs every one.
SHARES = {"border_align_backward": 4, "dynamic_scatter_backward": 2, "three_interpolate_backward": 2}
LARGE = {("mutual_information_backward", "limit")}  # minutes of one-element vectors


def _runs():
    """Every quick case of every operator, in turn on one board and on the other."""
    for name, operator in operators().items():
        groups = {case.group for case in operator.cases} - {"network"}
        groups = {group for group in groups if (name, group) not in LARGE}
        quick = [case for case in operator.cases if not case.long and case.group in groups]
        for turn, board in enumerate(BOARDS):
            yield pytest.param(name, board, quick[turn :: 2 * SHARES.get(name, 1)], id=f"{name}-{board}")


@pytest.mark.parametrize(("operator", "board", "cases"), list(_runs()))
def test_no_checker_speaks_of_an_operator(operator, board, cases):
    """Boundary, limit, random, golden, zero-element and refused cases."""
    fitting = [case for case in cases if not case.boards or board in case.boards]

    findings = {
        case.name: run_case(operator, case, board=board, observe=tuple(CHECKERS), reference=False).findings
        for case in fitting
    }

    assert {} == {name: found for name, found in findings.items() if found}
    assert fitting
