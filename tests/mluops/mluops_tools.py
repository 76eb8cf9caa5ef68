"""A core to call helpers on, with operands in memories of their own and canaries behind them."""

import numpy as np
from attrs import evolve

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import as_dtype
from mlusim.bang import kernel
from mlusim.errors import Fault

OLD, NEW = "MLU370-X4", "MLU590-H8"  # without and with a division instruction
BOARDS = (OLD, NEW)
TAILS = (1, 2, 31, 32, 33, 64, 127, 257)
CANARY = 77


def later_board():
    """A board of an architecture above 592, as the catalogue has none: what exists from there on exists."""
    board = find_board(NEW)
    return evolve(board, name="MLU-later", arch=evolve(board.arch, name="mtp_599", bang_arch=599))


def on_core(body, board=OLD, *tensors, **options):
    """Run *body*(mlu, *pointers) on one core; returns its result, its fault as a value, and the launch."""
    device = mlusim.Device(board)
    results = []

    @kernel
    def run(mlu, *pointers):
        try:
            results.append(body(mlu, *pointers))
        except Fault as fault:
            results.append(fault)

    bound = [device.put(t) if isinstance(t, np.ndarray) else t for t in tensors]
    launch = device.launch(run, args=tuple(bound), **options)
    return results[0], launch, [device.get(t) for t in bound]


def result_of(body, board=OLD, **options):
    """What *body* returns; a fault is raised."""
    result = on_core(body, board, **options)[0]
    if isinstance(result, Fault):
        raise result
    return result


def put(mlu, values, room=None):
    """*values* in NRAM, with *room* elements in all; canaries where no value is."""
    values = np.asarray(values)
    room = len(values) + 8 if room is None else room
    pointer = mlu.nram(as_dtype(values.dtype), room)
    pointer.view.array[:] = CANARY
    pointer.view.array[: len(values)] = values
    return pointer


def get(pointer, count=None):
    """A copy of *count* elements at *pointer* (None: of all that are left)."""
    array = pointer.view.array[pointer.index :]
    return array[:count].copy()


def floats(count, dtype, seed=0, low=0.25, high=8.0):
    """Numbers of both signs, away from zero."""
    generator = np.random.default_rng(seed)
    signs = np.where(generator.random(count) < 0.5, -1, 1)
    return (generator.uniform(low, high, count) * signs).astype(dtype)
