"""Variables in GDRAM, ``__mlu_device__`` and ``__mlu_const__``: ends of copies, one for all tasks, kept between launches."""

import numpy as np
import pytest
from engines import NATIVE, alike

import mlusim
from mlusim import bangc
from mlusim.bangc.errors import SourceError
from mlusim.errors import OutOfBounds

SOURCE = """\
struct P { int a; float b[2]; };
__mlu_const__ P rows[2] = {{1, {2, 3}}, {4, {5, 6}}};
__mlu_const__ int one = 3;
__mlu_const__ char text[8] = "abc";
__mlu_device__ int counter;
__mlu_device__ P shared = {7, {8, 9}};
__mlu_device__ float *kept;
__mlu_device__ int grid[2][3] = {{1, 2}, {3}};
__mlu_device__ double wide[2] = {0.5};
__mlu_func__ int next() { static __mlu_device__ int calls = 5; return ++calls; }
__mlu_global__ void K(int *out, float *f, long beyond) {
  __mlu_const__ int inner[4] = {9, 8, 7};
  __nram__ int held[24];
  __memcpy(held, inner, 16, GDRAM2NRAM);
  __memcpy(held + 4, &one, 4, GDRAM2NRAM);
  __memcpy(held + 5, rows + 1, sizeof(P), GDRAM2NRAM);
  __memcpy(held + 8, grid[1], 12, GDRAM2NRAM);
  __memcpy(held + 11, text, 4, GDRAM2NRAM);
  held[12] = rows[0].a + one + shared.a + text[1];
  held[13] = kept ? (int)kept[2] : -1;
  kept = f + 1;
  held[14] = next();
  counter += taskId + 1;
  shared.a++;
  wide[1] += wide[0];
  held[15] = counter + (int)(4 * wide[1]);
  if (beyond) grid[0][beyond] = 1;
  __memcpy(out + 16 * taskId, held, 64, NRAM2GDRAM);
}
"""
CONSTANT = [9, 8, 7, 0, 3, 4, 1084227584, 1086324736, 3, 0, 0, int.from_bytes(b"abc", "little")]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """The kernel, translated once."""
    path = tmp_path_factory.mktemp("variables") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load(path)["K"]


@pytest.mark.parametrize("engine", ["python", NATIVE])
def test_the_device_has_one_of_each(kernel, engine):
    """All tasks see what each has stored, and so does the next launch; another device has its own."""
    device, other = mlusim.Device(), mlusim.Device()
    out, f = device.put(np.zeros((2, 16), np.int32)), device.put(np.arange(8, dtype=np.float32))

    seen = []
    for _ in range(2):
        device.launch(kernel, 2, args=(out, f, 0), engine=engine)
        seen += device.get(out).tolist()
    first = other.put(np.zeros((1, 16), np.int32))
    other.launch(kernel, args=(first, other.put(np.zeros(8, np.float32)), 0), engine=engine)
    seen += other.get(first).tolist()

    changing = [[109, -1, 6, 3], [110, 3, 7, 7], [111, 3, 8, 10], [112, 3, 9, 14], [109, -1, 6, 3]]
    assert seen == [[*CONSTANT, *row] for row in changing]


def test_both_engines_count_the_same(kernel):
    """Loads, stores, bytes and times, and the fault beyond its last element."""
    arguments = (np.zeros((2, 16), np.int32), np.arange(8, dtype=np.float32))

    launch = alike(kernel, (*arguments, 0), dim=2)
    fault = alike(kernel, (*arguments, 6))

    assert launch.scalar_stores["GDRAM"] == 2 * 5
    assert isinstance(fault, OutOfBounds)


def test_racecheck_sees_the_tasks_that_meet_in_one(kernel):
    """Stores of several tasks to a variable are stores to the same bytes."""
    device = mlusim.Device()
    args = device.put(np.zeros((2, 16), np.int32)), device.put(np.zeros(8, np.float32)), 0

    found = device.launch(kernel, 2, args=args, observe=["racecheck"], engine="native").findings

    line = 1 + SOURCE.splitlines().index("  counter += taskId + 1;")
    assert "racecheck-tasks-write-write" in {one.id for one in found if one.line == line}


def test_checkers_do_not_take_a_launch_for_the_one_before(kernel, tmp_path):
    """A kernel that is given numbers alone still depends on what launches left."""
    (tmp_path / "k.mlu").write_text(
        '__mlu_device__ int turn;\n__mlu_global__ void K(int n) { turn += n; __bang_printf("%d", turn); }\n'
    )
    device, counting = mlusim.Device(), bangc.load(tmp_path / "k.mlu")["K"]

    printed = [device.launch(counting, args=(2,), observe=["memcheck"]).printed for _ in range(2)]

    assert printed == [("2",), ("4",)]


def test_what_a_device_cannot_have_once_is_refused(tmp_path):
    """In place of a variable of each task."""
    declared = "struct V { virtual int f() { return 1; } };\n__mlu_device__ V v;"
    (tmp_path / "k.mlu").write_text(f"{declared}\n__mlu_global__ void K(int *o) {{ o[0] = v.f(); }}")

    with pytest.raises(SourceError, match="v is in device memory, where a V cannot lie"):
        bangc.load(tmp_path / "k.mlu")["K"]
