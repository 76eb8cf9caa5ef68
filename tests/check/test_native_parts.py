"""The parts of on-chip arrays that overwrite one another are found in C first, and are those that two runs in Python find."""

import random
import shlex

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.errors import Fault
from mlusim.machine.native.build import CHOICE, available
from mlusim.programs.carving import carve
from mlusim.programs.launch_again import LaunchAgain
from mlusim.programs.native_parts import overlaps_in_c

pytestmark = pytest.mark.skipif(available() is None, reason="there is no compiler")

SOURCE = r"""
#include "bang.h"
__nram__ int8_t buffer[16384];
__nram__ float other[1024];
struct Tile { float *at; int n; };
__mlu_func__ void added(float *to, const float *a, const float *b, int n) { __bang_add(to, a, b, n); }
__mlu_func__ void rows(float *table, int n) {
  for (int i = 0; i < 3; ++i) {
    float *row = table + i * 32;
    row[1] = row[0] + n;
    __bang_write_value(row, 8, n);
  }
}
__mlu_func__ void tail(float *from) { float *end = from + 64; end[3] = end[2] + from[1]; }
__mlu_func__ void counted(const int &n, float *to) { to[1] = to[0] + n; }
__mlu_func__ void twice(float *to, int n) { added(to, to, to, n); tail(to); }
__mlu_func__ void swapped(float *&a, float *&b) { float *c = a; a = b; b = c; }
__mlu_func__ void onward(float *&p) { p[2] = 1.0f; p += 16; p[1] = p[0]; }
__mlu_entry__ void Parts(float *out, const float *in, const int *ops, int many, int o1, int o2, int o3) {
  float *one = (float *)buffer;
  float *two = one + o1, *twin = (float *)buffer + o1;
  float *three = two + o2;
  float *same = two;
  float *moving = three + o3;
  __sramless
  float *ping = two + o3, *pong = ping + o1;
  for (int i = 0; i < many; ++i) {
    const int *op = ops + 2 * i;
    float *chosen = op[1] & 1 ? one : two;
    int n = 64;
    switch (op[0]) {
      case 0: __memcpy(one, in, n * 4, GDRAM2NRAM); break;
      case 1: __memcpy(two, in + 64, n * 4, GDRAM2NRAM); break;
      case 2: added(three, one, two, n); break;
      case 3: added(one, one, two, n); break;
      case 4: twice(two, n); break;
      case 5: __memcpy(out, three, n * 4, NRAM2GDRAM); break;
      case 6: __memcpy(out, one, n * 4, NRAM2GDRAM); break;
      case 7: one[op[1]] = two[op[1]] + three[1]; break;
      case 8: __bang_mul_scalar(same, same, 2.0f, n); break;
      case 9: __bang_write_value(moving, 32, 1.0f); moving += 32; break;
      case 10: rows(three, n); break;
      case 11: __bang_add(chosen, chosen, other, 32); break;
      case 12: __bang_move(other, buffer, 256); break;
      case 13: { Tile t; t.at = three; t.n = n; t.at[1] = t.at[0] + t.n; } break;
      case 14: __bang_add(one, two, three, 32); __bang_add(two, one, three, 32); break;
      case 15: tail(chosen); break;
      case 17: counted(n, two); break;
      case 18: swapped(ping, pong); break;
      case 19: __bang_add(ping, ping, pong, 32); break;
      case 20: added(pong, ping, pong, 32); break;
      case 21: onward(pong); break;
      case 22: { float *row = moving + 16; __bang_mul_scalar(row, row, 2.0f, 16); } break;
      case 23: __memcpy(two, in, 16, GDRAM2NRAM, 64, 16, 3); break;
      case 24: __memcpy(out, one, 32, NRAM2GDRAM, 32, 96, 1); break;
      case 25: __store_nram(two + op[1], __load_nram(three + 1)); break;
      case 26: __bang_write_value(twin, n, 0.0f); break;
      case 27: __bang_write_value(one, n, 0.0f); break;
      case 28: __memcpy(twin, in, 32, GDRAM2NRAM); break;
      case 29: __bang_mul_scalar(one, twin, 2.0f, n); break;
      case 30: added(three, one, twin, n); break;
      case 16: __nramset_async(two, 32, op[1], 128, 0); __sync(); break;
    }
  }
}
""".replace("  __sramless\n", "")
CODES = 26


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "parts.mlu"
    path.write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHOICE, shlex.join((*available(), "-O0")))
        yield bangc.load(path)["Parts"]


