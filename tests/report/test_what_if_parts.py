"""Studies of other boards as tables and pages: every board, every reason, and which case is studied."""

import re

import pytest
from attrs import evolve

from mlusim.machine.tally import Usage
from mlusim.report.page.boards import what_if_page
from mlusim.report.page.html import html_text
from mlusim.report.whatif import (
    WORK,
    WhatIfRow,
    WhatIfStudy,
    notes,
    representatives,
    what_if_markdown,
    what_if_table,
)
from mlusim.time.log import Lanes
from tests.report.test_explanation import EVEN, record
from tests.report.test_why import shown

ROWS = (
    WhatIfRow(
        "MLU370-X4",
        "mtp_372",
        "recorded",
        "it was",
        "",
        100.0,
        1.0,
        0.5,
        0.1,
        "io",
        ">=30%",
        engines=("native",),
    ),
    WhatIfRow("MLU370-X8", "mtp_372", "re-timed", "as <there>", "", 50.0, 2.0, 1.0, 0.2, "io", ">=60%"),
    WhatIfRow("MLU370-S4", "mtp_372", "re-timed", "as <there>", "", 200.0, 0.5, 0.25, 0.2, "io", "<30%"),
    WhatIfRow("CE3226-D2D", "tp_322", "fails", "", "CE3226-D2D has no SRAM & no unions"),
    WhatIfRow("CE3226-V101", "tp_322", "fails", "", "CE3226-V101 has no SRAM & no unions"),
    WhatIfRow("MLU590-H8", "mtp_592", "run", "nothing to launch"),
)
STUDY = WhatIfStudy("op", "a_case", "MLU370-X4", ROWS)


def test_reasons_are_told_once_for_all_boards_that_share_them():
    """A failure that differs by the name of the board alone is one failure; failures come last."""
    assert [
        ("re-timed: as <there>", ["MLU370-X8", "MLU370-S4"]),
        ("run: nothing to launch", ["MLU590-H8"]),
        ("fails: the board has no SRAM & no unions", ["CE3226-D2D", "CE3226-V101"]),
    ] == notes(STUDY)
    assert STUDY.works
    assert not evolve(STUDY, rows=ROWS[3:5]).works


def test_the_terminal_and_markdown_show_every_board():
    """Numbers where it works, dashes where it does not."""
    text, markdown = shown(what_if_table(STUDY)), what_if_markdown(STUDY)
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.startswith(("MLU", "CE"))}
    cells = [line.strip("| ").split(" | ") for line in markdown.splitlines() if line.startswith("| ")]

    assert ["50.0", "-", "2.00x", "100.0%", "20.0%", ">=60%", "re-timed"] == lines["MLU370-X8"][2:]
    assert ["-", "-", "-", "-", "-", "-", "run"] == lines["MLU590-H8"][2:]
    assert ["fails: CE3226-V101 has no SRAM & no unions"] == cells[6][-1:]
    assert {9} == {len(row) for row in cells}
    assert "recorded on MLU370-X4" in markdown
    assert "Launched on the native engine." in text


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"io_efficiency": 1.2}, "IO over 100%: fewer bytes really move than the vendor's theory counts."),
        (
            {"io_efficiency": None, "bandwidth_share": 1.066},
            "IO over 100%: tensors that are read again come from the last-level cache.",
        ),
        ({"io_efficiency": None, "bandwidth_share": 0.9}, ""),
    ],
)
def test_a_share_over_the_whole_says_why(figures, words):
    """Beside the table, wherever it is shown; nothing where none is."""
    study = evolve(STUDY, rows=(evolve(ROWS[0], **figures),))
    texts = shown(what_if_table(study)), what_if_markdown(study), html_text([record()], "0", [study])

    assert [bool(words)] * 3 == ["over 100%" in " ".join(text.split()) for text in texts]
    assert all(
        words.replace("'", mark) in " ".join(text.split())
        for text, mark in zip(texts, ("'", "'", "&#x27;"), strict=True)
    )


