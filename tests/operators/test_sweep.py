"""Sweeps: the same records whatever the executor, kept as they come, continued after any end."""

import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import evolve
from hypothesis import given, settings, strategies as st
from sweep_jobs import DEADLY, JOBS, Here, clumsy, deadly, foreign

from mlusim.document import plain
from mlusim.errors import UsageError
from mlusim.operators import registry, shipped, sweep as module
from mlusim.operators.campaign import Job, perform
from mlusim.operators.kept_work import sources_of, word_of
from mlusim.operators.registry import find_operator
from mlusim.operators.sweep import jobs_of, sweep

DOCUMENTS = [plain(perform(job).to_json()) for job in JOBS]
FEW = JOBS[:3]


def documents(records):
    """Records as JSON has them."""
    return [plain(record.to_json()) for record in records]


def test_records_come_in_the_order_of_the_jobs_whatever_the_executor(tmp_path):
    """In this process, on threads, on processes of ours and of the caller: the same records, the same file."""
    ways = {"here": {"workers": 1}, "ours": {"workers": 2}}
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, get_context("spawn")) as processes:
        ways |= {"threads": {"executor": threads}, "processes": {"executor": processes}}
        for name, way in ways.items():
            assert DOCUMENTS == documents(sweep(JOBS, keep=tmp_path / name, **way))
    files = {name: (tmp_path / name).read_bytes() for name in ways}

    assert 1 == len(set(files.values()))
    assert 1 + len(JOBS) == len(files["here"].splitlines())
    assert list(ways) == [
        path.name for path in sorted(tmp_path.iterdir(), key=lambda p: list(ways).index(p.name))
    ]


def test_each_job_runs_once_and_is_told_of_once():
    """A job that is named twice, or by another spelling of its board, is one job."""
    told = []
    twice = [*FEW, *FEW, Job("tin_shift_forward", "golden_document", "mlu370-x4")]
    records = list(sweep(twice, workers=1, progress=told.append))

    assert DOCUMENTS[:3] == documents(records)
    assert records == told


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from sweep_jobs import JOBS
from mlusim.operators.sweep import sweep
told = []
def tell(record):
    told.append(record)
    if len(told) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
list(sweep(JOBS, workers=2, keep=sys.argv[1], progress=tell))
"""


def test_a_killed_sweep_goes_on_where_it_was(tmp_path):
    """Four results are kept, its processes are gone with it, and the rest makes the file of a sweep that was not killed."""
    kept, whole = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(kept), str(Path(__file__).parent)],
        capture_output=True,  # reading ends when every process that holds the pipe has ended
        check=False,
        timeout=300,
    )
    lines = kept.read_bytes().splitlines()
    again = sweep(JOBS, workers=1, keep=kept)
    records = documents(again)
    list(sweep(JOBS, workers=1, keep=whole))

    assert -9 == killed.returncode
    assert 1 + 4 == len(lines)
    assert (len(JOBS), 4) == (again.total, again.reused)
    assert DOCUMENTS == records
    assert whole.read_bytes() == kept.read_bytes()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The bytes of a finished sweep of `FEW`."""
    path = tmp_path_factory.mktemp("finished") / "few.jsonl"
    list(sweep(FEW, workers=1, keep=path))
    return path.read_bytes()


@settings(max_examples=30)
@given(share=st.floats(0, 1))
def test_a_file_cut_anywhere_goes_on(finished, tmp_path_factory, share):
    """Whatever a kill leaves of the file, the sweep ends in the same bytes, with every whole line reused."""
    path = tmp_path_factory.mktemp("cut") / "few.jsonl"
    start = finished[: int(share * len(finished))]
    path.write_bytes(start)
    run = sweep(FEW, workers=1, keep=path)
    reused = run.reused
    list(run)

    assert max(0, start.count(b"\n") - 1) == reused
    assert finished == path.read_bytes()


def test_a_finished_file_can_grow(finished, tmp_path):
    """More jobs than the file has are more to do, not another sweep."""
    path = tmp_path / "few.jsonl"
    path.write_bytes(finished)
    run = sweep(JOBS, workers=1, keep=path)

    assert len(FEW) == run.reused
    assert DOCUMENTS == documents(run)


def test_leaving_early_keeps_what_has_ended(tmp_path):
    """A `with` block that is left gives the file up; the rest is done later."""
    path = tmp_path / "left.jsonl"
    with sweep(FEW, workers=1, keep=path) as run:
        first = next(run)
    again = sweep(FEW, workers=1, keep=path)

    assert DOCUMENTS[0] == plain(first.to_json())
    assert 1 == again.reused
    assert DOCUMENTS[:3] == documents(again)


