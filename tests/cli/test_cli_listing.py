"""``mlusim ops OP --listing``: the document's listing beside the kernel."""

import pytest

from mlusim.operators.listing import read_listing
from mlusim.operators.registry import find_operator

NAME = "border_align_backward"
LISTING = read_listing(find_operator(NAME).listing)


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_both_stand_side_by_side_in_any_width(cli, monkeypatch, width):
    """No line is wider than the terminal, nothing is cropped, and the marks stand between or below."""
    monkeypatch.setenv("COLUMNS", str(width))
    out = cli("ops", NAME, "--listing").out
    squeezed = "".join(out.split())

    assert max(map(len, out.splitlines())) <= width
    assert "\x1b" not in out
    for row in (row for part in LISTING.parts for row in part.rows):
        assert "".join(row.why.split()) in squeezed
    if width >= 80:
        assert any(line.split()[:1] == ["border"] or "~ BA-4" in line for line in out.splitlines())


def test_json_has_every_row(cli):
    """Lines of the listing, numbers and text of the kernel's, sign, marks and why."""
    found = cli("ops", NAME, "--listing", "--json").json()
    every = [row for part in found["parts"] for row in part["rows"]]

    assert NAME == found["operator"]
    assert [row.why for part in LISTING.parts for row in part.rows] == [row["why"] for row in every]
    four = next(row for row in every if row["marks"] == ["BA-4"])
    assert ("~", ["    int32_t border = num_loop / N / K % 4;"]) == (four["sign"], four["listing"])
    assert all(LISTING.text[k["line"] - 1] == k["text"] for row in every for k in row["kernel"])


def test_what_has_no_listing_is_a_sentence(cli, samples):
    """An operator without one, and no operator at all."""
    none, nothing = cli("ops", "sample", "--listing"), cli("ops", "--listing")

    assert (2, 2) == (none.code, nothing.code)
    assert "sample declares no listing of its document" in none.err
    assert "--listing shows the listing of one operator" in nothing.err


def test_an_operator_says_that_it_has_one(cli):
    """The facts of an operator name the command."""
    assert f"mlusim ops {NAME} --listing" in " ".join(cli("ops", NAME).out.split())


def test_what_is_input_and_output_is_told_once(cli):
    """ans_grad is one argument, and outputs that are judged alike have one line."""
    out = cli("ops", "mutual_information_backward").out

    assert 1 == sum(line.startswith("ans_grad ") for line in out.splitlines())
    assert 1 == out.count("in/out")
    assert 1 == sum(line.startswith("accuracy ") for line in out.splitlines())
    assert "px_grad, py_grad, ans_grad: dynamic: diff1 and diff2 at most 10 times" in " ".join(out.split())
