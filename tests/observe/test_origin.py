"""Where initcheck says that bytes without a value come from, above all through sums in place."""

from observe_tools import floats, found, line_of

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2SRAM, SRAM2GDRAM, float32, kernel
from mlusim.engine.preference import MEMORY_CORES

INIT = ["initcheck"]
N = 16


@kernel
def summed(mlu, out, forgets):
    acc = mlu.nram(float32, N)
    forgotten = mlu.nram(float32, N)
    zero = mlu.nram(float32, N, [0])
    if not forgets:
        mlu.bang_write_zero(forgotten, N)
    mlu.bang_add(acc, forgotten, zero, N)
    mlu.bang_add(acc, acc, zero, N)
    mlu.memcpy(out, acc, 4 * N, NRAM2GDRAM)


def test_a_sum_in_place_is_followed_to_what_was_forgotten():
    """The accumulator is not blamed for what it took over, and every step on the way is a place."""
    (finding,) = found(summed, (N, float32), True, observe=INIT)
    lines = [line_of(summed, text) for text in ("bang_add(acc, acc", "bang_add(acc, forgotten")]

    assert str(line_of(summed, "forgotten = mlu")) == finding.context[0].rpartition(":")[2]
    assert "nothing has been written there at all" == finding.context[1]
    assert lines == [place.line for place in finding.places]
    assert () == found(summed, (N, float32), False, observe=INIT)


@kernel
def started_at_nothing(mlu, out, zeroed):
    acc = mlu.nram(float32, N)
    one = mlu.nram(float32, N, [1])
    if zeroed:
        mlu.bang_write_zero(acc, N)
    for _ in range(3):
        mlu.bang_add(acc, acc, one, N)
    mlu.memcpy(out, acc, 4 * N, NRAM2GDRAM)


def test_an_accumulator_without_a_start_is_blamed_itself():
    """The finding names the first reader of the bytes, and does not claim that nothing was written."""
    (finding,) = found(started_at_nothing, (N, float32), False, observe=INIT)
    first = line_of(started_at_nothing, "bang_add")

    assert f"nothing had been written there when __bang_add at line {first} by task 0" in finding.context[1]
    assert () == found(started_at_nothing, (N, float32), True, observe=INIT)


@kernel
def filled_too_late(mlu, out, late):
    acc, addend = mlu.nram(float32, N, [0]), mlu.nram(float32, N)
    if not late:
        mlu.bang_write_zero(addend, N)
    mlu.bang_add(acc, acc, addend, N)
    mlu.bang_write_zero(addend, N)
    mlu.memcpy(out, acc, 4 * N, NRAM2GDRAM)


def test_a_source_that_was_filled_afterwards_leaves_the_blame_with_the_sum():
    """The accumulator had a value before; the sum is named as what took it away."""
    (finding,) = found(filled_too_late, (N, float32), True, observe=INIT)
    line = line_of(filled_too_late, "bang_add")

    assert (
        f"__bang_add at line {line} by task 0 wrote them out of bytes without a value" == finding.context[1]
    )
    assert () == found(filled_too_late, (N, float32), False, observe=INIT)


def test_weights_that_were_never_written_are_named_behind_a_way_through_sram():
    """The tasks that used them have ended, and each wrote its own part of SRAM."""

    def product(mlu, dst, src):
        s = mlu.shared(float32, 4 * 64)
        if mlu.is_ipu():
            a, c, w = mlu.nram(float32, 64), mlu.nram(float32, 64), mlu.wram(float32, 64 * 64)
            mlu.memcpy(a, src, 4 * 64, GDRAM2NRAM)
            mlu.bang_matmul(c, a, w, 1, 64, 64)  # uses
            mlu.memcpy(s + 64 * mlu.coreId, c, 4 * 64, NRAM2SRAM)
        mlu.sync_cluster()
        if mlu.is_mpu():
            mlu.memcpy(dst, s, 16 * 64, SRAM2GDRAM)

    (finding,) = found(
        product, floats(256), floats(64), observe=["initcheck"], dim=(4, 1, 1), kind=mlusim.UNION1
    )

    assert line_of(product, "# uses") == finding.line
    assert "of WRAM float[4096]" in finding.context[0]


def test_sram_that_the_memory_core_fills_without_a_barrier_says_so(tmp_path, monkeypatch):
    """The load is where it belongs, and may come last: the advice has both ways that a load may fail."""
    monkeypatch.setenv(MEMORY_CORES, "last")
    (tmp_path / "k.mlu").write_text(
        "#include <bang.h>\n__nram__ float box[64]; __mlu_shared__ float shared[256];\n"
        "__mlu_global__ void K(float *out, const float *src) {\n"
        "  if (__is_mpu()) { __memcpy(shared, src, 1024, GDRAM2SRAM); return; }\n"
        "  __sync_all_ipu();\n"
        "  __memcpy(box, shared + 64 * coreId, 256, SRAM2NRAM);\n"
        "  __memcpy(out + 64 * taskId, box, 256, NRAM2GDRAM); }\n"
    )
    device = mlusim.Device()
    arguments = [device.empty(256, "float32"), device.put(floats(256))]
    launch = device.launch(
        mlusim.bangc.load(tmp_path / "k.mlu")["K"], (4, 1, 1), mlusim.UNION1, arguments, observe=["initcheck"]
    )
    (finding,) = launch.findings

    assert "nothing has been written there at all" == finding.context[1]
    assert "put a barrier that both pass before this" in finding.hint
    assert "let the memory core do it" in finding.hint