def test_a_job_whose_process_dies_is_named_and_runs_again(tmp_path, monkeypatch):
    """The others have their records; when the sweep goes on, only that job is left."""
    path = tmp_path / "deadly.jsonl"
    monkeypatch.setattr(module, "_work", deadly)
    broken = list(sweep(JOBS, workers=2, keep=path))
    monkeypatch.undo()
    again = sweep(JOBS, workers=1, keep=path)
    dead = JOBS.index(DEADLY)

    assert [dead] == [index for index, record in enumerate(broken) if record.fault is not None]
    assert f"the process that ran {DEADLY} has died" in broken[dead].message
    assert DOCUMENTS[:dead] + DOCUMENTS[dead + 1 :] == documents(broken[:dead] + broken[dead + 1 :])
    assert len(JOBS) - 1 == again.reused
    assert DOCUMENTS == documents(again)


def test_an_error_nobody_foresaw_is_that_job_s_record():
    """It says what and where; the rest goes on."""
    records = list(sweep(JOBS, Here(clumsy)))
    dead = JOBS.index(DEADLY)

    assert "ZeroDivisionError: by hand" == records[dead].message
    assert not records[dead].clean
    assert len(JOBS) - 1 == sum(record.fault is None for record in records)


def test_a_worker_with_other_sources_ends_the_sweep():
    """Results of two versions are not a sweep."""
    with pytest.raises(UsageError, match="a worker on .* has other sources"):
        list(sweep(FEW, Here(foreign)))


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (Job("tin_shift", "x", "MLU370-X4"), "no operator 'tin_shift'"),
        (Job("tin_shift_forward", "x", "MLU370-X4"), "no case 'x'"),
        (Job("tin_shift_forward", "jobs_33", "MLU9"), "MLU9"),
        (Job("tin_shift_forward", "jobs_33", "MLU370-X4", ("nocheck",)), "nocheck"),
        (Job("tin_shift_forward", "jobs_33", "MLU370-X4", policy="x"), "no policy 'x'"),
        (Job("tin_shift_forward", "jobs_33", "MLU370-X4", effects="x"), "effects = 'x' is unknown"),
    ],
)
def test_unknown_names_are_refused_before_anything_runs(job, words, tmp_path):
    """No file is made either."""
    with pytest.raises(UsageError, match=words):
        sweep([JOBS[0], job], keep=tmp_path / "none.jsonl")

    assert [] == list(tmp_path.iterdir())


def _edited(data, number, change):
    lines = data.splitlines(keepends=True)
    lines[number] = change(lines[number])
    return b"".join(lines)


def _swapped(data):
    """The records of the first two jobs, each in the line of the other."""
    head, first, second, *rest = data.splitlines(keepends=True)
    one, two = json.loads(first), json.loads(second)
    one["record"], two["record"] = two["record"], one["record"]
    return b"".join([head, *(json.dumps(line).encode() + b"\n" for line in (one, two)), *rest])


def _without(line, member):
    found = json.loads(line)
    del found["record"][member]
    return json.dumps(found).encode() + b"\n"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: b"name,time\n", "is not the file of a sweep"),
        (lambda data: b'{"runs": []}\n', "is not the file of a sweep"),
        (lambda data: _edited(data, 0, lambda line: line.replace(b": 2,", b": 9,", 1)), "has format 9"),
        (lambda data: _edited(data, 0, lambda line: line[:-6] + b'0"}\n'), "are of other sources of mlusim"),
        (lambda data: _edited(data, 1, lambda line: b"\0\0\n"), "line 2 is not a JSON object"),
        (lambda data: _edited(data, 1, lambda line: b"[1]\n"), "line 2 is not a JSON object"),
        (lambda data: _edited(data, 1, lambda line: b"[" * 100_000 + b"\n"), "line 2 is not a JSON object"),
        (lambda data: _edited(data, 2, lambda line: b"{}\n"), "line 3 is not a result"),
        (
            lambda data: _edited(data, 2, lambda line: b'{"job": {"x": 1}, "record": {}}\n'),
            "line 3 is not a result",
        ),
        (
            lambda data: _edited(
                data, 2, lambda line: json.dumps({**json.loads(line), "record": 1}).encode() + b"\n"
            ),
            "line 3 holds no record",
        ),
        (
            lambda data: _edited(data, 2, lambda line: line.replace(b"refused_data_rank_3", b"jobs_33")),
            "belongs to another sweep: it has tin_shift_forward jobs_33 on MLU370-X4",
        ),
        (_swapped, "line 2: the record is of .*, and its job is "),
        (
            lambda data: _edited(data, 1, lambda line: line.replace(b'"passed": true', b'"passed": false')),
            "line 2 has been changed since it was written",
        ),
        (
            lambda data: _edited(data, 1, lambda line: _without(line, "memory")),
            "line 2 holds no record of mlusim .the record lacks 'memory'",
        ),
    ],
)
def test_a_file_of_something_else_is_left_alone(finished, tmp_path, change, words):
    """One sentence, and not a byte is changed."""
    path = tmp_path / "kept.jsonl"
    changed = change(finished)
    path.write_bytes(changed)

    with pytest.raises(UsageError, match=words) as caught:
        sweep(FEW[:2], workers=1, keep=path)
    assert "\n" not in str(caught.value)
    assert changed == path.read_bytes()


