"""Many calls: operators x cases x boards, in one process or several, with a record of each call.

Calls share nothing, so that the records and their order do not depend on the number of processes.
"""

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from attrs import asdict, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.engine.preference import NATIVE
from mlusim.errors import Fault
from mlusim.machine.hub import EveryStep
from mlusim.machine.launch import Launch
from mlusim.machine.options import LaunchOptions
from mlusim.machine.tally import Usage
from mlusim.operators.executors import carried
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import Made, Run, made_of, run_case, takes_source
from mlusim.operators.spec import Case, Operator
from mlusim.report.advice import advice
from mlusim.report.figures import achieved, figures
from mlusim.report.page.excerpt import excerpt_of
from mlusim.report.record import FAULTED, FINDING_KEYS, Argument, CallRecord, LaunchRecord

MOST_WORKERS = 4  # a large case takes a gigabyte or more, and each process may run one

Done = Callable[[CallRecord], None]
J = TypeVar("J")
R = TypeVar("R")


@frozen
class Job:
    """One case of one operator on one board, by name; *check* are names of checkers; *policy* None is the usual policy.

    With *lines* the record has the time of each kernel line, and an excerpt of the timeline.
    """

    operator: str
    case: str
    board: str
    check: tuple[str, ...] = ()
    seed: int | None = None
    effects: str = "late"
    reference: bool = True
    policy: str | None = None
    engine: str = "auto"
    lines: bool = False

    @property
    def options(self) -> LaunchOptions:
        """The options with which its launches are made."""
        observe = [*self.check, *([EveryStep()] if self.lines else [])]
        return LaunchOptions(observe, self.seed, self.effects, self.engine)

    def __str__(self) -> str:
        chosen = "" if self.policy is None else f", {self.policy}"
        return f"{self.operator} {self.case}{chosen} on {self.board}"


def matching_cases(
    operator: Operator, board: str, *, group: str | None = None, names: Sequence[str] = ()
) -> Iterator[Case]:
    """Yield the cases of *operator* that run on *board*: those named, or those of *group* (None: any)."""
    for case in operator.cases:
        wanted = case.name in names if names else group in {None, case.group}
        if wanted and (not case.boards or board in case.boards):
            yield case


def perform(job: Job) -> CallRecord:
    """Run one job; a fault becomes a record, and any other exception gets a note that names the job."""
    return executed(job)[0]


@frozen
class OneAfterTheOther:
    """Jobs that one process runs; the jobs of one case are neighbours, so that its inputs and references are computed once."""

    jobs: tuple[Job, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.jobs))


def perform_in_order(of: OneAfterTheOther) -> list[CallRecord]:
    """Run the jobs one after the other, each as `perform` does."""
    records = []
    for (operator, name), same in groupby(of.jobs, _case):
        prepared = made_of(operator, find_case(find_operator(operator), name))
        records += [executed(job, prepared)[0] for job in same]
        del prepared  # the next one takes its memory
    return records


def _case(job: Job) -> tuple[str, str]:
    return job.operator, job.case


def executed(job: Job, prepared: Made | None = None) -> tuple[CallRecord, Run | None]:
    """Perform *job* as `perform` does, and return also its run (None after a fault); *prepared* is the result of `made_of` for the case."""
    case = find_case(find_operator(job.operator), job.case)
    try:
        run = run_case(
            job.operator,
            case,
            board=job.board,
            options=job.options,
            reference=job.reference,
            policy=job.policy,
            prepared=prepared,
        )
    except Fault as fault:
        return record_of_fault(fault, job.operator, job.case, job.board, case.status.name, job.policy), None
    except Exception as error:
        # Noted here, since a traceback from another process does not name the case.
        at = traceback.extract_tb(error.__traceback__)[-1]
        error.add_note(f"{job} at {Path(at.filename).name}:{at.lineno}")
        raise
    return record_of(run), run


def usual_workers(jobs: Sequence[object]) -> int:
    """Return the default number of processes for *jobs*: one per CPU, but few enough for the memory."""
    return max(1, min(len(jobs), os.cpu_count() or 1, MOST_WORKERS))


def longest_first(jobs: Sequence[Job]) -> list[Job]:
    """Return *jobs* with the longest cases first, so that no process works on a long one alone at the end."""

    def effort(job: Job) -> float:
        return -find_case(find_operator(job.operator), job.case).effort

    return sorted(jobs, key=effort)


def perform_all(jobs: Sequence[Job], workers: int = 1, done: Done | None = None) -> list[CallRecord]:
    """Run *jobs* in *workers* processes (1: in this one) and return their records in the order of *jobs*.

    Long cases start first.  The jobs of one case run in one process, and so do all large cases in C.  *done* is
    called with each record when its process has finished the whole group.  Raises `UsageError` when a process dies.
    """
    started = _portions(longest_first(jobs))

    def tell(portion: list[CallRecord], each: Done = done or (lambda _: None)) -> None:
        for record in portion:
            each(record)

    ended = spread(perform_in_order, started, workers, tell)
    records = {
        job: r
        for of, portion in zip(started, ended, strict=True)
        for job, r in zip(of.jobs, portion, strict=True)
    }
    return [records[job] for job in jobs]


