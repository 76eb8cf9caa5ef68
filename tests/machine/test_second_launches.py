"""The cost of a launch that was made before, counted: calls of Python functions, bytes that are copied for it, compilers and processes.

``second_launches.csv`` has the most for each kernel and way in.  A number may fall; one that rises has its reason in its line.
``python tests/machine/test_second_launches.py`` writes what is measured.
"""

import csv
import os
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from attrs import evolve
from greenlet import greenlet

import mlusim
from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.machine.hub import attending
from mlusim.machine.native import build
from mlusim.observe.names import CHECKERS
from mlusim.toolkit import image
from mlusim.toolkit.server.program_server import ProgramServer
from mlusim.toolkit.server.protocol import OPS, ProgramSocket

TABLE = Path(__file__).with_name("second_launches.csv")
SOURCE = """\
__nram__ float own[1024];
__mlu_shared__ float shared[64];
__mlu_global__ void nothing(float *out, const float *in, int n) {}
__mlu_global__ void scale(float *out, const float *in, int n) {
  __memcpy(own, in + taskId * n, n * 4, GDRAM2NRAM);
  __bang_mul_scalar(own, own, 2.0f, n);
  __memcpy(out + taskId * n, own, n * 4, NRAM2GDRAM);
}
__mlu_global__ void locals(float *out, const float *in, int n) {
  __nram__ float a[64], b[64];
  __memcpy_async(a, in, 64, GDRAM2NRAM);
  __sync();
  __bang_add(b, a, a, 16);
  out[taskId] = b[1];
}
__mlu_global__ void says(float *out, const float *in, int n) { __bang_printf("%d %f", (int)taskId, in[0]); }
__mlu_global__ void meets(float *out, const float *in, int n) { for (int i = 0; i < 4; ++i) { __sync_cluster(); } }
__mlu_global__ void shares(float *out, const float *in, int n) {
  if (coreId == 0) { __memcpy(shared, in, 64, GDRAM2SRAM); }
  __sync_cluster();
  if (coreId != 0x80) { __memcpy(own, shared, 64, SRAM2NRAM); out[taskId] = own[2]; }
}
__mlu_global__ void adds(float *out, const float *in, int n) {
  __bang_write_value(own, 16, 1.0f);
  __bang_atomic_reduce_add(out, own, 16);
}
__mlu_global__ void takes(float *out, const float *in, int n) { __bang_atomic_add(own, out, 1.0f, 1); }
"""
UNION1 = mlusim.UNION1
KERNELS = {
    "nothing": ("nothing", 1, mlusim.BLOCK),
    "scale": ("scale", 1, mlusim.BLOCK),
    "scale by 32 tasks": ("scale", 32, mlusim.BLOCK),
    "scale by 128 tasks": ("scale", 128, mlusim.BLOCK),
    "locals": ("locals", 4, mlusim.BLOCK),
    "says": ("says", 2, mlusim.BLOCK),
    "adds": ("adds", 32, mlusim.BLOCK),
    "takes": ("takes", 4, mlusim.BLOCK),
    "meets": ("meets", 4, UNION1),
    "meets in 8 unions": ("meets", (4, 8, 1), UNION1),
    "shares": ("shares", 4, UNION1),
    "scale by a union": ("scale", 4, UNION1),
}
WAYS = ("second", "native", "checked", "driver", "host", "toolkit")
REQUEST, ANSWER = struct.Struct("<IiQ5QQ"), struct.Struct("<i5IQ")  # as lib/protocol.h has them
BOARD = "MLU370-X4"
COPIES = ("fill", "copy", "tobytes", "tolist")  # methods of arrays that pass over their bytes
COLUMNS = ("calls", "rooms", "bytes", "compilers", "processes")


def launching(kernel, dim, kind, way):
    """Return a function that launches *kernel* as *way* says."""
    device = mlusim.Device("MLU370-X4")
    given = device.put(np.ones(512 * 16, np.float32)), device.put(np.ones(512 * 16, np.float32))
    if way == "driver":  # pointers into memory of which a program's driver has cut pieces
        memory = np.zeros(1 << 20, np.uint8)
        given = tuple(device.cut(memory, 512 * 64).ptr.cast("float32") for _ in range(2))
    if way == "host":
        handle = mlusim.host.Handle("MLU370-X4", engine="native")
        given = tuple(handle.device.put(np.ones(512 * 16, np.float32)) for _ in range(2))
        return lambda: handle.launch(
            kernel, dim if isinstance(dim, tuple) else (dim, 1, 1), kind, (*given, 16)
        )
    if way == "toolkit":
        return served(kernel, dim, kind)
    if way in ("checked", "checked in C"):
        engine = "native" if way == "checked in C" else "auto"
        return lambda: checked(device, kernel, dim, kind, (*given, 16), engine)
    return lambda: device.launch(kernel, dim, kind, (*given, 16), engine="native")


def checked(device, kernel, dim, kind, arguments, engine):
    """Launch under all checkers."""
    with attending([checker() for checker in CHECKERS.values()]):
        device.launch(kernel, dim, kind, arguments, engine=engine)


