"""Planted faults in random kernels: each is told on its line, and the kernel without it is left alone."""

import random

import pytest
from fuzz_faults import PLANTS, attack, unwritten

SHARE, MANY, PARTS = 20, 2000, 8


@pytest.mark.parametrize("name", PLANTS)
def test_a_share_of_the_faults(name):
    """Some of each kind; a missing barrier gives one finding for each memory and no other."""
    for seed in range(SHARE):
        attack(name, seed)


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", PLANTS)
def test_every_fault(name, part):
    """The same for 2,000 kernels of each kind."""
    for seed in range(1000 + part, 1000 + MANY, PARTS):
        attack(name, seed)


@pytest.mark.parametrize("name", PLANTS)
def test_kernels_differ(name):
    """The number decides the kernel, and the kernel and its twin are not the same."""
    first, again, other = (PLANTS[name](random.Random(seed)) for seed in (1, 1, 2))

    assert first.right == again.right
    assert first.right != first.wrong
    assert first.right != other.right
    assert unwritten([]) is None
