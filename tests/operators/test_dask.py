"""A sweep over a Dask cluster of processes is the sweep of this process, and ends where the cluster does."""

import json
import re
import subprocess
import sys
import textwrap
from concurrent.futures import Executor, Future
from pathlib import Path
from types import SimpleNamespace

import pytest
from sweep_jobs import JOBS

from mlusim.cli.long_work import DaskExecutor
from mlusim.cli.main import main
from mlusim.errors import UsageError
from mlusim.operators import executors
from mlusim.operators.sweep import sweep

WORDS = ["report", "tin_shift_forward", "--case", "golden_document", "--json"]
LOCAL = ("--host", "127.0.0.1", "--no-dashboard")


class Processes:
    """A scheduler and a worker, as their programs start them."""

    def __init__(self):
        self.scheduler = self._begun("scheduler", "--port", "0")
        self.address = next(line for line in self.scheduler.stderr if "Scheduler at:" in line).split()[-1]
        self.begin_worker()

    def begin_worker(self):
        """Start a worker."""
        self.worker = self._begun("worker", self.address, "--no-nanny", "--nthreads", "1")

    def _begun(self, what, *words):
        program = [sys.executable, "-m", f"distributed.cli.dask_{what}", *words, *LOCAL]
        return subprocess.Popen(program, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

    def end(self, process):
        """Kill and wait for it."""
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.fixture(scope="module")
def processes():
    """A cluster of two processes."""
    made = Processes()
    yield made
    made.end(made.worker)
    made.end(made.scheduler)


BOTH = """
    import sys
    from distributed import Client
    sys.path.insert(0, sys.argv[1])
    from sweep_jobs import JOBS
    from mlusim.cli.main import main
    from mlusim.operators.sweep import sweep

    with Client(sys.argv[2], set_as_default=False) as client:
        list(sweep(JOBS, client.get_executor(), keep=sys.argv[3]))
    sys.exit(main([*sys.argv[4:], "--dask", sys.argv[2]]))
"""
KILLING = """
    import os, signal, sys
    from mlusim.cli import long_work
    from mlusim.cli.main import main
    from mlusim.operators import executors, kept_work

    long_work.PATIENCE, executors.LOOK = 1.0, 0.2
    add = kept_work.Keep.add

    def one_and_the_end(*words, **named):
        add(*words, **named)
        os.kill(int(sys.argv[1]), signal.SIGKILL)

    kept_work.Keep.add = one_and_the_end
    sys.exit(main(sys.argv[2:]))
"""


def ran(program, *words):
    """What a program says, with every warning of something left open shown."""
    command = [
        sys.executable,
        "-W",
        "always::ResourceWarning",
        "-c",
        textwrap.dedent(program),
        *map(str, words),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_cluster_gives_the_same_records(tmp_path, capsys, processes):
    """Its executor goes where any executor goes, by hand and by `--dask`; the file is the same to the byte."""
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    done = ran(BOTH, str(Path(__file__).parent), processes.address, there, *WORDS)
    list(sweep(JOBS, workers=1, keep=here))
    main([*WORDS, "--jobs", "1"])

    assert 0 == done.returncode, done.stderr
    assert not {"Traceback", "ResourceWarning"} & set(re.findall(r"\w+", done.stderr)), done.stderr
    assert here.read_bytes() == there.read_bytes()
    assert json.loads(capsys.readouterr().out) == json.loads(done.stdout)


def test_a_cluster_searches_as_this_process_does(tmp_path, capsys, processes):
    """The same draws, without a finding, from the first or from where another search ended."""
    search = ["fuzz", "tin_shift_forward", "--arg", "HW=int:1..90", "--json", "--runs"]
    corpora = [["--corpus", str(tmp_path / name)] for name in ("here", "there")]
    codes, found = [], []
    for runs in ("5", "2"):
        for corpus, where in zip(corpora, ([], ["--dask", processes.address]), strict=True):
            codes.append(main([*search, runs, *corpus, *where]))
            found.append(json.loads(capsys.readouterr().out))
            assert found[-1].pop("took")["cpu_seconds"]

    assert [0, 0, 0, 0] == codes
    assert [found[0], found[2]] == [found[1], found[3]]
    assert [(0, 5), (5, 2)] == [(one["first"], one["draws"]) for one in (found[0], found[2])]


def test_a_cluster_that_dies_in_mid_sweep_is_a_sentence(tmp_path, processes):
    """The last worker, then the scheduler, killed after a record: code 2, no traceback or warning, the records kept."""
    kept = tmp_path / "kept.jsonl"
    words = ["report", "tin_shift_forward", "--group", "all", "--board", "MLU370-X4", "--keep", kept]
    told = []
    for who in ("worker", "scheduler"):
        done = ran(KILLING, getattr(processes, who).pid, *words, "--dask", processes.address)
        told.append((done.returncode, done.stderr, len(kept.read_text().splitlines())))
        processes.end(processes.worker)
        processes.begin_worker()
    worker, scheduler = told

    assert (2, 2) == (worker[0], scheduler[0])
    assert f"{processes.address} has had no worker for 1 s; start one with `dask worker" in worker[1]
    assert 1 == worker[1].count("\n"), worker[1]
    assert "does not answer any more; what has ended is kept where -o or --keep says" in scheduler[1]
    assert 2 == scheduler[1].count("\n"), scheduler[1]
    assert "results are there already" in scheduler[1]
    assert 2 <= worker[2] < scheduler[2]


class Idle(Executor):
    """Takes work, and never does it."""

    def submit(self, work, /, *words, **named):  # noqa: ARG002 - as its base has it
        """Take it."""
        return Future()


@pytest.mark.parametrize(
    ("ncores", "status", "said"),
    [
        ({}, "running", "has had no worker for 0 s; start one with `dask worker tcp://a:1`"),
        (None, "running", "does not answer any more"),
        ({"a": 1}, "connecting", "does not answer any more"),
    ],
)
def test_a_cluster_that_cannot_work_is_a_sentence(tmp_path, monkeypatch, ncores, status, said):
    """Without a worker or a scheduler the sweep ends, and keeps its file."""
    monkeypatch.setattr(executors, "LOOK", 0.1)
    keep = tmp_path / "kept.jsonl"
    client = SimpleNamespace(
        get_executor=Idle,
        status=status,
        scheduler=SimpleNamespace(ncores=lambda: ncores),
        sync=lambda ask, callback_timeout: dict(ask()),  # of None it raises, as of a connection that is gone
    )

    with pytest.raises(UsageError, match=said):
        list(sweep(JOBS[:1], DaskExecutor(client, "tcp://a:1", 0), keep=keep))
    assert keep.read_text().startswith('{"mlusim sweep": ')


def test_a_slow_scheduler_has_time():
    """One that answers late, as on a busy machine, is asked again; it is not gone."""
    client = SimpleNamespace(
        get_executor=Idle,
        status="running",
        scheduler=SimpleNamespace(ncores=lambda: None),
        sync=lambda ask, callback_timeout: dict(ask()),
    )

    assert DaskExecutor(client, "tcp://a:1", 30).complaint() is None
