"""Small jobs for the tests of sweeps, and workers that go wrong; processes import them from here."""

import os
from concurrent.futures import Executor, Future

from attrs import evolve

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


class Here(Executor):
    """Does each job at once; ``do(work, job)`` may go wrong."""

    def __init__(self, do):
        self.do = do

    def submit(self, work, job):
        """Do it."""
        future = Future()
        try:
            future.set_result(self.do(work, job))
        except ZeroDivisionError as error:
            future.set_exception(error)
        return future


def clumsy(work, job):
    """Raise for one job."""
    if job == DEADLY:
        raise ZeroDivisionError("by hand")
    return work(job)


def foreign(work, job):
    """Answer as a worker with other sources does."""
    return evolve(work(job), sources="other", document=None)
