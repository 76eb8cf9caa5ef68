"""A sweep over a Dask cluster of processes is the sweep of this process."""

import json

from distributed import Client, LocalCluster
from sweep_jobs import JOBS

from mlusim.cli.main import main
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
