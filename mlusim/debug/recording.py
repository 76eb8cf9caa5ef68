"""Recordings: a file from which another machine can stand at the same place of the same program.

It holds the program (an operator's call with its arrays, or a script's text), the place, the
breakpoints, and a hash of the machine's bytes there, so that the other machine can say whether it stands
in the same state.  Nothing in it is unpickled; a script in it is run, as any script that one is sent.
"""

import hashlib
import json
import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.arch.dtypes import as_dtype
from mlusim.debug.locations import location_of
from mlusim.debug.look.evaluate import condition
from mlusim.debug.session import DebugSession
from mlusim.debug.source.frames import installed
from mlusim.debug.stop.breakpoints import Breakpoint, LineLocation, Watch
from mlusim.debug.stop.moments import Position
from mlusim.debug.stop.span import Span
from mlusim.debug.stop.steppers import LineStep
from mlusim.errors import UsageError
from mlusim.files.writing import write
from mlusim.memory.space import SPACES
from mlusim.operators.registry import find_operator
from mlusim.programs.program import OperatorProgram, Program, ScriptProgram

NEARBY = 32  # lines that are looked at beyond those of a recording, before its place is given up
FORMAT = "mlusim debug 1"
Arrays = dict[str, np.ndarray[Any, Any]]


@frozen
class Recording:
    """What a file holds: the program, and the rest as plain data."""

    program: Program
    facts: Mapping[str, Any]


# -- writing -----------------------------------------------------------------------------------------


def save(session: DebugSession, name: str) -> int:
    """Write the session's program, place and breakpoints to the file *name*; return its size in bytes.

    Raises `UsageError` for a program that is neither an operator's call nor a script.
    """
    program, arrays = _program_facts(session.program)
    session.leave_interrupt()
    position = session.position
    facts = {
        "format": FORMAT,
        "program": program,
        "position": [position.launch, position.moment, position.lines],
        "focus": session.focus,
        "digest": session.digest(),
        "breakpoints": [_breakpoint_facts(b) for b in session.breakpoints.values()],
        "sources": _sources(session),
        "arrays": {key: [array.dtype.name, list(array.shape)] for key, array in arrays.items()},
    }
    stored = {key: np.ascontiguousarray(array).reshape(-1).view(np.uint8) for key, array in arrays.items()}
    text = np.frombuffer(json.dumps(facts, default=_plain).encode(), np.uint8)
    write(name, lambda file: np.savez_compressed(file, record=text, **dict[str, Any](stored)))
    return Path(name).stat().st_size


def _plain(value: Any) -> Any:
    """A number of NumPy as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    raise UsageError(f"{value!r} is a parameter that cannot be written to a file")


def _program_facts(program: Program) -> tuple[dict[str, Any], Arrays]:
    if isinstance(program, OperatorProgram):
        facts = {
            "kind": "operator",
            "operator": program.operator.name,
            "params": dict(program.params),
            "board": str(getattr(program.board, "name", program.board)),
            "seed": program.seed,
            "effects": program.effects,
            "case": program.case,
            "checks": list(program.checks),
        }
        return facts, {f"input.{name}": np.asarray(value) for name, value in program.inputs.items()}
    if isinstance(program, ScriptProgram):
        facts = {
            "kind": "script",
            "name": program.name,
            "source": Path(program.path).read_text(encoding="utf-8"),
            "beside": _beside(Path(program.path).resolve()),
            "arguments": list(program.arguments),
            "checks": list(program.checks),
        }
        return facts, {}
    raise UsageError(
        f"{program.name} is a function of this process; only operators and scripts can be replayed elsewhere"
    )


def _beside(script: Path) -> dict[str, str]:
    """The text of every module that has been imported from the script's folder, by its path there."""
    found = {}
    for module in tuple(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if (
            isinstance(file, str)
            and file.endswith(".py")
            and Path(file).resolve().is_relative_to(script.parent)
        ):
            path = Path(file).resolve()
            inside = path.relative_to(script.parent)
            if path != script and not installed(str(path)) and path.is_file():
                found[inside.as_posix()] = path.read_text(encoding="utf-8")
    return found


def _breakpoint_facts(made: Breakpoint) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "words": _words(made),
        "enabled": made.enabled,
        "temporary": made.temporary,
        "task": made.task,
        "condition": made.condition,
        "ignore": made.ignore,
    }
    if isinstance(made.location, Watch):
        span = made.location.span
        facts["watch"] = {
            "space": span.space.name,
            "low": span.low,
            "high": span.high,
            "text": span.text,
            "dtype": None if span.dtype is None else span.dtype.name,
            "owner": span.owner,
            "anyone": span.anyone,
            "writes": made.location.writes,
            "reads": made.location.reads,
        }
    return facts


def _words(made: Breakpoint) -> str:
    """What `break` would have to be told elsewhere."""
    if isinstance(made.location, LineLocation):
        return f"{Path(made.location.file).name}:{made.location.line}"
    return made.words


