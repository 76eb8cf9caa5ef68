"""Samples for every row of the instruction set, derived from its declaration, and a core to run them on."""

import re

import numpy as np
from attrs import evolve

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import DTYPES, as_dtype, boolean, float32, uint8
from mlusim.bang import FUSION_FMA, kernel
from mlusim.engine.issue import _method
from mlusim.engine.recipes.recipe import LaunchPolicy, recipe
from mlusim.engine.refuse import extent
from mlusim.engine.strides import access_of
from mlusim.errors import Fault
from mlusim.isa.declare import Flow
from mlusim.isa.table import ISA
from mlusim.isa.vv import Register
from mlusim.memory.space import GDRAM, LDRAM, NRAM, SRAM, WRAM

BOARDS = {2: "MLU270-S4", 3: "MLU370-X4", 5: "MLU590-H8"}


def later_board():
    """A board of an architecture above 592, as a user may make one: the catalogue knows none."""
    board = find_board("MLU590-H8")
    return evolve(board, name="MLU6xx", arch=evolve(board.arch, name="mtp_613", bang_arch=613))


LATER = later_board()

COUNTS = {
    "elem_count": 128,
    "src_elem_num": 128,
    "seg_elem_num": 32,
    "height": 8,
    "width": 16,
    "table_length": 64,
    "size": 128,
    "stride": 0,
    "segnum": 0,
    "shift": 3,
    "src12_elem_count": 128,
    "channel": 4,
    "n": 64,
    "kernel_height": 2,
    "kernel_width": 3,
    "stride_w": 2,
    "stride_h": 1,
    "pad_top": 1,
    "pad_bottom": 2,
    "pad_left": 3,
    "pad_right": 1,
    "m": 4,
    "k": 6,
    "ci": 3,
    "co": 64,
    "dilation_w": 2,
    "dilation_h": 1,
    "fix_pos": 1,
    "outputs": 64,
    "inputs": 6,
    "channels": 8,
    "dst_stride": 64,
    "src_stride": 64,
    "value_index_stride": 1024,
}
TILES = {
    f"bang_{prefix}tiling_2d_b{bits}": {"dst_stride": bits // 32 + 1, "src_stride": bits // 32 + 2}
    for prefix in ("", "trans_")
    for bits in (8, 16, 32, 64, 128, 256, 512, 1024)
}
COUNTS_OF_ROW = TILES | {"memcpy_nram_to_nram": {"segnum": 3, "dst_stride": 192, "src_stride": 64}}
COUNTS_OF_ROW |= {
    name: {"elem_count": 64} for name in ISA if name.startswith(("vv_load", "vv_store"))
}  # registers of 32 bits
UNKNOWN = ("in_dh", "in_dw", "out_dh", "out_dw")
SCALARS = {"value": 3, "compare": 1, "new": 5, "op": FUSION_FMA, "mode": 0, "limit": 6, "overlap": 0}
SCALARS |= {f"op{n}": "add" for n in range(5)}  # of the fused instructions

MEMORY_ROWS = tuple(row for row in ISA.values() if row.operands and row.form != "copy")
DENSE_ROWS = tuple(row for row in MEMORY_ROWS if row.form == "dense")


def board_of(row):
    """A board that has the instruction, MLU370 where possible."""
    return next(b for arch, b in ((372, BOARDS[3]), (592, BOARDS[5]), (613, LATER)) if row.available(arch))


def counts_of(row, **other):
    """Legal counts for *row*; strides are left out."""
    strides = {name for o in row.operands.values() for name in o.stride_names}
    return {
        p.name: COUNTS_OF_ROW.get(row.name, COUNTS).get(p.name, COUNTS.get(p.name, 0))
        for p in row.given
        if p.kind == "count"
        and (p.name not in strides or row.form in ("async", "strided"))
        and p.name not in UNKNOWN
    } | other


def data_of(dtype, count, seed=0):
    """Harmless values: 1 to 60 as integers, halves between 0.5 and 30 as floats."""
    values = np.random.default_rng(seed).integers(1, 60, count)
    return (values / 2 if dtype.kind == "float" else values).astype(dtype.dtype)


def dtype_cases(row):
    """For each element type of the leading operand: the dtype of every operand of that call."""
    cases = []
    lead = row.operands[(row.same or tuple(row.operands))[0]]
    for dtype in lead.dtypes:
        case = {}
        for operand in row.operands.values():
            if operand.name in row.void:
                how = row.void[operand.name]
                case[operand.name] = as_dtype(how) if how in {d.name for d in DTYPES} else dtype
            elif operand.name in row.same:
                case[operand.name] = dtype
            else:
                fitting = [d for d in operand.dtypes if d.size == dtype.size]
                case[operand.name] = (fitting or operand.dtypes)[0]
        cases.append(case)
    return cases


def space_of(operand):
    """The first memory that the operand may lie in."""
    return operand.spaces[0]


def large(counts):
    """Whether a call with *counts* needs more than a few thousand elements."""
    return "n" in counts and "channels" not in counts


class Sample:
    """A legal call of a row inside a kernel: every operand in an allocation of its own, data in the sources."""

    def __init__(self, mlu, row, dtypes, heap, counts=None, poison=0xFF, either_as_value=False, room=0):
        self.mlu, self.row, self.dtypes = mlu, row, dtypes
        self.counts = counts_of(row) if counts is None else counts
        left_out = {p.name: p.default for p in row.given if p.name in UNKNOWN}
        self.arguments = left_out | self.counts
        self.values(dtypes)
        for n, operand in enumerate(row.operands.values()):
            kind = next(p.kind for p in row.parameters if p.name == operand.name)
            if kind == "either" and either_as_value:
                self.arguments[operand.name] = 2
                continue
            pointer = self.declare(
                space_of(operand), dtypes[operand.name], (40960 if large(self.counts) else 4096) + room, heap
            )
            pointer.view.raw.fill(poison)
            self.arguments[operand.name] = pointer
            if operand.access != "write":
                self.fill(operand, pointer, n)
        if either_as_value:
            self.arguments.pop("src12_elem_count", None)

    def fill(self, operand, pointer, seed):
        """Put data where the row reads them."""
        if self.row.form == "strided":
            access = access_of(operand, self.arguments)
            data = data_of(uint8, access.nbytes, seed)
            pointer.view.raw[np.add.outer(access.starts, np.arange(access.size)).reshape(-1)] = data
            if operand.dtypes[0].kind == "float":
                pointer.view.array[: access.size // pointer.view.itemsize] = data_of(pointer.dtype, 1, seed)
            return
        count = extent(operand, self.arguments)
        data = data_of(self.dtypes[operand.name], count, seed)
        pointer.view.array[:count] = (
            data % 2
            if operand.name == "index" and self.row.name in ("bang_unpool", "bang_maxpool_bp")
            else data
        )

    def values(self, dtypes):
        """The scalar arguments."""
        lead = next(iter(dtypes.values()), float32)
        for p in self.row.given:
            if p.name == "register":
                self.arguments[p.name] = Register(lead)
                self.arguments[p.name].values = data_of(lead, 256 // lead.size, 3)
            elif p.name == "mask" and "vv_bool" in (p.c or ()):
                self.arguments[p.name] = Register(boolean)
                self.arguments[p.name].values = np.ones(256, np.uint8)
            elif p.name == "dst" and p.kind == "any":  # a register that is loaded
                self.arguments[p.name] = Register(lead)
                self.arguments[p.name].values = data_of(lead, 256 // lead.size, 4)
            elif p.kind in ("value", "any"):
                typed = p.name in self.row.void.values()
                self.arguments[p.name] = lead(SCALARS[p.name]) if typed else SCALARS[p.name]

    def declare(self, space, dtype, count, heap):
        """Memory of any space."""
        if space is GDRAM:
            return self.mlu.core.bind(heap.allocation, dtype)
        if space is SRAM:
            return self.mlu.shared(dtype, count)
        return {NRAM: self.mlu.nram, WRAM: self.mlu.wram, LDRAM: self.mlu.ldram}[space](dtype, count)

    def call(self, **changed):
        """Make the call; asynchronous rows land."""
        arguments = self.arguments | changed
        if self.row is ISA.get(self.row.name):
            result = getattr(self.mlu, self.row.name)(**arguments)
        else:  # a row that a test made up
            result = method_of(self.row, self.mlu)(self.mlu, **arguments)
        if self.row.form == "async":
            self.mlu.sync()
        return result

    def pointer(self, name):
        """The pointer given for an operand, or None for a scalar."""
        found = self.arguments[name]
        return found if hasattr(found, "view") else None

    def bytes_of(self, name):
        """A copy of all the bytes of an operand's allocation."""
        return self.pointer(name).view.raw.copy()


def method_of(row, mlu):
    """The method that the door makes of *row*."""
    return _method(recipe(row, 0, LaunchPolicy(mlu.core.machine.board.arch)))


def on_core(body, board="MLU370-X4", kind=None, **options):
    """Run *body*(mlu, heap) as a kernel on one core (or one cluster: core 0 alone acts) and return its result."""
    device = mlusim.Device(board)
    heap = device.empty(1 << 14, np.uint8)
    results = []

    @kernel
    def run(mlu, _):
        if mlu.taskId == 0 and mlu.is_ipu():
            results.append(body(mlu, heap))

    union = mlusim.UNION1 if kind is None else kind
    device.launch(run, dim=(4, 1, 1), kind=union, args=(heap,), **options)
    return results[0]


def ids(items):
    """Names for parametrized tests."""
    return [item.name for item in items]


def is_lanewise(row):
    """Whether the row claims that element i depends on element i only."""
    return row.flow is Flow.LANEWISE


def execute(name, board=None, **arguments):
    """Execute an intrinsic; arrays become memory of the operand's space.

    Returns the result of the call and the arrays afterwards, by name.
    """
    row = ISA[name]
    device = mlusim.Device(board or board_of(row))
    tensors = {
        key: device.put(value)
        for key, value in arguments.items()
        if isinstance(value, np.ndarray) and GDRAM in row.operands[key].spaces
    }
    after = {}

    @kernel
    def run(mlu, *pointers):
        call = arguments | dict(zip(tensors, pointers, strict=True))
        for key, value in call.items():
            if isinstance(value, np.ndarray):
                declare = mlu.wram if WRAM in row.operands[key].spaces else mlu.nram
                call[key] = declare(value.dtype, value.size)
                call[key].view.array[:] = value.reshape(-1)
        after["result"] = getattr(mlu, name)(**call)
        mlu.sync()
        for key in arguments.keys() - tensors.keys():
            if isinstance(arguments[key], np.ndarray):
                after[key] = call[key].view.array.copy().reshape(arguments[key].shape)

    device.launch(run, args=tuple(tensors.values()))
    return after | {key: device.get(tensor) for key, tensor in tensors.items()}


def all_refused(row, *changes, board=None, case=None):
    """The faults of a sample call of *row* after each of *changes*(sample), in one launch."""

    def run(mlu, heap):
        sample = Sample(mlu, row, case or dtype_cases(row)[0], heap)
        legal, faults = dict(sample.arguments), []
        for change in changes:
            sample.arguments = dict(legal)
            change(sample)
            try:
                sample.call()
            except Fault as fault:
                faults.append(fault)
            else:
                faults.append(None)
        return faults

    faults = on_core(run, board=board or board_of(row))

    assert not [change for change, fault in zip(changes, faults, strict=True) if fault is None], (
        "went through"
    )
    return faults


def refused(row, change, board=None, case=None):
    """The fault of a sample call of *row* after *change*(sample)."""
    return all_refused(row, change, board=board, case=case)[0]


def check_teaches(fault, row, operand=None):
    """The fault names the intrinsic, the operand, what is legal, this file and the task."""
    assert row.spelling == fault.intrinsic
    assert str(fault).startswith(row.spelling)
    assert fault.legal
    assert fault.file.endswith("isa_rows.py")
    assert fault.line > 0
    assert fault.task == 0
    if operand is not None:
        assert operand.name == fault.operand or re.search(rf"\b{operand.name}\b", str(fault))
