"""``mlusim report --baseline``: it makes a build fail if a figure got worse."""

import json

import pytest

from mlusim.cli.campaign import perform

TIN = ("report", "tin_shift_forward", "--case", "golden_document", "jobs_33", "--jobs", 1)


@pytest.fixture
def stored(cli, tmp_path):
    """A baseline of `TIN`."""
    path = tmp_path / "base.json"
    done = cli(*TIN, "--write-baseline", path)

    assert (0, f"{path}: 4 calls\n") == (done.code, done.err)
    return path


def edited(path, case, **changes):
    """Change the lines of *case*."""
    document = json.loads(path.read_text())
    for call in document["calls"]:
        if call["case"] == case:
            call.update({key: value(call[key]) for key, value in changes.items()})
    path.write_text(json.dumps(document))


def halved(value):
    """Half of a figure."""
    return value / 2


def test_an_unchanged_run_passes(cli, stored):
    """Predictions are the same on every machine: nothing moves at any threshold."""
    done = cli(*TIN, "--baseline", stored, "--threshold", "0%")

    assert (0, "") == (done.code, done.err)
    assert f"4 calls compared with {stored}, threshold 0%: nothing moved." in done.out


def test_a_regression_fails_and_says_what_and_why(cli, stored):
    """The sentence has the call, the figures before and after, the change, and the reason."""
    edited(
        stored,
        "golden_document",
        hardware_time_us=halved,
        bytes=lambda value: value | {"GDRAM2NRAM": 100},
    )
    done = cli(*TIN, "--baseline", stored)

    assert (1, "") == (done.code, done.err)
    assert (
        "regression: tin_shift_forward golden_document on MLU370-X4: hardware time 3.247 -> 6.494 us (+100.0%); "
        in done.out
    )
    assert "because GDRAM2NRAM bytes 100 -> 120 (+20.0%)" in done.out
    assert "threshold 5%: 2 regressions." in done.out


