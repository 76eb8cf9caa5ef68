"""Terminals of any width: no number, name or line that a table holds is ever cropped."""

import re

import pytest

from mlusim.arch.catalog import BOARDS
from mlusim.cli import campaign
from mlusim.cli.show import kib
from mlusim.counted import microseconds
from mlusim.isa.table import ISA
from mlusim.operators.registry import operators

WIDTHS = (40, 60, 70, 80, 120)
CASE = ("sample", "--case", "small")


def _words(text):
    return set(text.split())


@pytest.fixture(params=WIDTHS)
def wide(request, monkeypatch, cli):
    """Run ``mlusim`` in a terminal of each width."""
    monkeypatch.setenv("COLUMNS", str(request.param))
    return cli


def test_boards(wide):
    """Every board with its architecture and all its numbers."""
    shown = _words(wide("boards").out)

    for board in BOARDS.values():
        numbers = {board.clusters, board.cores, board.clock_mhz, kib(board.arch.nram), kib(board.arch.sram)}
        assert {board.name, board.arch.name, *map(str, numbers)} <= shown


def test_ops_and_isa(wide):
    """Every operator, each case of one, and every intrinsic."""
    cases = {case.name for case in operators()["tin_shift_forward"].cases}

    assert set(operators()) <= _words(wide("ops").out)
    assert cases <= _words(wide("ops", "tin_shift_forward").out)
    assert {row.spelling for row in ISA.values()} <= _words(wide("isa").out)


@pytest.mark.usefixtures("samples")
def test_run_and_what_if(wide):
    """Every name and number of a call, on one board and on many; and every line of its kernels."""
    call = wide("run", *CASE, "--json").json()
    told = _words(wide("run", *CASE, "--lines").out)
    rows = wide("what-if", *CASE, "--json").json()["rows"]
    table = _words(wide("what-if", *CASE).out)
    lines = {line["line"] for launch in call["launches"] for line in launch["lines"] if line["time_us"]}
    shown = {word.rpartition(":")[2] for word in told if word.startswith("sample_operators.py:")}

    assert set(call["instructions"]) | {f"{n:,}" for n in call["instructions"].values()} <= told
    assert set(map(str, lines)) - {"0"} <= shown
    assert {row["board"] for row in rows} | {
        microseconds(row["time_us"]) for row in rows if not row["failure"]
    } <= table


def test_a_plan_shows_every_region_at_any_width(wide):
    """Every region of a plan with its offset and bytes."""
    words = ("plan", "mutual_information_backward", "--set", "S=15,T=104")
    regions = [region for stage in wide(*words, "--json").json()["stages"] for region in stage["regions"]]
    shown = _words(wide(*words).out)

    assert {region["name"] for region in regions} <= shown
    assert {str(region[what]) for region in regions for what in ("elements", "offset", "bytes")} <= shown


def _whole_or_in_lines(word, pieces, there):
    """Whether *word* is one of those *there*, or a name whose pieces are in several lines."""
    return word in there or all(any(piece in one for one in there) for piece in pieces)


def test_report_and_sweep(cli, samples, monkeypatch, tmp_path):
    """At every width the report and the sweep show every word and number of the widest, and every call."""
    del samples
    calls = ("sample", "tin_shift_forward", "faulty", "wrong", "--case", "small", "golden_document")
    records, perform = [], campaign.perform

    def once(jobs, workers):
        records.extend(() if records else perform(jobs, workers))
        return records

    monkeypatch.setattr(campaign, "perform", once)
    shown = {}
    for width in (200, *range(40, 120, 14)):
        monkeypatch.setenv("COLUMNS", str(width))
        report = cli("report", *calls, "--explain", "--jobs", 1).out
        sweep = cli("report", *calls, "--jobs", 1, "--keep", tmp_path / "s.jsonl").out
        shown[width] = _words(report), _words(sweep)
    widest = shown[200]

    for record in records:
        named = {record.operator, record.case, record.board}
        assert named <= widest[0]
        assert named <= widest[1]
    for width, words in shown.items():
        for there, all_words in zip(words, widest, strict=True):
            pieces = {word: re.findall("[^_]+_?", word) for word in all_words if not set(word) <= {"─"}}
            lost = {word for word, own in pieces.items() if not _whole_or_in_lines(word, own, there)}
            assert (width, {"case"} & lost) == (width, lost)  # of a column of names, above nothing but names
