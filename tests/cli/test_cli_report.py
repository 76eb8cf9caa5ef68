"""``mlusim report`` and ``mlusim demo``: every format, what it holds, and where it goes."""

import argparse
import csv
import io
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from sample_operators import GOOD, WRONG

from mlusim.cli import campaign, report as report_verb
from mlusim.cli.arguments import comparing
from mlusim.errors import UsageError
from mlusim.operators import registry
from mlusim.operators.campaign import matching_cases
from mlusim.operators.registry import operators

TIN = ("report", "tin_shift_forward", "--case", "golden_document", "jobs_33", "--jobs", 1)
SAMPLES = ("report", "sample", "wrong", "faulty", "--jobs", 1)
VOID = {"wbr", "meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Checks that every element is closed, and keeps the words and whatever a page could fetch."""

    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.fetched, self.seen = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        """Note an element and what it refers to."""
        self.seen.append(tag)
        self.fetched += [
            value for name, value in attrs if name in {"src", "href", "xlink:href"} and value[:1] != "#"
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Close the innermost element."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Note words."""
        self.words.append(data)


def test_the_table_fits_80_columns(cli):
    """A person reads efficiency and work of each case on both default boards."""
    done = cli(*TIN)

    assert (0, "") == (done.code, done.err)
    assert max(map(len, done.out.splitlines())) <= 80
    for words in (
        "golden_document",
        "jobs_33",
        "MLU370-X4",
        "MLU590-H8",
        "4 of 4 as expected",
        "theory",
        "instr",
    ):
        assert words in done.out


def test_json_lists_the_runs(cli):
    """The document names boards, verdict and runs; --json and --format json are the same."""
    done, same = cli(*TIN, "--json"), cli(*TIN, "--format", "json")
    document = done.json()

    assert done.out == same.out
    assert (["MLU370-X4", "MLU590-H8"], True) == (document["boards"], document["passed"])
    assert [("golden_document", "MLU370-X4"), ("jobs_33", "MLU370-X4")] == [
        (run["case"], run["board"]) for run in document["runs"][:2]
    ]
    assert (
        document["runs"][0] == cli("run", "tin_shift_forward", "--case", "golden_document", "--json").json()
    )


def test_csv_has_one_line_a_call(cli):
    """Numbers come as numbers, bytes of each direction have a column."""
    done = cli(*TIN, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    names = ("dtype", "theory_ops", "theory_ios", "bytes_GDRAM2NRAM", "bytes_NRAM2GDRAM", "nram_high_water")

    assert (0, 4) == (done.code, len(rows))
    assert ["float", "36", "300", "120", "144", "128"] == [rows[0][name] for name in names]
    assert all(float(row["hardware_time_us"]) > 0 for row in rows)


def test_markdown_has_the_vendor_s_table(cli):
    """One table a board, in the columns of the vendor's pull requests, every line as wide as its head."""
    text = cli(*TIN, "--format", "md").out
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)

    assert "### MLU370-X4" in text
    assert "### MLU590-H8" in text
    assert tables[0].startswith(
        "| operator | mlu_hardware_time (us) | mlu_interface_time (us) | mlu_io_efficiency | "
        "mlu_compute_efficiency | mlu_workspace_size (Bytes) | data_type | shape |\n"
    )
    assert "input [1, 6, 6, 1]; shifts [1, 3]" in tables[0]
    for table in tables:
        assert 1 == len({line.count("|") for line in table.splitlines()})


def test_html_is_one_page_that_fetches_nothing(cli, tmp_path):
    """The page is well-formed, holds tables, pictures and the script of its charts, and no reference to anything."""
    out = tmp_path / "report.html"
    done = cli(*TIN, "-o", out)
    text = out.read_text()
    shown = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)  # what browsers do not parse
    page = Page(shown)

    assert (0, "", [out]) == (done.code, done.out, list(tmp_path.iterdir()))
    assert ([], []) == (page.open, page.fetched)
    pictures = shown.count('role="img"')  # a legend's marks are none
    assert pictures == shown.count('<div class="chart">') + 4  # the plans of four calls are not charts
    assert 1 == text.count("<script>")
    assert "url(" not in shown
    assert 2 * 3 + 3 * 4 == pictures  # roofline, bytes, NRAM a board; tasks, pipes and plan a call
    assert any(word.startswith("golden_document on MLU370-X4: ") for word in page.words)
    assert "prefers-color-scheme: dark" in text


def test_what_went_wrong_is_in_every_format(cli, samples):
    """A failed accuracy and a fault are told in the table, the files and the exit code."""
    table = cli(*SAMPLES)
    files = {form: cli(*SAMPLES, "--format", form) for form in ("json", "csv", "md", "html")}

    assert {3} == {table.code, *(done.code for done in files.values())}
    assert "FAILED" in table.out
    assert "fault" in table.out
    assert [False] == sorted(
        {run["passed"] for run in files["json"].json()["runs"] if run["operator"] == "wrong"}
    )
    assert "MLUOP_STATUS_EXECUTION_FAILED" in files["csv"].out
    assert "**no**" in files["md"].out
    assert [] == Page(files["html"].out).open


def told(text):
    """*text* without when and by which command it was made."""
    return re.sub(r"<dl.*?</dl>", "", text, flags=re.DOTALL)


def test_the_file_name_chooses_the_format(cli, tmp_path):
    """-o report.csv needs no --format; the bytes are those of standard output."""
    for form in ("json", "csv", "md", "html"):
        cli(*TIN, "-o", tmp_path / f"report.{form}")

        assert told(cli(*TIN, "--format", form).out) == told((tmp_path / f"report.{form}").read_text())


def test_a_page_without_lines(cli):
    """--no-lines leaves pipes and sources out, and nothing else."""
    whole, less = (cli(*TIN, "--format", "html", *more).out for more in ([], ["--no-lines"]))

    assert ("tin_shift/kernel.py" in whole, "tin_shift/kernel.py" in less) == (True, False)
    assert whole.count('role="img"') == less.count('role="img"') + 4


def test_a_missing_extra_is_named_before_the_work(cli, monkeypatch, calls_of):
    """Without matplotlib the HTML report says what to install, and runs nothing."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with calls_of(campaign.perform) as performed:
        done = cli(*TIN, "--format", "html")

    assert performed == []
    assert (2, "") == (done.code, done.out)
    assert re.fullmatch(
        r"error: the HTML report needs matplotlib; install it with `pip install 'matplotlib>=[\d.]+'`\n",
        done.err,
    )


def test_the_demonstration_asks_for_all_that_is_missing_before_the_work(cli, monkeypatch, calls_of, tmp_path):
    """The package of the page and the parser: each has its command, and nothing runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with calls_of(campaign.perform) as performed:
        done = cli("demo")

    assert performed == []
    assert done.code == 2
    assert re.fullmatch(
        r"error: the HTML report needs matplotlib; install it with `pip install 'matplotlib>=\S+'`\n",
        done.err,
    )
    assert [] == list(tmp_path.iterdir())


def test_groups_and_boards_select(cli):
    """--group takes its cases, --board one name or several, each board once."""
    done = cli(
        "report",
        "tin_shift_forward",
        "--group",
        "golden",
        "--board",
        "MLU370",
        "mlu370-x4,MLU220-M2",
        "--json",
    )

    assert [("golden_document", "MLU370-X4"), ("golden_document", "MLU220-M2")] == [
        (run["case"], run["board"]) for run in done.json()["runs"]
    ]


def test_network_cases_are_the_default():
    """Without a choice every operator runs its network cases on both default boards."""
    parser = argparse.ArgumentParser()
    comparing.report(parser)
    jobs = campaign.jobs(parser.parse_args([]))
    expected = {
        (operator.name, case.name, board)
        for operator in operators().values()
        for board in ("MLU370-X4", "MLU590-H8")
        for case in matching_cases(operator, board, group="network")
    }

    assert expected == {(job.operator, job.case, job.board) for job in jobs}
    assert set(operators()) == {job.operator for job in jobs}


def test_all_groups_are_everything():
    """--group all takes each case of each operator on both default boards; an unknown group is refused with the list."""
    parser = argparse.ArgumentParser()
    comparing.report(parser)
    jobs = campaign.jobs(parser.parse_args(["--group", "all"]))
    expected = {
        (operator.name, case.name, board)
        for operator in operators().values()
        for board in ("MLU370-X4", "MLU590-H8")
        for case in operator.cases
        if not case.boards or board in case.boards
    }

    assert expected == {(job.operator, job.case, job.board) for job in jobs}
    assert len(expected) == len(jobs)
    with pytest.raises(UsageError, match="no case is of group 'odd'; the groups are boundary, .*, zero, all"):
        campaign.jobs(parser.parse_args(["--group", "odd"]))


def test_pages_have_lines_of_slow_cases_that_are_named():
    """A case of a second in Python has no lines on a page of many, for they take that engine; baselines take it for NRAM's sake."""
    parser = argparse.ArgumentParser()
    comparing.report(parser)
    args = parser.parse_args(["three_interpolate_backward", "--board", "MLU370-X4", "--group", "all"])
    args.engine = "auto"
    jobs = campaign.jobs(args)
    many = {job.case: report_verb.keeps_lines(args, "html", job) for job in jobs}
    args.case = ["case_7"]
    named = {job.case: report_verb.keeps_lines(args, "html", job) for job in jobs}

    free = {report_verb.engine_of(args, job) for job in jobs}
    args.baseline = "baseline.json"
    gated = {job.case: report_verb.engine_of(args, job) for job in jobs}

    assert (True, False, False) == (many["case_1"], many["case_7"], many["case_18"])
    assert (True, True, False) == (named["case_1"], named["case_7"], named["case_18"])
    assert {"auto"} == free
    assert ("python", "auto") == (gated["case_7"], gated["case_18"])


def test_demo_ends_in_a_table_and_the_path_of_a_page(cli, only_entries, monkeypatch, tmp_path):
    """Every operator has a line for each board; a line says where the page is, then come a bug and what would help."""
    only_entries(registry, [SimpleNamespace(name="two", value="two", load=lambda: (GOOD, WRONG))])
    monkeypatch.chdir(tmp_path)
    done, document = cli("demo", "--jobs", 1), cli("demo", "--jobs", 1, "--json").json()
    lines = done.out.splitlines()

    assert 1 == done.code
    where = lines.index(f"report: {tmp_path / 'mlusim-report.html'}")
    assert max(map(len, lines[:where])) <= 80
    assert [8, 1] == [done.err.count(f"{what}: ") for what in ("running", "other boards")]
    assert "error: racecheck-read-after-write" in lines[where:]
    assert "hint: put __sync_io() before line 12" in lines[where:]
    assert re.search(r"^load into a second buffer.* \d+\.\d\dx", done.out, re.MULTILINE | re.DOTALL)
    assert re.search(r"^sample +MLU370-X4 .*2/2", done.out, re.MULTILINE)
    assert re.search(r"^wrong +MLU370-X4 .*0/2", done.out, re.MULTILINE)
    page = Page((tmp_path / "mlusim-report.html").read_text())
    assert [] == page.open
    assert {"What if it were another board", "sample big", "MLU590-M9DG", "re-timed"} <= set(page.words)
    assert 8 == len(document["runs"])
