"""The same kernels on both engines: what each launch did and left behind, compared."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from benchmarks.vendor.bench import CASES, Bench
from benchmarks.vendor.entries import Library, Watched
from benchmarks.vendor.operators import outcome
from benchmarks.vendor.sentences import sentence
from mlusim.machine.launch import Launch

MEASURES = (
    "kernel", "dim", "kind", "instructions", "traffic", "io_bytes", "lanes", "memory", "scalar_loads", "scalar_stores", "busy_us", "time_us",
    "bound", "printed",
)  # fmt: skip


@define
class Pair:
    """One run made by each engine: its *launches*, how many of them C ran, and what differs."""

    launches: int = 0
    native: int = 0
    interpreted: list[str] = field(factory=list)  # kernels that Python ran all the same
    differs: list[str] = field(factory=list)


@define(eq=False)
class Seen:
    """What one engine did: its launches, and the bytes of the tensors that each was given, after it."""

    launches: list[Launch] = field(factory=list)
    left: list[list[Any]] = field(factory=list)
    error: str = ""

    def note(self, launch: Launch, arguments: Iterable[Any]) -> None:
        """Keep a launch, and copies of its tensors."""
        found: dict[Any, None] = {}
        for argument in arguments:
            allocation = getattr(getattr(argument, "view", argument), "allocation", None)
            if allocation is not None:
                found[allocation] = None
        self.launches.append(launch)
        self.left.append([a.raw.copy() for a in found])


def of_file(root: Path, path: str) -> Pair:
    """The straight runs of a file's kernels."""
    both = []
    for engine in ("python", "auto"):
        seen = Seen()
        bench = Bench(root, path, engine=engine, note=seen.note)
        try:
            for function in CASES[path]:
                function(bench)
        except Exception as error:  # noqa: BLE001 - the other engine has to say the same
            seen.error = f"{type(error).__name__}: {sentence(error, root)}"
        both.append(seen)
    return compared(*both)


def of_call(library: Library, entry: str, case: str, source: Any) -> Pair:
    """One call of an entry point."""
    both = []
    for engine in ("python", "auto"):
        seen = Seen()
        made = outcome(library, entry, case, source, handle=Watched(engine=engine, note=seen.note))
        seen.error = f"{made.status} {made.right} {made.remark}"
        both.append(seen)
    return compared(*both)


def compared(first: Seen, second: Seen) -> Pair:
    """What differs between a run in Python and the same on the engine that ``auto`` takes."""
    pair = Pair(len(first.launches), sum(launch.engine == "native" for launch in second.launches))
    pair.interpreted = sorted({launch.kernel for launch in second.launches if launch.engine != "native"})
    if first.error != second.error:
        pair.differs.append(f"ends with {second.error!r}, not {first.error!r}")
    if len(first.launches) != len(second.launches):
        pair.differs.append(f"{len(second.launches)} launches, not {len(first.launches)}")
    for n, (a, b) in enumerate(zip(first.launches, second.launches, strict=False)):
        where = f"launch {n} of {a.kernel}: "
        pair.differs += [
            f"{where}{m}: {_of(b, m)}, not {_of(a, m)}" for m in MEASURES if _of(a, m) != _of(b, m)
        ]
        if [task.log.key for task in a.tasks] != [task.log.key for task in b.tasks]:
            pair.differs.append(f"{where}the logs of its tasks")
        pair.differs += [
            f"{where}bytes of tensor {t}: {int((x != y).sum())} of {x.size}"
            for t, (x, y) in enumerate(zip(first.left[n], second.left[n], strict=True))
            if not np.array_equal(x, y)
        ]
    return pair


def _of(launch: Launch, measure: str) -> Any:
    found = getattr(launch, measure)
    return dict(found) if hasattr(found, "items") else found