def test_what_cannot_be_a_file_is_refused(tmp_path):
    """A directory, a place below none, and a file that another sweep writes."""
    with pytest.raises(UsageError, match="is a directory"):
        sweep(FEW, keep=tmp_path)
    with pytest.raises(UsageError, match="cannot be written"):
        sweep(FEW, keep=tmp_path / "none" / "x.jsonl")
    with (
        sweep(FEW, workers=1, keep=tmp_path / "x.jsonl"),
        pytest.raises(UsageError, match="is in use by another sweep"),
    ):
        sweep(FEW, workers=1, keep=tmp_path / "x.jsonl")


def test_restart_starts_over(finished, tmp_path):
    """Other sources are not an obstacle then; a file that is not a sweep's is left alone all the same."""
    path, other = tmp_path / "kept.jsonl", tmp_path / "notes.txt"
    path.write_bytes(_edited(finished, 0, lambda line: line[:-6] + b'0"}\n'))
    other.write_text("notes")
    run = sweep(FEW, workers=1, keep=path, restart=True)

    assert 0 == run.reused
    assert DOCUMENTS[:3] == documents(run)
    assert finished == path.read_bytes()
    with pytest.raises(UsageError, match="is not the file of a sweep"):
        sweep(FEW, keep=other, restart=True)
    assert "notes" == other.read_text()


def test_the_word_is_not_kept_by_the_name_of_an_operator(only_entries):
    """Another distribution's operator of the same name has its own sources, which are gone with it."""
    mine = find_operator("tin_shift_forward")
    word = sources_of(("tin_shift_forward",))
    other = evolve(mine, call=documents)
    only_entries(registry, [SimpleNamespace(name="x", value="x:y", load=lambda: other)])

    assert word != sources_of(("tin_shift_forward",))


def test_sources_are_those_of_the_operators_too(tmp_path, monkeypatch):
    """One word for all files; it changes with any of them, and not with where they lie."""
    word_of.cache_clear()
    word = sources_of(("tin_shift_forward",))
    word_of.cache_clear()
    again = sources_of(("tin_shift_forward",))
    (tmp_path / "more.py").write_text("x = 1\n")
    monkeypatch.setattr(shipped.package(), "__path__", [*shipped.package().__path__, str(tmp_path)])
    word_of.cache_clear()
    other = sources_of(("tin_shift_forward",))
    word_of.cache_clear()

    assert word == again
    assert 16 == len(word)
    assert word != other


def test_the_operators_are_known_by_both_of_their_names():
    """In the repository they are ``ops``, where mlusim is installed ``mlusim.ops``; a team's own ``operators`` are another's."""
    assert shipped.owns("ops.tin_shift.host")
    assert shipped.owns("mlusim.ops.tin_shift.host")
    assert not shipped.owns("operators.tin_shift")
    assert not shipped.owns("mlusim.operators.shipped")


def test_policies_multiply_the_jobs_of_those_who_declare_them():
    """Named, all of them, or none: an operator without the policy runs as usual."""
    jobs = [Job("three_interpolate_backward", "case_16", "MLU370-X4"), JOBS[0]]

    assert jobs == jobs_of(jobs)
    assert ["shipped", None] == [job.policy for job in jobs_of(jobs, ["shipped", "shipped"])]
    assert ["document", "shipped", None] == [job.policy for job in jobs_of(jobs, ["all"])]
    with pytest.raises(
        UsageError, match="none of these operators has a policy 'fast'; there are document, shipped"
    ):
        jobs_of(jobs, ["fast"])
    with pytest.raises(UsageError, match="they declare none"):
        jobs_of([JOBS[0]], ["document"])