@pytest.mark.parametrize(("threshold", "code"), [("25%", 0), ("0.25", 0), ("19 %", 1), ("0.19", 1), ("0", 1)])
def test_the_threshold_decides(cli, stored, threshold, code):
    """A fraction or a percentage."""
    edited(stored, "jobs_33", bytes=lambda value: {name: n * 100 / 120 // 1 for name, n in value.items()})
    edited(stored, "jobs_33", bytes=lambda value: {name: int(n) for name, n in value.items()})

    assert code == cli(*TIN, "--baseline", stored, "--threshold", threshold).code


def test_every_format_carries_the_comparison(cli, stored, tmp_path):
    """In the document of JSON and Markdown, on standard error beside the others and beside files."""
    edited(stored, "jobs_33", hardware_time_us=halved)
    words = (*TIN, "--baseline", stored)
    json_, md = cli(*words, "--json"), cli(*words, "--format", "md")
    csv, html = cli(*words, "--format", "csv"), cli(*words, "-o", tmp_path / "r.html")
    file = cli(*words, "-o", tmp_path / "r.json")
    plain = cli(*TIN, "--json").json()

    assert {1} == {done.code for done in (json_, md, csv, html, file)}
    assert ("", "") == (json_.err, md.err)
    assert 2 == len(json_.json()["comparison"]["regressions"])
    assert json_.json() == plain | {"comparison": json_.json()["comparison"]}
    assert "- **regression**: tin_shift_forward jobs_33 on MLU370-X4: hardware time" in md.out
    assert cli(*TIN, "--format", "csv").out == csv.out
    for done in (csv, html, file):
        assert "regression: tin_shift_forward jobs_33 on MLU370-X4: hardware time" in done.err
    assert json_.out == (tmp_path / "r.json").read_text()


def test_a_subset_is_compared_with_its_part(cli, stored):
    """Calls of the baseline that are not run are counted, calls that it lacks are new."""
    one = cli("report", "tin_shift_forward", "--case", "jobs_33", "--jobs", 1, "--baseline", stored)
    more = cli(*TIN[:3], "jobs_33", "jobs_49", "--board", "MLU370-X4", "--jobs", 1, "--baseline", stored)

    assert (0, 0) == (one.code, more.code)
    assert "note: not part of this run: 2 more of the baseline's calls" in one.out
    assert "2 calls compared" in one.out
    assert "new: tin_shift_forward jobs_49 on MLU370-X4 is not in the baseline" in more.out


def test_a_call_that_is_no_more_is_missing(cli, stored):
    """A renamed case fails the gate, for its figures were compared with nothing, unless that is allowed."""
    text = stored.read_text().replace('"case": "jobs_33"', '"case": "jobs_of_old"')
    stored.write_text(text)
    done = cli(*TIN, "--baseline", stored)

    allowed = cli(*TIN, "--baseline", stored, "--allow-missing")

    assert (1, 0) == (done.code, allowed.code)
    assert "2 missing, which fails unless --allow-missing is given." in done.out
    assert "threshold 5%: nothing moved." in allowed.out
    assert "missing: tin_shift_forward jobs_of_old on MLU370-X4 is in the baseline" in done.out
    assert "new: tin_shift_forward jobs_33 on MLU370-X4" in done.out


def test_writing_replaces_the_lines_of_the_run(cli, stored):
    """The other lines stay, so that a subset can be brought up to date; the same run writes the same bytes."""
    before = stored.read_text()
    edited(stored, "jobs_33", hardware_time_us=halved)
    cli("report", "tin_shift_forward", "--case", "jobs_33", "--jobs", 1, "--write-baseline", stored)

    assert before == stored.read_text()
    assert 4 == sum(line.startswith('{"operator"') for line in before.splitlines())
    assert [stored] == list(stored.parent.iterdir())


def test_what_does_not_pass_is_not_stored(cli, samples, tmp_path):
    """A baseline holds calls that do what they should; the run still fails."""
    path = tmp_path / "base.json"
    done = cli(
        "report", "sample", "wrong", "faulty", "--board", "MLU370-X4", "--jobs", 1, "--write-baseline", path
    )
    names = [(call["operator"], call["case"]) for call in json.loads(path.read_text())["calls"]]

    assert (3, f"{path}: 3 calls; 3 that did not pass left out\n") == (done.code, done.err)
    assert [("faulty", "fine"), ("sample", "big"), ("sample", "small")] == names


def test_a_fault_outweighs_a_regression(cli, samples, tmp_path):
    """The exit code is that of the fault; the comparison names the call all the same."""
    path = tmp_path / "base.json"
    cli("report", "faulty", "--board", "MLU370-X4", "--jobs", 1, "--write-baseline", path)
    path.write_text(path.read_text().replace('"fine"', '"small"'))
    done = cli("report", "faulty", "--board", "MLU370-X4", "--jobs", 1, "--baseline", path)

    assert 3 == done.code
    assert "regression: faulty small on MLU370-X4: it took" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--baseline", "none.json"),
            "none.json cannot be read: No such file or directory; write it with --write",
        ),
        (("--baseline", "."), ". is a directory"),
        (("--write-baseline", "."), ". is a directory"),
        (("--write-baseline", "none/x.json"), "there is no directory"),
        (("--write-baseline", "notes.txt"), "notes.txt is not JSON"),
        (("--baseline", "notes.txt"), "notes.txt is not JSON"),
        (("--baseline", "binary"), "binary is not text"),
        (("--baseline", "empty.json"), "empty.json has none of these calls"),
        (("--baseline", "huge.json"), "huge.json has more than 64 MiB"),
        (("--baseline", "x", "--write-baseline", "y"), "exclude each other"),
        (("--threshold", "5%"), "--threshold goes with --baseline"),
        (("--baseline", "empty.json", "--threshold", "5"), "write 5% or a number below 1"),
        (("--baseline", "empty.json", "--threshold", "much"), "'much' is not a threshold"),
        (("--baseline", "empty.json", "--threshold", "nan"), "'nan' is not a threshold"),
        (("--baseline", "empty.json", "--threshold=-1%"), "'-1%' is not a threshold"),
        (("--baseline", "empty.json", "--threshold", "5%%"), "'5%%' is not a threshold"),
    ],
)
def test_what_cannot_be_is_one_sentence_before_anything_runs(
    cli, monkeypatch, calls_of, tmp_path, words, said
):
    """Exit code 2, nothing on standard output, every file as it was."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty.json").write_text('{"mlusim baseline": 1, "written by": "0.1.0", "calls": []}')
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with calls_of(perform) as performed:
        done = cli(*TIN, *words)

    assert performed == []
    assert (2, "") == (done.code, done.out)
    assert said in done.err
    assert 1 == done.err.count("\n")
    assert "notes" == (tmp_path / "notes.txt").read_text()


def test_what_another_report_has_stored_meanwhile_stays(cli, stored, tmp_path, shift_calls):
    """The file is read again when the run ends: the last writer drops no calls of the other's."""
    mine = tmp_path / "mine.json"

    def ending(usual):
        def call(*given):
            mine.write_bytes(stored.read_bytes())  # another report ends now
            return usual(*given)

        return call

    shift_calls(ending)
    words = ("report", "tin_shift_forward", "--case", "jobs_49", "--board", "MLU370-X4", "--jobs", 1)
    done = cli(*words, "--write-baseline", mine)

    assert (0, f"{mine}: 5 calls\n") == (done.code, done.err)
