"""Hints of racecheck, put into the source: the race is gone, and the result is that of the statements in their order."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import mlusim
from mlusim import bang
from mlusim.bang import kernel

N = 32
FIRST = 6  # the line of the first statement
MOST = 40  # waits that a kernel may take: more than it has statements in conflict
NUMBERS = itertools.count()
PUT = re.compile(r"put mlu\.(\w+)\(\) (?:in|before) line (\d+)")

offsets = st.sampled_from([0, N // 2, N])
counts = st.sampled_from([N // 2, N])
buffers = st.integers(0, 2)


@st.composite
def statements(draw):
    """One statement on three arrays of 2 * N elements in NRAM, x to read from and z to write to."""
    dst, n = draw(buffers), draw(counts)
    one, other = (draw(st.sampled_from([b for b in range(3) if b != dst])) for _ in range(2))
    to, frm, third = draw(offsets), draw(offsets), draw(offsets)
    return draw(
        st.sampled_from(
            [
                f"mlu.memcpy_async(a{dst} + {to}, x + {frm}, {4 * n}, GDRAM2NRAM)",
                f"mlu.memcpy_async(z + {to}, a{dst} + {frm}, {4 * n}, NRAM2GDRAM)",
                f"mlu.memcpy_async(a{dst} + {to}, a{one} + {frm}, {4 * n}, NRAM2NRAM)",
                f"mlu.bang_add(a{dst} + {to}, a{one} + {frm}, a{other} + {third}, {n})",
                f"mlu.bang_write_value(a{dst} + {to}, {n}, float32({to + n}))",
                f"a{dst}[{to}] = {float(frm)}",
                f"a{dst}[{to}] = a{one}[{frm}]",
                "mlu.sync_io()",
                "mlu.sync_move()",
            ]
        )
    )


def _text(lines):
    """A kernel of *lines*, which begin at line 6, between loads of its arrays and stores of them."""
    head = [
        "def body(mlu, z, x):",
        f"    a0, a1, a2 = (mlu.nram(float32, {2 * N}) for _ in range(3))",
        f"    mlu.memcpy(a0, x, {8 * N}, GDRAM2NRAM)",
        f"    mlu.memcpy(a1, x + {2 * N}, {8 * N}, GDRAM2NRAM)",
        f"    mlu.memcpy(a2, x + {4 * N}, {8 * N}, GDRAM2NRAM)",
    ]
    tail = [
        "mlu.sync()",
        *(f"mlu.memcpy(z + {(n + 1) * 2 * N}, a{n}, {8 * N}, NRAM2GDRAM)" for n in range(3)),
    ]
    return "\n".join([*head, *(f"    {line}" for line in (*lines, *tail))]) + "\n"


def _made(folder, text):
    path = folder / f"k{next(NUMBERS)}.py"
    path.write_text(text)
    space = dict(vars(bang))
    exec(compile(text, str(path), "exec"), space)  # noqa: S102 - the text of this test
    return kernel(space["body"])


def _result(made, effects, **options):
    device = mlusim.Device()
    z, x = device.empty(8 * N, "float32"), device.put(np.arange(6 * N, dtype=np.float32))
    launch = device.launch(made, args=(z, x), effects=effects, **options)
    return device.get(z), launch.findings


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the sources are."""
    return tmp_path_factory.mktemp("hints")


def _lines(finding, at, moved):
    """The finding by its rule and lines, those from *at* on moved by as many."""
    return finding.id, *(n + moved * (n >= at) for n in (finding.line, finding.places[0].line))


@settings(max_examples=60, deadline=None)
@given(st.lists(statements(), min_size=2, max_size=9))
def test_a_wait_that_is_proposed_mends_its_race_and_leads_to_the_right_result(folder, lines):
    """Each one that was verified on the recorded run ends its finding; with all of them late and eager effects agree."""
    right, _ = _result(_made(folder, _text(lines).replace("memcpy_async", "memcpy")), "late")
    for _ in range(MOST):
        late, findings = _result(_made(folder, _text(lines)), "late", observe=["racecheck"])
        if not findings:
            break
        first = findings[0]
        name, text = PUT.search(first.hint).groups()
        at = int(text)
        lines = [*lines[: at - FIRST], f"mlu.{name}()", *lines[at - FIRST :]]
        _, left = _result(_made(folder, _text(lines)), "late", observe=["racecheck"])
        old, new = ({_lines(f, at, moved) for f in found} for found, moved in ((findings, 1), (left, 0)))
        assert first.facts["hint_verified"] or "check where" in first.hint
        assert _lines(first, at, 1) not in new
        assert new <= old
    eager, _ = _result(_made(folder, _text(lines)), "eager")

    assert () == findings
    np.testing.assert_array_equal(right, late)
    np.testing.assert_array_equal(right, eager)


