"""What `python -m benchmarks costs` leaves out of the C of kernels."""

import re

from benchmarks.costs import WITHOUT
from benchmarks.table import BOARD, TEXT
from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.engine.contract import Mode
from mlusim.machine.native.run import functions


def test_each_thing_that_is_left_out_is_there(tmp_path):
    """A pattern that matches nothing would show that something costs nothing."""
    (tmp_path / "table.mlu").write_text(TEXT)
    kernel = bangc.load([str(tmp_path / "table.mlu")], board=BOARD)["add"]
    text = functions(Mode.ALONE) + kernel.native.program(find_board(BOARD).arch).text
    patterns = [pattern for changes in WITHOUT.values() for pattern, _ in changes]

    assert [] == [pattern for pattern in patterns if not re.search(pattern, text, re.MULTILINE)]