def served(kernel, dim, kind):
    """Return a function that has the process behind the toolkit's driver serve one launch, as a program sends it."""
    file = os.memfd_create("device")
    os.truncate(file, 1 << 20)
    machine = ProgramServer([BOARD], file, os.getpid(), {"engine": "native"})
    os.close(file)
    packets, answers = [], []
    connection = ProgramSocket(SimpleNamespace(recv=lambda _: packets.pop(), sendall=answers.append))

    def asked(op, *words, payload=b""):
        packets.append(REQUEST.pack(OPS[op], 0, 0, *words, *[0] * (5 - len(words)), len(payload)) + payload)
        connection.answer(machine.handle(connection.receive()))
        code, *_, value = ANSWER.unpack_from(answer := answers.pop())
        assert code == 0, answer
        return value

    source = image.ImageSource(kernel.form.span.file, (), (), (find_board(BOARD),))
    content = image.write(source, [kernel.plan.parts[0].file.form])[len(image.MAGIC) + 8 :]
    stub, (x, y, z) = 1, dim if isinstance(dim, tuple) else (dim, 1, 1)
    asked("KERNEL", asked("IMAGE", payload=content), stub, payload=image.symbol_of(kernel.form).encode())
    given = struct.pack("<QQi", *(asked("MALLOC", 512 * 64) for _ in range(2)), 16)
    return lambda: asked("LAUNCH", stub, y << 32 | x, (4 * kind.unions or 1) << 32 | z, payload=given)


class Count:
    """Counts the calls of mlusim's functions, how often one room calls another, and the bytes that methods of arrays pass over."""

    def __init__(self):
        self.found = Counter(dict.fromkeys(COLUMNS, 0))
        self._root = str(Path(mlusim.__file__).parent)

    def __call__(self, frame, event, argument):
        """Count an event of `sys.setprofile`."""
        if event == "call":
            room = self._room(frame)
            self.found["calls"] += 1
            self.found["rooms"] += room is not None and self._room(frame.f_back) not in (None, room)
            self.found["compilers"] += frame.f_code is build.load.__code__
            self.found["processes"] += frame.f_code is subprocess.Popen.__init__.__code__
        elif event == "c_call" and argument.__name__ in COPIES:
            self.found["bytes"] += getattr(argument.__self__, "nbytes", 0)

    def _room(self, frame):
        name = "" if frame is None else frame.f_code.co_filename
        return name.removeprefix(self._root).split("/")[1] if name.startswith(self._root) else None


def counted(*given):
    """Return what a later launch costs, by column; on a stack of its own, since checkers look at the variables of callers."""
    return greenlet(later).switch(*given)


def later(kernel, dim, kind, way):
    """Return what the fourth launch of *kernel* costs, by column; the second, if that is the *way*."""
    launch, count = launching(kernel, dim, kind, way), Count()
    for _ in range(1 if way == "second" else 3):
        launch()
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        launch()
    finally:
        sys.setprofile(before)
    return {column: count.found[column] for column in COLUMNS}


def loaded(folder):
    """Return the kernels of the table, by name."""
    path = Path(folder) / "second.mlu"
    path.write_text(SOURCE)
    return bangc.load([path], board="MLU370-X4")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Return the kernels of the table, by name."""
    return loaded(tmp_path_factory.mktemp("second"))


def table():
    """Return the rows of the table."""
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.skipif(build.available() is None, reason="no C compiler")
@pytest.mark.parametrize("row", table(), ids=lambda row: f"{row['kernel']}-{row['way']}")
def test_a_launch_that_was_made_before_costs_no_more_than_the_table_says(kernels, row):
    """A number may fall: the table is written again then; one that rises needs a reason in its line.

    A fiftieth more is let pass: what earlier tests have left in caches saves or costs a few calls.
    """
    name, dim, kind = KERNELS[row["kernel"]]
    found = counted(kernels[name], dim, kind, row["way"])

    assert {} == {c: n for c, n in found.items() if n > int(row[c]) * 1.02 + 2}


@pytest.mark.skipif(build.available() is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("kernel", "most"), [("scale", 657), ("scale by 128 tasks", 916), ("meets in 8 unions", 1793)]
)
def test_c_begins_the_tasks_of_a_checked_launch_that_was_made_before(kernels, kernel, most):
    """So that the calls of Python functions hardly depend on how many there are."""
    name, dim, kind = KERNELS[kernel]
    calls = counted(kernels[name], dim, kind, "checked in C")["calls"]

    assert calls <= most * 1.02 + 2


def test_a_launch_of_which_every_step_was_kept_makes_later_ones_no_dearer(kernels):
    """On a board that no launch has met, as on another one: what belongs to a board is found without comparing two."""

    def calls(nram, before):
        board = find_board("MLU370-X4")
        device = mlusim.Device(evolve(board, arch=evolve(board.arch, nram=nram)))
        given = device.put(np.ones(512 * 16, np.float32)), device.put(np.ones(512 * 16, np.float32)), 16

        def launch(*observe):
            device.launch(kernels["says"], 2, args=given, engine="python", observe=observe)

        for observe in (before, (), ()):
            launch(*observe)
        count = Count()
        sys.setprofile(count)
        launch()
        sys.setprofile(None)
        return count.found["calls"]

    assert calls(701 << 10, [mlusim.EveryStep()]) <= calls(700 << 10, ()) * 1.02 + 2  # as in the table


def test_the_table_has_every_kernel_and_way():
    """Each once, in order."""
    assert [(kernel, way) for kernel in KERNELS for way in WAYS] == [(r["kernel"], r["way"]) for r in table()]


def write():
    """Write what is measured; reasons stay."""
    reasons = {(row["kernel"], row["way"]): row["reason"] for row in table()}
    with tempfile.TemporaryDirectory() as folder, TABLE.open("w", newline="") as file:
        kernels = loaded(folder)
        rows = csv.DictWriter(file, ("kernel", "way", *COLUMNS, "reason"), lineterminator="\n")
        rows.writeheader()
        for kernel, (name, dim, kind) in KERNELS.items():
            for way in WAYS:
                found = counted(kernels[name], dim, kind, way)
                rows.writerow(
                    {"kernel": kernel, "way": way, **found, "reason": reasons.get((kernel, way), "")}
                )


if __name__ == "__main__":
    write()
