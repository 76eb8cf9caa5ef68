"""The table: every row of the instruction set, by name, in the order of the modules below; and the text that `help` shows for a row."""

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.arch.dtypes import DType
from mlusim.errors import UsageError
from mlusim.isa import (
    atomic,
    control,
    conversions,
    cycle,
    functions,
    fusion,
    gather,
    libdevice,
    logic,
    lut,
    mlisa,
    move,
    pool,
    reduce,
    scalar,
    select,
    shape,
    tensor,
    vector,
    vv,
)
from mlusim.isa.declare import Intrinsic
from mlusim.near import near

MODULES = (
    control,
    scalar,
    move,
    gather,
    vector,
    functions,
    fusion,
    libdevice,
    cycle,
    logic,
    select,
    reduce,
    lut,
    shape,
    pool,
    tensor,
    conversions,
    atomic,
    vv,
    mlisa,
)


@frozen
class Family:
    """The rows of one module: the module's ``name``, and the ``title`` and ``text`` of its documentation."""

    name: str
    title: str
    text: str
    rows: tuple[Intrinsic, ...]


def _family(module: ModuleType) -> Family:
    title, _, text = inspect.cleandoc(module.__doc__ or "").partition("\n")
    # In the order of the definitions in the module.
    rows = tuple(row for row in vars(module).values() if isinstance(row, Intrinsic))
    return Family(module.__name__.rpartition(".")[2], title, text.strip(), rows)


FAMILIES: tuple[Family, ...] = tuple(_family(module) for module in MODULES)
ISA: Mapping[str, Intrinsic] = MappingProxyType({row.name: row for family in FAMILIES for row in family.rows})
NUMBERS: Mapping[str, int] = MappingProxyType({name: n for n, name in enumerate(ISA)})
"""The number of each row in the table, by which C refers to rows."""


_ALLOCATING = "declare an array in the kernel, or cnrtMalloc memory on the host and pass the pointer"
_NOT_OF_REGISTERS = {
    "vv_bfloat16": "no instruction is known for it; call __bang_* on vectors in NRAM",
    "vv_int64": "no instruction is known for it; take two registers of vv_int32",
    "vv_uint64": "no instruction is known for it; take two registers of vv_uint32",
}
_NO_THREADS = (
    "a task has no threads: call __bang_* on whole arrays, and share the work out by taskId and taskDim"
)
_ATOMIC = "in BANG C it is __bang_atomic_reduce_{0}, or __bang_atomic_{0} for the value before"
_BARRIER = "in BANG C __sync_cluster waits for the cores of a cluster, __sync_all for all, and __sync for the core's own pipes"
_SHUFFLES = "__syncwarp __shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync"
_OF_GPUS = {
    "__global__ __kernel kernel": "in BANG C a kernel is __mlu_global__",
    "__device__ __forceinline__ __noinline__": "in BANG C a function of the device is __mlu_func__",
    "__host__": "in BANG C a function without a word, or with __mlu_host__, is one of the host",
    "__shared__ __local": "in BANG C __mlu_shared__ is the memory of a cluster, and __nram__ that of a core",
    "__constant__ __constant": "in BANG C it is __mlu_const__",
    "__global": "in BANG C pointers to GDRAM have no word of their own",
    "float2 float4 half2 int2 int4 uint2 uint4": "in BANG C vectors are arrays in __nram__ of any length; call __bang_* on them",
    "__ldg __ldcg __stcg": "read GDRAM through the pointer, or copy it with __memcpy",
    "blockIdx get_group_id": "in BANG C it is taskIdX, taskIdY and taskIdZ",
    "gridDim get_num_groups": "in BANG C it is taskDimX, taskDimY and taskDimZ",
    "threadIdx blockDim warpSize get_local_id get_local_size get_global_id get_global_size": _NO_THREADS,
    _SHUFFLES: _NO_THREADS,
    "__syncthreads barrier work_group_barrier CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE": _BARRIER,
    "__threadfence __threadfence_block mem_fence": "in BANG C __sync waits for what the core has begun",
    "atomicCAS atomic_cmpxchg": _ATOMIC.format("cas"),
    **{
        f"atomic{word.capitalize()} atomic_{word}": _ATOMIC.format(word)
        for word in ("add", "max", "min", "and", "or", "xor", "exch", "inc", "dec")
    },
}
REPLACED: Mapping[str, str] = {
    **{name: answer for names, answer in _OF_GPUS.items() for name in names.split()},
    "__bang_conv_partial": "call __bang_conv once for all channels, or add its results up",
    "__bang_count_bitindex": "call __bang_count on the elements that the bits were made of",
    "__bang_histogram": "add up __bang_count of __bang_eq_scalar for each value",
    "__bang_mul_pad": "call __bang_mul, then __bang_pad",
    "__bang_mul_reduce_sum": "call __bang_mul, then __bang_reduce_sum",
    "__bang_rand": "make the numbers in the kernel from a counter, by __vv_mulh and __vv_xor",
    "__bang_tiling_2d": "call __bang_tiling_2d_b8 to __bang_tiling_2d_b1024",
    "__bang_tiling_3d": "call __bang_tiling_2d_b8 to __bang_tiling_2d_b1024 for each plane",
    "__sync_copy": "call __sync_io and __sync_move",
    **{
        f"__bang_taylor{n}_{name}": f"call {instead}"
        for n in (3, 4)
        for name, instead in (
            ("cos", "__bang_cos"),
            ("sin", "__bang_sin"),
            ("sigmoid", "__bang_active_sigmoid"),
            ("tanh", "__bang_active_tanh"),
            ("softplus", "__bang_active_exp and __bang_active_log"),
        )
    },
    **_NOT_OF_REGISTERS,
    **dict.fromkeys(("malloc", "calloc", "realloc", "free"), _ALLOCATING),
}
"""Names from older headers, the C library, CUDA and OpenCL that kernels use but BANG C lacks, each with its replacement."""
FORMS_REPLACED: Mapping[str, str] = dict.fromkeys(
    (row.spelling for row in ISA.values() if row.name.startswith(("vv_load", "vv_store"))),
    "a register takes elements of its own type: convert them in NRAM, as __bang_uchar2int32 and __bang_int322uchar do",
)
"""Rows that public code calls in an unsupported form, such as a load of bytes into a 32-bit register, with the replacement."""


