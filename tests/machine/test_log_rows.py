"""Rows of a core's log, of which each is kept once."""

import numpy as np
import pytest

from mlusim.time import log


@pytest.mark.parametrize("count", [1, 2, 64, 1024])
def test_each_row_is_kept_once(count):
    """The distinct rows in the order of their numbers, the first column first, and for each row which of them it is."""
    rows = np.random.default_rng(7).integers(-1, 2, (count, 3))
    distinct, turns = log._each_once(rows)

    assert distinct.tolist() == [list(row) for row in sorted(set(map(tuple, rows.tolist())))]
    assert distinct[turns].tolist() == rows.tolist()
    assert turns.dtype == np.uint16
