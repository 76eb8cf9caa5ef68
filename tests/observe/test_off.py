"""Checkers that are not asked for cost nothing: a launch has no trace of them."""

import subprocess
import sys

import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, float32, kernel
from mlusim.machine.hub import EVENTS
from mlusim.observe.names import CHECKERS


def _listened(observe):
    """Who listens inside a launch: whether there is a watch, a hook on scalars, and the events with a listener."""
    seen = []

    @kernel
    def look(mlu, src):
        a = mlu.nram(float32, 4)
        mlu.memcpy(a, src, 16, GDRAM2NRAM)
        events = {event for event in EVENTS if getattr(mlu.core.hub, event) is not None}
        seen.append((mlu.watch is not None, mlu.core.scalars is not None, events))

    device = mlusim.Device()
    device.launch(look, args=(device.put(np.zeros(4, np.float32)),), observe=observe)
    return seen[0]


def test_nobody_listens_where_nobody_is_asked_to():
    """No watch that instructions would tell, no hook on scalar accesses, no listener of any event."""
    assert (False, False, set()) == _listened(())


@pytest.mark.parametrize("name", CHECKERS)
def test_a_checker_listens_only_while_it_is_asked_to(name):
    """The next launch without it is as if it had never been there."""
    assert _listened([name])[2]
    assert (False, False, set()) == _listened(())


def test_checkers_are_not_even_loaded():
    """A program that checks nothing imports no checker."""
    code = "import sys, mlusim; print([m for m in sys.modules if m.startswith('mlusim.observe.') and m.endswith('check')])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()
