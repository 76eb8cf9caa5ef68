"""Every row called from BANG C on both engines, those without a body in C too: the same bytes, counts and faults."""

import re
import shlex

import numpy as np
import pytest
from isa_rows import SCALARS, counts_of

import mlusim
from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.errors import MlusimError
from mlusim.isa.prototypes import prototypes
from mlusim.isa.table import FAMILIES
from mlusim.machine.native.build import available
from mlusim.machine.native.text.door import is_native
from mlusim.memory.space import GDRAM, LDRAM, SRAM, WRAM

BOARDS = ("MLU590-H8", "MLU270-S4")
BYTES = 32768  # of each buffer
BUFFERS = 6
SPACES = {GDRAM: "out", WRAM: "weights", SRAM: "shared", LDRAM: "local"}
INDICES = {
    "offset": "places",
    "index": "zeros",
    "repeats": "zeros",
}  # what leads somewhere lies in memory of its own
REGISTERS = re.compile(
    r"\bvv_"
)  # variables of them are declared in tests/bangc/test_bangc_native_registers.py
HEAD = "".join(f"__nram__ char n{k}[{BYTES}];\n" for k in range(BUFFERS)) + (
    "__nram__ unsigned places[64];\n__nram__ short zeros[256];\n"
    f"__wram__ char weights[{BYTES}];\n__mlu_shared__ char shared[{BYTES}];\n__ldram__ char local[{BYTES}];\n"
)
OWN = {  # rows that need others, or cores of one kind
    "sync_cluster_arrive": "__sync_cluster_arrive(0, 5); __sync_cluster_wait(0, 5);",
    "sync_all_arrive": "__sync_all_arrive(0, 5); __sync_all_wait(0, 5);",
    "bang_printf": 'if (__is_ipu()) __bang_printf("%d %u %f %s", taskId - 9, 4294967295u, 0.1f, "said");',
    "bang_lock": "if (__is_ipu()) { __bang_lock(0, 0); __bang_unlock(0, 0); }",
    "bang_gather_async": "__bang_gather_async(n0, out, places, zeros, 64, 64, 5);",
    "nramset_async": "__nramset_async(n0, 64, (short)3, 256, 5); __sync();",
    "extension": "__extension(n0, n1, places, 4, NRAM2NRAM, 5);",
}
PARTS = (
    "sync_cluster_wait",
    "sync_all_wait",
    "bang_unlock",
    "assert_fail",
)  # the last has another row's name in C
MEASURES = ("instructions", "traffic", "lanes", "memory", "scalar_loads", "busy_us", "time_us", "printed")


def statement(row, prototype):
    """A call with operands in the memories where they belong and legal counts."""
    counts, given, rest = counts_of(row), [], iter(range(BUFFERS))
    spaces = {o.name: o.spaces[0] for o in row.operands.values()}
    scatters = "scatter" in row.name
    for p in prototype.parameters:
        if p.type == "...":
            given.append("7")
        elif p.type == "mluMemcpyDirection_t":
            given.append(
                "NRAM2GDRAM" if scatters else "NRAM2NRAM" if row.name == "extension" else "GDRAM2NRAM"
            )
        elif p.type == "const char *" and p.name not in spaces:
            given.append('"add"' if p.name.startswith("op") else '"said %d"')
        elif p.type.endswith("*"):
            space = spaces.get(p.name)
            far = p.name == "base" or (
                row.form in ("copy", "gather") and p.name == ("dst" if scatters else "src")
            )
            name = INDICES.get(p.name) or ("out" if far else SPACES.get(space) or f"n{next(rest)}")
            given.append(f"({p.type.replace('Offset', 'int')})({name})")
        elif counts.get(p.name):
            given.append(str(counts[p.name]))
        else:
            given.append(f"({p.type.replace('Offset', 'int')}){SCALARS.get(p.name, counts.get(p.name) or 5)}")
    call = f"{prototype.spelling}({', '.join(given)});"
    return call if prototype.result == "void" else f"result = (float){call}"


