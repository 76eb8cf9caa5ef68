"""``mlusim report --keep``: what it runs, keeps, reuses and says; ``mlusim sweep``, its former name."""

import json
import sys
from types import SimpleNamespace

import pytest

TIN = ("report", "tin_shift_forward", "--case", "golden_document", "jobs_33", "--jobs", 1)


def test_a_sweep_is_a_report_that_is_kept(cli, tmp_path):
    """The document is that of a report, but for what is not kept; run again, everything is reused and said to be."""
    out = tmp_path / "tin.jsonl"
    first, again = cli(*TIN, "--keep", out, "--json"), cli(*TIN, "--keep", out, "--json")
    report = cli("report", *TIN[1:], "--json")

    assert (0, 0, "") == (first.code, again.code, first.err)
    assert f"{out}: 4 of 4 results are there already\n" == again.err
    assert first.out == again.out
    assert report.json() == first.json()


def test_a_table_names_the_policies(cli, tmp_path):
    """Each policy of an operator that declares them has a line; the others have one."""
    words = (
        "report",
        "three_interpolate_backward",
        "tin_shift_forward",
        "--case",
        "by_hand",
        "golden_document",
    )
    done = cli(*words, "--board", "MLU370-X4", "--policy", "all", "--jobs", 1)

    assert (0, "") == (done.code, done.err)
    assert max(map(len, done.out.splitlines())) <= 80
    assert ["  by_hand, document", "  by_hand, shipped", "  golden_document"] == [
        line.split("   ")[0].rstrip() if not line.startswith("  ") else "  " + line.strip().split("   ")[0]
        for line in done.out.splitlines()
        if "passed" in line
    ]
    assert "3 of 3 as expected" in done.out


def test_the_lines_of_the_file_are_jobs_and_records(cli, tmp_path):
    """A line each, after one that says what made them; a record is the document of `run --json`."""
    out = tmp_path / "tin.jsonl"
    cli(*TIN, "--board", "MLU370-X4", "--keep", out)
    head, *lines = map(json.loads, out.read_text().splitlines())
    run = cli("run", "tin_shift_forward", "--case", "golden_document", "--json").json()

    assert {"mlusim sweep", "mlusim", "sources"} == set(head)
    assert ["golden_document", "jobs_33"] == [line["job"]["case"] for line in lines]
    assert run == lines[0]["record"]


def test_what_goes_wrong_is_a_record(cli, samples, tmp_path):
    """A fault and a failed accuracy keep the exit codes of a report, and the rest goes on."""
    out = tmp_path / "wrong.jsonl"
    done = cli("report", "sample", "wrong", "faulty", "--board", "MLU370-X4", "--jobs", 1, "--keep", out)
    again = cli("report", "sample", "wrong", "faulty", "--board", "MLU370-X4", "--jobs", 1, "--keep", out)
    failed = cli("report", "wrong", "--jobs", 1)

    assert (3, 3, 1) == (done.code, again.code, failed.code)
    assert done.out == again.out
    assert "3 of 6 as expected" in done.out
    assert "6 of 6 results are there already" in again.err


def test_an_interrupt_says_where_the_results_are(cli, shift_calls, tmp_path):
    """The key leaves with its exit code; the same command goes on."""
    out, calls = tmp_path / "tin.jsonl", []

    def pressed_in_the_second(usual):
        def call(*given):
            calls.append(given)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return usual(*given)

        return call

    shift_calls(pressed_in_the_second)
    pressed = cli(*TIN, "--keep", out)
    done = cli(*TIN, "--keep", out)

    assert 130 == pressed.code
    assert f"{out} holds what has ended; the same command goes on\nerror: interrupted\n" == pressed.err
    assert (0, f"{out}: 1 of 4 results are there already\n") == (done.code, done.err)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--restart",), "--restart starts a file over; name it with --keep"),
        (("--policy", "fast"), "none of these operators has a policy 'fast'; they declare none"),
        (("--dask", "tcp://localhost:1"), "--dask and --jobs exclude each other"),
        (("--keep", "."), "is a directory"),
        (("--case", "nothing"), "no case 'nothing'"),
        (("--board", "MLU9"), "MLU9"),
        (("--group", "odd"), "exclude each other"),
        (("--check", "nocheck"), "nocheck"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(cli, words, said):
    """Exit code 2, nothing on standard output."""
    done = cli(*TIN, *words)

    assert (2, "") == (done.code, done.out)
    assert said in done.err
    assert 1 == done.err.count("\n")


def test_a_file_of_another_sweep_is_left_alone(cli, tmp_path):
    """--restart starts it over."""
    out = tmp_path / "tin.jsonl"
    cli(*TIN, "--keep", out)
    other = ("report", "tin_shift_forward", "--case", "jobs_33", "--jobs", 1, "--keep", out)
    refused, done = cli(*other), cli(*other, "--restart")

    assert 2 == refused.code
    assert "belongs to another sweep" in refused.err
    assert (0, "") == (done.code, done.err)


def test_a_missing_scheduler_is_a_sentence(cli, monkeypatch):
    """A word that is not an address, no scheduler at the address, and an extra that is missing."""
    for address in ("nonsense", "ftp://localhost:1"):
        done = cli(*TIN[:-2], "--dask", address)

        assert (2, "") == (done.code, done.out)
        assert f"error: --dask '{address}' is not an address of a scheduler" in done.err
        assert 1 == done.err.count("\n")

    def unreachable(*_, **__):
        raise OSError("timed out")

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=unreachable))
    done = cli(*TIN[:-2], "--dask", "tcp://localhost:1")

    assert (2, "error: there is no Dask scheduler at 'tcp://localhost:1': timed out\n") == (
        done.code,
        done.err,
    )
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = cli(*TIN[:-2], "--dask", "tcp://localhost:1")

    assert (2, "error: --dask needs distributed; install it with `pip install 'distributed>=2024.8'`\n") == (
        done.code,
        done.err,
    )


def test_the_former_verb_names_the_one_that_stays(cli, tmp_path):
    """It goes on from the same file, with the words that it had, and stands in no list of verbs."""
    out = tmp_path / "tin.jsonl"
    kept = cli(*TIN, "--keep", out, "--json")
    former = cli("sweep", *TIN[1:], "-o", out, "--json")

    assert kept.json() == former.json()
    assert [
        f"{out}: 4 of 4 results are there already",
        "note: `mlusim report` with the same words, and --keep for -o, answers this; sweep will go with the next version",
    ] == former.err.splitlines()
    assert "sweep" not in cli("--help").out
