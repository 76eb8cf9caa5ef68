"""The cause of a value and of a branch: variables, conversions, calls, loops, memory, the memory core, back to the host."""

import re
from pathlib import Path

import numpy as np
import pytest
from debug_kernels import counting_program, scale_program, staged_program
from debug_tools import console_on, refuses, says

import mlusim
from mlusim import bangc
from mlusim.bang import kernel as bang_kernel
from mlusim.debug.look import causes
from mlusim.debug.stop.stops import END

SOURCE = """\
#include <bang.h>
#define TILE 64
#define CLAMP(x, hi) ((x) > (hi) ? (hi) : (x))
struct Part { int first; float scale; };
struct Tally {
  __mlu_func__ Tally(int start) : sum(start) {}
  __mlu_func__ void add(int by) { sum += by; }
  int sum;
};
__nram__ float row[TILE];
__mlu_shared__ float stage[256];
__mlu_func__ int square(int a) { return a * a; }
__mlu_func__ void bump(int *count, int by) { *count += by; }
__mlu_func__ void twice(int &count, int by) { bump(&count, by); count += by; }
__mlu_global__ void K(float *out, const float *in, const int *index, int *sums, int count, float factor) {
  if (coreId == 0x80) {
    __memcpy(stage, in, 256 * sizeof(float), GDRAM2SRAM);
  }
  __sync_cluster();
  if (coreId == 0x80) return;
  Part part = {(int)taskId, 0.5f};
  int left = count, done = 0, odd, *way = &done;
  int local[4] = {1, 2, 3, 4};
  if (count < 0) odd = 1;
  Tally tally(7);
  Part parts[4];
  for (int at = 0; at < count; at += TILE) {
    int size = left < TILE ? left : TILE;
    __memcpy(row, stage + at, size * sizeof(float), SRAM2NRAM);
    int which = index[at / TILE];
    half small = (half)row[3];
    if (which > 7) {
      bump(&part.first, which);
      twice(done, 2);
      local[1] += which;
    } else if (which == 3) {
      part.first = square(which) + square(2);
    }
    switch (which) {
      case 9: tally.add(which);
      case 8: done += 10; break;
      default: done += 1;
    }
    float picked = (float)small * part.scale + (float)local[1];
    int limit = CLAMP(which, 5);
    parts[at / TILE].first = limit;
    int kept = parts[at / TILE].first;
    row[0] = picked + limit;
    __bang_mul_scalar(row, row, factor, TILE);
    __memcpy(out + at, row, size * sizeof(float), NRAM2GDRAM);
    left -= size;
  }
  *way = *way + 1;
  __bang_atomic_add((int *)row, sums, part.first);
  __sync();
}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """The kernel, translated once."""
    path = tmp_path_factory.mktemp("why") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load([path])["K"]


def _program(kernel, engine="native"):
    def program(observe):
        device = mlusim.Device("MLU370-X4")
        out, sums = device.empty((256,), np.float32), device.put(np.zeros(4, np.int32))
        data, index = (
            device.put(np.arange(256, dtype=np.float32)),
            device.put(np.array([3, 9, 1, 4], np.int32)),
        )
        device.launch(
            kernel,
            (4, 1, 1),
            mlusim.UNION1,
            (out, data, index, sums, 200, 2.0),
            observe=observe,
            engine=engine,
        )

    return program


def line(text):
    """The number of the first line of the kernel that has *text*."""
    return next(n for n, one in enumerate(SOURCE.splitlines(), 1) if text in one)


def links(text):
    """The chain as (depth, value, what): without moments, tasks and folders."""
    found = []
    for one in text.splitlines():
        depth = (len(one) - len(one.lstrip())) // 2
        head, _, rest = one.strip().removeprefix("from ").partition(": ")
        where = f"k.mlu:{rest.rpartition(':')[2]}" if "k.mlu:" in rest else rest
        found.append((depth, head, where))
    return found


def chain(console, question):
    """The chain of *question*, without the tests that led there."""
    return [one for one in links(says(console, question)) if not one[1].startswith("because")]


def test_atomics_a_change_by_hand_and_the_end(kernel):
    """Each task's share of an atomic sum; a variable that `set` has changed; where no task is in a function."""
    with console_on(_program(kernel, "python")) as console:
        says(console, "goto end")
        found = chain(console, "who-wrote sums[0] 12")
        assert [one[1] for one in found if one[1].startswith("sums")] == ["sums[0]"] * 5
        assert [one[:2] for one in found if one[1].startswith("part.first = 22")] == [
            (depth, "part.first = 22") for depth in (4, 3, 2, 1)
        ]
        assert "no task is in a function here" in refuses(console, "why")
        says(console, f"break k.mlu:{line('int limit')} task 1 if at == 64", "goto begin", "run")
        says(console, "set which = 2", "next")
        found = chain(console, "why limit")
        assert found[0][:2] == (0, "limit = 2")
        assert found[1][1] == "which = 2"
        assert found[1][2].endswith(": which = 2")
        assert "changed by hand at moment" in says(console, "why which")
        says(console, f"tbreak k.mlu:{line('left -= size')} task 1 if at == 128", "continue")
        assert [one[1] for one in chain(console, "why limit")][:2] == ["limit = 1", "which = 1"]


