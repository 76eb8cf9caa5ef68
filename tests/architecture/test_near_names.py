"""What a misspelt name may have meant: parts and misspellings, and nothing that is only a little like it."""

import pytest

from mlusim.errors import shown_file
from mlusim.near import distance, near


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("repotr", ("report", "run"), ["report"]),
        ("jump", ("dump", "up"), []),
        ("display", ("disable", "dump"), []),
        ("tinshift", ("tin_shift_forward", "border_align"), ["tin_shift_forward"]),
        ("trasnpose", ("bang_transpose", "bang_pad"), ["bang_transpose"]),
        ("nosuch", ("zero_batch", "small"), []),
        ("", ("add",), []),
    ],
)
def test_only_what_is_near_is_guessed(name, known, expected):
    """In one letter of a short name behind its first, in one of four of a long one."""
    assert expected == near(name, known, beside="bang_")


def test_a_swap_is_one_change():
    """As an insertion, a loss and a replacement are."""
    assert [1, 1, 1, 1, 3] == [distance("abcd", other) for other in ("abdc", "abcde", "acd", "abcx", "bxdc")]


def test_files_of_packages_are_named_as_they_are_imported(tmp_path):
    """Without the folders above; a script of the user keeps its path."""
    import ops.catalog  # noqa: PLC0415 - for its place alone

    assert ["ops/catalog.py", "pytest/__init__.py", f"{tmp_path}/k.py"] == [
        shown_file(file) for file in (ops.catalog.__file__, pytest.__file__, f"{tmp_path}/k.py")
    ]