ABSORBING = frozenset(
    {np.bitwise_and, np.bitwise_or, np.logical_and, np.logical_or}
    | {ISA[name].body for name in ("bang_band", "bang_bor", "bang_band_scalar", "bang_maskmove")}
)
"""Bodies in which one operand can decide the result whatever the other operand is."""


def settles(row: Intrinsic, dtype: DType | None) -> bool:
    """Return whether one operand of *row* can decide a lane whatever the other is: a mask, or an integer 0 in a product."""
    whole = dtype is not None and dtype.kind != "float"
    return row.body in ABSORBING or (row.body is np.multiply and whole)


def is_intrinsic(name: str) -> bool:
    """Return whether there is a row called *name*, with or without leading underscores, in any case."""
    bare = name.lstrip("_").lower()
    return bare in ISA or bare + "_" in ISA  # Python keywords have a trailing underscore: not_


def find_intrinsic(name: str) -> Intrinsic:
    """Return the row called *name*, with or without leading underscores.

    Raises `UsageError` with the nearest names for an unknown one.
    """
    bare = name.lstrip("_").lower()
    row = ISA.get(bare) or ISA.get(bare + "_")
    if row is None and name in REPLACED:
        raise UsageError(f"there is no intrinsic {name!r}; {REPLACED[name]}")
    if row is None:
        guesses = near(bare, ISA, beside="bang_")
        hint = f"did you mean {', '.join(guesses)}?" if guesses else "`mlusim isa` lists them all"
        raise UsageError(f"there is no intrinsic {name!r}; {hint}")
    return row


def names() -> tuple[str, ...]:
    """Return the names of all intrinsics."""
    return tuple(ISA)


def described(name: str) -> Callable[..., Any] | None:
    """Return a function that documents the intrinsic called *name*, or None for an unknown name."""
    row = ISA.get(name)
    return None if row is None else _standing_for(row)


def _standing_for(row: Intrinsic) -> Callable[..., Any]:
    """Return a function with the name, signature and documentation of *row*; only the `Mlu` of a kernel can execute the row."""

    def intrinsic(*_: Any, **__: Any) -> Any:
        raise UsageError(f"{row.name} runs in a kernel; call it on the `mlu` that the kernel is handed")

    kinds = inspect.Parameter
    parameters = [kinds("mlu", kinds.POSITIONAL_OR_KEYWORD)]
    for p in row.given:
        kind = kinds.VAR_POSITIONAL if p.kind == "rest" else kinds.POSITIONAL_OR_KEYWORD
        default = kinds.empty if p.kind == "rest" else p.default
        parameters.append(kinds(p.name, kind, default=default))
    intrinsic.__name__ = row.name
    intrinsic.__qualname__ = f"Mlu.{row.name}"
    intrinsic.__doc__ = "\n\n".join([inspect.cleandoc(row.doc), *_facts(row)])
    intrinsic.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return intrinsic


def _facts(row: Intrinsic) -> list[str]:
    """Return paragraphs with spelling, pipe and rules; the reference page has the rest."""
    rules = "\n".join(f"* {rule.legal}" for rule in row.rules)
    way = any(p.name == "direction" for p in row.given)  # the direction decides the pipe of a copy
    pipe = "" if way else f"; runs on the {row.pipe.value} pipe"
    told = f"Spelled {row.spelling} in BANG C{pipe}.  `mlusim isa {row.name}` says more."
    return [told, *([f"Rules:\n\n{rules}"] if rules else [])]
