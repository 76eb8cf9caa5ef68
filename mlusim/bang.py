"""Everything that a kernel file imports: re-exports only."""

from mlusim.arch.dtypes import (
    DType,
    bfloat16,
    float32,
    half,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from mlusim.frontend.cmath import DIV_UP, PAD_DOWN, PAD_UP, cdiv, cmod, i32, u32
from mlusim.frontend.python import kernel
from mlusim.machine.mlu import Mlu
from mlusim.memory.direction import *  # noqa: F403 - the vendor's twenty-four tokens
from mlusim.memory.pointer import Ptr

NFU_ALIGN_SIZE = 128  # bytes that a vector instruction processes in a cycle
