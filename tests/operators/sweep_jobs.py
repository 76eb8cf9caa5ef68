"""Small jobs for the tests of sweeps, and workers that go wrong; processes import them from here."""

import os

from mlusim.operators import sweep as module
from mlusim.operators.campaign import Job

JOBS = [
    Job(name, case, board)
    for name in ("tin_shift_forward", "tin_shift_backward")
    for board in ("MLU370-X4", "MLU590-H8")
    for case in ("golden_document", "refused_data_rank_3", "jobs_33")
]
DEADLY = JOBS[3]
WORK = module._work


def deadly(operators, sources, job):
    """Take the process along for one job."""
    if job == DEADLY:
        os._exit(1)
    return WORK(operators, sources, job)


def clumsy(operators, sources, job):
    """Raise for one job."""
    if job == DEADLY:
        raise ZeroDivisionError("by hand")
    return WORK(operators, sources, job)


def foreign(operators, sources, job):
    """A worker with other sources."""
    return WORK(operators, "other", job)