def drawn(kernel, draw):
    ops = [(draw.randrange(CODES), draw.randrange(8)) for _ in range(draw.randint(2, 10))]
    return launch_of(kernel, ops, [draw.choice((64, 128, 128, 128, 96, 32, 0)) for _ in range(3)])


def launch_of(kernel, ops, gaps):
    device = mlusim.Device("MLU370-X4")
    ops = np.array(ops, np.int32)
    tensors = device.empty(64, np.float32), device.put(np.ones(128, np.float32)), device.put(ops)
    memory = {t.allocation: t.allocation.raw.copy() for t in tensors}
    given = (*tensors, len(ops), *gaps)
    return LaunchAgain(kernel, device.board, (2, 1, 1), mlusim.BLOCK, given, memory), (ops.tolist(), gaps)


def told(findings):
    return [(str(f), f.count, f.task, f.context, f.places) for f in findings]


def asked(kernel, seed):
    """How many overlaps a random program has, which C and Python tell alike; None where C leaves it to Python."""
    call, what = drawn(kernel, random.Random(seed))
    native, python = overlaps_in_c(call, 10_000), carve(call)
    assert native is None or told(native.findings) == told(python.findings), (seed, what)
    return None if native is None else len(native.findings)


def test_c_finds_the_overlaps_that_python_finds(kernel):
    found = [asked(kernel, seed) for seed in range(20, 36)]

    assert found.count(None) < 8
    assert any(found)
    assert 0 in found


@pytest.mark.parametrize(
    ("ops", "gaps", "found"),
    [
        (
            (26, 27, 28, 29, 6, 28, 29, 6),
            (0, 128, 128),
            0,
        ),  # computed in place, with a tail that both have filled
        ((26, 27, 28, 29, 6), (64, 128, 128), 0),
        ((0, 28, 30, 5), (0, 128, 128), 1),  # the second load takes the place of the first
        ((27, 28, 30, 5), (0, 128, 128), 1),  # or of zeros that are added to
    ],
)
def test_two_names_of_one_place_are_an_overlap_only_if_something_is_lost(kernel, ops, gaps, found):
    """Each operand goes through the pointer that is given for it, also if another leads to the same place."""
    call, _ = launch_of(kernel, [(op, 0) for op in ops], gaps)
    native, python = overlaps_in_c(call, 10_000), carve(call)

    assert told(native.findings) == told(python.findings)
    assert found == len(python.findings)


def test_a_load_or_store_by_its_name_goes_through_the_pointer_that_it_is_given(kernel):
    call, _ = launch_of(kernel, [(1, 0), (25, 3), (8, 0)], [128, 128, 128])
    found = carve(call)
    assert not found.findings
    assert {part.text for part in found.parts if part.low is not None} == {"two", "three"}


@pytest.mark.attack
@pytest.mark.parametrize("part", range(10))
def test_c_finds_the_overlaps_that_python_finds_in_a_thousand_programs(kernel, part):
    for seed in range(100 * part, 100 * (part + 1)):
        asked(kernel, 100 + seed)


def test_arrays_that_are_declared_on_one_line_are_told_apart(tmp_path):
    """Each has its name: in the plan, in what overlaps, and in what a fault says."""
    path = tmp_path / "line.mlu"
    path.write_text(
        "#include <bang.h>\n__nram__ float pool[64], other[32];\n__mlu_entry__ void K(float *out, const float *in, int n) {\n"
        "  __nram__ float one[32], two[32];\n  __memcpy(pool, in, 256, GDRAM2NRAM);\n  __bang_move(one, pool, 128);\n"
        "  __bang_move(two, pool + 32, 128);\n  __bang_add(other, one, two, 32);\n  __memcpy(out, other, n, NRAM2GDRAM);\n}\n"
    )
    kernel, device = bangc.load(path)["K"], mlusim.Device("MLU370-X4")
    tensors = device.empty(64, np.float32), device.put(np.ones(64, np.float32))
    memory = {t.allocation: t.allocation.raw.copy() for t in tensors}
    found = carve(LaunchAgain(kernel, device.board, (1, 1, 1), mlusim.BLOCK, (*tensors, 128), memory))
    told = set()
    for engine in ("python", "native"):
        with pytest.raises(Fault) as caught:
            device.launch(kernel, args=(*tensors, 256), engine=engine)
        told.add(caught.value.message)

    assert [("pool", 0), ("other", 256), ("one", 384), ("two", 512)] == [
        (a.name, a.start) for a in found.arrays
    ]
    assert not found.findings
    assert {
        f"src: bytes [0, 256) of NRAM float other[32] declared at {path}:2 reach 128 bytes past its end"
    } == told
