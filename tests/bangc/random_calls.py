"""Random calls of any row, mostly wrong ones, and statements in which cores wait for each other.

`any_call` writes a call of a row drawn from the whole instruction set, by its prototype; `MEETINGS` are statements of cores
that meet, some never.
"""

import functools
import re

from mlusim.isa.prototypes import all_prototypes
from mlusim.isa.table import ISA

REGISTERS = re.compile(r"\bvv_")  # random_registers.py calls their rows
ALONE = frozenset(
    {"sync_cluster_arrive", "sync_cluster_wait", "sync_all_arrive", "sync_all_wait"}
)  # MEETINGS has them
POINTERS = (
    "buf",
    "other",
    "out",
    "in",
    "wbuf",
    "lbuf",
    "sbuf",
    "local",
    "null",
    "wild",
    "stale()",
    "((float *)q)",
)
ROOMS = ("buf", "other", "places")  # half of the pointers lead here, so that more than the memory is wrong
OFFSETS = ("", "", "", " + a", " + b", " - a", " + q", " + 63")
COUNTS = ("1", "2", "4", "8", "16", "64", "n", "a", "b", "-1", "0", "n + b")
DIRECTIONS = (
    "GDRAM2NRAM",
    "NRAM2GDRAM",
    "NRAM2NRAM",
    "GDRAM2SRAM",
    "SRAM2NRAM",
    "NRAM2WRAM",
    "(mluMemcpyDirection_t)a",
)
MEETINGS = (
    "if (taskId == a) return; __sync_cluster();",
    "if (taskId == (a & 3)) x += {p}[{i}]; __sync_cluster(); x += 1.0f;",
    "if (__is_mpu()) {{ sbuf[{i}] = x; }} __sync_cluster(); x += sbuf[b & 63];",
    "if (__is_mpu()) __memcpy(sbuf, {p}{o}, {n}, GDRAM2SRAM); __sync_cluster(); __memcpy(buf, sbuf + a, 64, SRAM2NRAM);",
    "if (__is_mpu()) {{ {p}[{i}] = 1.0f; }} else {{ __sync_cluster(); }}",
    "__sync_cluster_arrive(a, b); __sync_cluster_wait(a, b);",
    "__sync_all_arrive(0, n); __sync_all_wait(0, n);",
    "if (taskId & 1) __sync_cluster_arrive(0, 4); else __sync_cluster_wait(0, a);",
    "__bang_lock(a, b); x += 1.0f; __bang_unlock(a, b);",
    "__bang_lock(0, 0); if (taskId == a) return; __bang_unlock(0, 0);",
    "__sync_all_ipu(); __sync_all_mpu(); if (a > 3) __sync_all();",
    "__sync_all_ipu_within_cluster(); if (coreId == a) __sync_cluster();",
    "for (int t = 0; t < (a & 7); ++t) {{ __memcpy_async(sbuf + 16 * t, {p}{o}, 64, GDRAM2SRAM); __sync_cluster(); }}",
    '__assert(a < b, "said"); __bang_printf("%d %f %ld", a, x, q);',
    "__sync_io_move_compute(a > 0, b > 0, false, true, n > 0, false);",
    "__bang_atomic_add((int *)buf, (int *)out + taskId, 1, 1); while (((int *)out)[a & 63] < b && x < 9.0f) x += 1.0f;",
    '__asm__ volatile("sync;"); __memcpy_async({p}{o}, {s}{r}, {n}, GDRAM2NRAM); __asm__ volatile("sync;");',
    "__nramset_async({p}{o}, {n}, x, a, b); x += buf[{i}]; __sync();",
    "__breakdump_vector({p}{o}, {n});",
    "__breakdump_scalar(a, x);",
)


@functools.cache
def _prototypes():
    """Those of every row but those of registers, by row."""
    found = {}
    for p in all_prototypes():
        row = ISA[p.row]
        if (
            row.available(592)
            and p.row not in ALONE
            and not any(REGISTERS.search(t) for t in (*p.types, p.result))
        ):
            found.setdefault(p.row, []).append(p)
    return found


def rows():
    """The names of the rows that `any_call` may call."""
    return tuple(_prototypes())


def any_call(rng, row):
    """A call of *row* in one of its forms."""
    prototype = rng.choice(_prototypes()[row])
    call = f"{prototype.spelling}({', '.join(_argument(rng, p) for p in prototype.parameters)});"
    return call if prototype.result == "void" else f"x += (float){call}"


def _argument(rng, p):
    if p.type == "...":
        return "a"
    if p.type == "mluMemcpyDirection_t":
        return rng.choice(DIRECTIONS)
    if p.type == "const char *" and p.name.rstrip("_") in ("fmt", "assertion", "file", "function", "text"):
        return '"said"'
    if p.type.endswith("*"):
        name = rng.choice(ROOMS if rng.random() < 0.6 else POINTERS)
        return f"({p.type.replace('Offset', 'int')})({name}{rng.choice(OFFSETS)})"
    if p.type in ("half", "float", "bfloat16_t"):
        return f"({p.type})x"
    return f"({p.type.replace('Offset', 'int')})({rng.choice(COUNTS)})"
