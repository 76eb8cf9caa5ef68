"""Launches of any origin for programs: the entry of a JSON document, and a trace; neither needs rich."""

from collections.abc import Sequence
from typing import Any

from attrs import asdict

from mlusim.errors import UsageError
from mlusim.files.writing import write
from mlusim.machine.launch import Launch
from mlusim.report.advice import advice
from mlusim.report.chrome import write_trace
from mlusim.report.explain import because
from mlusim.report.figures import achieved, figures


def launch_facts(launch: Launch) -> dict[str, Any]:
    """Return one launch as plain data: an entry of ``launches`` of ``profile --json``."""
    # Only a timed launch whose log names lines can tell their shares.
    lines = launch.lines if launch.timeline.named and launch.tasks else ()
    total = sum(line.time_us for line in lines)
    return {
        "kernel": launch.kernel,
        "board": launch.board,
        "dim": list(launch.dim),
        "kind": launch.kind,
        "engine": launch.engine,
        **({"estimate": launch.estimate} if launch.estimate else {}),
        "time_us": launch.time_us,
        "time_band": list(launch.time_band),
        "unsure": [one.to_json() for one in launch.unsure],
        "bound": launch.bound,
        "because": list(because(launch)),
        "achieved": [one.to_json() for one in achieved([launch])],
        "advice": [one.to_json() for one in advice(launch)],
        "busy": dict(figures(launch).busy) if launch.tasks else {},
        "instructions": dict(launch.instructions),
        "traffic": dict(launch.traffic),
        "memory": {space: asdict(usage) for space, usage in launch.memory.items()},
        "lines": [
            {
                "file": line.file,
                "line": line.line,
                "time_us": line.time_us,
                "share": line.time_us / total if total else 0.0,
            }
            for line in lines
        ],
        "findings": [f.to_json() if hasattr(f, "to_json") else {"message": str(f)} for f in launch.findings],
    }


def write_launches(path: str, launches: Sequence[Launch]) -> None:
    """Write *launches* to *path* as a trace for Perfetto.  Raises `UsageError` if there are none, or one was not timed."""
    if not launches:
        raise UsageError("nothing was launched, so there is no trace")
    if not all(launch.tasks for launch in launches):
        raise UsageError("a launch without timing has no trace; launch it with timing")
    write(str(path), lambda file: write_trace(file, list(launches)), keep=True)
