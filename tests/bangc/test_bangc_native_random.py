"""Random kernels on both engines: the same bytes, counts and times, or the same sentence."""

import random
import shlex

import numpy as np
import pytest
from engines import alike
from random_functions import Batch
from random_kernels import OUT, Writer
from wrong_statements import faulty, hostile

import mlusim
from mlusim import bangc
from mlusim.errors import MlusimError
from mlusim.machine.native.build import available

LAUNCHES = (  # one core, and those of a cluster with its memory core
    {},
    {"dim": (4, 1, 1), "kind": mlusim.UNION1, "effects": "late"},
    {"dim": (4, 1, 1), "kind": mlusim.UNION1, "effects": "eager"},
)
UNIONS = (
    {"dim": (4, 1, 1), "kind": mlusim.UNION1},
    {"dim": (4, 2, 1), "kind": mlusim.UNION1},
    {"dim": (8, 1, 1), "kind": mlusim.UNION2},
)
TRIES = 100  # of each kernel of wrong statements


@pytest.fixture(autouse=True)
def _quick_compiler(monkeypatch):
    """No optimisation for kernels that run once."""
    command = available()
    if command is not None:
        monkeypatch.setenv("MLUSIM_CC", shlex.join((*command, "-O1")))


def loaded(folder, text, name="kernel"):
    """The kernel of a source."""
    (folder / "k.mlu").write_text(text)
    return bangc.load(folder / "k.mlu", board="MLU590-H8")[name]


def compare_kernel(folder, seed):
    """Run one random kernel in several ways."""
    rng = random.Random(seed)
    kernel = loaded(folder, Writer(seed).kernel())
    data = np.random.default_rng(seed).normal(scale=4, size=1024).astype(np.float32)
    for effects in ("late", "eager"):
        given = (np.zeros(OUT, np.float32), data, rng.randrange(-99, 99), rng.randrange(99), 0.75)
        alike(kernel, given, board="MLU590-H8", effects=effects, **rng.choice(UNIONS))


def compare_wrong(folder, seed, tries):
    """Run the statements of one kernel with wrong numbers; how many faults there were."""
    rng, faults = random.Random(seed), 0
    kernel = loaded(folder, faulty(seed))
    for n in range(tries):
        a, b, count, q = hostile(rng)
        given = (np.zeros(64, np.float32), np.ones(64, np.float32), n % 40, a, b, count, q)
        faults += isinstance(alike(kernel, given, board="MLU590-H8", **rng.choice(LAUNCHES)), MlusimError)
    return faults


def compare_functions(folder, seed, functions):
    """Run a batch of random functions of scalars."""
    batch = Batch(seed, functions, everything=False)
    alike(
        loaded(folder, batch.for_device(), "Run"), (np.zeros(len(batch.calls), np.int64),), board="MLU590-H8"
    )


@pytest.mark.parametrize("seed", range(3))
def test_random_kernels(tmp_path, seed):
    """Vectors, copies, scalars, loops and syncs in any order."""
    compare_kernel(tmp_path, seed)


def test_wrong_statements(tmp_path):
    """Out of bounds, null, wild and stale pointers, exhausted stacks: the same sentence, line and task."""
    assert compare_wrong(tmp_path, 0, TRIES) > TRIES / 3


def test_random_functions(tmp_path):
    """The scalar language."""
    compare_functions(tmp_path, 1, 4)


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_random_kernels(tmp_path, seed):
    """The same of three hundred."""
    compare_kernel(tmp_path, seed)


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(100, 200))
def test_ten_thousand_wrong_kernels(tmp_path, seed):
    """A hundred kernels, a hundred calls each."""
    compare_wrong(tmp_path, seed, TRIES)


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_functions(tmp_path, seed):
    """Fifty functions a batch."""
    compare_functions(tmp_path, seed, 50)