def source(statements):
    """A kernel that makes one of the calls, between copies of what the memories hold."""
    cases = "".join(f"  if (which == {n}) {{ {s} }}\n" for n, s in enumerate(statements))
    fill = "".join(f"  __memcpy(n{k}, in + {k * BYTES}, {BYTES}, GDRAM2NRAM);\n" for k in range(BUFFERS))
    save = "".join(
        f"  __memcpy(out + {(k + 1) * BYTES}, n{k}, {BYTES}, NRAM2GDRAM);\n" for k in range(BUFFERS)
    )
    return (
        f"{HEAD}__mlu_global__ void calls(char *out, char *in, int which) {{\n  float result = 0.0f;\n{fill}"
        "  for (int i = 0; i < 64; ++i) places[i] = 4u * (unsigned)i;\n  __bang_write_value(zeros, 256, (short)0);\n"
        f"  __memcpy(local, in, {BYTES}, GDRAM2LDRAM);\n  __memcpy(shared, in, {BYTES}, GDRAM2SRAM);\n  __sync_cluster();\n"
        f"  __memcpy(weights, n0, {BYTES}, NRAM2WRAM);\n{cases}  __sync();\n{save}"
        f"  __memcpy(n0, weights, {BYTES}, WRAM2NRAM);\n  __memcpy(out + {(BUFFERS + 1) * BYTES}, n0, {BYTES}, NRAM2GDRAM);\n"
        "  *(float *)(out + 8) = result;\n}\n"
    )


def outcome(kernel, which, engine, board):
    """The bytes afterwards and the launch, or the fault."""
    device = mlusim.Device(board)
    words = np.random.default_rng(which).integers(0x3800, 0x4200, BUFFERS * BYTES // 2, dtype=np.uint16)
    out, given = device.put(np.full((BUFFERS + 2) * BYTES, 1, np.int8)), device.put(words.view(np.int8))
    try:
        launch = device.launch(
            kernel, kind=mlusim.UNION1, dim=(4, 1, 1), args=(out, given, which), engine=engine
        )
    except MlusimError as fault:
        return type(fault), str(fault), None
    return None, {m: getattr(launch, m) for m in MEASURES}, device.get(out).tobytes()


def compare(folder, statements, board):
    """Every statement on both engines; how many were faults."""
    (folder / "k.mlu").write_text(source(statements))
    kernel = bangc.load(folder / "k.mlu", board=board)["calls"]
    native = "python" if available() is None else "native"
    faults = 0
    for which, text in enumerate(statements):
        python, other = (outcome(kernel, which, engine, board) for engine in ("python", native))
        faults += python[0] is not None

        assert python == other, text
    return faults


@pytest.fixture(autouse=True)
def _quick_compiler(monkeypatch):
    """No optimisation for calls that run once."""
    if available() is not None:
        monkeypatch.setenv("MLUSIM_CC", shlex.join((*available(), "-O0")))


def calls(rows, board, *, every):
    """The statements of *rows*, each in its first form or in every."""
    made = []
    for row in rows:
        if row.name in OWN:
            made.append(OWN[row.name])
            continue
        fitting = [p for p in prototypes(row) if not any(REGISTERS.search(x.type) for x in p.parameters)]
        if row.available(find_board(board).arch.bang_arch) and row.name not in PARTS:
            made += [statement(row, p) for p in (fitting if every else fitting[:1])]
    return made


ROWS = tuple(row for f in FAMILIES for row in f.rows if not row.spelling.startswith("__mlisa_"))


@pytest.mark.parametrize(("board", "faults"), [("MLU590-H8", 3), ("MLU270-S4", 7)])
def test_rows_without_c(tmp_path, board, faults):
    """Python executes them for the native engine: barriers, prints, gathers, discrete atomics.

    With them the rows that no test of doors calls: waits, and questions where a pointer leads.
    """
    arch = find_board(board).arch
    called = [r for r in ROWS if r.control or r.name.startswith("is_") or not is_native(r, arch)]
    statements = calls(called, board, every=False)

    assert len(statements) > 30
    # The dumps and __abort end a kernel, and on MLU2xx what it has not.
    assert faults == compare(tmp_path, statements, board)


@pytest.mark.attack
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("family", [f for f in FAMILIES if f.name != "vv"], ids=lambda f: f.name)
def test_every_form_of_every_row(tmp_path, family, board):
    """All prototypes."""
    compare(tmp_path, calls([r for r in ROWS if r in family.rows], board, every=True), board)
