"""Whatever comes in, it works or is told: a share of the tries in every run of the suite, thousands on request.

``python -m pytest -m attack tests/fuzz`` makes the thousands.
"""

import numpy as np
import pytest
from fuzz_files import FILES, recording, sweep
from fuzz_guided import Lines, Target, guided
from fuzz_input import INPUTS, archive, npy
from fuzz_kernels import KERNELS
from hypothesis import strategies as st

import mlusim
from mlusim.bang import kernel
from mlusim.check.schedules import replay_in
from mlusim.errors import RuleFault, UsageError
from mlusim.files.arrays import read_arrays
from mlusim.formula.parse import parse_formula
from mlusim.observe.suppress import suppressions_in

TARGETS = (*KERNELS, *INPUTS, *FILES)
SHARE, SMALL = (
    100,
    40,
)  # tries of each target in every run of the suite; fewer of those that run a program or write
LONG = ("commands", *(target.name for target in FILES))
DRAWN, GUIDED = 1000, 1500  # tries of each target on request


def _name(target):
    return target.name


@pytest.mark.parametrize("target", TARGETS, ids=_name)
def test_a_share_of_the_tries(target):
    """Drawn by hypothesis."""
    target.spread(SMALL if target.name in LONG else SHARE)


@pytest.mark.slow
@pytest.mark.attack
@pytest.mark.parametrize("target", TARGETS, ids=_name)
def test_attacked_with_what_is_drawn(target):
    """Property-based: drawn by hypothesis, shrunk where something fails."""
    target.spread(DRAWN)


@pytest.mark.slow
@pytest.mark.attack
@pytest.mark.parametrize("target", TARGETS, ids=_name)
def test_attacked_with_guidance(target):
    """Coverage-guided: mutations of what reached new lines."""
    search = guided(target, GUIDED)

    assert search.tries == GUIDED
    assert len(search.corpus) > 1


def test_the_attack_is_of_twenty_thousand_tries():
    """All targets together."""
    assert len(TARGETS) * (DRAWN + GUIDED) >= 20_000


def _locked(codes):
    """Each right byte opens one door more."""
    opened = 0
    if codes[0] == 17:
        opened = 1
        if codes[1] == 42:
            opened = 2
            if codes[2] == 99:
                opened = 3
                if codes[3] == 7:
                    raise LookupError(opened)


LOCKED = Target("locked", _locked, (st.tuples(*[st.integers(0, 127)] * 4),))


def test_guidance_gets_behind_one_check_after_the_other():
    """Four bytes of 127 each: found by what reaches new lines, out of reach for what is drawn."""
    with pytest.raises(LookupError):
        guided(LOCKED, 20_000, folder=__file__)


def test_lines_are_those_that_ran():
    """A line counts once, and only below the folder."""
    with Lines(__file__) as lines:
        _locked((17, 0, 0, 0))
        np.zeros(3)

    assert {"_locked"} == {code.co_name for code, _ in lines.seen}
    assert 4 == len(lines.seen)


# -- what it found ---------------------------------------------------------------------------------


def test_a_member_that_is_no_array_is_refused(tmp_path):
    """NumPy hands out the bytes of a member without the magic of an ``.npy`` file."""
    path = tmp_path / "mine.npz"
    path.write_bytes(archive({"a.npy": b"\0" + npy(np.zeros(2))}))

    with pytest.raises(
        UsageError, match=r"^a.* in .*mine\.npz is not an array; write the file with numpy\.savez$"
    ):
        read_arrays(str(path), "name a file")


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU270-S4"])
def test_a_pointer_in_the_place_of_a_count_is_refused(board):
    """It makes the call one of the longer form, which then lacks its count."""

    @kernel
    def count(mlu, src):
        a = mlu.nram("float32", 64, [1.0] * 64)
        mlu.bang_count(a, a)

    device = mlusim.Device(board)
    with pytest.raises(RuleFault, match="^__bang_count: 2 operands; legal: "):
        device.launch(count, args=(device.put(np.zeros(4, np.float32)),))


@pytest.mark.parametrize("reader", [suppressions_in, replay_in])
def test_brackets_without_end_are_refused(reader):
    """Deeper than Python can follow."""
    with pytest.raises(UsageError, match="^deep is not"):
        reader("x = " * (reader is suppressions_in) + "[" * 9999, "deep")


@pytest.mark.parametrize("text", ["1e9and", "1if 2 else 3", "T is 3"])
def test_python_remarks_on_no_formula(text, recwarn):
    """What Python has to say about the text of a formula is not an output of the program."""
    with pytest.raises(UsageError):
        parse_formula(text, {})

    assert [] == list(recwarn)


@pytest.mark.parametrize("member", ["operator", "board", "checks", "effects"])
def test_a_recording_of_something_unknown_is_named(member):
    """An operator that is not installed, a board that there is not: in the sentence stands which file says so."""
    which = ["operator", "params", "board", "seed", "effects", "case", "checks"].index(member)
    recording(0, [([1, which + 1], "in", ["nope"] if member == "checks" else "nope")], [])


def test_the_version_that_a_sweep_names_is_shown_escaped():
    """What another program has written into the head of the file goes into the sentence, and no control byte with it."""
    head = [([1, at], "in", "\x1b[2J") for at in (1, 2)]

    sweep(0, head, [], False)
