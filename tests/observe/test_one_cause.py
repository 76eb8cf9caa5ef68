"""One missing sync is one finding, with all that it would have put in order below it."""

from observe_tools import floats, found, line_of

from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32

N = 64
BYTES = 4 * N


def _sums(missing):
    """A kernel that loads six arrays and sums them; *missing*: without the sync behind the loads."""

    def body(mlu, dst, src):
        parts = [mlu.nram(float32, N) for _ in range(6)]
        for part in parts:
            mlu.memcpy_async(part, src, BYTES, GDRAM2NRAM)
        if not missing:
            mlu.sync()
        mlu.bang_add(parts[0], parts[0], parts[1], N)  # cause
        mlu.bang_add(parts[0], parts[0], parts[2], N)  # second
        mlu.bang_mul(parts[0], parts[0], parts[3], N)  # third
        mlu.bang_sub(parts[0], parts[0], parts[4], N)  # fourth
        mlu.bang_add(parts[0], parts[0], parts[5], N)  # fifth
        mlu.sync()
        mlu.memcpy(dst, parts[0], BYTES, NRAM2GDRAM)

    return body


def test_one_missing_sync_is_one_finding():
    """The instruction in front, and below it the others that the same sync would have helped."""
    body = _sums(missing=True)
    (finding,) = found(body, floats(N), floats(N), observe=["racecheck"])

    assert line_of(body, "# cause") == finding.line
    assert f"put mlu.sync_io() before line {finding.line}" == finding.hint
    below = {place.line for place in finding.places}
    assert {line_of(body, f"# {n}") for n in ("second", "third", "fourth", "fifth")} <= below
    assert () == found(_sums(missing=False), floats(N), floats(N), observe=["racecheck"])


def test_two_missing_syncs_are_two_findings():
    """What is issued behind the first gap is not covered by a sync there."""

    def body(mlu, dst, src):
        a, b = mlu.nram(float32, N), mlu.nram(float32, N)
        mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
        mlu.bang_add(b, a, a, N)  # first
        mlu.memcpy_async(dst, b, BYTES, NRAM2GDRAM)  # second
        mlu.sync()

    findings = found(body, floats(N), floats(N), observe=["racecheck"])

    assert [line_of(body, "# first"), line_of(body, "# second")] == [f.line for f in findings]


def test_a_comment_that_allows_the_cause_hides_nothing_else():
    """The other instructions are told by themselves."""

    def body(mlu, dst, src):
        a, b = mlu.nram(float32, N), mlu.nram(float32, N)
        mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
        mlu.bang_add(b, a, a, N)  # mlusim: allow racecheck-read-after-write: the value is not used
        mlu.bang_mul(b, a, a, N)  # told
        mlu.sync()
        mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)

    (finding,) = found(body, floats(N), floats(N), observe=["racecheck"])

    assert line_of(body, "# told") == finding.line