def test_the_page_shows_every_board_and_every_explanation():
    """Escaped, with the pipes as a bar and SRAM only where it is used."""
    used = evolve(record(), memory={"NRAM": Usage(1000, 250), "SRAM": Usage(1000, 500), "WRAM": Usage(9, 0)})
    page, with_sram = html_text([record()], "0", [STUDY]), html_text([used], "0")
    words = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page))

    assert "fails: the board has no SRAM &amp; no unions" in words
    assert "re-timed: as &lt;there&gt;" in words
    assert "which misses the 60% asked of network shapes" in words
    assert 'title="IO-DMA 80.0%"' in page
    assert page.count("SRAM</th>") == 0 < with_sram.count("SRAM</th>")
    assert "What if" not in with_sram


def test_a_page_whose_study_fails_everywhere():
    """No speed-up to draw a bar for."""
    page = html_text([record()], "0", [evolve(STUDY, rows=ROWS[3:])])

    assert 2 == page.count('<td class="name bad"><b>fails</b></td>')
    assert 1 == page.count("</b>: fails: ")
    assert '<span class="meter">' not in page.partition('id="what-if"')[2]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"small": (10, 100), "large": (20, 500)}, "large"),
        ({"small": (10, 100), "huge": (WORK + 1, 9_000)}, "small"),
        ({"huge": (WORK + 10, 9_000), "less": (WORK + 5, 100)}, "less"),
    ],
)
def test_the_largest_case_that_is_quickly_run_again_is_studied(counts, expected):
    """By theory bytes among those of few instructions; where there is none, that of the fewest."""
    calls = [
        evolve(record(ios=ios, moved=0), case=case, instructions={"memcpy": instructions})
        for case, (instructions, ios) in counts.items()
    ]
    slower = [evolve(call, board="MLU590-H8", instructions={"memcpy": 1}) for call in calls]

    assert [("op", expected)] == representatives([*calls, *slower])


def test_what_failed_or_has_no_case_is_not_studied():
    """Nothing to compare with, or nothing to run again."""
    bad = [
        evolve(record(), passed=False),
        evolve(record(), case=None),
        evolve(record(), efficiency=None),
    ]

    assert [] == representatives(bad)


def test_lanes_of_a_page_without_vector_instructions():
    """A dash, no division by nothing."""
    page = html_text([evolve(record(), instructions={"bang_mul": 3, "memcpy": 1})], "0")
    bare = evolve(EVEN, lanes={}, vectors=0, starts=0.0)
    none = evolve(EVEN, lanes={"bang_add": Lanes(0, 128)})

    assert '<td class="name">bang_mul</td><td class="n">3</td><td class="n">0%</td>' in page
    assert '<td class="name">memcpy</td><td class="n">1</td><td class="n"></td>' in page
    assert '<td class="name">GDRAM2NRAM</td><td class="n">1,000,000</td><td class="n">100%</td>' in page
    assert re.search(
        '<td class="n">-</td><td class="n">[0-9]+%<span class="meter">', html_text([record(bare)], "0")
    )
    assert '<td class="n">100%</td>' in html_text([record(none)], "0")


def test_a_page_of_its_own_has_the_answer_and_a_bar_for_each_board():
    """The fastest board first, with its speed-up; boards on which the call fails are counted; so on no board at all."""
    page, nowhere = what_if_page([STUDY]), what_if_page([evolve(STUDY, rows=ROWS[3:])])
    timed = [row for row in ROWS if row.time_us is not None]
    best = min(timed, key=lambda row: row.time_us)
    (chart,) = re.findall(r'<div class="chart">(.*?)</div>', page, re.DOTALL)

    assert f"is fastest on {best.board}, {best.time_us:,.1f} us" in page
    assert len(timed) == chart.count("<title>")
    assert "works on no board" in nowhere
    assert '<div class="chart">' not in nowhere
