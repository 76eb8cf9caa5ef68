"""Comments in kernels that allow findings: where they are read, and what they cover."""

import pytest
from observe_tools import line_of

from mlusim.observe.checker import Allowed
from mlusim.observe.finding import Finding
from mlusim.observe.suppress import comments_in, unused_comments

RULE = "racecheck-tasks-same-word"


def commented(mlu, dst):
    """A kernel that is never launched."""
    # mlusim: allow racecheck-tasks-same-word: all write a one
    dst[0] = 1.0
    dst[1] = 1.0  # mlusim: allow racecheck-tasks-same-word: and here, too


def _at(text, shift=0, rule=RULE):
    line = line_of(commented, text) + shift
    return Allowed(Finding(rule, "odd", file=commented.__code__.co_filename, line=line), "known")


@pytest.mark.parametrize(
    ("allowed", "left"),
    [
        ([], 2),
        ([_at("dst[0]")], 1),  # below the comment that stands alone
        ([_at("dst[1]")], 1),  # on the line of the comment
        ([_at("dst[1]", 1)], 2),  # below a comment behind a statement
        ([_at("dst[0]", 0, "racecheck-tasks-write-write")], 2),
        ([_at("dst[0]"), _at("dst[1]")], 0),
    ],
)
def test_what_a_comment_covers(allowed, left):
    """Its rule, on its line or, where it stands alone, on the next."""
    assert left == len(unused_comments(comments_in(commented), allowed))


EVALUATED = eval("lambda mlu: None")  # noqa: S307 - a function without a file


@pytest.mark.parametrize("function", [EVALUATED, object(), print], ids=["evaluated", "object", "builtin"])
def test_what_has_no_source_has_no_comments(function):
    """Kernels may come from anywhere."""
    assert [] == list(comments_in(function))