def _sources(session: DebugSession) -> dict[str, str]:
    """A hash of each source file that a kernel of the program reaches, by the end of its path."""
    files = {f.code.co_filename for recorded in session.launches for f in recorded.functions}
    return {_tail(file): _hash(file) for file in sorted(files) if Path(file).is_file()}


def _tail(file: str) -> str:
    return "/".join(Path(file).parts[-2:])


def _hash(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


# -- reading -----------------------------------------------------------------------------------------


def load(name: str) -> Recording:
    """Read the recording *name*; raises `UsageError` for what is none."""
    try:
        with np.load(name, allow_pickle=False) as stored:
            facts = json.loads(stored["record"].tobytes())
            arrays = {
                key: stored[key].view(np.dtype(dtype)).reshape(shape)
                for key, (dtype, shape) in facts.get("arrays", {}).items()
            }
    except Exception as error:  # noqa: BLE001 - a broken file makes NumPy raise anything
        reason = getattr(error, "strerror", None)
        raise UsageError(
            f"{name} is no recording of the debugger"
            + (f": {reason}" if reason else "; the command `record` makes them")
        ) from None
    if facts.get("format") != FORMAT:
        raise UsageError(
            f"{name} is a recording of the kind {facts.get('format')!r}; this program reads {FORMAT!r}"
        )
    return Recording(_program(facts["program"], arrays), facts)


def _program(facts: Mapping[str, Any], arrays: Arrays) -> Program:
    checks = tuple(facts["checks"])
    if facts["kind"] == "operator":
        return OperatorProgram(
            find_operator(facts["operator"]),
            {key.removeprefix("input."): array for key, array in arrays.items()},
            facts["params"],
            facts["board"],
            facts["seed"],
            facts["effects"],
            facts["case"],
            checks,
        )
    sources = {Path(facts["name"]).name: facts["source"], **facts.get("beside", {})}
    for name in sources:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise UsageError(f"the recording would write {name}, which lies outside its folder")
    folder = Path(tempfile.mkdtemp(prefix="mlusim-replay-"))
    program = ScriptProgram(str(folder / Path(facts["name"]).name), tuple(facts["arguments"]), checks)
    weakref.finalize(program, shutil.rmtree, folder, ignore_errors=True)
    for name, source in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source, encoding="utf-8")
    return program


def stand(session: DebugSession, facts: Mapping[str, Any]) -> list[str]:
    """Bring a fresh session to the place of a recording; return sentences about what is not as recorded."""
    launch, moment, lines = facts["position"]
    position = Position(launch, moment, lines)
    while len(session.launches) < launch and not session.ended:
        session.forward()
    if position.at_end and launch == len(session.launches):
        session.forward()
    if session.position != position:
        _go(session, position)
    _settle(session, position.lines, facts["digest"])
    session.focus = facts["focus"]
    notes = [
        f"{tail} is not the file of the recording"
        for tail, known in facts["sources"].items()
        if _sources(session).get(tail, known) != known
    ]
    notes += _restore(session, facts["breakpoints"])
    if session.digest() != facts["digest"]:
        notes.append(
            "the machine is not in the state of the recording: its bytes, or places in the kernel, differ"
        )
    return notes


def _go(session: DebugSession, position: Position) -> None:
    """Travel there; where the moment has fewer lines, to the moment."""
    try:
        session.travel(position)
    except UsageError:
        if not position.lines:
            raise
        session.travel(Position(position.launch, position.moment))


def _settle(session: DebugSession, lines: int, digest: str) -> None:
    """Another version of Python may count lines differently: look for the state *digest* at lines near by."""
    here = session.position
    if not lines or session.digest() == digest:
        return
    session.travel(Position(here.launch, here.moment))
    for _ in range(2 * lines + NEARBY):
        session.forward([LineStep(None)])
        if session.position.moment != here.moment or session.digest() == digest:
            break
    if session.digest() != digest:
        session.travel(here)


def _restore(session: DebugSession, breakpoints: list[Mapping[str, Any]]) -> list[str]:
    notes = []
    for facts in breakpoints:
        try:
            watch = facts.get("watch")
            location = _watch(watch) if watch is not None else location_of(session, facts["words"])
        except UsageError as error:
            notes.append(f"breakpoint {facts['words']!r} is left out: {error}")
            continue
        session.numbered += 1
        made = Breakpoint(session.numbered, location, facts["temporary"], facts["enabled"], facts["task"])
        made.words, made.ignore, made.condition = facts["words"], facts["ignore"], facts["condition"]
        made.test = condition(made.condition) if made.condition else None
        session.breakpoints[made.number] = made
    return notes


def _watch(facts: Mapping[str, Any]) -> Watch:
    space = next(s for s in SPACES if s.name == facts["space"])
    dtype = None if facts["dtype"] is None else as_dtype(facts["dtype"])
    span = Span(space, facts["low"], facts["high"], facts["text"], dtype, facts["owner"], facts["anyone"])
    return Watch(span, facts["text"], facts["writes"], facts["reads"])