@st.composite
def exchanges(draw):
    """One statement of the cores of a cluster, or of its memory core, on SRAM of four shares."""
    k = draw(st.integers(0, 3))
    share, core = f"s + (mlu.taskId + {k}) % 4 * {N}", f"s + {k * N}"
    return draw(
        st.sampled_from(
            [
                f"if mlu.is_ipu(): mlu.memcpy({share}, a, {4 * N}, NRAM2SRAM)",
                f"if mlu.is_ipu(): mlu.memcpy(b, {share}, {4 * N}, SRAM2NRAM)",
                f"if mlu.is_ipu(): mlu.bang_add(a, a, b, {N})",
                f"if mlu.is_mpu(): mlu.memcpy({core}, x + {k * N}, {4 * N}, GDRAM2SRAM)",
                f"if mlu.is_mpu(): mlu.memcpy(y + {k * N}, {core}, {4 * N}, SRAM2GDRAM)",
                "mlu.sync_cluster()",
            ]
        )
    )


def _exchange(lines):
    """A kernel of *lines*, between the first values of its arrays and stores of them."""
    head = [
        "def body(mlu, z, y, x):",
        f"    a, b, s = mlu.nram(float32, {N}), mlu.nram(float32, {N}), mlu.shared(float32, {4 * N})",
        f"    if mlu.is_ipu(): mlu.memcpy(a, x + mlu.taskId * {N}, {4 * N}, GDRAM2NRAM)",
        f"    if mlu.is_ipu(): mlu.bang_write_value(b, {N}, float32(1))",
        f"    if mlu.is_mpu(): mlu.memcpy(s, x, {16 * N}, GDRAM2SRAM)",
        "    mlu.sync_cluster()",
    ]
    tail = [
        "mlu.sync_cluster()",
        f"if mlu.is_ipu(): mlu.memcpy(z + mlu.taskId * {N}, a, {4 * N}, NRAM2GDRAM)",
        f"if mlu.is_mpu(): mlu.memcpy(y + {4 * N}, s, {16 * N}, SRAM2GDRAM)",
    ]
    return "\n".join([*head, *(f"    {line}" for line in (*lines, *tail))]) + "\n"


def _left(made, **options):
    device = mlusim.Device()
    z, y = device.put(np.zeros(4 * N, np.float32)), device.put(np.zeros(8 * N, np.float32))
    x = device.put(np.arange(4 * N, dtype=np.float32))
    launch = device.launch(made, (4, 1, 1), mlusim.UNION1, (z, y, x), **options)
    return np.concatenate([device.get(z), device.get(y)]), launch.findings


def _guard(line):
    """Who executes *line*, as the condition before a statement."""
    found = re.match(r" *(if [^:]*: )", line)
    return found[1] if found else ""


def _with_barrier(text, hint):
    """The lines of *text* with the barrier that *hint* proposes; None where it proposes something else."""
    name = re.search(r"put mlu\.(\w+)\(\) ", hint)
    if name is None:
        return None
    several = "so that all of them meet there" in hint
    for where, number in sorted(
        re.findall(r"(before|behind|and before) line (\d+)", hint), key=lambda f: -int(f[1])
    ):
        at = int(number) - 1
        guard = _guard(text[at]) if several else "if mlu.is_ipu(): " * ("ipu" in name[1])
        at += where == "behind"
        text = [*text[:at], f"    {guard}mlu.{name[1]}()", *text[at:]]
    return text


@settings(max_examples=40, deadline=None)
@given(st.lists(exchanges(), min_size=2, max_size=7))
def test_barriers_that_are_proposed_mend_their_races_and_lead_to_one_result(folder, lines):
    """In every order of the tasks; of statements that all cores pass it is that of their order in the source."""
    whole = [part for line in lines for part in ("mlu.sync_cluster()", line)]
    right, _ = _left(_made(folder, _exchange(whole)))
    text = _exchange(lines).splitlines()
    for _ in range(MOST):
        made = _made(folder, "\n".join(text) + "\n")
        result, findings = _left(made, observe=["racecheck"])
        if not findings:
            break
        proposed = [f for f in findings if f.facts["hint_verified"]]
        assume(proposed)  # of what tasks read and write back, no barrier is proposed
        text = _with_barrier(text, proposed[0].hint)

    assert () == findings
    if not any("is_mpu" in line for line in lines):
        np.testing.assert_array_equal(right, result)
    for seed, effects in ((0, "late"), (1, "eager"), (2, "late")):
        np.testing.assert_array_equal(result, _left(made, seed=seed, effects=effects)[0])
