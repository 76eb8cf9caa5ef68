"""A sweep over a Dask cluster of processes is the sweep of this process."""

import json
from concurrent.futures import Executor, Future
from types import SimpleNamespace

import pytest
from distributed import Client, LocalCluster
from sweep_jobs import JOBS

from mlusim.cli.dask import Cluster
from mlusim.cli.main import main
from mlusim.errors import UsageError
from mlusim.operators import executors
from mlusim.operators.sweep import sweep

WORDS = ["sweep", "tin_shift_forward", "--case", "golden_document", "--json"]


def test_a_cluster_gives_the_same_records(tmp_path, capsys):
    """Its executor goes where any executor goes, by hand and by `--dask`; the file is the same to the byte."""
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            records = list(sweep(JOBS, client.get_executor(), keep=there))
        code = main([*WORDS, "--dask", cluster.scheduler_address])
    told = json.loads(capsys.readouterr().out)
    main([*WORDS, "--jobs", "1"])

    assert list(sweep(JOBS, workers=1, keep=here)) == records
    assert here.read_bytes() == there.read_bytes()
    assert 0 == code
    assert json.loads(capsys.readouterr().out) == told


class Idle(Executor):
    """Takes work, and never does it."""

    def submit(self, work, /, *words, **named):  # noqa: ARG002 - as its base has it
        """Take it."""
        return Future()


@pytest.mark.parametrize(
    ("ncores", "said"),
    [
        ({}, "has had no worker for 0 s; start one with `dask worker tcp://a:1`"),
        (None, "does not answer any more"),
    ],
)
def test_a_cluster_that_cannot_work_is_a_sentence(tmp_path, monkeypatch, ncores, said):
    """Without a worker or a scheduler the sweep ends, and keeps its file."""
    monkeypatch.setattr(executors, "LOOK", 0.1)
    keep = tmp_path / "kept.jsonl"
    client = SimpleNamespace(
        get_executor=Idle,
        scheduler=SimpleNamespace(ncores=lambda: ncores),
        sync=lambda ask, callback_timeout: dict(ask()),  # of None it raises, as of a connection that is gone
    )

    with pytest.raises(UsageError, match=said):
        list(sweep(JOBS[:1], Cluster(client, "tcp://a:1", 0), keep=keep))
    assert keep.read_text().startswith('{"mlusim sweep": ')
