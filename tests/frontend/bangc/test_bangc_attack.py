"""The semantics of C, held against the C++ compiler of this machine: 20,000 random functions."""

import subprocess

import numpy as np
import pytest
from random_functions import Batch

import mlusim
from mlusim import bangc

FLAGS = ["-O1", "-w", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-mf16c", "-std=c++17"]
FUNCTIONS = 50  # a batch


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(400))
def test_functions_give_what_the_compiler_gives(tmp_path, seed):
    """Fifty random functions give the same results translated and compiled."""
    batch = Batch(seed, FUNCTIONS)
    (tmp_path / "f.cpp").write_text(batch.for_host())
    (tmp_path / "f.mlu").write_text(batch.for_device())
    subprocess.run(["g++", *FLAGS, "-o", tmp_path / "f", tmp_path / "f.cpp"], check=True)
    printed = subprocess.run([tmp_path / "f"], check=True, capture_output=True, text=True).stdout
    module, device = bangc.load(tmp_path / "f.mlu"), mlusim.Device()
    out = device.empty(len(batch.calls), np.int64)
    device.launch(module["Run"], args=(out,), timing=False)

    assert device.get(out).tolist() == [int(word) for word in printed.split()]
