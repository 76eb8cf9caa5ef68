"""Records of runs and of faults: plain data for `mlusim.report`."""

from typing import Any

from attrs import asdict

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.errors import Fault
from mlusim.machine.launch import Launch
from mlusim.machine.tally import Usage
from mlusim.operators.runner import Run
from mlusim.report.advice import advice
from mlusim.report.figures import achieved, figures
from mlusim.report.page.excerpt import excerpt_of
from mlusim.report.record import FAULTED, FINDING_KEYS, Argument, CallRecord, LaunchRecord

_FAULT_KEYS = ("intrinsic", "operand", "address", "space", "legal", "hint", "task", "file", "line")


def record_of(run: Run) -> CallRecord:
    """Return the record of *run*."""
    # Memories that no kernel used are in the record too, with nothing in them.
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
    found = find_board(board)
    return CallRecord(
        operator=operator,
        case=case,
        board=found.name,
        status=FAULTED,
        expected=expected,
        passed=False,
        message=str(fault),
        memory=unused_memory(found),
        fault={"type": type(fault).__name__, "message": fault.message}
        | {key: getattr(fault, key) for key in _FAULT_KEYS},
        policy=policy,
    )


def unused_memory(board: Board) -> dict[str, Usage]:
    """Return the on-chip memories of *board*, with nothing in them."""
    arch = board.arch
    capacity = {"NRAM": arch.max_nram, "WRAM": arch.max_wram, "SRAM": arch.max_sram}
    return {space: Usage(nbytes, 0) for space, nbytes in capacity.items()}


def finding_facts(finding: object) -> dict[str, Any]:
    """Return the facts of *finding*, of any checker; of the usual ones, one that it lacks is None."""
    facts: dict[str, Any] = {key: getattr(finding, key, None) for key in FINDING_KEYS}
    if hasattr(finding, "to_json"):
        facts |= finding.to_json()
    # A checker of another package may give neither.
    return facts | {"message": facts["message"] or str(finding), "level": facts.get("level") or "error"}


def _launch(launch: Launch, *, dearest: bool) -> LaunchRecord:
    """Return the record of *launch*; what would help is asked of the *dearest* of a call alone, since it times the work again."""
    return LaunchRecord(
        kernel=launch.kernel,
        dim=launch.dim,
        kind=launch.kind,
        time_us=launch.time_us,
        # Without a task there was no work whose time could be uncertain.
        time_band=launch.time_band if launch.tasks else None,
        bound=launch.bound,
        busy_us=dict(launch.busy_us),
        io_bytes=launch.io_bytes,
        spans=tuple(launch.timeline),
        figures=figures(launch, find_board(launch.board)) if launch.tasks else None,
        engine=launch.engine,
        advice=advice(launch) if dearest else (),
        achieved=achieved([launch]),
        lines=launch.lines if launch.timeline.named else (),
        excerpt=excerpt_of(launch) if launch.timeline.named else None,
    )
