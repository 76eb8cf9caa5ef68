"""A document's listing beside the kernel that was written from it: nothing is left out, and every difference is argued."""

import re
from pathlib import Path

import pytest

from mlusim.errors import UsageError
from mlusim.operators.listing import read_listing
from mlusim.operators.registry import operators

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"\b[A-Z]{2}-(?:\d+|[A-Z])\b")
HERE = sorted({one.listing for one in operators().values() if one.listing is not None})

KERNEL = """// A kernel.
__nram__ float buffer[64];

// Doubles a row (XY-1).
__mlu_func__ void twice(float *dst, const float *src, int n) {
  __bang_add(dst, src, src, n);  // XY-2
}

__mlu_global__ void K(float *x, int count) {
  const int first = taskId * count;
  if (count > 0) {
    __memcpy(buffer, x + first, count * sizeof(float),
             GDRAM2NRAM);
    // XY-3: in place
    twice(buffer, buffer, count);
  }
}
"""
LISTING = """% chapter 3
[K]
: count is n
: first is taskId * n
| __mlu_global__ void K(float *x, int n) {
|   if (n > 0) {
|     __memcpy(buffer, x + taskId * n, n * sizeof(float), GDRAM2NRAM);
|     double();
= twice(buffer
! XY-3: its name
|     log();
& more();
! XY-4: nothing reads it
|   }
| }
"""


@pytest.fixture
def made(tmp_path):
    """Write a kernel and a listing, and read them."""

    def write(listing=LISTING, kernel=KERNEL):
        (tmp_path / "kernel.mlu").write_text(kernel)
        path = tmp_path / "listing.txt"
        path.write_text(listing)
        return read_listing(path)

    return write


def rows(listing, part=0):
    """Sign, lines of the listing and of the kernel, and marks of the rows of a part."""
    return [(row.sign, row.lines, row.kernel, row.marks) for row in listing.parts[part].rows]


def test_lines_meet_their_statements_in_order(made):
    """The same, under another name, of several lines, only in the document; the kernel's own with its mark; braces."""
    with_first = LISTING.replace("|   if", "+ first =\n! C: a name\n|   if")

    assert [
        ("=", ("__mlu_global__ void K(float *x, int n) {",), (9,), ()),
        ("+", (), (10,), ("C",)),
        ("=", ("  if (n > 0) {",), (11,), ()),
        ("=", ("    __memcpy(buffer, x + taskId * n, n * sizeof(float), GDRAM2NRAM);",), (12, 13), ()),
        ("~", ("    double();",), (14, 15), ("XY-3",)),
        ("-", ("    log();", "more();"), (), ("XY-4",)),
        ("=", ("  }",), (16,), ()),
        ("=", ("}",), (17,), ()),
    ] == rows(made(with_first))
    assert ("XY-3", "XY-4") == made(with_first).marks[1:]
    assert (1, 2, 4, 5, 6) == made(with_first).rest


WRONG = {
    "a statement that no line has": (
        LISTING,
        KERNEL,
        "kernel.mlu:10: no line of listing.txt is of this statement",
    ),
    "a line that the kernel has not": (
        LISTING.replace("! XY-4: nothing reads it\n", ""),
        KERNEL.replace("const int first = taskId * count;", "").replace("x + first", "x + taskId * count"),
        r"listing.txt:11: no statement of K is this line: log\(\);",
    ),
    "a difference without a mark": (
        LISTING.replace("! XY-3: its name\n", ""),
        KERNEL,
        "listing.txt:8: the kernel's statement is another, and no mark argues it: twice",
    ),
    "a piece that is gone": (
        LISTING.replace("= twice(", "= thrice("),
        KERNEL,
        "no statement of kernel.mlu has",
    ),
    "an end that is gone": (
        LISTING.replace("= twice(buffer", "= twice(buffer .. gone"),
        KERNEL,
        "no statement behind 'twice\\(buffer' has 'gone'",
    ),
    "a function that is gone": (
        LISTING.replace("[K]", "[part = K2]"),
        KERNEL,
        "kernel.mlu has no function 'K2'",
    ),
    "a reason without a mark": (LISTING.replace("XY-4: ", ""), KERNEL, "it has to name its mark"),
    "a sentence of which nothing is said": (
        LISTING + "> and so on\n",
        KERNEL,
        "nothing says where the kernel does this",
    ),
    "an unknown sign": (LISTING + "* and so on\n", KERNEL, r"listing.txt:16: a line begins with one of %"),
    "a line before any part": ("| x();\n", KERNEL, "it stands before the first part"),
    "a reason of nothing": ("[K]\n! XY-1: so\n", KERNEL, "there is no line above that it belongs to"),
    "a name without a meaning": ("[K]\n: a\n", KERNEL, "it has to say `KERNEL is DOCUMENT`"),
    "an addition without a mark": (
        LISTING.replace("|   if", "+ first =\n|   if"),
        KERNEL,
        "no mark argues why the kernel has this",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_not_accounted_for_is_an_error(made, what):
    """The file, the line, and what is missing there."""
    listing, kernel, sentence = WRONG[what]

    with pytest.raises(UsageError, match=sentence):
        made(listing, kernel)


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.parent.name)
def test_every_line_of_a_documents_listing_is_accounted_for(path):
    """Each line has its statements or a mark; each mark stands in the kernel beside it, and on the operator's page."""
    listing = read_listing(path)
    page = (ROOT / "docs" / "operators" / f"{path.parent.name}.md").read_text(encoding="utf-8")
    in_kernel = set(MARK.findall("\n".join(listing.text)))

    assert sum(len(part.rows) for part in listing.parts) > 15
    assert set() == {mark for mark in listing.marks if mark != "C"} - in_kernel
    assert set() == in_kernel - set(MARK.findall(page))
    assert {row.sign for part in listing.parts for row in part.rows} >= {"=", "~"}


def test_every_operator_of_the_documents_has_a_listing():
    """All six; forward and backward of tin_shift have one."""
    assert 5 == len(HERE)
    assert [] == [one.name for one in operators().values() if one.listing is None]