def _portions(jobs: Sequence[Job]) -> list[OneAfterTheOther]:
    """Group *jobs* by process: the jobs of one case together, and before them all large cases in C, the largest first.

    A process reuses the memory of a large case for the next one; another process would have to get it from the
    system, which may take longer than the kernels.  In Python these cases take minutes, and each gets a process of
    its own.
    """
    cases: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        cases.setdefault(_case(job), []).append(job)
    memory = {}
    for key, (job, *_) in cases.items():
        case = find_case(find_operator(job.operator), job.case)
        if job.engine == NATIVE or (case.slow and takes_source(job.options)):
            memory[key] = case.memory
    large = sorted((key for key in memory if memory[key]), key=lambda key: -memory[key])
    portions = [[job for key in large for job in cases.pop(key)]] if large else []
    return [OneAfterTheOther(tuple(portion)) for portion in (*portions, *cases.values())]


def spread(
    work: Callable[[J], R], jobs: Sequence[J], workers: int = 1, done: Callable[[R], None] | None = None
) -> list[R]:
    """Call *work*, a module-level function, with each of *jobs* as `perform_all` does, and return the results in order."""
    tell = done or (lambda _: None)
    results: dict[int, R] = {}
    several = workers if workers > 1 and len(jobs) > 1 else None
    with closing(carried(work, jobs, workers=several)) as ended:
        for index, future in ended:
            results[index] = future.result()
            tell(results[index])
    return [results[index] for index in range(len(jobs))]


# -- records of runs and of faults: plain data for reports -----------------------------------------

_FAULT_KEYS = ("intrinsic", "operand", "address", "space", "legal", "hint", "task", "file", "line")


def record_of(run: Run) -> CallRecord:
    """Return the record of *run*."""
    # Memories that no kernel used are in the record too, with a usage of 0.
    memory = unused_memory(find_board(run.board)) | run.memory
    dearest = max(run.launches, key=lambda launch: launch.time_us, default=None)
    return CallRecord(
        operator=run.operator,
        case=run.case,
        board=run.board,
        status=run.status.name,
        expected=run.expected.name,
        passed=run.passed,
        message=run.message,
        inputs=tuple(Argument(name, str(d.dtype), d.shape) for name, d in run.inputs.items()),
        params=dict(run.params),
        accuracy={name: asdict(accuracy) for name, accuracy in run.accuracy.items()},
        efficiency=run.efficiency,
        traffic=dict(run.traffic),
        instructions=dict(run.instructions),
        memory=memory,
        workspace=run.workspace,
        launches=tuple(_launch(launch, dearest=launch is dearest) for launch in run.launches),
        findings=tuple(finding_facts(finding) for finding in run.findings),
        layouts=run.layouts,
        policy=run.policy,
        group=run.group,
        rule=run.rule,
    )


def record_of_fault(
    fault: Fault, operator: str, case: str | None, board: str, expected: str, policy: str | None = None
) -> CallRecord:
    """Return the record of a call that ended in *fault*."""
    place = find_board(board)
    return CallRecord(
        operator=operator,
        case=case,
        board=place.name,
        status=FAULTED,
        expected=expected,
        passed=False,
        message=str(fault),
        memory=unused_memory(place),
        fault={"type": type(fault).__name__, "message": fault.message}
        | {key: getattr(fault, key) for key in _FAULT_KEYS},
        policy=policy,
    )


def unused_memory(board: Board) -> dict[str, Usage]:
    """Return the on-chip memories of *board*, each with a usage of 0."""
    arch = board.arch
    capacity = {"NRAM": arch.max_nram, "WRAM": arch.max_wram, "SRAM": arch.max_sram}
    return {space: Usage(nbytes, 0) for space, nbytes in capacity.items()}


def finding_facts(finding: object) -> dict[str, Any]:
    """Return the facts of *finding*, of any checker, as JSON has them; a usual key that it lacks is None."""
    facts: dict[str, Any] = {key: getattr(finding, key, None) for key in FINDING_KEYS}
    if hasattr(finding, "to_json"):
        facts |= finding.to_json()
    # A finding of another package's checker may have neither a message nor a level.
    return facts | {"message": facts["message"] or str(finding), "level": facts.get("level") or "error"}


def _launch(launch: Launch, *, dearest: bool) -> LaunchRecord:
    """Return the record of *launch*; only the *dearest* launch of a call gets advice, which takes another timing of its work."""
    return LaunchRecord(
        kernel=launch.kernel,
        dim=launch.dim,
        kind=launch.kind,
        time_us=launch.time_us,
        # Without a task there is no work whose time could be uncertain.
        time_band=launch.time_band if launch.tasks else None,
        unsure=launch.unsure if launch.tasks else (),
        bound=launch.bound,
        busy_us=dict(launch.busy_us),
        io_bytes=launch.io_bytes,
        spans=tuple(launch.timeline),
        figures=figures(launch) if launch.tasks else None,
        engine=launch.engine,
        advice=advice(launch) if dearest else (),
        achieved=achieved([launch]),
        lines=launch.lines if launch.timeline.named else (),
        excerpt=excerpt_of(launch) if launch.timeline.named else None,
    )
