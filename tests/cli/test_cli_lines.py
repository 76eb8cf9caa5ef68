"""The table of lines: what it shows of each, and that its shares are of the whole."""

import re

import pytest

from mlusim.machine.hub import EveryStep
from mlusim.operators.campaign import record_of
from mlusim.operators.registry import find_case, operators
from mlusim.operators.runner import run_case


def test_the_terminal_shows_each_line_once(cli):
    """The dearest line first; shares fall, and add up to all; it fits 80 columns."""
    done = cli("run", "tin_shift_forward", "--case", "golden_document", "--lines")
    rows = re.findall(r"^(\S+\.py:\d+|\d+ others|end of the tasks) +([\d.]+)%", done.out, re.MULTILINE)
    shares = [float(share) for name, share in rows if "others" not in name]

    assert (0, "") == (done.code, done.err)
    assert max(map(len, done.out.splitlines())) <= 80
    assert shares == sorted(shares, reverse=True)
    assert sum(float(share) for _, share in rows) == pytest.approx(100, abs=0.1 * len(rows))
    assert len(rows) == len({name for name, _ in rows})


def test_json_has_the_lines_where_they_were_asked_for(cli):
    """With --lines each launch lists them; without, the list is empty."""
    call = ("run", "tin_shift_forward", "--case", "golden_document", "--json")
    asked, plain = (cli(*call, *more).json()["launches"][0] for more in (["--lines"], []))
    lines = asked["lines"]

    assert [] == plain["lines"]
    assert asked["time_us"] == plain["time_us"]
    assert all(line["file"].endswith(".py") for line in lines if line["line"])
    assert {"scalar", "vector", "tensor", "IO-DMA", "move-DMA"} == set(lines[0]["busy_us"])


@pytest.mark.parametrize("name", operators())
def test_lines_of_every_operator_add_up(name):
    """Counts are the instructions, bytes the copies, busy times the profile's."""
    case = next(c for c in operators()[name].cases if c.group == "golden")
    run = run_case(name, find_case(operators()[name], case.name), observe=[EveryStep()])
    for launch, record in zip(run.launches, record_of(run).launches, strict=True):
        scalars = sum(launch.scalar_loads.values()) + sum(launch.scalar_stores.values())
        busy = sum(sum(line.busy_us.values()) for line in record.lines)

        assert sum(launch.instructions.values()) + scalars == sum(line.count for line in record.lines)
        assert sum(launch.profile.busy_us.values()) == pytest.approx(busy)