@bang_kernel
def paired(mlu, count):
    """Hand a pair to itself."""
    pair = (1, count // 2)
    _, half = pair
    mlu.sync()
    return half


HALF_LINE = paired.body.__code__.co_firstlineno + 5


def paired_program(observe):
    """One task with a tuple."""
    mlusim.Device("MLU370-X4").launch(paired, args=(8,), observe=observe)


def test_kernels_of_python():
    """Variables, arguments of functions, loops, and a scalar store's sources; the memory core, too."""
    with console_on(scale_program) as console:
        says(console, "break scaled task 1", "run", "next")
        assert [one[1] for one in links(says(console, "why count"))] == [
            "count = 16",
            "share = 16",
            "count = 64",
        ]
        told = says(console, "why data[1]")
        assert "from factor = 2.0: given at" in told
        says(console, "up")
        assert "`at = mlu.taskId * share`" in says(console, "why at")
    with console_on(paired_program) as console:
        says(console, f"break {Path(__file__).name}:{HALF_LINE}", "run")
        assert [one[1] for one in links(says(console, "why half"))] == [
            "half = 4",
            "pair = (1, 4)",
            "count = 8",
        ]
    with console_on(counting_program) as console:
        says(console, "goto end")
        told = links(says(console, "who-wrote out[1]"))
        assert [one[1] for one in told if one[1].startswith(("sums", "i "))] == [
            "sums[3] = 33", "i = 19", "sums[3] = 14", "i = 11", "sums[3] = 3", "i = 3", "sums[3] = 0",
        ]  # fmt: skip
    with console_on(staged_program) as console:
        says(console, "goto end")
        assert "because `mlu.is_mpu()` at tests/debug/debug_kernels.py:43 was true" in says(
            console, "who-wrote out[1,7]"
        )


FAULT = """\
#include <bang.h>
__nram__ float row[64];
__mlu_func__ float at(int i) { return row[i]; }
__mlu_global__ void F(float *out, int n) {
  int k = n * 3;
  if (n > 3) k += 1;
  out[0] = at(k);
}
"""


@pytest.fixture
def kernel_with_a_fault(tmp_path):
    """A program whose kernel loads beyond an array, in a function that it calls."""
    path = tmp_path / "f.mlu"
    path.write_text(FAULT)
    made = bangc.load([path])["F"]

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        device.launch(
            made,
            (1, 1, 1),
            mlusim.BLOCK,
            (device.empty((4,), np.float32), 30),
            observe=observe,
            engine="python",
        )

    return program


def test_a_fault_has_a_cause(kernel_with_a_fault):
    """The arguments and locals of the function that was left by a fault, and of its callers."""
    with console_on(kernel_with_a_fault) as console:
        says(console, "run")
        assert [one[1] for one in chain(console, "why i")] == ["i = 91", "k = 91", "k = 90", "n = 30"]
        says(console, "up")
        assert "`k += 1`" in says(console, "why k")
        assert "`n > 3` was true, with n = 30" in says(console, "why branch")


@pytest.fixture(scope="module")
def stopped(kernel):
    """A console in the second turn of the loop of task 0, behind the copy; from here on no other session follows lines."""
    with console_on(_program(kernel)) as console:
        says(console, f"break k.mlu:{line('left -= size')} task 0 if at == 64", "run", "delete")
        yield console


def short(told):
    """Return *told* with the file's name alone, whatever the current folder is."""
    return re.sub(r"[^ `]*/k\.mlu:", "k.mlu:", told)


def test_a_value_through_a_macro_and_a_load(stopped):
    """The side that a macro's test took, the index and the tensor; the turn of the loop that really wrote."""
    assert chain(stopped, "why limit") == [
        (0, "limit = 5", f"k.mlu:{line('int limit')}"),
        (1, "which = 9", f"k.mlu:{line('int which')}"),
        (2, "at = 64", f"k.mlu:{line('for (int at')}"),
        (3, "at = 0", f"k.mlu:{line('for (int at')}"),
        (2, "index[1] = 9", "as the host gave it to the device"),
    ]
    told = short(says(stopped, "why limit"))
    assert "`int limit = CLAMP(which, 5)`" in told
    assert f"because `at < count` at k.mlu:{line('for (int at')} was true, with at = 64, count = 200" in told


def test_through_an_address_a_call_and_a_result(stopped):
    """What a function wrote through the address of a member, and what two calls in one statement returned."""
    assert chain(stopped, "why part.first") == [
        (0, "part.first = 22", f"k.mlu:{line('*count += by')}"),
        (1, "part.first = 13", f"k.mlu:{line('square(which) + ')}"),
        (2, "square(which) = 9", f"k.mlu:{line('int square')}"),
        (3, "a = 3", f"k.mlu:{line('square(which) + ')}"),
        (4, "which = 3", f"k.mlu:{line('int which')}"),
        (5, "at = 0", f"k.mlu:{line('for (int at')}"),
        (5, "index[0] = 3", "as the host gave it to the device"),
        (2, "square(2) = 4", f"k.mlu:{line('int square')}"),
        (3, "a = 2", f"k.mlu:{line('square(which) + ')}"),
        (1, "by = 9", f"k.mlu:{line('bump(&part.first')}"),
        (2, "which = 9", f"k.mlu:{line('int which')}"),
        (3, "at = 64", f"k.mlu:{line('for (int at')}"),
        (4, "at = 0", f"k.mlu:{line('for (int at')}"),
        (3, "index[1] = 9", "as the host gave it to the device"),
    ]


def test_through_a_reference_and_a_switch(stopped):
    """A reference becomes an address; a declaration without a value; a pointer and what it leads to."""
    found = chain(stopped, "why/12 done")
    assert [one[0:2] for one in found] == [
        (0, "done = 15"),
        (1, "done = 5"),
        (2, "count = 3"),
        (3, "done = 1"),
        (4, "done = 0"),
        (3, "by = 2"),
        (4, "by = 2"),
        (2, "by = 2"),
    ]
    places = [
        "done += 10",
        "bump(&count",
        "*count += by",
        "default: done",
        "done = 0",
        "bump(&count",
        "twice(done",
    ]
    assert [one[2] for one in found[:7]] == [f"k.mlu:{line(text)}" for text in places]
    told = says(stopped, "why *way")
    assert told.splitlines()[0].startswith("*way = 15: set")
    assert told.splitlines()[1:3] == says(stopped, "why done").splitlines()[1:3]
    assert "odd: it has no value: `odd` at" in says(stopped, "why odd")
    assert [one[1:] for one in chain(stopped, "why tally.sum")[:3]] == [
        ("tally.sum = 16", f"k.mlu:{line('void add')}"),
        ("tally.sum = 7", f"k.mlu:{line('Tally(int start)')}"),
        ("start = 7", f"k.mlu:{line('Tally tally')}"),
    ]
    assert [one[1:] for one in chain(stopped, "why kept")[1:5]] == [
        ("at = 64", f"k.mlu:{line('for (int at')}"),
        ("at = 0", f"k.mlu:{line('for (int at')}"),
        ("parts[1].first = 5", f"k.mlu:{line('].first = limit')}"),
        ("limit = 5", f"k.mlu:{line('int limit')}"),
    ]
    assert "parts[0].first = 3: set" in says(stopped, "why parts[0].first")
    told = short(says(stopped, "why tally"))
    assert f"because `which` at k.mlu:{line('switch')} led to case 9, with which = 9" in short(
        says(stopped, "why done")
    )
    assert f"because `coreId == 0x80` at k.mlu:{line('return;')} was false" in told


def test_through_conversions_arrays_and_the_memory_core(stopped):
    """A half that was a float in NRAM, which came through SRAM; an element of an array on the stack, and its declaration."""
    found = chain(stopped, "why picked")
    assert found[0] == (0, "picked = 44.5", f"k.mlu:{line('float picked')}")
    assert found[1:5] == [
        (1, "small = 67.0", f"k.mlu:{line('half small')}"),
        (2, "row[3] = 67.0", f"k.mlu:{line('SRAM2NRAM')}"),
        (3, "stage[67]", f"k.mlu:{line('GDRAM2SRAM')}"),
        (4, "in[67]", "as the host gave it to the device"),
    ]
    assert (1, "part.scale = 0.5", f"k.mlu:{line('Part part =')}") in found
    assert (1, "local[1] = 11", f"k.mlu:{line('local[1] += which')}") in found
    assert (2, "local[1] = 2", f"k.mlu:{line('int local[4]')}") in found


def test_from_a_vector_to_the_scalars_it_was_made_of(stopped):
    """A copy, the scalar of an instruction, a scalar store, and on from there; so does who-wrote."""
    found = chain(stopped, "why out[64]")
    assert found[:4] == [
        (0, "out[64] = 99.0 (float32)", f"k.mlu:{line('NRAM2GDRAM')}"),
        (1, "row[0]", f"k.mlu:{line('__bang_mul_scalar')}"),
        (2, "row[0]", f"k.mlu:{line('row[0] = ')}"),
        (3, "picked = 44.5", f"k.mlu:{line('float picked')}"),
    ]
    assert (2, "factor = 2.0", "an argument of the launch, as the host gave it") in found
    assert [one[1:] for one in chain(stopped, "who-wrote out[64] 3")[1:3]] == [one[1:] for one in found[1:3]]


def test_branches(stopped):
    """The last decision of the function, and the last at a line: what came out, what came next, and why."""
    told = says(stopped, "why branch").splitlines()
    assert told[0].startswith("`which` led to case 9, with which = 9: decided at moment ")
    assert f"before `tally.add(which)` of line {line('tally.add')}, at " in told[0]
    assert says(stopped, "why").splitlines() == told
    found = chain(stopped, f"why branch {line('which > 7')}")
    assert found[0][1] == "`which > 7` was true, with which = 9"
    assert found[1][1:] == ("which = 9", f"k.mlu:{line('int which')}")
    assert "no test of line 3 has been decided before this place" in refuses(stopped, "why branch 3")
    assert "takes the number of a line, and 'x' is not one" in refuses(stopped, "why branch x")


def test_trails_grow_until_they_reach_back(stopped, monkeypatch):
    """The answer is the same where the first trail begins behind what is looked for."""
    whole = says(stopped, "why part.first")
    monkeypatch.setattr(causes, "WINDOWS", (0, 4, END))
    assert says(stopped, "why part.first") == whole


def test_expressions_and_mistakes(stopped):
    """Of what is computed each variable is followed; what has no history is refused."""
    found = chain(stopped, "why limit + done")
    assert found[0] == (0, "limit + done = 20", "computed here")
    assert [one[1] for one in found if one[0] == 1] == ["limit = 5", "done = 15"]
    found = chain(stopped, "why row[at / TILE] * limit")
    assert [one[1] for one in found if one[0] == 1] == ["row[1] = 130.0 (float32)", "at = 64", "limit = 5"]
    assert "name 'nothing' is not defined" in refuses(stopped, "why nothing")
    assert "takes the number of links to follow" in refuses(stopped, "why/x done")
