# ruff: noqa: PYI021, D, E501, PLR0904 - made by `python -m manual.stub`; do not edit
"""`Mlu`: what a kernel is handed, with every intrinsic."""

from collections.abc import Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from mlusim.arch.dtypes import DType
from mlusim.engine.contract import IssuingMlu, Watch
from mlusim.isa.vv import Register
from mlusim.machine.core import Core
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import Direction

ElementType: TypeAlias = DType | type[Any] | np.dtype[Any] | str
Count: TypeAlias = int | np.integer[Any]
Scalar: TypeAlias = int | float | np.generic

class Mlu(IssuingMlu):
    """The machine as one task sees it: the built-in variables, its memories, and the intrinsics.

    The built-in variables keep the vendor's spelling: ``taskId``, ``taskIdX/Y/Z``, ``taskDim``,
    ``taskDimX/Y/Z``, ``clusterId``, ``clusterDim`` (0 for a Block task), ``coreId`` (128 on a memory
    core), ``coreDim``; ``MAX_NRAM_SIZE``, ``MAX_WRAM_SIZE`` and ``MAX_SRAM_SIZE`` are bytes that a
    kernel may use; ``BANG_ARCH`` is ``__BANG_ARCH__``.
    """

    BANG_ARCH: int
    MAX_NRAM_SIZE: int
    MAX_SRAM_SIZE: int
    MAX_WRAM_SIZE: int
    clusterDim: int
    clusterId: int
    coreDim: int
    coreId: int
    taskDim: int
    taskDimX: int
    taskDimY: int
    taskDimZ: int
    taskId: int
    taskIdX: int
    taskIdY: int
    taskIdZ: int
    core: Core
    watch: Watch | None
    def __init__(self, core: Core) -> None: ...
    def nram(self, dtype: ElementType, count: Count, values: Sequence[Any] | None = None) -> Ptr:
        """Declare *count* elements of NRAM, as ``__nram__ T name[count]``; *values* initialise it.

        Fresh memory is poison: NaN in every float type, -1 in every integer.  Raises `OutOfMemory`
        with the bytes left when the board's NRAM (per core, less the 128 KiB reserve) is exceeded; a kernel of
        BANG C may declare all of it.
        """
    def wram(self, dtype: ElementType, count: Count, values: Sequence[Any] | None = None) -> Ptr:
        """Declare *count* elements of WRAM, as ``__wram__ T name[count]``."""
    def ldram(self, dtype: ElementType, count: Count, values: Sequence[Any] | None = None) -> Ptr:
        """Declare *count* elements of the core's own off-chip memory, as ``__ldram__ T name[count]``."""
    def shared(self, dtype: ElementType, count: Count) -> Ptr:
        """Declare *count* elements of the cluster's SRAM, as ``__mlu_shared__ T name[count]``.

        Every core of the cluster declares the same arrays in the same order and gets the same bytes.
        """
    def sync(self) -> None:
        """Wait for every outstanding instruction of this core."""
    def sync_compute(self) -> None:
        """Wait for this core's vector and tensor instructions, and for its asynchronous copies inside NRAM.

        That this sync completes such copies is inferred: vendor kernels rely on it in twelve places and give
        right results.
        """
    def sync_io(self) -> None:
        """Wait for this core's IO-DMA copies (one side in GDRAM or LDRAM)."""
    def sync_move(self) -> None:
        """Wait for this core's move-DMA copies (both sides on chip)."""
    def sync_io_move_compute(
        self,
        from_io: bool = True,
        from_move: bool = True,
        from_compute: bool = True,
        to_io: bool = True,
        to_move: bool = True,
        to_compute: bool = True,
    ) -> None:
        """Wait for the streams IO, move and compute; with six flags, let the last three wait for the first three.

        With flags it is modelled as a full wait for the producing pipes, which the card also allows. racecheck
        checks the pipes that do not wait against the effects that they may overtake.
        """
    def sync_cluster(self) -> None:
        """Meet the IPU cores and the memory core of the own cluster; in a Block task a plain ``__sync``."""
    def sync_all(self) -> None:
        """Meet every IPU and memory core of the union; in a Block task a plain ``__sync``."""
    def sync_all_ipu(self) -> None:
        """Meet the IPU cores of the union; a memory core passes."""
    def sync_all_mpu(self) -> None:
        """Meet the memory cores of the union; an IPU core passes."""
    def sync_all_ipu_within_cluster(self) -> None:
        """Meet the IPU cores of the own cluster; a memory core passes."""
    def sync_cluster_arrive(self, barrier_id: Count, count: Count) -> None:
        """Arrive at the barrier *barrier_id* of *count* arrivals in the own cluster, without waiting for other cores; waits for the core's own pipes only.

        After *count* arrivals the barrier begins again; the n-th wait of a core waits for its n-th completion.  A core may arrive without waiting, and wait without arriving (all of this is inferred).  In a Block task it is a plain ``__sync``.
        """
    def sync_cluster_wait(self, barrier_id: Count, count: Count) -> None:
        """Wait until *count* cores of the own cluster have arrived at the barrier *barrier_id*; the core's own pipes continue.

        After *count* arrivals the barrier begins again; the n-th wait of a core waits for its n-th completion.  A core may arrive without waiting, and wait without arriving (all of this is inferred).  In a Block task it is a plain ``__sync``.
        """
    def sync_all_arrive(self, barrier_id: Count, count: Count) -> None:
        """Arrive at the barrier *barrier_id* of *count* arrivals in the union, without waiting for other cores; waits for the core's own pipes only.

        After *count* arrivals the barrier begins again; the n-th wait of a core waits for its n-th completion.  A core may arrive without waiting, and wait without arriving (all of this is inferred).  In a Block task it is a plain ``__sync``.
        """
    def sync_all_wait(self, barrier_id: Count, count: Count) -> None:
        """Wait until *count* cores of the union have arrived at the barrier *barrier_id*; the core's own pipes continue.

        After *count* arrivals the barrier begins again; the n-th wait of a core waits for its n-th completion.  A core may arrive without waiting, and wait without arriving (all of this is inferred).  In a Block task it is a plain ``__sync``.
        """
    def is_mpu(self) -> bool:
        """Return whether this is the cluster's memory core: ``coreId == 128``."""
    def is_ipu(self) -> bool:
        """Return whether this is an IPU core."""
    def bang_printf(self, fmt: str, *values: Any) -> None:
        """Print on the device, C style; at most 16 values; not on a memory core.

        The output of each call is shown on separate lines, even without a newline at its end: the order of calls
        in different tasks depends on the schedule, and parts of their lines would mix. ``printf`` in a kernel of
        BANG C is the same.
        """
    def assert_fail(self, assertion: str, file: str = "", line: Count = 0, function: str = "") -> None:
        """End the kernel with a fault that says which *assertion* failed, and where; C's ``assert`` calls it."""
    def abort(self) -> None:
        """End the kernel with a fault."""
    def assert_(self, expression: Any, text: str = "") -> None:
        """End the kernel with a fault unless *expression* is true; *text* says what was expected."""
    def breakdump_scalar(self, *values: Any) -> None:
        """End the kernel with a fault that shows *values*; numbers with a C type are shown with their bits."""
    def breakdump_vector(self, pointer: Ptr, size: Count, space: Any | None = None) -> None:
        """End the kernel with a fault that shows *size* bytes from *pointer* on, which must lead into *space* if given."""
    def sync_copy_gdram_to_nram(self) -> None:
        """Wait for this core's asynchronous copies from GDRAM to NRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.
        """
    def sync_copy_nram_to_gdram(self) -> None:
        """Wait for this core's asynchronous copies from NRAM to GDRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.
        """
    def sync_copy_gdram_to_wram(self) -> None:
        """Wait for this core's asynchronous copies from GDRAM to WRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.
        """
    def sync_copy_gdram_to_sram(self) -> None:
        """Wait for this core's asynchronous copies from GDRAM to SRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.
        """
    def sync_copy_sram_to_gdram(self) -> None:
        """Wait for this core's asynchronous copies from SRAM to GDRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.
        """
    def sync_copy_gdram_to_ldram(self) -> None:
        """Wait for this core's asynchronous copies from GDRAM to LDRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.
        """
    def sync_copy_gdram_to_gdram(self) -> None:
        """Wait for this core's asynchronous copies from GDRAM to GDRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.
        """
    def sync_copy_wram_to_gdram(self) -> None:
        """Wait for this core's asynchronous copies from WRAM to GDRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.
        """
    def sync_copy_nram_to_nram(self) -> None:
        """Wait for this core's asynchronous copies from NRAM to NRAM.

        In the simulator all copies of the move-DMA, on MLU2xx of the compute stream, complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_move``.
        """
    def sync_copy_nram_to_wram(self) -> None:
        """Wait for this core's asynchronous copies from NRAM to WRAM.

        In the simulator all copies of the move-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_move``.
        """
    def sync_copy_wram_to_nram(self) -> None:
        """Wait for this core's asynchronous copies from WRAM to NRAM.

        In the simulator all copies of the move-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_move``.
        """
    def sync_copy_sram_to_nram(self) -> None:
        """Wait for this core's asynchronous copies from SRAM to NRAM.

        In the simulator all copies of the move-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_move``.
        """
    def sync_copy_nram_to_sram(self) -> None:
        """Wait for this core's asynchronous copies from NRAM to SRAM.

        In the simulator all copies of the move-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_move``.
        """
    def sync_copy_sram_to_wram(self) -> None:
        """Wait for this core's asynchronous copies from SRAM to WRAM.

        In the simulator all copies of the move-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_move``.
        """
    def sync_copy_wram_to_sram(self) -> None:
        """Wait for this core's asynchronous copies from WRAM to SRAM.

        In the simulator all copies of the move-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_move``.
        """
    def sync_copy_dram_to_nram(self) -> None:
        """Wait for this core's asynchronous copies from GDRAM to NRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.

        The older spelling of ``__sync_copy_gdram_to_nram``.
        """
    def sync_copy_nram_to_dram(self) -> None:
        """Wait for this core's asynchronous copies from NRAM to GDRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.

        The older spelling of ``__sync_copy_nram_to_gdram``.
        """
    def sync_copy_dram_to_sram(self) -> None:
        """Wait for this core's asynchronous copies from GDRAM to SRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.

        The older spelling of ``__sync_copy_gdram_to_sram``.
        """
    def sync_copy_sram_to_dram(self) -> None:
        """Wait for this core's asynchronous copies from SRAM to GDRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.

        The older spelling of ``__sync_copy_sram_to_gdram``.
        """
    def sync_copy_dram_to_wram(self) -> None:
        """Wait for this core's asynchronous copies from GDRAM to WRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.

        The older spelling of ``__sync_copy_gdram_to_wram``.
        """
    def sync_copy_wram_to_dram(self) -> None:
        """Wait for this core's asynchronous copies from WRAM to GDRAM.

        In the simulator all copies of the IO-DMA complete; the race check regards copies issued after the last such copy as still in flight.  Newer kernels write ``__sync_io``.

        The older spelling of ``__sync_copy_wram_to_gdram``.
        """
    def bang_lock(self, id0: Count, id1: Count) -> None:
        """Take the mutex (*id0*, *id1*) of the device; while it is taken, let other cores run.

        An IPU core passes ``id0 == id1``, a memory core two different numbers, as in the vendor's kernels.
        """
    def bang_unlock(self, id0: Count, id1: Count) -> None:
        """Release the mutex (*id0*, *id1*)."""
    def float2int32(self, value: Scalar) -> int:
        """Convert one float to int32, toward zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2int32_tz(self, value: Scalar) -> int:
        """Convert one float to int32, toward zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2int32_oz(self, value: Scalar) -> int:
        """Convert one float to int32, away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2int32_up(self, value: Scalar) -> int:
        """Convert one float to int32, toward plus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2int32_dn(self, value: Scalar) -> int:
        """Convert one float to int32, toward minus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2int32_rd(self, value: Scalar) -> int:
        """Convert one float to int32, to the nearest, ties away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2int32_rn(self, value: Scalar) -> int:
        """Convert one float to int32, to the nearest, ties to even: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2int32_rm(self, value: Scalar) -> int:
        """Convert one float to int32, to the nearest, ties toward plus infinity (inferred): returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2int32(self, value: Scalar) -> int:
        """Convert one half to int32, toward zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2int32_tz(self, value: Scalar) -> int:
        """Convert one half to int32, toward zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2int32_oz(self, value: Scalar) -> int:
        """Convert one half to int32, away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2int32_up(self, value: Scalar) -> int:
        """Convert one half to int32, toward plus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2int32_dn(self, value: Scalar) -> int:
        """Convert one half to int32, toward minus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2int32_rd(self, value: Scalar) -> int:
        """Convert one half to int32, to the nearest, ties away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2int32_rn(self, value: Scalar) -> int:
        """Convert one half to int32, to the nearest, ties to even: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2int32_rm(self, value: Scalar) -> int:
        """Convert one half to int32, to the nearest, ties toward plus infinity (inferred): returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2short_tz(self, value: Scalar) -> int:
        """Convert one float to int16, toward zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2short_oz(self, value: Scalar) -> int:
        """Convert one float to int16, away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2short_up(self, value: Scalar) -> int:
        """Convert one float to int16, toward plus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2short_dn(self, value: Scalar) -> int:
        """Convert one float to int16, toward minus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2short_rd(self, value: Scalar) -> int:
        """Convert one float to int16, to the nearest, ties away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2short_rn(self, value: Scalar) -> int:
        """Convert one float to int16, to the nearest, ties to even: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2short_tz(self, value: Scalar) -> int:
        """Convert one half to int16, toward zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2short_oz(self, value: Scalar) -> int:
        """Convert one half to int16, away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2short_up(self, value: Scalar) -> int:
        """Convert one half to int16, toward plus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2short_dn(self, value: Scalar) -> int:
        """Convert one half to int16, toward minus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2short_rd(self, value: Scalar) -> int:
        """Convert one half to int16, to the nearest, ties away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def half2short_rn(self, value: Scalar) -> int:
        """Convert one half to int16, to the nearest, ties to even: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen)."""
    def float2int(self, value: Scalar) -> int:
        """Convert one float to int32, toward zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__float2int32``.
        """
    def float2int_tz(self, value: Scalar) -> int:
        """Convert one float to int32, toward zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__float2int32_tz``.
        """
    def float2int_oz(self, value: Scalar) -> int:
        """Convert one float to int32, away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__float2int32_oz``.
        """
    def float2int_up(self, value: Scalar) -> int:
        """Convert one float to int32, toward plus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__float2int32_up``.
        """
    def float2int_dn(self, value: Scalar) -> int:
        """Convert one float to int32, toward minus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__float2int32_dn``.
        """
    def float2int_rd(self, value: Scalar) -> int:
        """Convert one float to int32, to the nearest, ties away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__float2int32_rd``.
        """
    def float2int_rn(self, value: Scalar) -> int:
        """Convert one float to int32, to the nearest, ties to even: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__float2int32_rn``.
        """
    def half2int(self, value: Scalar) -> int:
        """Convert one half to int32, toward zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__half2int32``.
        """
    def half2int_tz(self, value: Scalar) -> int:
        """Convert one half to int32, toward zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__half2int32_tz``.
        """
    def half2int_oz(self, value: Scalar) -> int:
        """Convert one half to int32, away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__half2int32_oz``.
        """
    def half2int_up(self, value: Scalar) -> int:
        """Convert one half to int32, toward plus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__half2int32_up``.
        """
    def half2int_dn(self, value: Scalar) -> int:
        """Convert one half to int32, toward minus infinity: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__half2int32_dn``.
        """
    def half2int_rd(self, value: Scalar) -> int:
        """Convert one half to int32, to the nearest, ties away from zero: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__half2int32_rd``.
        """
    def half2int_rn(self, value: Scalar) -> int:
        """Convert one half to int32, to the nearest, ties to even: returns ``saturate(round(value))``; NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__half2int32_rn``.
        """
    def float2half_rn(self, value: Scalar) -> np.float16:
        """Convert one float to half, to the nearest, ties to even: returns ``round(value)``."""
    def float2half(self, value: Scalar) -> np.float16:
        """Convert one float to half, to the nearest, ties to even: returns ``round(value)``."""
    def float2bfloat16(self, value: Scalar) -> Any:
        """Convert one float to bfloat16, to the nearest, ties to even: returns ``round(value)``."""
    def float2bfloat16_rn(self, value: Scalar) -> Any:
        """Convert one float to bfloat16, to the nearest, ties to even: returns ``round(value)``."""
    def float2half_tz(self, value: Scalar) -> np.float16:
        """Convert one float to half, toward zero: returns ``round(value)``."""
    def float2half_oz(self, value: Scalar) -> np.float16:
        """Convert one float to half, away from zero: returns ``round(value)``."""
    def float2half_up(self, value: Scalar) -> np.float16:
        """Convert one float to half, toward plus infinity: returns ``round(value)``."""
    def float2half_dn(self, value: Scalar) -> np.float16:
        """Convert one float to half, toward minus infinity: returns ``round(value)``."""
    def float2half_rd(self, value: Scalar) -> np.float16:
        """Convert one float to half, to the nearest, ties away from zero: returns ``round(value)``."""
    def float2half_rm(self, value: Scalar) -> np.float16:
        """Convert one float to half, to the nearest, ties toward plus infinity (inferred): returns ``round(value)``."""
    def half2float(self, value: Scalar) -> np.float32:
        """Convert one half to float: returns ``value``, exactly."""
    def half2float_rn(self, value: Scalar) -> np.float32:
        """Convert one half to float: returns ``value``, exactly."""
    def bfloat162float(self, value: Scalar) -> np.float32:
        """Convert one bfloat16 to float: returns ``value``, exactly."""
    def is_dram(self, pointer: Ptr) -> bool:
        """Test whether a pointer is off the chip: returns ``pointer in GDRAM or LDRAM``."""
    def is_nram(self, pointer: Ptr) -> bool:
        """Test whether a pointer is in NRAM: returns ``pointer in NRAM``."""
    def is_wram(self, pointer: Ptr) -> bool:
        """Test whether a pointer is in WRAM: returns ``pointer in WRAM``."""
    def is_sram(self, pointer: Ptr) -> bool:
        """Test whether a pointer is in SRAM: returns ``pointer in SRAM``."""
    def load_nram(self, src: Ptr) -> Any:
        """Load one element of NRAM: returns ``src[0]``, as a typed scalar."""
    def load_gdram(self, src: Ptr) -> Any:
        """Load one element of GDRAM: returns ``src[0]``, as a typed scalar."""
    def load_sram(self, src: Ptr) -> Any:
        """Load one element of SRAM: returns ``src[0]``, as a typed scalar."""
    def load_ldram(self, src: Ptr) -> Any:
        """Load one element of LDRAM: returns ``src[0]``, as a typed scalar."""
    def store_nram(self, dst: Ptr, value: Scalar) -> None:
        """Store one element to NRAM: ``dst[0] = value``, converted to the type of *dst*.

        For copies and other cores the store is asynchronous; a sync must come before they read the element.
        """
    def store_gdram(self, dst: Ptr, value: Scalar) -> None:
        """Store one element to GDRAM: ``dst[0] = value``, converted to the type of *dst*.

        For copies and other cores the store is asynchronous; a sync must come before they read the element.
        """
    def store_sram(self, dst: Ptr, value: Scalar) -> None:
        """Store one element to SRAM: ``dst[0] = value``, converted to the type of *dst*.

        For copies and other cores the store is asynchronous; a sync must come before they read the element.
        """
    def store_ldram(self, dst: Ptr, value: Scalar) -> None:
        """Store one element to LDRAM: ``dst[0] = value``, converted to the type of *dst*.

        For copies and other cores the store is asynchronous; a sync must come before they read the element.
        """
    def memcpy(self, dst: Ptr, src: Ptr, size: Count, direction: Direction, *shape: Count) -> None:
        """Copy and wait: *size* bytes per segment from *src* to *dst*; sizes and strides are in bytes.

        1-D: ``(dst, src, size, direction)``. 2-D: ``(dst, src, size, direction, dst_stride, src_stride, segments
        - 1)``. 3-D: ``(dst, src, size, direction, dst_stride0, dst_segments1 - 1, dst_stride1, dst_segments2 - 1,
        src_stride0, src_segments1 - 1, src_stride1, src_segments2 - 1)``: the inner index runs over segments1
        with stride0, the outer one over segments2 with stride1. ``SRAM2SRAM`` takes the destination's cluster as
        one more argument. *dst* begins before *src*, exactly at *src*, or is apart from it; rows may also be
        packed in place if no byte is overwritten before it is read (inferred).
        """
    def memcpy_async(self, dst: Ptr, src: Ptr, size: Count, direction: Direction, *shape: Count) -> None:
        """Start a copy like ``__memcpy`` and continue; it is complete after the sync that waits for its pipe.

        ``__sync_io`` waits for copies with a side in GDRAM or LDRAM, ``__sync_move`` for the others,
        ``__sync`` and every barrier for all.  Copies of one pipe complete in order.
        """
    def bang_write_value(
        self,
        dst: Ptr,
        elem_count: Count,
        value: Scalar,
        stride0: Count | None = None,
        iter1: Count | None = None,
        stride1: Count | None = None,
        iter2: Count | None = None,
    ) -> None:
        """Fill NRAM: ``dst[i] = value``; the width of an element is that of the type of the **value**, not of *dst*.

        With four more arguments the *elem_count* elements are filled ``iter1 + 1`` times at distances of *stride0* bytes, and this whole pattern ``iter2 + 1`` times at distances of *stride1*.
        """
    def nramset(
        self,
        dst: Ptr,
        elem_count: Count,
        value: Scalar,
        stride0: Count | None = None,
        iter1: Count | None = None,
        stride1: Count | None = None,
        iter2: Count | None = None,
    ) -> None:
        """Fill NRAM: ``dst[i] = value``; the width of an element is that of the type of the **value**, not of *dst*.

        With four more arguments the *elem_count* elements are filled ``iter1 + 1`` times at distances of *stride0* bytes, and this whole pattern ``iter2 + 1`` times at distances of *stride1*.
        """
    def memset_nram(
        self,
        dst: Ptr,
        elem_count: Count,
        value: Scalar,
        stride0: Count | None = None,
        iter1: Count | None = None,
        stride1: Count | None = None,
        iter2: Count | None = None,
    ) -> None:
        """Fill NRAM: ``dst[i] = value``, any count on MLU2xx too; the width of an element is that of the type of the **value**, not of *dst*.

        With four more arguments the *elem_count* elements are filled ``iter1 + 1`` times at distances of *stride0* bytes, and this whole pattern ``iter2 + 1`` times at distances of *stride1*.
        """
    def sramset(
        self,
        dst: Ptr,
        elem_count: Count,
        value: Scalar,
        stride0: Count | None = None,
        iter1: Count | None = None,
        stride1: Count | None = None,
        iter2: Count | None = None,
    ) -> None:
        """Fill SRAM: ``dst[i] = value``; the width of an element is that of the type of the **value**, not of *dst*.

        With four more arguments the *elem_count* elements are filled ``iter1 + 1`` times at distances of *stride0* bytes, and this whole pattern ``iter2 + 1`` times at distances of *stride1*.
        """
    def gdramset(
        self,
        dst: Ptr,
        elem_count: Count,
        value: Scalar,
        stride0: Count | None = None,
        iter1: Count | None = None,
        stride1: Count | None = None,
        iter2: Count | None = None,
    ) -> None:
        """Fill GDRAM: ``dst[i] = value``; the width of an element is that of the type of the **value**, not of *dst*.

        With four more arguments the *elem_count* elements are filled ``iter1 + 1`` times at distances of *stride0* bytes, and this whole pattern ``iter2 + 1`` times at distances of *stride1*.
        """
    def ldramset(
        self,
        dst: Ptr,
        elem_count: Count,
        value: Scalar,
        stride0: Count | None = None,
        iter1: Count | None = None,
        stride1: Count | None = None,
        iter2: Count | None = None,
    ) -> None:
        """Fill LDRAM: ``dst[i] = value``; the width of an element is that of the type of the **value**, not of *dst*.

        With four more arguments the *elem_count* elements are filled ``iter1 + 1`` times at distances of *stride0* bytes, and this whole pattern ``iter2 + 1`` times at distances of *stride1*.
        """
    def nramset_half(self, dst: Ptr, elem_count: Count, value: Scalar) -> None:
        """Fill NRAM with numbers of one type: ``dst[i] = value``, both half; from course material for MLU270."""
    def nramset_float(self, dst: Ptr, elem_count: Count, value: Scalar) -> None:
        """Fill NRAM with numbers of one type: ``dst[i] = value``, both float; from course material for MLU270."""
    def nramset_short(self, dst: Ptr, elem_count: Count, value: Scalar) -> None:
        """Fill NRAM with numbers of one type: ``dst[i] = value``, both int16; from course material for MLU270."""
    def nramset_int(self, dst: Ptr, elem_count: Count, value: Scalar) -> None:
        """Fill NRAM with numbers of one type: ``dst[i] = value``, both int32; from course material for MLU270."""
    def bang_write_zero(self, dst: Ptr, elem_count: Count) -> None:
        """Fill NRAM with zeros: ``dst[i] = 0``."""
    def nramset_async(self, dst: Ptr, elem_count: Count, value: Scalar, stride: Count, segnum: Count) -> None:
        """Start to fill NRAM: *elem_count* elements, ``segnum + 1`` times at distances of *stride* bytes.

        ``dst[i] = value``; the type of **value** is the element type. It is complete after a sync that waits for
        the move-DMA (inferred).
        """
    def bang_move(
        self,
        dst: Ptr,
        src: Ptr,
        size: Count,
        dst_stride: Count | None = None,
        src_stride: Count | None = None,
        segnum: Count | None = None,
    ) -> None:
        """Copy *size* bytes inside NRAM in the compute stream: ``dst.byte[i] = src.byte[i]``, in order with vectors.

        With strides in bytes, ``segnum + 1`` pieces. *dst* may be exactly *src*, which has no effect.
        """
    def memcpy_nram_to_nram(
        self,
        dst: Ptr,
        src: Ptr,
        size: Count,
        dst_stride: Count,
        src_stride: Count,
        segnum: Count,
    ) -> None:
        """Copy inside NRAM in the compute stream: ``dst.byte[k * dst_stride + i] = src.byte[k * src_stride + i]``, k < *segnum*.

        Here *segnum* is **the number of pieces**, not the number minus one. An older form of ``__memcpy`` with
        strides.
        """
    def bang_incseq(self, dst: Ptr, elem_count: Count) -> None:
        """Count up: ``dst[i] = i``; on architectures above 592 only, of which the catalogue has no board."""
    def gather(self, dst: Ptr, src: Ptr, offset: Ptr, *rest: Any) -> None:
        """Gather and wait: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]`` for i below *count*, b below *size*.

        ``(dst, src, offset, size, direction, stride, count)`` or ``(dst, src, offset, bitmask, size, direction,
        stride, count)``; *direction* is ``GDRAM2NRAM`` or ``NRAM2NRAM``. MLU370 has it, as kernels accepted there
        show; for the other rows of this page that is unknown.
        """
    def gather_async(self, dst: Ptr, src: Ptr, offset: Ptr, *rest: Any) -> None:
        """Start a gather like ``__gather`` and continue; it is complete after the sync that waits for its pipe.

        ``(dst, src, offset, size, direction, stride, count)`` or
        ``(dst, src, offset, bitmask, size, direction, stride, count)``.
        """
    def scatter(self, dst: Ptr, src: Ptr, offset: Ptr, *rest: Any) -> None:
        """Scatter and wait: ``dst.byte[offset[i] + b] = src.byte[i * stride + b]``, in the order of i.

        ``(dst, src, offset, size, direction, stride, count)`` or
        ``(dst, src, offset, bitmask, size, direction, stride, count)``; *direction* is ``NRAM2GDRAM`` or ``NRAM2NRAM``.
        """
    def scatter_async(self, dst: Ptr, src: Ptr, offset: Ptr, *rest: Any) -> None:
        """Start to scatter: ``dst.byte[offset[i] + b] = src.byte[i * stride + b]``, in the order of i.

        ``(dst, src, offset, size, direction, stride, count)`` or ``(dst, src, offset, bitmask, size, direction,
        stride, count)``; *direction* is ``NRAM2GDRAM`` or ``NRAM2NRAM``. It is complete after the sync that waits
        for its pipe.
        """
    def bang_gather_async(
        self,
        dst: Ptr,
        src: Ptr,
        offset: Ptr,
        bitmask: Ptr,
        size: Count,
        stride: Count,
        count: Count,
    ) -> None:
        """Start a gather to NRAM: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]`` where bit i is set.

        With *src* in NRAM it is complete after a sync that waits for the move-DMA; with *src* in GDRAM, after a
        sync that waits for the IO-DMA, as in the vendor's attention kernels for arch 592.
        """
    def extension(
        self,
        dst: Ptr,
        src: Ptr,
        repeats: Ptr,
        size: Count,
        direction: Direction,
        count: Count,
    ) -> None:
        """Repeat pieces, in order with vectors: write piece i of *size* bytes of *src* ``repeats[i]`` times in a row.

        ``dst = [src[i] for i in range(count) for _ in range(repeats[i])]``; *repeats* has *count* bytes, and 0
        skips a piece; *direction* is ``NRAM2NRAM``, as in the only vendor kernel that uses it.
        """
    def mlisa_gather_vector(
        self,
        dst: Ptr,
        src: Ptr,
        offset: Ptr,
        size: Count,
        count: Count,
        stride: Count,
    ) -> None:
        """Gather inside NRAM in order with vectors: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]``.

        The instruction ``gather.vector.nram.nram.nram.u32 [dst], [src], [offset], size, count, stride`` of inline
        assembly. That it is in order with vector instructions before and after it is inferred.
        """
    def bang_add(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Add: ``dst[i] = src0[i] + src1[i]``.  int64 is accepted too, because public kernels for MLU590 use it (inferred)."""
    def bang_sub(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Subtract: ``dst[i] = src0[i] - src1[i]``."""
    def bang_mul(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Multiply: ``dst[i] = src0[i] * src1[i]``."""
    def bang_add_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Add a scalar: ``dst[i] = src[i] + value``."""
    def bang_sub_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Subtract a scalar: ``dst[i] = src[i] - value``."""
    def bang_mul_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Multiply by a scalar: ``dst[i] = src[i] * value``."""
    def bang_add_const(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Add a scalar: ``dst[i] = src[i] + value``.

        The older spelling of ``__bang_add_scalar``.
        """
    def bang_sub_const(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Subtract a scalar: ``dst[i] = src[i] - value``.

        The older spelling of ``__bang_sub_scalar``.
        """
    def bang_mul_const(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Multiply by a scalar: ``dst[i] = src[i] * value``.

        The older spelling of ``__bang_mul_scalar``.
        """
    def bang_square(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Square: ``dst[i] = src[i] * src[i]``."""
    def bang_abs(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Absolute value: ``dst[i] = |src[i]|``; the smallest int32 stays as it is."""
    def bang_neg(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Change the sign: ``dst[i] = -src[i]``; the smallest int32 stays as it is."""
    def bang_active_abs(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Absolute value: ``dst[i] = |src[i]|``."""
    def bang_add_tz(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Add and round toward zero: ``dst[i] = truncate(src0[i] + src1[i])``."""
    def bang_sub_tz(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Subtract and round toward zero: ``dst[i] = truncate(src0[i] - src1[i])``."""
    def bang_mul_tz(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Multiply and round toward zero: ``dst[i] = truncate(src0[i] * src1[i])``."""
    @overload
    def bang_div(self, dst: Ptr, src0: Ptr, src1: Ptr, src_addition: Ptr, elem_count: Count) -> None:
        """Divide with a buffer for reciprocals: ``src_addition[i] = 1 / src1[i]; dst[i] = src0[i] * (1 / src1[i])``.

        The low-precision form of ``__bang_div`` with five arguments, on every architecture. The content of
        *src_addition*, and that the error equals that of the approximate reciprocal, are inferred.
        """
    @overload
    def bang_div(self, dst: Ptr, src0: Ptr, src1: Ptr | Scalar, elem_count: Count) -> None:
        """Divide: ``dst[i] = src0[i] / src1[i]``, or ``src0[i] / src1`` for a scalar *src1*.

        Integers divide toward zero, as in C, and refuse a divisor of 0; float division is that of IEEE 754. A
        call with *src_addition* before *elem_count* is a call of ``__bang_div_addition``.
        """
    def bang_div_addition(self, dst: Ptr, src0: Ptr, src1: Ptr, src_addition: Ptr, elem_count: Count) -> None:
        """Divide with a buffer for reciprocals: ``src_addition[i] = 1 / src1[i]; dst[i] = src0[i] * (1 / src1[i])``.

        The low-precision form of ``__bang_div`` with five arguments, on every architecture. The content of
        *src_addition*, and that the error equals that of the approximate reciprocal, are inferred.
        """
    def bang_rem(self, dst: Ptr, src0: Ptr, src1: Ptr | Scalar, elem_count: Count) -> None:
        """Remainder: ``dst[i] = src0[i] - trunc(src0[i] / src1[i]) * src1[i]``; *src1* may be a scalar.

        The sign is that of *src0*, as of ``%`` and ``fmod`` in C (inferred).  Integers refuse a divisor of 0.
        """
    def bang_nan_maximum(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Maximum: ``dst[i] = max(src0[i], src1[i])``.

        A NaN in either source is the result; -0 is below +0 (inferred).
        """
    def bang_nan_minimum(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Minimum: ``dst[i] = min(src0[i], src1[i])``.

        A NaN in either source is the result; -0 is below +0 (inferred).
        """
    def bang_maximum(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Maximum: ``dst[i] = max(src0[i], src1[i])``.

        A NaN loses against a number (inferred); -0 is below +0 (inferred).  The four-argument form of old toolkits was another instruction.
        """
    def bang_minimum(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Minimum: ``dst[i] = min(src0[i], src1[i])``.

        A NaN loses against a number (inferred); -0 is below +0 (inferred).  The four-argument form of old toolkits was another instruction.
        """
    def bang_maxequal(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Maximum: ``dst[i] = max(src0[i], src1[i])``.

        A NaN loses against a number (inferred); -0 is below +0 (inferred).
        """
    def bang_minequal(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Minimum: ``dst[i] = min(src0[i], src1[i])``.

        A NaN loses against a number (inferred); -0 is below +0 (inferred).
        """
    def bang_maxeq_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Maximum with a scalar: ``dst[i] = max(src[i], value)``.

        A NaN loses against a number (inferred); -0 is below +0 (inferred).
        """
    def bang_mineq_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Minimum with a scalar: ``dst[i] = min(src[i], value)``.

        A NaN loses against a number (inferred); -0 is below +0 (inferred).
        """
    def bang_recip(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Reciprocal: ``dst[i] = 1 / src[i]``; of 0 it is infinity (inferred).  Half is accepted too, as in newer toolkits (inferred)."""
    def bang_pow2(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Power of two: ``dst[i] = 2 ** src[i]``."""
    def bang_log2(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Binary logarithm: ``dst[i] = log2(src[i])``; of 0 it is -infinity, of negative numbers NaN (inferred)."""
    def bang_log(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Binary logarithm: ``dst[i] = log2(src[i])``; of 0 it is -infinity, of negative numbers NaN (inferred).

        The older spelling of ``__bang_log2``.
        """
    def bang_sqrt(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Square root: ``dst[i] = sqrt(src[i])``; of negative numbers NaN (inferred).  Half and bfloat16 are accepted too, as in newer toolkits (inferred)."""
    def bang_sin(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Sine: ``dst[i] = sin(src[i])``, in radians."""
    def bang_cos(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Cosine: ``dst[i] = cos(src[i])``, in radians."""
    def bang_floor(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Round down: ``dst[i] = floor(src[i])``.

        The old manual wants *dst* apart from *src*; vendor kernels use it in place.
        """
    def bang_ceil(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Round up: ``dst[i] = ceil(src[i])``.

        The old manual wants *dst* apart from *src*; vendor kernels use it in place.
        """
    def bang_trunc(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Round toward zero: ``dst[i] = trunc(src[i])``.

        The old manual wants *dst* apart from *src*; vendor kernels use it in place.
        """
    def bang_round(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Round: ``dst[i] = round(src[i])``, to the nearest, ties away from zero as C does (inferred).

        The old manual wants *dst* apart from *src*; vendor kernels use it in place.
        """
    def bang_rsqrt(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Reciprocal square root: ``dst[i] = 1 / sqrt(src[i])``; of 0 infinity, of negative numbers NaN (inferred).

        Half is accepted too, as in newer toolkits (inferred).
        """
    def bang_active_reciphp(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate reciprocal: ``dst[i] = 1 / src[i]``.

        The hardware's average relative error is 4e-4 for float in [0.00391, 2e6] and half in [0.00391, 65504]; its results beyond these ranges are unknown, default chosen: 1 / x.
        """
    def bang_active_log(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate natural logarithm: ``dst[i] = ln(src[i])``.

        Of 0 it is -infinity, of negative numbers NaN (inferred).  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_loghp(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate natural logarithm: ``dst[i] = ln(src[i])``.

        Of 0 it is -infinity, of negative numbers NaN (inferred).  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_sqrt(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate square root: ``dst[i] = sqrt(src[i])``.

        Of negative numbers it is NaN (inferred).  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_sqrthp(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate square root: ``dst[i] = sqrt(src[i])``.

        Of negative numbers it is NaN (inferred).  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_rsqrt(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate reciprocal square root: ``dst[i] = 1 / sqrt(src[i])``.

        Of 0 it is infinity, of negative numbers NaN (inferred).  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_rsqrthp(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate reciprocal square root: ``dst[i] = 1 / sqrt(src[i])``.

        Of 0 it is infinity, of negative numbers NaN (inferred).  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_recip(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate reciprocal: ``dst[i] = 1 / src[i]``.

        Of 0 it is infinity (inferred).  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_recip_greater_1(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate reciprocal of numbers above 1: ``dst[i] = 1 / src[i]``.

        What the hardware gives for others is unknown, default chosen: 1 / x.  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_sin(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate sine: ``dst[i] = sin(src[i])``.

        In radians.  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_cos(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate cosine: ``dst[i] = cos(src[i])``.

        In radians.  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_pow2(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate power of two: ``dst[i] = 2 ** src[i]``.

        For any number.  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_exp_less_0(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate exponential of numbers that are not positive: ``dst[i] = e ** src[i]``.

        For half the result has no floor, as softmax kernels accepted on MLU370 show (scores down to -16); for float that is inferred.  The hardware's result for positive numbers is unknown, default chosen: e ** x.  bfloat16 is accepted too, as in public kernels for MLU590 (inferred).  The error of the hardware's table is not published; here it is the function itself.
        """
    def bang_active_sign(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Sign: ``dst[i] = -1`` for negative numbers, 1 for positive ones; 0 for zeros and NaN for NaN (unknown, default chosen)."""
    def bang_active_exphp(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate exponential: ``dst[i] = e ** src[i]``.

        The hardware's average relative error is 0.003 for float up to 16; its results beyond are unknown, default chosen: e ** x.
        Float below -15 gives e ** -15 = 3e-7, half below -7.75 gives 5.96e-8, as documented.
        """
    def bang_active_exp(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Approximate exponential: ``dst[i] = e ** src[i]``.

        The hardware's average relative error is 0.007 for float up to 10.25; its results beyond are unknown, default chosen: e ** x.
        Float below -15 gives e ** -15 = 3e-7, half below -7.75 gives 5.96e-8, as documented.
        """
    def bang_active_sigmoid(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Sigmoid: ``dst[i] = 1 / (1 + e ** -src[i])``; 0 below -7.75 and 1 above 7.75, as documented.

        Half is within 1e-2, as hstu_mask_var_len_fwd and lstm_cell_forward show, kernels accepted on MLU370.
        bfloat16 is accepted too, as in public kernels for MLU590 (inferred).
        """
    def bang_active_tanh(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Hyperbolic tangent: ``dst[i] = tanh(src[i])``; on the hardware a table with an average error of about 1e-2.

        Half is within 1e-2, as lstm_cell_forward shows, a kernel accepted on MLU370; for float it is inferred.
        """
    def bang_active_gelu(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Gaussian error unit: ``dst[i] = x / 2 * (1 + tanh(0.7978846 * (x + 0.044715 * x ** 3)))`` with ``x = src[i]``.

        Half follows this form within 1e-2, as MinGPTNewGelu shows, a kernel accepted on MLU370; for float it is
        inferred.
        """
    def bang_active_gelup(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Gaussian error unit: ``dst[i] = x / 2 * (1 + tanh(0.7978846 * (x + 0.044715 * x ** 3)))`` with ``x = src[i]``.

        Half follows this form within 1e-2, as MinGPTNewGelu shows, a kernel accepted on MLU370; for float it is
        inferred.

        How the vendor's form is more precise than this one is not public.
        """
    def bang_relu(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Rectify: ``dst[i] = max(src[i], 0)``, +0 of -0 (inferred); a NaN stays NaN (unknown, default chosen)."""
    def bang_active_relu(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Rectify: ``dst[i] = max(src[i], 0)``, +0 of -0 (inferred); a NaN stays NaN (unknown, default chosen).

        The older spelling of ``__bang_relu``.
        """
    def bang_relun(self, dst: Ptr, src: Ptr, elem_count: Count, value: Scalar) -> None:
        """Rectify up to *value*: ``dst[i] = min(max(src[i], 0), value)``; a NaN stays NaN.

        The order of the arguments and what becomes of NaN are unknown, default chosen.
        """
    def bang_fusion(
        self,
        op: Count,
        dst: Ptr,
        src0: Ptr,
        src1: Ptr | Scalar,
        src2: Ptr | Scalar,
        elem_count: Count,
        src12_elem_count: Count | None = None,
    ) -> None:
        """Two operations in one: ``FUSION_FMA: dst[i] = src0[i] * src1[i % m] + src2[i % m]``, m = *src12_elem_count*.

        FMA ``a * b + c``, FMS ``a * b - c``, FAM ``(a + b) * c``, FSM ``(a - b) * c``, FAA ``a + b + c``, FAS ``a
        + b - c``, FSS ``a - b - c``, FSA ``a - b + c``. *src1* and *src2* are vectors of m elements, which are
        used again and again, or scalars; m is given exactly if one of them is a vector. *dst* may be exactly any
        source that is as long (*src1* and *src2*: inferred). FMA and FMS of floats round once, the others after
        each operation (unknown, default chosen); integers, accepted as in newer toolkits (inferred), wrap.
        """
    def cn_vector_sin_f32(self, elem_count: Count, dst: Ptr, src: Ptr) -> None:
        """Sine: ``dst[i] = sin(src[i])``, in radians."""
    def cn_vector_cos_f32(self, elem_count: Count, dst: Ptr, src: Ptr) -> None:
        """Cosine: ``dst[i] = cos(src[i])``, in radians."""
    def cn_vector_hypot_f32(self, elem_count: Count, dst: Ptr, src0: Ptr, src1: Ptr) -> None:
        """Length: ``dst[i] = sqrt(src0[i] ** 2 + src1[i] ** 2)`` without overflow on the way."""
    def cn_vector_accurate_sqrt_f32(self, elem_count: Count, dst: Ptr, src: Ptr) -> None:
        """Square root, rounded once: ``dst[i] = sqrt(src[i])``; of negative numbers NaN."""
    def cn_vector_cast_f32_to_s32(self, elem_count: Count, dst: Ptr, src: Ptr) -> None:
        """Convert toward zero: ``dst[i] = saturate(trunc(src[i]))``; NaN becomes 0 (unknown, default chosen)."""
    def cn_vector_mod_scalar_u64(self, elem_count: Count, dst: Ptr, src: Ptr, value: Scalar) -> None:
        """Remainder: ``dst[i] = src[i] % value``; a *value* of 0 is refused."""
    def cn_scalar_sin_f32(self, value: Scalar) -> Any:
        """Sine of one float: returns ``sin(value)``, in radians."""
    def cn_scalar_cos_f32(self, value: Scalar) -> Any:
        """Cosine of one float: returns ``cos(value)``, in radians."""
    def cn_scalar_sin_f16(self, value: Scalar) -> Any:
        """Sine of one half: returns ``sin(value)``, in radians."""
    def cn_scalar_cos_f16(self, value: Scalar) -> Any:
        """Cosine of one half: returns ``cos(value)``, in radians."""
    def cn_scalar_accurate_sqrt_f32(self, value: Scalar) -> Any:
        """Square root of one float, rounded once: returns ``sqrt(value)``; of a negative number NaN."""
    def cn_scalar_isfinite_f32(self, value: Scalar) -> Any:
        """Test one float: returns 1 where it is neither infinite nor NaN, and 0 otherwise."""
    def cn_scalar_max_f32(self, first: Any, second: Any) -> Any:
        """Larger of two floats: returns ``max(first, second)``; a NaN loses."""
    def cn_scalar_min_f32(self, first: Any, second: Any) -> Any:
        """Smaller of two floats: returns ``min(first, second)``; a NaN loses."""
    def bang_cycle_add(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] + seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_add_tz(
        self,
        dst: Ptr,
        src: Ptr,
        seg: Ptr,
        src_elem_num: Count,
        seg_elem_num: Count,
    ) -> None:
        """Apply a segment repeatedly, rounding toward zero: ``dst[i] = truncate(src[i] + seg[k])`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_sub(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] - seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_mul(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] * seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_eq(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] == seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_ne(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] != seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_lt(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] < seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_le(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] <= seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_gt(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] > seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_ge(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] >= seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_and(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] && seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_or(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] || seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_xor(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = !src[i] != !seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_band(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] & seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_bor(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] | seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_bxor(self, dst: Ptr, src: Ptr, seg: Ptr, src_elem_num: Count, seg_elem_num: Count) -> None:
        """Apply a segment again and again: ``dst[i] = src[i] ^ seg[k]`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.
        """
    def bang_cycle_maxequal(
        self,
        dst: Ptr,
        src: Ptr,
        seg: Ptr,
        src_elem_num: Count,
        seg_elem_num: Count,
    ) -> None:
        """Apply a segment again and again: ``dst[i] = max(src[i], seg[k])`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.  -0 is below +0 (inferred).
        """
    def bang_cycle_minequal(
        self,
        dst: Ptr,
        src: Ptr,
        seg: Ptr,
        src_elem_num: Count,
        seg_elem_num: Count,
    ) -> None:
        """Apply a segment again and again: ``dst[i] = min(src[i], seg[k])`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.  -0 is below +0 (inferred).
        """
    def bang_cycle_nan_maximum(
        self,
        dst: Ptr,
        src: Ptr,
        seg: Ptr,
        src_elem_num: Count,
        seg_elem_num: Count,
    ) -> None:
        """Apply a segment again and again: ``dst[i] = max(src[i], seg[k]), NaN if either is`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.  -0 is below +0 (inferred).
        """
    def bang_cycle_nan_minimum(
        self,
        dst: Ptr,
        src: Ptr,
        seg: Ptr,
        src_elem_num: Count,
        seg_elem_num: Count,
    ) -> None:
        """Apply a segment again and again: ``dst[i] = min(src[i], seg[k]), NaN if either is`` with ``k = i % seg_elem_num``.

        *dst* may be exactly *src*, not *seg*.  -0 is below +0 (inferred).
        """
    def bang_eq(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Equal: ``dst[i] = src0[i] == src1[i]``, 1 or 0."""
    def bang_ne(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Not equal: ``dst[i] = src0[i] != src1[i]``, 1 or 0."""
    def bang_lt(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Less: ``dst[i] = src0[i] < src1[i]``, 1 or 0."""
    def bang_le(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Less or equal: ``dst[i] = src0[i] <= src1[i]``, 1 or 0."""
    def bang_gt(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Greater: ``dst[i] = src0[i] > src1[i]``, 1 or 0."""
    def bang_ge(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Greater or equal: ``dst[i] = src0[i] >= src1[i]``, 1 or 0."""
    def bang_eq_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Equal to a scalar: ``dst[i] = src[i] == value``, 1 or 0."""
    def bang_ne_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Not equal to a scalar: ``dst[i] = src[i] != value``, 1 or 0."""
    def bang_lt_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Less than a scalar: ``dst[i] = src[i] < value``, 1 or 0."""
    def bang_le_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Less than or equal to a scalar: ``dst[i] = src[i] <= value``, 1 or 0."""
    def bang_gt_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Greater than a scalar: ``dst[i] = src[i] > value``, 1 or 0."""
    def bang_ge_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Greater than or equal to a scalar: ``dst[i] = src[i] >= value``, 1 or 0."""
    def bang_ge_const(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Greater than or equal to a scalar: ``dst[i] = src[i] >= value``, 1 or 0.

        The older spelling of ``__bang_ge_scalar``.
        """
    def bang_eq_bitindex(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Compare to bits: bit ``i % 8`` of byte ``i / 8`` of *dst* ``= src0[i] == src1[i]``.

        *dst* may be exactly a source.  If *elem_count* is not a multiple of 8, the remaining bits of the last byte become 0 (unknown, default chosen); on MLU2xx the sources are multiples of 512 bytes.
        """
    def bang_ne_bitindex(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Compare to bits: bit ``i % 8`` of byte ``i / 8`` of *dst* ``= src0[i] != src1[i]``.

        *dst* may be exactly a source.  If *elem_count* is not a multiple of 8, the remaining bits of the last byte become 0 (unknown, default chosen); on MLU2xx the sources are multiples of 512 bytes.
        """
    def bang_lt_bitindex(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Compare to bits: bit ``i % 8`` of byte ``i / 8`` of *dst* ``= src0[i] < src1[i]``.

        *dst* may be exactly a source.  If *elem_count* is not a multiple of 8, the remaining bits of the last byte become 0 (unknown, default chosen); on MLU2xx the sources are multiples of 512 bytes.
        """
    def bang_le_bitindex(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Compare to bits: bit ``i % 8`` of byte ``i / 8`` of *dst* ``= src0[i] <= src1[i]``.

        *dst* may be exactly a source.  If *elem_count* is not a multiple of 8, the remaining bits of the last byte become 0 (unknown, default chosen); on MLU2xx the sources are multiples of 512 bytes.
        """
    def bang_gt_bitindex(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Compare to bits: bit ``i % 8`` of byte ``i / 8`` of *dst* ``= src0[i] > src1[i]``.

        *dst* may be exactly a source.  If *elem_count* is not a multiple of 8, the remaining bits of the last byte become 0 (unknown, default chosen); on MLU2xx the sources are multiples of 512 bytes.
        """
    def bang_ge_bitindex(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Compare to bits: bit ``i % 8`` of byte ``i / 8`` of *dst* ``= src0[i] >= src1[i]``.

        *dst* may be exactly a source.  If *elem_count* is not a multiple of 8, the remaining bits of the last byte become 0 (unknown, default chosen); on MLU2xx the sources are multiples of 512 bytes.
        """
    def bang_and(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Logical and: ``dst[i] = src0[i] && src1[i]``, 1 or 0."""
    def bang_or(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Logical or: ``dst[i] = src0[i] || src1[i]``, 1 or 0."""
    def bang_xor(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Logical exclusive or: ``dst[i] = !src0[i] != !src1[i]``, 1 or 0."""
    def bang_not(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Logical not: ``dst[i] = !src[i]``, 1 or 0."""
    def bang_and_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Logical and with a scalar: ``dst[i] = src[i] && value``, 1 or 0."""
    def bang_or_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Logical or with a scalar: ``dst[i] = src[i] || value``, 1 or 0."""
    def bang_xor_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Logical exclusive or with a scalar: ``dst[i] = !src[i] != !value``, 1 or 0."""
    def bang_band(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Bitwise and: ``dst[i] = src0[i] & src1[i]``; floats by their bits (inferred)."""
    def bang_bor(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Bitwise or: ``dst[i] = src0[i] | src1[i]``; floats by their bits (inferred)."""
    def bang_bxor(self, dst: Ptr, src0: Ptr, src1: Ptr, elem_count: Count) -> None:
        """Bitwise exclusive or: ``dst[i] = src0[i] ^ src1[i]``; floats by their bits (inferred)."""
    def bang_bnot(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Bitwise not: ``dst[i] = ~src[i]``."""
    def bang_band_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Bitwise and with a scalar: ``dst[i] = src[i] & value``; floats by the bits of both."""
    def bang_bxor_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Bitwise exclusive or with a scalar: ``dst[i] = src[i] ^ value``."""
    def bang_srl(self, dst: Ptr, src: Ptr, shift: Count, elem_count: Count) -> None:
        """Shift right, filling with zeros: ``dst[i] = src[i] >> shift``."""
    def bang_filter(self, dst: Ptr, src: Ptr, mask: Ptr, elem_count: Count) -> int:
        """Keep the elements whose mask is not zero, packed; returns their number.

        ``dst[0:k] = [src[i] for i in range(elem_count) if mask[i] != 0]``. *dst* may be exactly *src*; the rest
        of *dst* is unchanged, but on MLU2xx the last 128-byte line is filled with zeros.
        """
    def bang_filter_bitindex(self, dst: Ptr, src: Ptr, bitmask: Ptr, elem_count: Count) -> int:
        """Keep the elements whose bit is set, packed; returns their number.

        ``dst[0:k] = [src[i] for i in range(elem_count) if bitmask[i / 8] >> i % 8 & 1]``.  *dst* may be
        exactly *src*.  *elem_count* is a multiple of 8, on MLU2xx of 1024.
        """
    def bang_collect(self, dst: Ptr, src: Ptr, mask: Ptr, elem_count: Count) -> int:
        """Keep the elements whose mask is not zero, packed; returns their number.

        ``dst[0:k] = [src[i] for i in range(elem_count) if mask[i] != 0]``. *dst* may be exactly *src*; the rest
        of *dst* is unchanged, but on MLU2xx the last 128-byte line is filled with zeros.

        The older spelling of ``__bang_filter``.
        """
    def bang_collect_bitindex(self, dst: Ptr, src: Ptr, bitmask: Ptr, elem_count: Count) -> int:
        """Keep the elements whose bit is set, packed; returns their number.

        ``dst[0:k] = [src[i] for i in range(elem_count) if bitmask[i / 8] >> i % 8 & 1]``.  *dst* may be
        exactly *src*.  *elem_count* is a multiple of 8, on MLU2xx of 1024.

        The older spelling of ``__bang_filter_bitindex``.
        """
    def bang_maskmove_bitindex(self, dst: Ptr, src: Ptr, bitmask: Ptr, elem_count: Count) -> int:
        """Keep the elements whose bit is set, packed; returns their number.

        ``dst[0:k] = [src[i] for i in range(elem_count) if bitmask[i / 8] >> i % 8 & 1]``.  *dst* may be
        exactly *src*.  *elem_count* is a multiple of 8, on MLU2xx of 1024.

        The older spelling of ``__bang_filter_bitindex``.
        """
    def bang_select(self, dst: Ptr, src: Ptr, index: Ptr, elem_count: Count) -> None:
        """Keep the elements whose *index* is not zero, after a line of 128 bytes with their number.

        ``dst`` begins with a uint32 count k; the rest of its first 128 bytes stays (on MLU2xx: zero).  From
        byte 128 on follow the k elements, filled with zeros to a multiple of 128 bytes.
        """
    def bang_select_bitindex(self, dst: Ptr, src: Ptr, bitmask: Ptr, elem_count: Count) -> None:
        """Keep the elements whose bit is set, after a line of 128 bytes with their number.

        ``dst`` is laid out as by ``__bang_select``; element i belongs to bit ``i % 8`` of byte ``i / 8``.
        """
    def bang_fcmpfilter(
        self,
        mode: Count,
        dst: Ptr,
        src0: Ptr,
        src1: Ptr | Scalar,
        elem_count: Count,
    ) -> None:
        """Keep the elements of *src0* that compare true with *src1*, a vector or a scalar, after their number.

        ``[src0[i] for i in range(elem_count) if src0[i] op src1[i]]`` with *mode* ``CMP_EQ``, ``CMP_NE``,
        ``CMP_LT``, ``CMP_LE``, ``CMP_GT`` or ``CMP_GE``. On mtp_372 *dst*, which may be exactly *src0*, begins
        with a uint32 count, directly followed by the elements; this is known for a scalar from Masked_select and
        inferred for a vector. Elsewhere *dst* has the layout of ``__bang_select`` (inferred).
        """
    def bang_maskmove(self, dst: Ptr, src: Ptr, mask: Ptr, elem_count: Count) -> None:
        """Copy bytes where the mask's byte is not zero: ``dst.byte[i] = mask.byte[i] ? src.byte[i] : dst.byte[i]``.

        *elem_count* counts elements of the pointers' type (unknown, default chosen).
        """
    @overload
    def bang_count(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Store how many elements are not zero: ``dst[0] = __bang_count(src, elem_count)``.

        The older form of ``__bang_count``: a call of it with *dst* first means this one.
        """
    @overload
    def bang_count(self, src: Ptr, elem_count: Count) -> int:
        """Count: how many elements are not zero, ``sum(src[i] != 0)``; NaN counts, -0.0 does not (inferred)."""
    @overload
    def bang_findfirst1(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Store the index of the first element that is not zero: ``dst[0] = __bang_findfirst1(src, elem_count)``.

        The older form of ``__bang_findfirst1``: a call of it with *dst* first means this one.
        """
    @overload
    def bang_findfirst1(self, src: Ptr, elem_count: Count) -> int:
        """Find the first: the smallest i with ``src[i] != 0``, or 0xffffffff if all are zero."""
    @overload
    def bang_findlast1(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Store the index of the last element that is not zero: ``dst[0] = __bang_findlast1(src, elem_count)``.

        The older form of ``__bang_findlast1``: a call of it with *dst* first means this one.
        """
    @overload
    def bang_findlast1(self, src: Ptr, elem_count: Count) -> int:
        """Find the last: the largest i with ``src[i] != 0``, or 0xffffffff if all are zero."""
    def bang_count_stored(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Store how many elements are not zero: ``dst[0] = __bang_count(src, elem_count)``.

        The older form of ``__bang_count``: a call of it with *dst* first means this one.
        """
    def bang_findfirst1_stored(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Store the index of the first element that is not zero: ``dst[0] = __bang_findfirst1(src, elem_count)``.

        The older form of ``__bang_findfirst1``: a call of it with *dst* first means this one.
        """
    def bang_findlast1_stored(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Store the index of the last element that is not zero: ``dst[0] = __bang_findlast1(src, elem_count)``.

        The older form of ``__bang_findlast1``: a call of it with *dst* first means this one.
        """
    def bang_popcnt(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Count bits: ``dst[i] =`` the number of bits set in ``src[i]`` (per element: unknown, default chosen)."""
    def bang_sum(self, src: Ptr, elem_count: Count) -> Any:
        """Sum: returns ``sum(src[i])`` in the type of *src*.

        The order is unknown; inferred and chosen: element i adds to lane ``i % (128 / itemsize)``, then the
        lanes are added pairwise, first half to second half.
        """
    def bang_reduce_sum(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Sum every 128 bytes: ``dst[k * n] = src[k * n] + ... + src[k * n + n - 1]`` with ``n = 128 / itemsize``.

        The other elements of *dst* stay as they are (on MLU2xx: zero).  *dst* may be exactly *src*.
        """
    def bang_argmax(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Find the largest element: ``dst[0]`` = its value, the eight bytes behind it its first index.

        In float memory the index is uint32 ``dst[1]``; in half and bfloat16 memory uint16 ``dst[1]`` and ``dst[2]``, low half first.  A NaN loses against every number (unknown, default chosen).
        """
    def bang_argmin(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Find the smallest element: ``dst[0]`` = its value, the eight bytes behind it its first index.

        In float memory the index is uint32 ``dst[1]``; in half and bfloat16 memory uint16 ``dst[1]`` and ``dst[2]``, low half first.  A NaN loses against every number (unknown, default chosen).
        """
    def bang_max(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Find the largest element: ``dst[0]`` = its value, the eight bytes behind it its first index.

        In float memory the index is uint32 ``dst[1]``; in half and bfloat16 memory uint16 ``dst[1]`` and ``dst[2]``, low half first.  A NaN loses against every number (unknown, default chosen).
        """
    def bang_min(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Find the smallest element: ``dst[0]`` = its value, the eight bytes behind it its first index.

        In float memory the index is uint32 ``dst[1]``; in half and bfloat16 memory uint16 ``dst[1]`` and ``dst[2]``, low half first.  A NaN loses against every number (unknown, default chosen).
        """
    def bang_fabsmax(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Find the largest absolute value: ``dst[0]`` = its value, the eight bytes behind it its first index.

        In float memory the index is uint32 ``dst[1]``; in half and bfloat16 memory uint16 ``dst[1]`` and ``dst[2]``, low half first.  A NaN loses against every number (unknown, default chosen).
        """
    def bang_fabsmin(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Find the smallest absolute value: ``dst[0]`` = its value, the eight bytes behind it its first index.

        In float memory the index is uint32 ``dst[1]``; in half and bfloat16 memory uint16 ``dst[1]`` and ``dst[2]``, low half first.  A NaN loses against every number (unknown, default chosen).
        """
    def bang_lut(self, dst: Ptr, src: Ptr, table: Ptr, elem_count: Count, table_length: Count) -> None:
        """Look up: ``dst[i] = table[src[i]]``; *table_length* is a multiple of 64.

        *dst* may be exactly *src*, as in vendor kernels (the manual requires them to be apart).  An index of
        *table_length* or more is refused; the hardware's result for it is unknown.  An index of all ones gives all ones (inferred: a vendor kernel uses the result of a look-up of a mask as an index again).
        """
    def bang_lut_s16(self, dst: Ptr, src: Ptr, table: Ptr, elem_count: Count, table_length: Count) -> None:
        """Look up: ``dst[i] = table[src[i]]``; *table_length* is a multiple of 64.

        *dst* may be exactly *src*, as in vendor kernels (the manual requires them to be apart).  An index of
        *table_length* or more is refused; the hardware's result for it is unknown.  An index of all ones gives all ones (inferred: a vendor kernel uses the result of a look-up of a mask as an index again).

        The older spelling of ``__bang_lut`` for 16 bits; signed indices are accepted too, as public kernels use them (inferred).
        """
    def bang_lut_s32(self, dst: Ptr, src: Ptr, table: Ptr, elem_count: Count, table_length: Count) -> None:
        """Look up: ``dst[i] = table[src[i]]``; *table_length* is a multiple of 64.

        *dst* may be exactly *src*, as in vendor kernels (the manual requires them to be apart).  An index of
        *table_length* or more is refused; the hardware's result for it is unknown.  An index of all ones gives all ones (inferred: a vendor kernel uses the result of a look-up of a mask as an index again).

        The older spelling of ``__bang_lut`` for 32 bits; signed indices are accepted too, as public kernels use them (inferred).
        """
    def bang_transpose(self, dst: Ptr, src: Ptr, height: Count, width: Count) -> None:
        """Transpose a matrix of *height* rows: ``dst[w][h] = src[h][w]``.

        *dst* must not overlap *src*.
        """
    def bang_rotate90(self, dst: Ptr, src: Ptr, height: Count, width: Count) -> None:
        """Rotate a matrix of *height* rows clockwise by 90 degrees: ``dst[w][height - 1 - h] = src[h][w]``."""
    def bang_rotate180(self, dst: Ptr, src: Ptr, height: Count, width: Count) -> None:
        """Rotate a matrix of *height* rows clockwise by 180 degrees: ``dst[height - 1 - h][width - 1 - w] = src[h][w]``."""
    def bang_rotate270(self, dst: Ptr, src: Ptr, height: Count, width: Count) -> None:
        """Rotate a matrix of *height* rows clockwise by 270 degrees: ``dst[width - 1 - w][h] = src[h][w]``."""
    def bang_mirror(self, dst: Ptr, src: Ptr, height: Count, width: Count) -> None:
        """Mirror each of *height* rows, left to right: ``dst[h][width - 1 - w] = src[h][w]``."""
    def bang_pad(
        self,
        dst: Ptr,
        src: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        pad_top: Count,
        pad_bottom: Count,
        pad_left: Count | None = None,
        pad_right: Count | None = None,
        value: Scalar = 0,
    ) -> None:
        """Pad a picture in HWC order: ``dst[pad_top + h][pad_left + w][c] = src[h][w][c]``, *value* around it.

        With only two paddings, they apply to both sides of the height and of the width.
        """
    def bang_reshape_filter(
        self,
        dst: Ptr,
        src: Ptr,
        n: Count,
        height: Count,
        width: Count,
        channel: Count,
    ) -> None:
        """Lay *n* filters out for WRAM: ``dst[l][b] = src[b * 64 + l]``, dst as 64 lanes of n / 64 filters each (inferred).

        On MLU3xx four lanes lie side by side: ``dst[l / 4][b][l % 4] = src[b * 64 + l]``, as Dilated_conv_2D, a
        kernel accepted on MLU370, does without this instruction.

        The size of a filter is a multiple of 64 bytes: the manual says 128, but the vendor's Fourier transforms
        use 64 (inferred).
        """
    def bang_reshape_nchw2nhwc(
        self,
        dst: Ptr,
        src: Ptr,
        n: Count,
        height: Count,
        width: Count,
        channel: Count,
    ) -> None:
        """Move the channels: ``dst[n][h][w][c] = src[n][c][h][w]``."""
    def bang_reshape_nhwc2nchw(
        self,
        dst: Ptr,
        src: Ptr,
        n: Count,
        height: Count,
        width: Count,
        channel: Count,
    ) -> None:
        """Move the channels: ``dst[n][c][h][w] = src[n][h][w][c]``."""
    def bang_tiling_2d_b8(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Copy a tile of *height* rows of *width* elements of 8 bits: ``dst[h][w] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_tiling_2d_b16(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Copy a tile of *height* rows of *width* elements of 16 bits: ``dst[h][w] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_tiling_2d_b32(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Copy a tile of *height* rows of *width* elements of 32 bits: ``dst[h][w] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_tiling_2d_b64(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Copy a tile of *height* rows of *width* elements of 64 bits: ``dst[h][w] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_tiling_2d_b128(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Copy a tile of *height* rows of *width* elements of 128 bits: ``dst[h][w] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_tiling_2d_b256(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Copy a tile of *height* rows of *width* elements of 256 bits: ``dst[h][w] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_tiling_2d_b512(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Copy a tile of *height* rows of *width* elements of 512 bits: ``dst[h][w] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_tiling_2d_b1024(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Copy a tile of *height* rows of *width* elements of 1024 bits: ``dst[h][w] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_trans_tiling_2d_b8(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Transpose a tile of *height* rows of *width* elements of 8 bits: ``dst[w][h] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_trans_tiling_2d_b16(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Transpose a tile of *height* rows of *width* elements of 16 bits: ``dst[w][h] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_trans_tiling_2d_b32(
        self,
        dst: Ptr,
        src: Ptr,
        height: Count,
        width: Count,
        dst_stride: Count,
        src_stride: Count,
    ) -> None:
        """Transpose a tile of *height* rows of *width* elements of 32 bits: ``dst[w][h] = src[h][w]``.

        *dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest of the arguments is unknown, default chosen.
        """
    def bang_expand_channel_mul(
        self,
        dst: Ptr,
        small: Ptr,
        wram: Ptr,
        big: Ptr,
        n: Count,
        channels: Count,
    ) -> None:
        """Multiply all channels of each position by one factor: ``dst[i][c] = small[i] * big[i][c]``, i below *n*.

        *dst* may be exactly *big*. *wram* is a buffer of one element per channel in the lanes of WRAM, which is
        left filled with ones (all of this is inferred).
        """
    def bang_expand_channel_mul_add(
        self,
        dst: Ptr,
        small: Ptr,
        wram: Ptr,
        big: Ptr,
        add: Ptr,
        n: Count,
        channels: Count,
    ) -> None:
        """Multiply all channels of each position by one factor and add: ``dst[i][c] = small[i] * big[i][c] + add[i][c]``.

        *dst* may be exactly *big* or *add*; *wram* is as in ``__bang_expand_channel_mul``. The product is rounded
        first (all of this is inferred).
        """
    def bang_sumpool(
        self,
        dst: Ptr,
        src: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count | None = None,
        stride_h: Count | None = None,
        in_dh: Count = 1,
        in_dw: Count = 1,
        out_dh: Count = 1,
        out_dw: Count = 1,
    ) -> None:
        """Pool windows: ``dst[y][x][c] = sum of src[h][w][c]`` over the window at row ``y * stride_h``, column ``x * stride_w``.

        *dst* may be exactly *src*; with one window it may be any pixel that the window reads, as in vendor kernels (inferred); the manual requires them to be apart.  A window has every *in_dh*-th row and every *in_dw*-th column, like that of ``__bang_maxpool`` (inferred).  Sums of half: every second element is added to a second sum, and both are added at the end, each step rounded.  GroupNorm_ and InstanceNorm, kernels accepted on MLU370, correct a sum of 1024 squares by 0.9965 and 0.997, the effect of two sums (0.9962), not of one (0.989) or four (0.9986); that the two sums are of even and of odd elements is inferred.
        """
    def bang_avgpool(
        self,
        dst: Ptr,
        src: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count | None = None,
        stride_h: Count | None = None,
        in_dh: Count = 1,
        in_dw: Count = 1,
        out_dh: Count = 1,
        out_dw: Count = 1,
    ) -> None:
        """Pool windows: ``dst[y][x][c] = mean of src[h][w][c]`` over the window at row ``y * stride_h``, column ``x * stride_w``.

        *dst* may be exactly *src*; with one window it may be any pixel that the window reads, as in vendor kernels (inferred); the manual requires them to be apart.  A window has every *in_dh*-th row and every *in_dw*-th column, like that of ``__bang_maxpool`` (inferred).
        """
    def bang_maxpool(
        self,
        dst: Ptr,
        src: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count | None = None,
        stride_h: Count | None = None,
        in_dh: Count = 1,
        in_dw: Count = 1,
        out_dh: Count = 1,
        out_dw: Count = 1,
    ) -> None:
        """Pool windows: ``dst[y][x][c] = max of src[h][w][c]`` over the window at row ``y * stride_h``, column ``x * stride_w``.

        *dst* may be exactly *src*; with one window it may be any pixel that the window reads, as in vendor kernels (inferred); the manual requires them to be apart.  A window has every *in_dh*-th row and every *in_dw*-th column (Max_Pooling_1D, 2D and 3D, kernels accepted on MLU370, have 1, 3, 1, 1 and 3, 3, 1, 1).  -0 is below +0 (inferred).
        """
    def bang_minpool(
        self,
        dst: Ptr,
        src: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count | None = None,
        stride_h: Count | None = None,
        in_dh: Count = 1,
        in_dw: Count = 1,
        out_dh: Count = 1,
        out_dw: Count = 1,
    ) -> None:
        """Pool windows: ``dst[y][x][c] = min of src[h][w][c]`` over the window at row ``y * stride_h``, column ``x * stride_w``.

        *dst* may be exactly *src*; with one window it may be any pixel that the window reads, as in vendor kernels (inferred); the manual requires them to be apart.  A window has every *in_dh*-th row and every *in_dw*-th column, like that of ``__bang_maxpool`` (inferred).  -0 is below +0 (inferred).
        """
    def bang_maxpool_index(
        self,
        dst: Ptr,
        src: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count | None = None,
        stride_h: Count | None = None,
    ) -> None:
        """Find the largest of each window: ``dst[y][x][c]`` = its index in the window, the first of equals.

        A NaN loses against a number; a window of NaN gives 0 (unknown, default chosen).
        """
    def bang_minpool_index(
        self,
        dst: Ptr,
        src: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count | None = None,
        stride_h: Count | None = None,
    ) -> None:
        """Find the smallest of each window: ``dst[y][x][c]`` = its index in the window, the first of equals.

        A NaN loses against a number; a window of NaN gives 0 (unknown, default chosen).
        """
    def bang_maxpool_value_index(
        self,
        dst: Ptr,
        src: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count,
        stride_h: Count,
        value_index_stride: Count,
        in_dh: Count | None = None,
        in_dw: Count | None = None,
        out_dh: Count | None = None,
        out_dw: Count | None = None,
    ) -> None:
        """Find the largest of each window and where it is: ``dst[y][x][c] = max of src[h][w][c]``, and its index.

        The indices begin *value_index_stride* bytes after *dst*, as uint32 for float and uint16 for half; the
        first of equal numbers counts. *dst* may be exactly *src* if the stride is positive.
        """
    def bang_unpool(
        self,
        dst: Ptr,
        src: Ptr,
        index: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count | None = None,
        stride_h: Count | None = None,
    ) -> None:
        """Put numbers back to the pixels in which ``__bang_maxpool_index`` found them: ``dst[y * sh + p / kw][x * sw + p % kw][c] = src[y][x][c]``.

        ``p = index[y][x][c]``; all other pixels of the picture of *height* rows of *width* columns become 0, and if windows
        overlap, the number of the later one stays.  The order of the operands is unknown; this one is the default chosen.
        """
    def bang_maxpool_bp(
        self,
        dst: Ptr,
        src: Ptr,
        index: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count | None = None,
        stride_h: Count | None = None,
    ) -> None:
        """Add each window's gradient to its largest pixel: ``dst[h][w][c] = sum of src[y][x][c]`` over the windows whose ``index`` names it.

        *index* is a result of ``__bang_maxpool_index``.  The gradients of windows with the same largest pixel are added in
        their order; all other pixels become 0.  The addition follows from the meaning of a gradient; it and the meaning of
        *index* are unknown, default chosen.
        """
    def bang_avgpool_bp(
        self,
        dst: Ptr,
        src: Ptr,
        channel: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count,
        stride_h: Count,
        overlap: Any,
    ) -> None:
        """Distribute the gradient of each window: ``dst[h][w][c] = sum of src[y][x][c] / (kernel_height * kernel_width)``.

        The sum is over the windows that hold (h, w), in order. With *overlap* ``OVERLAP_ACC`` they are added,
        with ``OVERLAP_COVER`` the last one is stored. Elements in no window become 0. The values of both names,
        and which window covers the others, are unknown; this is the default chosen.
        """
    def bang_matmul(
        self,
        dst: Ptr,
        left: Ptr,
        right: Ptr,
        m: Count,
        k: Count,
        n: Count,
        fix_pos: Count = 0,
    ) -> None:
        """Multiply matrices: ``dst[i][j] = 2^fix_pos * sum over x of left[i][x] * filter[j][x]``, dst of *m* rows of *n*.

        *left* has *m* rows of *k*; *right*, in WRAM, *n* filters of *k* elements, as ``__bang_reshape_filter``
        lays them out. If *n* is not a multiple of 64, the compiler pads, as a published kernel for MLU370
        requires: each filter begins at a multiple of 64 bytes (inferred), and lanes without a filter do nothing.
        *fix_pos* is 0 in the only kernel that passes it (fused_matmul_fwd, accepted on MLU370); that it scales as
        in ``__bang_conv`` is inferred.
        """
    @overload
    def bang_conv(
        self,
        dst: Ptr,
        src: Ptr,
        weight: Ptr,
        bias: Ptr,
        ci: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count,
        stride_h: Count,
        co: Count,
        fix_pos: Count = 0,
        dilation_w: Count = 1,
        dilation_h: Count = 1,
        out_dw: Count | None = None,
    ) -> None:
        """Convolve and add: ``dst[y][x][o] = 2^fix_pos * sum of src[y * sh + i * dh][x * sw + j * dw][c] * weight[o][i][j][c] + bias[o]``.

        The form of ``__bang_conv`` with *bias* (*co* elements) after *weight*; everything else is as there.
        """
    @overload
    def bang_conv(
        self,
        dst: Ptr,
        src: Ptr,
        weight: Ptr,
        ci: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count,
        stride_h: Count,
        co: Count,
        fix_pos: Count = 0,
        dilation_w: Count = 1,
        dilation_h: Count = 1,
        out_dw: Count | None = None,
    ) -> None:
        """Convolve: ``dst[y][x][o] = 2^fix_pos * sum of src[y * sh + i * dh][x * sw + j * dw][c] * weight[o][i][j][c]``.

        *src* is HWC, *dst* HWC with *co* channels, *weight* in WRAM: *co* filters as ``__bang_reshape_filter``
        lays them out; if *co* is not a multiple of 64, the compiler pads, as a published kernel for MLU370
        requires: the channels of each position in each filter begin at a multiple of 64 bytes (inferred). **Width
        comes before height** among the strides. A call with *bias* after *weight* is a call of
        ``__bang_conv_bias``.

        Four arguments at the end are ``in_dh, in_dw, out_dh, out_dw``: the dilations of height and width, and 1,
        1 (Dilated_conv_2D, a kernel accepted on MLU370); such a call has no fixed-point position. Products of
        half with sums in float are known from conv_standard_1D and conv_standard_2D__square_input__square_kernel,
        accepted there; other types and the fixed-point position are inferred.
        """
    def bang_conv_bias(
        self,
        dst: Ptr,
        src: Ptr,
        weight: Ptr,
        bias: Ptr,
        ci: Count,
        height: Count,
        width: Count,
        kernel_height: Count,
        kernel_width: Count,
        stride_w: Count,
        stride_h: Count,
        co: Count,
        fix_pos: Count = 0,
        dilation_w: Count = 1,
        dilation_h: Count = 1,
        out_dw: Count | None = None,
    ) -> None:
        """Convolve and add: ``dst[y][x][o] = 2^fix_pos * sum of src[y * sh + i * dh][x * sw + j * dw][c] * weight[o][i][j][c] + bias[o]``.

        The form of ``__bang_conv`` with *bias* (*co* elements) after *weight*; everything else is as there.
        """
    @overload
    def bang_mlp(
        self,
        dst: Ptr,
        src: Ptr,
        bias: Ptr,
        weight: Ptr,
        outputs: Count,
        inputs: Count,
        fix_pos: Count = 0,
    ) -> None:
        """Apply a fully connected layer and add: ``dst[o] = 2^fix_pos * sum over x of src[x] * weight[o][x] + bias[o]``.

        The form of ``__bang_mlp`` with *bias* (*outputs* elements) before *weight*; everything else is as there.
        """
    @overload
    def bang_mlp(
        self,
        dst: Ptr,
        src: Ptr,
        weight: Ptr,
        outputs: Count,
        inputs: Count,
        fix_pos: Count = 0,
    ) -> None:
        """Apply a fully connected layer: ``dst[o] = 2^fix_pos * sum over x of src[x] * weight[o][x]``.

        *weight* is in WRAM: *outputs* filters of *inputs* elements as ``__bang_reshape_filter`` lays them out,
        padded if they are not multiples of 64, as in ``__bang_matmul``. A call with *bias* before *weight* is a
        call of ``__bang_mlp_bias``.
        """
    def bang_mlp_bias(
        self,
        dst: Ptr,
        src: Ptr,
        bias: Ptr,
        weight: Ptr,
        outputs: Count,
        inputs: Count,
        fix_pos: Count = 0,
    ) -> None:
        """Apply a fully connected layer and add: ``dst[o] = 2^fix_pos * sum over x of src[x] * weight[o][x] + bias[o]``.

        The form of ``__bang_mlp`` with *bias* (*outputs* elements) before *weight*; everything else is as there.
        """
    def bang_float2int32(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int32_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int32_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int32_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int32_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int32_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int32_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, to the nearest, ties to even: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int32_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, to the nearest, ties toward plus infinity (inferred): ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int16_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int16, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int16_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int16, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int16_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int16, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int16_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int16, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int16_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int16, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int16_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int16, to the nearest, ties to even: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int16_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int16, to the nearest, ties toward plus infinity (inferred): ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int8_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int8, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int8_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int8, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int8_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int8, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int8_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int8, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int8_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int8, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int8_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int8, to the nearest, ties to even: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int8_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int8, to the nearest, ties toward plus infinity (inferred): ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int32(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int32, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int32_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int32, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int32_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int32, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int32_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int32, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int32_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int32, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int32_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int32, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int32_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int32, to the nearest, ties to even: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int32_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int32, to the nearest, ties toward plus infinity (inferred): ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int16_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int16_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int16_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int16_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int16_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int16_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, to the nearest, ties to even: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int16_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, to the nearest, ties toward plus infinity (inferred): ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int8(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int8, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int8_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int8, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int8_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int8, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int8_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int8, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int8_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int8, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int8_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int8, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int8_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int8, to the nearest, ties to even: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2int8_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int8, to the nearest, ties toward plus infinity (inferred): ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2uchar_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to uint8, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uchar_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint8, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2uchar_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to uint8, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2uchar_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to uint8, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2uchar_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to uint8, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2uchar_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to uint8, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2uchar_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to uint8, to the nearest, ties to even: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_half2uchar_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to uint8, to the nearest, ties toward plus infinity (inferred): ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uchar_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint8, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uchar_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint8, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uchar_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint8, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uchar_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint8, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uchar_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint8, to the nearest, ties to even: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uchar_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint8, to the nearest, ties toward plus infinity (inferred): ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint8 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uint32_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint32, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uint32_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint32, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uint32_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint32, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uint32_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint32, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uint32_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint32, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uint32_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint32, to the nearest, ties to even: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2uint32_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to uint32, to the nearest, ties toward plus infinity (inferred): ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of uint32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).
        """
    def bang_float2int_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_float2int32_tz``.
        """
    def bang_float2int_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_float2int32_oz``.
        """
    def bang_float2int_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_float2int32_up``.
        """
    def bang_float2int_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_float2int32_dn``.
        """
    def bang_float2int_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_float2int32_rd``.
        """
    def bang_float2int_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, to the nearest, ties to even: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_float2int32_rn``.
        """
    def bang_float2int_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert float to int32, to the nearest, ties toward plus infinity (inferred): ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int32 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_float2int32_rm``.
        """
    def bang_half2short_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_half2int16_oz``.
        """
    def bang_half2short_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, toward plus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_half2int16_up``.
        """
    def bang_half2short_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, toward minus infinity: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_half2int16_dn``.
        """
    def bang_half2short_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, to the nearest, ties away from zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_half2int16_rd``.
        """
    def bang_half2short_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert half to int16, toward zero: ``dst[i] = saturate(round(src[i] / 2**pos))``.

        *dst* may be exactly *src*.  Beyond the range of int16 the nearest limit is the result (inferred); NaN becomes 0 (unknown, default chosen).

        The older spelling of ``__bang_half2int16_tz``.
        """
    def bang_half2float(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_stride: Count | None = None,
        src_stride: Count | None = None,
        segnum: Count | None = None,
    ) -> None:
        """Convert half to float: ``dst[i] = src[i]``, exactly.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  With strides in bytes, ``segnum + 1`` pieces of *elem_count* elements.
        """
    def bang_bfloat162float(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_stride: Count | None = None,
        src_stride: Count | None = None,
        segnum: Count | None = None,
    ) -> None:
        """Convert bfloat16 to float: ``dst[i] = src[i]``, exactly.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  With strides in bytes, ``segnum + 1`` pieces of *elem_count* elements.
        """
    def bang_float2half_tz(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to half, toward zero: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2half_oz(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to half, away from zero: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2half_up(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to half, toward plus infinity: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2half_dn(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to half, toward minus infinity: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2half_rd(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to half, to the nearest, ties away from zero: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2half_rn(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to half, to the nearest, ties to even: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2half_rm(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to half, to the nearest, ties toward plus infinity (inferred): ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2half(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to half, to the nearest, ties to even: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2bfloat16(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to bfloat16, to the nearest, ties to even: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2bfloat16_tz(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to bfloat16, toward zero: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2bfloat16_oz(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to bfloat16, away from zero: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2bfloat16_up(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to bfloat16, toward plus infinity: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2bfloat16_dn(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to bfloat16, toward minus infinity: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2bfloat16_rd(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to bfloat16, to the nearest, ties away from zero: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2bfloat16_rn(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to bfloat16, to the nearest, ties to even: ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2bfloat16_rm(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Convert float to bfloat16, to the nearest, ties toward plus infinity (inferred): ``dst[i] = round(src[i])``.

        *dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, or the largest finite number if the rounding is toward it.  On MLU2xx there is no infinity: results saturate (inferred).
        """
    def bang_float2tf32_sr(self, dst: Ptr, src: Ptr, elem_count: Count) -> None:
        """Round float to tf32 (10 bits of fraction, stored as float), stochastically: ``dst[i] = round(src[i])``.

        The nearer neighbour is more likely. The hardware's random numbers are unknown; the default chosen is a
        fixed sequence by index, so that results are reproducible.
        """
    def bang_int322float(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to float, toward zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322float_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to float, toward zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322float_oz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to float, away from zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322float_up(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to float, toward plus infinity: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322float_dn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to float, toward minus infinity: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322float_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to float, to the nearest, ties away from zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322float_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to float, to the nearest, ties to even: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322float_rm(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to float, to the nearest, ties toward plus infinity (inferred): ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int2float(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to float, toward zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.

        The older spelling of ``__bang_int322float``.
        """
    def bang_uint322float(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert uint32 to float, toward zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322half(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to half, toward zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322half_tz(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to half, toward zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322half_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to half, to the nearest, ties away from zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322half_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int32 to half, to the nearest, ties to even: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int162half(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int16 to half, toward zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_short2half(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int16 to half, toward zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.

        The older spelling of ``__bang_int162half``.
        """
    def bang_int162half_rd(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int16 to half, to the nearest, ties away from zero: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int162half_rn(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int16 to half, to the nearest, ties to even: ``dst[i] = src[i] * 2**pos``.

        *dst* may be exactly *src*.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int162float(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int16 to float, exactly if *pos* is 0: ``dst[i] = src[i] * 2**pos``.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int82half(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int8 to half, exactly if *pos* is 0: ``dst[i] = src[i] * 2**pos``.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int82float(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert int8 to float, exactly if *pos* is 0: ``dst[i] = src[i] * 2**pos``.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_uchar2half(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert uint8 to half, exactly if *pos* is 0: ``dst[i] = src[i] * 2**pos``.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_uchar2float(self, dst: Ptr, src: Ptr, elem_count: Count, pos: Count = 0) -> None:
        """Convert uint8 to float, exactly if *pos* is 0: ``dst[i] = src[i] * 2**pos``.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  That the factor is ``2**pos``, not its inverse, is inferred.
        """
    def bang_int322int16(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_pos: Count = 0,
        src_pos: Count = 0,
    ) -> None:
        """Convert int32 to int16: ``dst[i] = saturate(trunc(src[i] * 2**(src_pos - dst_pos)))``.

        *dst* may be exactly *src*.  The scaling is inferred.
        """
    def bang_int322int8(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_pos: Count = 0,
        src_pos: Count = 0,
    ) -> None:
        """Convert int32 to int8: ``dst[i] = saturate(trunc(src[i] * 2**(src_pos - dst_pos)))``.

        *dst* may be exactly *src*.  The scaling is inferred.
        """
    def bang_int162int8(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_pos: Count = 0,
        src_pos: Count = 0,
    ) -> None:
        """Convert int16 to int8: ``dst[i] = saturate(trunc(src[i] * 2**(src_pos - dst_pos)))``.

        *dst* may be exactly *src*.  The scaling is inferred.
        """
    def bang_uchar2int16(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_pos: Count = 0,
        src_pos: Count = 0,
    ) -> None:
        """Convert uint8 to int16: ``dst[i] = saturate(trunc(src[i] * 2**(src_pos - dst_pos)))``.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  The scaling is inferred.
        """
    def bang_uchar2int32(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_pos: Count = 0,
        src_pos: Count = 0,
    ) -> None:
        """Convert uint8 to int32: ``dst[i] = saturate(trunc(src[i] * 2**(src_pos - dst_pos)))``.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  The scaling is inferred.
        """
    def bang_int322uchar(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_pos: Count = 0,
        src_pos: Count = 0,
    ) -> None:
        """Convert int32 to uint8: ``dst[i] = saturate(trunc(src[i] * 2**(src_pos - dst_pos)))``.

        *dst* may be exactly *src*.  The scaling is inferred.
        """
    def bang_int82int16(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_pos: Count = 0,
        src_pos: Count = 0,
    ) -> None:
        """Convert int8 to int16: ``dst[i] = saturate(trunc(src[i] * 2**(src_pos - dst_pos)))``.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  The scaling is inferred.
        """
    def bang_int82int32(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_pos: Count = 0,
        src_pos: Count = 0,
    ) -> None:
        """Convert int8 to int32: ``dst[i] = saturate(trunc(src[i] * 2**(src_pos - dst_pos)))``.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  The scaling is inferred.
        """
    def bang_int162int32(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        dst_pos: Count = 0,
        src_pos: Count = 0,
    ) -> None:
        """Convert int16 to int32: ``dst[i] = saturate(trunc(src[i] * 2**(src_pos - dst_pos)))``.

        *dst* may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise.  The scaling is inferred.
        """
    def bang_atomic_reduce_add(
        self,
        dst: Ptr,
        src: Ptr | Scalar,
        elem_count: Count = 1,
        segnum1: Count | None = None,
        segnum2: Count | None = None,
        dst_stride1: Count | None = None,
        dst_stride2: Count | None = None,
        src_stride1: Count | None = None,
        src_stride2: Count | None = None,
    ) -> None:
        """Atomically, element by element, in GDRAM: ``dst[i] = dst[i] + src[i]``.

        *src* is a vector in NRAM or one scalar for all *elem_count* elements.  With strides in bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592).
        """
    def bang_atomic_reduce_add_async(
        self,
        dst: Ptr,
        src: Ptr | Scalar,
        elem_count: Count = 1,
        segnum1: Count | None = None,
        segnum2: Count | None = None,
        dst_stride1: Count | None = None,
        dst_stride2: Count | None = None,
        src_stride1: Count | None = None,
        src_stride2: Count | None = None,
    ) -> None:
        """Atomically, element by element, in GDRAM: ``dst[i] = dst[i] + src[i]``.

        *src* is a vector in NRAM or one scalar for all *elem_count* elements.  With strides in bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592).

        The core does not wait for it: *src* must be complete when it is issued, and unchanged until a sync that waits for the IO-DMA; the sum is in *dst* after that sync.
        """
    def bang_atomic_reduce_max(
        self,
        dst: Ptr,
        src: Ptr | Scalar,
        elem_count: Count = 1,
        segnum1: Count | None = None,
        segnum2: Count | None = None,
        dst_stride1: Count | None = None,
        dst_stride2: Count | None = None,
        src_stride1: Count | None = None,
        src_stride2: Count | None = None,
    ) -> None:
        """Atomically, element by element, in GDRAM: ``dst[i] = max(dst[i], src[i])``.

        *src* is a vector in NRAM or one scalar for all *elem_count* elements.  -0 is below +0 (inferred).  With strides in bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592).
        """
    def bang_atomic_reduce_min(
        self,
        dst: Ptr,
        src: Ptr | Scalar,
        elem_count: Count = 1,
        segnum1: Count | None = None,
        segnum2: Count | None = None,
        dst_stride1: Count | None = None,
        dst_stride2: Count | None = None,
        src_stride1: Count | None = None,
        src_stride2: Count | None = None,
    ) -> None:
        """Atomically, element by element, in GDRAM: ``dst[i] = min(dst[i], src[i])``.

        *src* is a vector in NRAM or one scalar for all *elem_count* elements.  -0 is below +0 (inferred).  With strides in bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592).
        """
    def bang_atomic_reduce_and(
        self,
        dst: Ptr,
        src: Ptr | Scalar,
        elem_count: Count = 1,
        segnum1: Count | None = None,
        segnum2: Count | None = None,
        dst_stride1: Count | None = None,
        dst_stride2: Count | None = None,
        src_stride1: Count | None = None,
        src_stride2: Count | None = None,
    ) -> None:
        """Atomically, element by element, in GDRAM: ``dst[i] = dst[i] & src[i]``.

        *src* is a vector in NRAM or one scalar for all *elem_count* elements.  With strides in bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592).
        """
    def bang_atomic_reduce_or(
        self,
        dst: Ptr,
        src: Ptr | Scalar,
        elem_count: Count = 1,
        segnum1: Count | None = None,
        segnum2: Count | None = None,
        dst_stride1: Count | None = None,
        dst_stride2: Count | None = None,
        src_stride1: Count | None = None,
        src_stride2: Count | None = None,
    ) -> None:
        """Atomically, element by element, in GDRAM: ``dst[i] = dst[i] | src[i]``.

        *src* is a vector in NRAM or one scalar for all *elem_count* elements.  With strides in bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592).
        """
    def bang_atomic_reduce_xor(
        self,
        dst: Ptr,
        src: Ptr | Scalar,
        elem_count: Count = 1,
        segnum1: Count | None = None,
        segnum2: Count | None = None,
        dst_stride1: Count | None = None,
        dst_stride2: Count | None = None,
        src_stride1: Count | None = None,
        src_stride2: Count | None = None,
    ) -> None:
        """Atomically, element by element, in GDRAM: ``dst[i] = dst[i] ^ src[i]``.

        *src* is a vector in NRAM or one scalar for all *elem_count* elements.  With strides in bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592).
        """
    def bang_atomic_reduce_exch(
        self,
        dst: Ptr,
        src: Ptr | Scalar,
        elem_count: Count = 1,
        segnum1: Count | None = None,
        segnum2: Count | None = None,
        dst_stride1: Count | None = None,
        dst_stride2: Count | None = None,
        src_stride1: Count | None = None,
        src_stride2: Count | None = None,
    ) -> None:
        """Atomically, element by element, in GDRAM: ``dst[i] = src[i]``.

        *src* is a vector in NRAM or one scalar for all *elem_count* elements.  With strides in bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592).
        """
    def bang_atomic_reduce_inc(
        self,
        dst: Ptr,
        src: Ptr | Scalar,
        elem_count: Count = 1,
        segnum1: Count | None = None,
        segnum2: Count | None = None,
        dst_stride1: Count | None = None,
        dst_stride2: Count | None = None,
        src_stride1: Count | None = None,
        src_stride2: Count | None = None,
    ) -> None:
        """Atomically, element by element, in GDRAM: ``dst[i] = dst[i] >= src[i] ? 0 : dst[i] + 1``.

        *src* is a vector in NRAM or one scalar for all *elem_count* elements.  The formula is unknown, default chosen.  With strides in bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592).
        """
    def bang_atomic_reduce_dec(
        self,
        dst: Ptr,
        src: Ptr | Scalar,
        elem_count: Count = 1,
        segnum1: Count | None = None,
        segnum2: Count | None = None,
        dst_stride1: Count | None = None,
        dst_stride2: Count | None = None,
        src_stride1: Count | None = None,
        src_stride2: Count | None = None,
    ) -> None:
        """Atomically, element by element, in GDRAM: ``dst[i] = dst[i] == 0 || dst[i] > src[i] ? src[i] : dst[i] - 1``.

        *src* is a vector in NRAM or one scalar for all *elem_count* elements.  The formula is unknown, default chosen.  With strides in bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592).
        """
    def bang_atomic_add(self, dst: Ptr, src1: Ptr, src2: Ptr | Scalar, elem_count: Count = 1) -> None:
        """Atomically, element by element: ``dst[i] = src1[i]; src1[i] = src1[i] + src2[i]``; *src1* is in GDRAM.

        *dst* gets the previous numbers.  *src2* is a vector in NRAM, which may be exactly *dst*, or one scalar for all *elem_count* elements.
        """
    def bang_atomic_max(self, dst: Ptr, src1: Ptr, src2: Ptr | Scalar, elem_count: Count = 1) -> None:
        """Atomically, element by element: ``dst[i] = src1[i]; src1[i] = max(src1[i], src2[i])``; *src1* is in GDRAM.

        *dst* gets the previous numbers.  *src2* is a vector in NRAM, which may be exactly *dst*, or one scalar for all *elem_count* elements.  -0 is below +0 (inferred).
        """
    def bang_atomic_min(self, dst: Ptr, src1: Ptr, src2: Ptr | Scalar, elem_count: Count = 1) -> None:
        """Atomically, element by element: ``dst[i] = src1[i]; src1[i] = min(src1[i], src2[i])``; *src1* is in GDRAM.

        *dst* gets the previous numbers.  *src2* is a vector in NRAM, which may be exactly *dst*, or one scalar for all *elem_count* elements.  -0 is below +0 (inferred).
        """
    def bang_atomic_and(self, dst: Ptr, src1: Ptr, src2: Ptr | Scalar, elem_count: Count = 1) -> None:
        """Atomically, element by element: ``dst[i] = src1[i]; src1[i] = src1[i] & src2[i]``; *src1* is in GDRAM.

        *dst* gets the previous numbers.  *src2* is a vector in NRAM, which may be exactly *dst*, or one scalar for all *elem_count* elements.
        """
    def bang_atomic_or(self, dst: Ptr, src1: Ptr, src2: Ptr | Scalar, elem_count: Count = 1) -> None:
        """Atomically, element by element: ``dst[i] = src1[i]; src1[i] = src1[i] | src2[i]``; *src1* is in GDRAM.

        *dst* gets the previous numbers.  *src2* is a vector in NRAM, which may be exactly *dst*, or one scalar for all *elem_count* elements.
        """
    def bang_atomic_xor(self, dst: Ptr, src1: Ptr, src2: Ptr | Scalar, elem_count: Count = 1) -> None:
        """Atomically, element by element: ``dst[i] = src1[i]; src1[i] = src1[i] ^ src2[i]``; *src1* is in GDRAM.

        *dst* gets the previous numbers.  *src2* is a vector in NRAM, which may be exactly *dst*, or one scalar for all *elem_count* elements.
        """
    def bang_atomic_exch(self, dst: Ptr, src1: Ptr, src2: Ptr | Scalar, elem_count: Count = 1) -> None:
        """Atomically, element by element: ``dst[i] = src1[i]; src1[i] = src2[i]``; *src1* is in GDRAM.

        *dst* gets the previous numbers.  *src2* is a vector in NRAM, which may be exactly *dst*, or one scalar for all *elem_count* elements.
        """
    def bang_atomic_inc(self, dst: Ptr, src1: Ptr, src2: Ptr | Scalar, elem_count: Count = 1) -> None:
        """Atomically, element by element: ``dst[i] = src1[i]; src1[i] = src1[i] >= src2[i] ? 0 : src1[i] + 1``; *src1* is in GDRAM.

        *dst* gets the previous numbers.  *src2* is a vector in NRAM, which may be exactly *dst*, or one scalar for all *elem_count* elements.  The formula is unknown, default chosen.
        """
    def bang_atomic_dec(self, dst: Ptr, src1: Ptr, src2: Ptr | Scalar, elem_count: Count = 1) -> None:
        """Atomically, element by element: ``dst[i] = src1[i]; src1[i] = src1[i] == 0 || src1[i] > src2[i] ? src2[i] : src1[i] - 1``; *src1* is in GDRAM.

        *dst* gets the previous numbers.  *src2* is a vector in NRAM, which may be exactly *dst*, or one scalar for all *elem_count* elements.  The formula is unknown, default chosen.
        """
    def bang_atomic_cas(self, dst: Ptr, src1: Ptr, compare: Scalar, new: Scalar) -> None:
        """Compare and swap one element: ``dst[0] = src1[0]; if (src1[0] == compare) src1[0] = new``.

        *src1* is in GDRAM; *dst*, in NRAM, receives the old value: *compare* if the swap took place.
        """
    def bang_atomic_reduce_cas(self, dst: Ptr, compare: Scalar, new: Scalar) -> None:
        """Compare and swap one element of GDRAM: ``if (dst[0] == compare) dst[0] = new``, no result."""
    def bang_discrete_atomic_add(
        self,
        dst: Ptr,
        base: Ptr,
        offset: Ptr,
        src: Ptr | Scalar,
        *rest: Any,
    ) -> None:
        """Atomically, element by element: ``dst[i] = *p; *p = *p + src[i]`` with ``p = (char*)base + offset[i]``.

        ``(dst, base, offset, src, elem_count)`` or ``(dst, base, offset, src, bitmask, elem_count)``: *base* is in GDRAM, *offset* is a vector of distances from it in bytes, of 8, 16, 32 or 64 bits, signed or not; *src* is a vector in NRAM, which may be exactly *dst*, or one scalar.  An element whose bit in *bitmask* is 0 is left out.  Several updates of the same element happen one after the other, in the order of i.  That offsets count bytes and masks are bits is inferred; the types are those of ``__bang_atomic_add``.
        """
    def bang_discrete_atomic_max(
        self,
        dst: Ptr,
        base: Ptr,
        offset: Ptr,
        src: Ptr | Scalar,
        *rest: Any,
    ) -> None:
        """Atomically, element by element: ``dst[i] = *p; *p = max(*p, src[i])`` with ``p = (char*)base + offset[i]``.

        ``(dst, base, offset, src, elem_count)`` or ``(dst, base, offset, src, bitmask, elem_count)``: *base* is in GDRAM, *offset* is a vector of distances from it in bytes, of 8, 16, 32 or 64 bits, signed or not; *src* is a vector in NRAM, which may be exactly *dst*, or one scalar.  An element whose bit in *bitmask* is 0 is left out.  Several updates of the same element happen one after the other, in the order of i.  That offsets count bytes and masks are bits is inferred; the types are those of ``__bang_atomic_max``.  -0 is below +0 (inferred).
        """
    def bang_discrete_atomic_min(
        self,
        dst: Ptr,
        base: Ptr,
        offset: Ptr,
        src: Ptr | Scalar,
        *rest: Any,
    ) -> None:
        """Atomically, element by element: ``dst[i] = *p; *p = min(*p, src[i])`` with ``p = (char*)base + offset[i]``.

        ``(dst, base, offset, src, elem_count)`` or ``(dst, base, offset, src, bitmask, elem_count)``: *base* is in GDRAM, *offset* is a vector of distances from it in bytes, of 8, 16, 32 or 64 bits, signed or not; *src* is a vector in NRAM, which may be exactly *dst*, or one scalar.  An element whose bit in *bitmask* is 0 is left out.  Several updates of the same element happen one after the other, in the order of i.  That offsets count bytes and masks are bits is inferred; the types are those of ``__bang_atomic_min``.  -0 is below +0 (inferred).
        """
    def bang_discrete_atomic_and(
        self,
        dst: Ptr,
        base: Ptr,
        offset: Ptr,
        src: Ptr | Scalar,
        *rest: Any,
    ) -> None:
        """Atomically, element by element: ``dst[i] = *p; *p = *p & src[i]`` with ``p = (char*)base + offset[i]``.

        ``(dst, base, offset, src, elem_count)`` or ``(dst, base, offset, src, bitmask, elem_count)``: *base* is in GDRAM, *offset* is a vector of distances from it in bytes, of 8, 16, 32 or 64 bits, signed or not; *src* is a vector in NRAM, which may be exactly *dst*, or one scalar.  An element whose bit in *bitmask* is 0 is left out.  Several updates of the same element happen one after the other, in the order of i.  That offsets count bytes and masks are bits is inferred; the types are those of ``__bang_atomic_and``.
        """
    def bang_discrete_atomic_or(
        self,
        dst: Ptr,
        base: Ptr,
        offset: Ptr,
        src: Ptr | Scalar,
        *rest: Any,
    ) -> None:
        """Atomically, element by element: ``dst[i] = *p; *p = *p | src[i]`` with ``p = (char*)base + offset[i]``.

        ``(dst, base, offset, src, elem_count)`` or ``(dst, base, offset, src, bitmask, elem_count)``: *base* is in GDRAM, *offset* is a vector of distances from it in bytes, of 8, 16, 32 or 64 bits, signed or not; *src* is a vector in NRAM, which may be exactly *dst*, or one scalar.  An element whose bit in *bitmask* is 0 is left out.  Several updates of the same element happen one after the other, in the order of i.  That offsets count bytes and masks are bits is inferred; the types are those of ``__bang_atomic_or``.
        """
    def bang_discrete_atomic_xor(
        self,
        dst: Ptr,
        base: Ptr,
        offset: Ptr,
        src: Ptr | Scalar,
        *rest: Any,
    ) -> None:
        """Atomically, element by element: ``dst[i] = *p; *p = *p ^ src[i]`` with ``p = (char*)base + offset[i]``.

        ``(dst, base, offset, src, elem_count)`` or ``(dst, base, offset, src, bitmask, elem_count)``: *base* is in GDRAM, *offset* is a vector of distances from it in bytes, of 8, 16, 32 or 64 bits, signed or not; *src* is a vector in NRAM, which may be exactly *dst*, or one scalar.  An element whose bit in *bitmask* is 0 is left out.  Several updates of the same element happen one after the other, in the order of i.  That offsets count bytes and masks are bits is inferred; the types are those of ``__bang_atomic_xor``.
        """
    def bang_discrete_atomic_exch(
        self,
        dst: Ptr,
        base: Ptr,
        offset: Ptr,
        src: Ptr | Scalar,
        *rest: Any,
    ) -> None:
        """Atomically, element by element: ``dst[i] = *p; *p = src[i]`` with ``p = (char*)base + offset[i]``.

        ``(dst, base, offset, src, elem_count)`` or ``(dst, base, offset, src, bitmask, elem_count)``: *base* is in GDRAM, *offset* is a vector of distances from it in bytes, of 8, 16, 32 or 64 bits, signed or not; *src* is a vector in NRAM, which may be exactly *dst*, or one scalar.  An element whose bit in *bitmask* is 0 is left out.  Several updates of the same element happen one after the other, in the order of i.  That offsets count bytes and masks are bits is inferred; the types are those of ``__bang_atomic_exch``.
        """
    def bang_discrete_atomic_inc(
        self,
        dst: Ptr,
        base: Ptr,
        offset: Ptr,
        src: Ptr | Scalar,
        *rest: Any,
    ) -> None:
        """Atomically, element by element: ``dst[i] = *p; *p = *p >= src[i] ? 0 : *p + 1`` with ``p = (char*)base + offset[i]``.

        ``(dst, base, offset, src, elem_count)`` or ``(dst, base, offset, src, bitmask, elem_count)``: *base* is in GDRAM, *offset* is a vector of distances from it in bytes, of 8, 16, 32 or 64 bits, signed or not; *src* is a vector in NRAM, which may be exactly *dst*, or one scalar.  An element whose bit in *bitmask* is 0 is left out.  Several updates of the same element happen one after the other, in the order of i.  That offsets count bytes and masks are bits is inferred; the types are those of ``__bang_atomic_inc``.  The formula is unknown, default chosen.
        """
    def bang_discrete_atomic_dec(
        self,
        dst: Ptr,
        base: Ptr,
        offset: Ptr,
        src: Ptr | Scalar,
        *rest: Any,
    ) -> None:
        """Atomically, element by element: ``dst[i] = *p; *p = *p == 0 || *p > src[i] ? src[i] : *p - 1`` with ``p = (char*)base + offset[i]``.

        ``(dst, base, offset, src, elem_count)`` or ``(dst, base, offset, src, bitmask, elem_count)``: *base* is in GDRAM, *offset* is a vector of distances from it in bytes, of 8, 16, 32 or 64 bits, signed or not; *src* is a vector in NRAM, which may be exactly *dst*, or one scalar.  An element whose bit in *bitmask* is 0 is left out.  Several updates of the same element happen one after the other, in the order of i.  That offsets count bytes and masks are bits is inferred; the types are those of ``__bang_atomic_dec``.  The formula is unknown, default chosen.
        """
    def vv_get_length(self) -> int:
        """Return how many bytes a register holds: ``256``, on a memory core too, where kernels divide by it."""
    def vv_index(self, dst: Register, start: Register | Scalar, step: Register | Scalar) -> None:
        """Count: ``dst[i] = start + i * step``."""
    def vv_move(self, dst: Register, src: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src[i]``; a mask, too."""
    def vv_move_m(self, dst: Register, src: Register | Scalar, mask: Register) -> None:
        """Compute lane by lane: ``dst[i] = src[i]`` where the mask is set; the other lanes stay."""
    def vv_move_z(self, dst: Register, src: Register | Scalar, mask: Register) -> None:
        """Compute lane by lane: ``dst[i] = src[i]`` where the mask is set, else 0."""
    def vv_add(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] + src1[i]``."""
    def vv_add_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] + src1[i]`` where the mask is set; the other lanes stay."""
    def vv_add_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] + src1[i]`` where the mask is set, else 0."""
    def vv_sub(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] - src1[i]``."""
    def vv_sub_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] - src1[i]`` where the mask is set; the other lanes stay."""
    def vv_sub_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] - src1[i]`` where the mask is set, else 0."""
    def vv_mul(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] * src1[i]``."""
    def vv_mul_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] * src1[i]`` where the mask is set; the other lanes stay."""
    def vv_mul_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] * src1[i]`` where the mask is set, else 0."""
    def vv_mulh(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = (src0[i] * src1[i]) >> bits of an element``; of integers."""
    def vv_div(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] / src1[i]``.

        Integers are divided as in C, toward 0; a divisor of 0 is refused unless the mask excludes its lane (inferred).
        """
    def vv_div_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] / src1[i]`` where the mask is set; the other lanes stay.

        Integers are divided as in C, toward 0; a divisor of 0 is refused unless the mask excludes its lane (inferred).
        """
    def vv_div_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] / src1[i]`` where the mask is set, else 0.

        Integers are divided as in C, toward 0; a divisor of 0 is refused unless the mask excludes its lane (inferred).
        """
    def vv_rem(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] % src1[i]``; of integers.

        Integers are divided as in C, toward 0; a divisor of 0 is refused unless the mask excludes its lane (inferred).
        """
    def vv_rem_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] % src1[i]`` where the mask is set; the other lanes stay; of integers.

        Integers are divided as in C, toward 0; a divisor of 0 is refused unless the mask excludes its lane (inferred).
        """
    def vv_rem_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] % src1[i]`` where the mask is set, else 0; of integers.

        Integers are divided as in C, toward 0; a divisor of 0 is refused unless the mask excludes its lane (inferred).
        """
    def vv_neg(self, dst: Register, src: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = -src[i]``."""
    def vv_neg_m(self, dst: Register, src: Register | Scalar, mask: Register) -> None:
        """Compute lane by lane: ``dst[i] = -src[i]`` where the mask is set; the other lanes stay."""
    def vv_neg_z(self, dst: Register, src: Register | Scalar, mask: Register) -> None:
        """Compute lane by lane: ``dst[i] = -src[i]`` where the mask is set, else 0."""
    def vv_and(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] & src1[i]``; of integers and masks."""
    def vv_and_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] & src1[i]`` where the mask is set; the other lanes stay; of integers."""
    def vv_and_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] & src1[i]`` where the mask is set, else 0; of integers."""
    def vv_or(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] | src1[i]``; of integers and masks."""
    def vv_or_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] | src1[i]`` where the mask is set; the other lanes stay; of integers."""
    def vv_or_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] | src1[i]`` where the mask is set, else 0; of integers."""
    def vv_xor(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] ^ src1[i]``; of integers and masks."""
    def vv_xor_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] ^ src1[i]`` where the mask is set; the other lanes stay; of integers."""
    def vv_xor_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] ^ src1[i]`` where the mask is set, else 0; of integers."""
    def vv_not(self, dst: Register, src: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = ~src[i]``; of integers and masks."""
    def vv_not_m(self, dst: Register, src: Register | Scalar, mask: Register) -> None:
        """Compute lane by lane: ``dst[i] = ~src[i]`` where the mask is set; the other lanes stay; of integers."""
    def vv_not_z(self, dst: Register, src: Register | Scalar, mask: Register) -> None:
        """Compute lane by lane: ``dst[i] = ~src[i]`` where the mask is set, else 0; of integers."""
    def vv_trixor(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        src2: Register | Scalar,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] ^ src1[i] ^ src2[i]``; of integers."""
    def vv_land(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] && src1[i]``."""
    def vv_land_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] && src1[i]`` where the mask is set; the other lanes stay."""
    def vv_land_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] && src1[i]`` where the mask is set, else 0."""
    def vv_lor(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] || src1[i]``."""
    def vv_lor_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] || src1[i]`` where the mask is set; the other lanes stay."""
    def vv_lor_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] || src1[i]`` where the mask is set, else 0."""
    def vv_lxor(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = !src0[i] != !src1[i]``."""
    def vv_lxor_m(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = !src0[i] != !src1[i]`` where the mask is set; the other lanes stay."""
    def vv_lxor_z(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Compute lane by lane: ``dst[i] = !src0[i] != !src1[i]`` where the mask is set, else 0."""
    def vv_lnot(self, dst: Register, src: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = !src[i]``."""
    def vv_lnot_m(self, dst: Register, src: Register | Scalar, mask: Register) -> None:
        """Compute lane by lane: ``dst[i] = !src[i]`` where the mask is set; the other lanes stay."""
    def vv_lnot_z(self, dst: Register, src: Register | Scalar, mask: Register) -> None:
        """Compute lane by lane: ``dst[i] = !src[i]`` where the mask is set, else 0."""
    def vv_sll(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] << src1[i]``; of integers."""
    def vv_srl(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = unsigned(src0[i]) >> src1[i]``; of integers."""
    def vv_sra(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = signed(src0[i]) >> src1[i]``; of integers."""
    def vv_eq(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] == src1[i]``."""
    def vv_ne(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] != src1[i]``."""
    def vv_lt(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] < src1[i]``."""
    def vv_le(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] <= src1[i]``."""
    def vv_gt(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] > src1[i]``."""
    def vv_ge(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compute lane by lane: ``dst[i] = src0[i] >= src1[i]``."""
    def vv_setp_eq(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compare lane by lane, and keep it as a mask: ``dst[i] = src0[i] == src1[i]``."""
    def vv_setp_ne(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compare lane by lane, and keep it as a mask: ``dst[i] = src0[i] != src1[i]``."""
    def vv_setp_lt(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compare lane by lane, and keep it as a mask: ``dst[i] = src0[i] < src1[i]``."""
    def vv_setp_le(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compare lane by lane, and keep it as a mask: ``dst[i] = src0[i] <= src1[i]``."""
    def vv_setp_gt(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compare lane by lane, and keep it as a mask: ``dst[i] = src0[i] > src1[i]``."""
    def vv_setp_ge(self, dst: Register, src0: Register | Scalar, src1: Register | Scalar) -> None:
        """Compare lane by lane, and keep it as a mask: ``dst[i] = src0[i] >= src1[i]``."""
    def vv_select(
        self,
        dst: Register,
        src0: Register | Scalar,
        src1: Register | Scalar,
        mask: Register,
    ) -> None:
        """Choose lane by lane: ``dst[i] = mask[i] ? src0[i] : src1[i]``."""
    def vv_load(self, dst: Register, src: Ptr, elem_count: Count | None = None) -> None:
        """Load the first elements of a register from NRAM: ``dst[i] = src[i]``, all elements without a count.

        Elements after the count become 0 (unknown on the hardware, default chosen).
        """
    @overload
    def vv_load_m(self, dst: Register, src: Ptr, elem_count: Count, mask: Register) -> None:
        """Load the first elements of a register from NRAM where the mask is set: ``dst[i] = src[i]``; the other lanes stay.

        The form of ``__vv_load_m`` with a count, which comes before the mask (inferred from the store).
        """
    @overload
    def vv_load_m(self, dst: Register, src: Ptr, mask: Register) -> None:
        """Load a register from NRAM where the mask is set: ``dst[i] = src[i]``; the other lanes stay.

        *src* has a whole register's elements.  A call with a count before the mask means ``__vv_load_m_counted``.
        """
    def vv_load_m_counted(self, dst: Register, src: Ptr, elem_count: Count, mask: Register) -> None:
        """Load the first elements of a register from NRAM where the mask is set: ``dst[i] = src[i]``; the other lanes stay.

        The form of ``__vv_load_m`` with a count, which comes before the mask (inferred from the store).
        """
    @overload
    def vv_load_z(self, dst: Register, src: Ptr, elem_count: Count, mask: Register) -> None:
        """Load the first elements of a register from NRAM where the mask is set: ``dst[i] = src[i]``; the other lanes become 0.

        The form of ``__vv_load_z`` with a count, which comes before the mask (inferred from the store).
        """
    @overload
    def vv_load_z(self, dst: Register, src: Ptr, mask: Register) -> None:
        """Load a register from NRAM where the mask is set: ``dst[i] = src[i]``; the other lanes become 0.

        *src* has a whole register's elements.  A call with a count before the mask means ``__vv_load_z_counted``.
        """
    def vv_load_z_counted(self, dst: Register, src: Ptr, elem_count: Count, mask: Register) -> None:
        """Load the first elements of a register from NRAM where the mask is set: ``dst[i] = src[i]``; the other lanes become 0.

        The form of ``__vv_load_z`` with a count, which comes before the mask (inferred from the store).
        """
    def vv_store(self, dst: Ptr, register: Register, elem_count: Count | None = None) -> None:
        """Store the first elements of a register in NRAM: ``dst[i] = register[i]``, all elements without a count."""
    @overload
    def vv_store_m(self, dst: Ptr, register: Register, elem_count: Count, mask: Register) -> None:
        """Store the first elements of a register in NRAM where the mask is set: ``dst[i] = register[i]``; the others stay.

        The form of ``__vv_store_m`` with a count, as a public kernel calls it. Only the elements that are stored
        must lie within the memory.
        """
    @overload
    def vv_store_m(self, dst: Ptr, register: Register, mask: Register) -> None:
        """Store the elements of a register in NRAM where the mask is set: ``dst[i] = register[i]``; the others stay.

        Only the elements that are stored must lie within the memory. A call with a count before the mask is a
        call of ``__vv_store_m_counted``.
        """
    def vv_store_m_counted(self, dst: Ptr, register: Register, elem_count: Count, mask: Register) -> None:
        """Store the first elements of a register in NRAM where the mask is set: ``dst[i] = register[i]``; the others stay.

        The form of ``__vv_store_m`` with a count, as a public kernel calls it. Only the elements that are stored
        must lie within the memory.
        """
    def mlisa_fuse_1(self, dst: Ptr, src: Ptr, elem_count: Count, op0: str, value0: Ptr | Scalar) -> None:
        """Apply 1 operation to each lane: ``dst[i] = src[i].op0(value0)``, each value a vector or a scalar.

        ``fuse.nram.TYPE [dst], elem_count, [src], .op0(value0)``.  The operations by name: add, sub, mul, max, min, eq, ne, lt, le, gt, ge; of integers and, or, xor; of floats div, sqrt, rsqrt, abs, the last three ignoring their value.  Comparisons give 1 or 0.  For max and min -0 is below +0 (inferred).
        """
    def mlisa_fuse_2(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        op0: str,
        value0: Ptr | Scalar,
        op1: str,
        value1: Ptr | Scalar,
    ) -> None:
        """Apply 2 operations to each lane: ``dst[i] = src[i].op0(value0).op1(value1)``, each value a vector or a scalar.

        ``fuse.nram.TYPE [dst], elem_count, [src], .op0(value0), .op1(value1)``.  The operations by name: add, sub, mul, max, min, eq, ne, lt, le, gt, ge; of integers and, or, xor; of floats div, sqrt, rsqrt, abs, the last three ignoring their value.  Comparisons give 1 or 0.  For max and min -0 is below +0 (inferred).
        """
    def mlisa_fuse_3(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        op0: str,
        value0: Ptr | Scalar,
        op1: str,
        value1: Ptr | Scalar,
        op2: str,
        value2: Ptr | Scalar,
    ) -> None:
        """Apply 3 operations to each lane: ``dst[i] = src[i].op0(value0).op1(value1).op2(value2)``, each value a vector or a scalar.

        ``fuse.nram.TYPE [dst], elem_count, [src], .op0(value0), .op1(value1), .op2(value2)``.  The operations by name: add, sub, mul, max, min, eq, ne, lt, le, gt, ge; of integers and, or, xor; of floats div, sqrt, rsqrt, abs, the last three ignoring their value.  Comparisons give 1 or 0.  For max and min -0 is below +0 (inferred).
        """
    def mlisa_fuse_4(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        op0: str,
        value0: Ptr | Scalar,
        op1: str,
        value1: Ptr | Scalar,
        op2: str,
        value2: Ptr | Scalar,
        op3: str,
        value3: Ptr | Scalar,
    ) -> None:
        """Apply 4 operations to each lane: ``dst[i] = src[i].op0(value0).op1(value1).op2(value2).op3(value3)``, each value a vector or a scalar.

        ``fuse.nram.TYPE [dst], elem_count, [src], .op0(value0), .op1(value1), .op2(value2), .op3(value3)``.  The operations by name: add, sub, mul, max, min, eq, ne, lt, le, gt, ge; of integers and, or, xor; of floats div, sqrt, rsqrt, abs, the last three ignoring their value.  Comparisons give 1 or 0.  For max and min -0 is below +0 (inferred).
        """
    def mlisa_fuse_5(
        self,
        dst: Ptr,
        src: Ptr,
        elem_count: Count,
        op0: str,
        value0: Ptr | Scalar,
        op1: str,
        value1: Ptr | Scalar,
        op2: str,
        value2: Ptr | Scalar,
        op3: str,
        value3: Ptr | Scalar,
        op4: str,
        value4: Ptr | Scalar,
    ) -> None:
        """Apply 5 operations to each lane: ``dst[i] = src[i].op0(value0).op1(value1).op2(value2).op3(value3).op4(value4)``, each value a vector or a scalar.

        ``fuse.nram.TYPE [dst], elem_count, [src], .op0(value0), .op1(value1), .op2(value2), .op3(value3), .op4(value4)``.  The operations by name: add, sub, mul, max, min, eq, ne, lt, le, gt, ge; of integers and, or, xor; of floats div, sqrt, rsqrt, abs, the last three ignoring their value.  Comparisons give 1 or 0.  For max and min -0 is below +0 (inferred).
        """
    def mlisa_div_scalar(self, dst: Ptr, src: Ptr, value: Scalar, elem_count: Count) -> None:
        """Divide by a scalar: ``dst[i] = src[i] / value``, rounded once.

        ``div.scalar.nram.f16`` or ``.f32 [dst], [src], value, elem_count``; mtp_372 has it too, where there is no
        ``__bang_div``.
        """
    def mlisa_findlast1(self, value: Scalar) -> int:
        """Find the highest bit that is set: returns ``floor(log2(value))``, or 0xffffffff for 0.

        ``findlast1.gpr.b32 result, value``.
        """
