"""Findings as text and as data."""

import json

import numpy as np
import pytest
from rich.console import Console

import mlusim
from mlusim.bang import GDRAM2NRAM, float32, kernel
from mlusim.errors import Fault
from mlusim.observe.checker import comment_on
from mlusim.observe.finding import Finding, RelatedPlace, caret


@kernel
def overrun(mlu, src):
    mlu.memcpy(mlu.nram(float32, 4), src, 20, GDRAM2NRAM)


def _finding():
    device = mlusim.Device()
    with pytest.raises(Fault) as caught:
        device.launch(overrun, args=(device.put(np.ones(8, np.float32)),), observe=["memcheck"])
    return caught.value.findings[0]


def _text(finding):
    console = Console(width=200, record=True, file=None, quiet=True, color_system=None)
    with console.capture() as capture:
        console.quiet = False
        console.print(finding)
    return capture.get()


def test_the_text_shows_source_and_caret():
    """As pip does: rule, sentence, place, source line with a caret, hint."""
    lines = _text(_finding()).splitlines()
    at = next(n for n, line in enumerate(lines) if "mlu.memcpy(mlu.nram" in line)

    assert "error: memcheck-out-of-bounds" == lines[0]
    assert lines[1].startswith("× __memcpy: dst")
    assert lines[at].index("mlu.memcpy") == lines[at + 1].index("^")
    assert "^" * len("mlu.memcpy") == lines[at + 1].split()[-1]
    assert any(line.startswith("hint: ") for line in lines)


def test_markup_in_a_message_is_text():
    """Brackets in names are printed as they are."""
    text = _text(
        Finding("x-y", "tensor float[4] [bold]is[/bold] short", places=(RelatedPlace("k.py", 3, "[red]"),))
    )

    assert "float[4] [bold]is[/bold] short" in text
    assert "k.py:3: [red]" in text


def test_json_is_plain_data():
    """Everything that a finding knows survives a round trip."""
    finding = _finding()

    facts = json.loads(json.dumps(finding.to_json()))
    assert finding.id == facts["id"]
    assert (finding.file, finding.line, 0) == (facts["file"], facts["line"], facts["task"])
    assert "overrun" == facts["kernel"]


@pytest.mark.parametrize(
    ("source", "intrinsic", "expected"),
    [
        ("mlu.memcpy(a)", "__memcpy", "^" * 10),
        ("x = m.bang_add(a)", "bang_add", "    " + "^" * 10),
        ("p[0] = 1", "scalar store", "^" * 8),
    ],
)
def test_the_caret_underlines_the_call(source, intrinsic, expected):
    """The call of the intrinsic, or the whole line where it is not in it."""
    assert expected == caret(source, intrinsic)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x()  # mlusim: allow memcheck-misaligned: why", ("memcheck-misaligned", "why")),
        ("x()  # mlusim: allow memcheck-misaligned:", None),
        ("x()  # mlusim: allow memcheck-misaligned", None),
        ("x()", None),
    ],
)
def test_allowing_comments_need_a_reason(source, expected):
    """A comment without a reason is not a suppression."""
    assert expected == comment_on(source)
