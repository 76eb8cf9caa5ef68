"""Rows of a core's log, of which each is kept once."""

import numpy as np

from mlusim.time import log


def test_few_rows_and_many_are_kept_alike(monkeypatch):
    """Both ways give the distinct rows in the same order, and the same numbers of them."""
    rows = np.random.default_rng(7).integers(-1, 2, (log.FEW, 3))
    few = log._each_once(rows)
    monkeypatch.setattr(log, "FEW", 0)
    many = log._each_once(rows)

    assert [a.tolist() for a in many] == [a.tolist() for a in few]
    assert [a.dtype for a in many] == [a.dtype for a in few]
    assert rows.tolist() == few[0][few[1]].tolist()
