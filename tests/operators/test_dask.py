"""A sweep over a Dask cluster of processes is the sweep of this process."""

from distributed import Client, LocalCluster
from sweep_jobs import JOBS

from mlusim.operators.sweep import sweep


def test_a_cluster_gives_the_same_records(tmp_path):
    """Its executor goes where any executor goes; the file is the same to the byte."""
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        records = list(sweep(JOBS, client.get_executor(), keep=there))

    assert list(sweep(JOBS, workers=1, keep=here)) == records
    assert here.read_bytes() == there.read_bytes()
