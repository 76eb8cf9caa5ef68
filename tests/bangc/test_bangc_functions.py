"""The semantics of C: random functions give what a C++ compiler gave, stored beside this file."""

import json
from pathlib import Path

import numpy as np

import mlusim
from mlusim import bangc

DATA = Path(__file__).parent / "data"


def test_random_functions_give_what_a_compiler_gave():
    """Thirty functions of every integer and floating type, with loops, switches, records and pointers."""
    expected = json.loads((DATA / "functions.json").read_text())
    module = bangc.load(DATA / "functions.mlu")
    device = mlusim.Device()
    out = device.empty(len(expected), np.int64)
    device.launch(module["Run"], args=(out,), timing=False)

    assert device.get(out).tolist() == expected
