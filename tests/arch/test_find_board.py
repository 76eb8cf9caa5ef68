"""Finding a board by its name, by its family, and what is said when there is none."""

import attrs
import pytest
from hypothesis import given, strategies as st

from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, FAMILIES, find_board, named_boards
from mlusim.errors import UsageError

X4 = BOARDS["MLU370-X4"]


@given(st.sampled_from(sorted(BOARDS)), st.data())
def test_find_board_in_any_case(name, data):
    """The name of a board finds it in any mixture of cases."""
    flips = data.draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    spelled = "".join(c.lower() if flip else c for c, flip in zip(name, flips, strict=True))

    assert find_board(spelled) is BOARDS[name]


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("MLU370", "MLU370-X4"),
        ("mlu590", "MLU590-H8"),
        ("MLU270", "MLU270-S4"),
        ("MLU220", "MLU220-M2"),
        ("MLU290", "MLU290-M5"),
        ("MLU365", "MLU365-D2"),
        ("CE3226", "CE3226-V101"),
        (" MLU580 ", "MLU580"),
    ],
)
def test_find_board_by_family(family, name):
    """A family stands for its documented board; a family that is a board itself stays itself."""
    assert name == find_board(family).name


def test_find_board_takes_a_board():
    """A board of one's own passes through untouched."""
    mine = attrs.evolve(X4, name="mine", clusters=2)

    assert find_board(mine) is mine


def test_no_family_hides_a_board():
    """The family names are none of the boards' names, and each stands for one of its own boards."""
    assert not {f.upper() for f in FAMILIES} & {b.upper() for b in BOARDS}
    assert all(BOARDS[name].name.startswith(f"{family}-") for family, name in FAMILIES.items())


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "MLU370-X5",
            "no board is called 'MLU370-X5'; the nearest is MLU370-X8, and `mlusim boards` lists them all",
        ),
        (
            "mlu590h8",
            "no board is called 'mlu590h8'; the nearest is MLU590-H8, and `mlusim boards` lists them all",
        ),
        ("", "no board is called ''; try MLU370-X4 or MLU590-H8, and `mlusim boards` lists them all"),
        ("A100", "no board is called 'A100'; try MLU370-X4 or MLU590-H8, and `mlusim boards` lists them all"),
        (370, "370 is not a board; give a Board or a name such as 'MLU370-X4'"),
        (None, "None is not a board; give a Board or a name such as 'MLU370-X4'"),
    ],
)
def test_find_board_teaches(name, sentence):
    """An unknown name is answered with the nearest board and the way to list them."""
    with pytest.raises(UsageError) as caught:
        find_board(name)

    assert sentence == str(caught.value)


def test_default_boards_are_the_two_generations():
    """The boards that are compared by default exist and differ in architecture."""
    assert [find_board(name).arch.name for name in DEFAULT_BOARDS] == ["mtp_372", "mtp_592"]


@pytest.mark.parametrize(
    ("names", "count", "boards"),
    [
        ("MLU370-X4", "", ["MLU370-X4"]),
        ("MLU370-X4", "2", ["MLU370-X4"] * 2),
        ("MLU370-X4, MLU590-H8", "", ["MLU370-X4", "MLU590-H8"]),
        ("MLU370-X4,MLU590-H8", "2", ["MLU370-X4", "MLU590-H8"]),
    ],
)
def test_a_lone_board_is_there_as_often_as_is_said(monkeypatch, names, count, boards):
    """Several are as many as they are."""
    monkeypatch.setenv("MLUSIM_DEVICES", count)

    assert boards == named_boards(names)


@pytest.mark.parametrize(
    ("names", "count"), [("MLU370", "0"), ("MLU370", "two"), ("MLU370", "-1"), ("MLU370,MLU590", "3")]
)
def test_a_number_of_boards_that_cannot_be(monkeypatch, names, count):
    """It is refused with the board and what goes with it."""
    monkeypatch.setenv("MLUSIM_DEVICES", count)

    with pytest.raises(UsageError, match=f"MLUSIM_DEVICES={count} goes with . boards?.*give a number from 1 and one board, or as many"):  # fmt: skip
        named_boards(names)
