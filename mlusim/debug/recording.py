"""Recordings: files with which another machine can go to the same position of the same program.

A recording has the program (an operator's call with its arrays, a script's text, or names and digests of BANG C
sources with the call), the position, the breakpoints, and a hash of the machine's bytes there, by which the other
machine can tell whether it is in the same state.  Nothing in it is unpickled, and no code of it runs without the
user's consent: until the recording is trusted, a script or a source is refused, and a condition is disabled.
"""

import hashlib
import importlib
import json
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import asdict, frozen

from mlusim.arch.dtypes import as_dtype
from mlusim.debug.locations import location_of
from mlusim.debug.look.evaluate import condition
from mlusim.debug.recorded import (
    FORMAT,
    MEMBER,
    Arrays,
    AskedFacts,
    BreakpointFacts,
    OperatorFacts,
    ProgramFacts,
    RecordingFacts,
    ScriptFacts,
    WatchFacts,
    facts_in,
)
from mlusim.debug.stop.steppers import LineStep
from mlusim.debug.stop.stops import Breakpoint, ByteSpan, LineLocation, Position, Watchpoint
from mlusim.errors import UsageError
from mlusim.files.reading import brief, read_text, shown
from mlusim.files.writing import write
from mlusim.lazy import lazy
from mlusim.memory.space import SPACES
from mlusim.programs.program import ScriptProgram

if TYPE_CHECKING:
    from mlusim.debug.session import DebugSession
    from mlusim.operators import registry, runner
    from mlusim.programs.program import Program
else:
    registry, runner = lazy("mlusim.operators.registry", "mlusim.operators.runner")

NEARBY = 32  # lines after the recorded one that are searched for the recorded state


@frozen(eq=False)
class Recording:
    """A recording that was read: its facts, its call or script, and whether its code may run."""

    name: str
    facts: RecordingFacts
    stored: ProgramFacts
    arrays: Arrays
    trusted: bool = False

    @property
    def code(self) -> dict[str, str]:
        """The texts that a replay would execute, by file; none for a call of an installed operator.

        Raises `UsageError` if sources that it names are missing.
        """
        stored = self.stored
        if isinstance(stored, OperatorFacts):
            return {}
        if isinstance(stored, ScriptFacts):
            return stored.sources
        files = of_sources().found_sources(stored, self.name).files
        return {path: read_text(path) for path in files.values()} | _command(stored)

    @property
    def stored_name(self) -> str:
        """Return the name of the program."""
        stored = self.stored
        if isinstance(stored, OperatorFacts):
            return shown(stored.operator + (f" {stored.case}" if stored.case else ""))
        return shown(stored.name if isinstance(stored, ScriptFacts) else stored.asked.file)


def _command(stored: AskedFacts) -> dict[str, str]:
    """Return the macro definitions and the arguments of a call as texts: a definition is code, too."""
    defines = [name if value is None else f"{name}={value}" for name, value in stored.asked.define.items()]
    found = {"definitions": "\n".join(defines), "arguments": "\n".join(stored.words)}
    return {name: text for name, text in found.items() if text}


def of_sources() -> Any:
    """Return the module that finds BANG C sources; imported by name, so that the front end is loaded only for recordings with sources."""
    return importlib.import_module("mlusim.debug.recorded_sources")


def untrusted(recording: Recording) -> str:
    """Return the refusal of a recording whose script or sources the user has not allowed to run."""
    names = ", ".join(shown(name) for name in recording.code)
    what = "holds a script" if isinstance(recording.stored, ScriptFacts) else "names BANG C sources"
    return (
        f"{recording.name} {what} and would run {'it' if what.endswith('script') else 'them'} ({names[:300]}); read it with "
        f"`mlusim debug --replay {recording.name} --show`, and add --trust where it may run"
    )


# -- the program -----------------------------------------------------------------------------------


def program_in(recording: Recording) -> "Program":
    """Return the program of a recording.  Raises `UsageError` for code that is not trusted, and for missing sources."""
    stored = recording.stored
    if not isinstance(stored, OperatorFacts) and not recording.trusted:
        raise UsageError(untrusted(recording))
    if isinstance(stored, ScriptFacts):
        return _stored_script(stored)
    arrays = {key.removeprefix("input."): array for key, array in recording.arrays.items()}
    if isinstance(stored, AskedFacts):
        program: Program = of_sources().source_program(stored, arrays, recording.name)
        return program
    return runner.OperatorProgram(
        registry.find_operator(stored.operator),
        arrays,
        stored.params,
        stored.board,
        stored.seed,
        stored.effects,
        stored.case,
        stored.checks,
    )


def _stored_script(facts: ScriptFacts) -> "Program":
    """Write the script to a new folder, which is deleted with the program."""
    folder = Path(tempfile.mkdtemp(prefix="mlusim-replay-"))
    sources = facts.sources
    program = ScriptProgram(str(folder / next(iter(sources))), facts.arguments, facts.checks)
    weakref.finalize(program, shutil.rmtree, folder, ignore_errors=True)
    try:
        for name, source in sources.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(source, encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise UsageError(
            f"the script of the recording cannot be written to {folder}: {brief(error)}"
        ) from None
    return program


# -- writing -----------------------------------------------------------------------------------------


def save(session: "DebugSession", name: str) -> int:
    """Write the session's program, position and breakpoints to the file *name*; return its size in bytes.

    Raises `UsageError` for a program that is a function in this process, or a native command.
    """
    program, arrays = _facts_of(session.program)
    session.leave_interrupt()
    position = session.position
    facts = RecordingFacts(
        FORMAT,
        program,
        (position.launch, position.moment, position.lines),
        session.focus,
        session.digest(),
        tuple(_breakpoint_facts(made) for made in session.breakpoints.values()),
        {} if "digests" in program else _sources(session),  # the facts of BANG C have a digest of each source
        {key: (array.dtype.name, array.shape) for key, array in arrays.items()},
    )
    # As bytes, with type and shape in the facts, since an .npy file cannot store bfloat16.
    stored = {key: np.ascontiguousarray(array).reshape(-1).view(np.uint8) for key, array in arrays.items()}
    text = np.frombuffer(json.dumps(asdict(facts), default=_plain).encode(), np.uint8)
    write(name, lambda file: np.savez_compressed(file, **dict[str, Any]({MEMBER: text} | stored)), keep=True)
    return Path(name).stat().st_size


def _plain(value: object) -> Any:
    """Convert a NumPy scalar to a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    raise UsageError(f"{value!r} is a parameter that cannot be written to a file")


def _facts_of(program: "Program") -> tuple[Mapping[str, Any], Mapping[str, np.ndarray[Any, Any]]]:
    recorded = getattr(program, "recorded", None)
    if recorded is None:
        raise UsageError(
            f"{program.name} cannot be recorded; only operators, scripts and BANG C sources can be replayed elsewhere"
        )
    facts: tuple[Mapping[str, Any], Mapping[str, np.ndarray[Any, Any]]] = recorded()
    return facts


def _breakpoint_facts(point: Breakpoint) -> BreakpointFacts:
    watch = _watch_facts(point.location) if isinstance(point.location, Watchpoint) else None
    return BreakpointFacts(
        _words(point), point.enabled, point.temporary, point.task, point.condition, point.ignore, watch
    )


def _watch_facts(location: Watchpoint) -> WatchFacts:
    span, writes, reads = location.span, location.writes, location.reads
    dtype = None if span.dtype is None else span.dtype.name
    return WatchFacts(
        span.space.name, span.low, span.high, span.text, dtype, span.owner, span.anyone, writes, reads
    )


def _words(point: Breakpoint) -> str:
    """Return the words with which `break` sets the same breakpoint in another session."""
    if isinstance(point.location, LineLocation):
        # Only the name: the file is in another folder on the replaying machine.
        return f"{Path(point.location.file).name}:{point.location.line}"
    return point.words


def _sources(session: "DebugSession") -> dict[str, str]:
    """Return a hash of each source file that a kernel of the program reaches, by the last two parts of its path."""
    files = {f.code.co_filename for recorded in session.launches for f in recorded.functions}
    return {
        "/".join(Path(file).parts[-2:]): hashlib.sha256(Path(file).read_bytes()).hexdigest()
        for file in sorted(files)
        if Path(file).is_file()
    }


# -- reading -----------------------------------------------------------------------------------------


def load(name: str, *, trust: bool = False) -> Recording:
    """Read the recording *name*; raises `UsageError` if it is none.  Nothing in it is run or written.

    With *trust* its code may run: its script, and the conditions of its breakpoints.
    """
    facts, program, arrays = facts_in(name)
    return Recording(name, facts, program, arrays, trust)


def stand(session: "DebugSession", recording: Recording) -> list[str]:
    """Bring a new session to the position of *recording*; return a sentence for each difference from the recording."""
    facts = recording.facts
    launch, moment, lines = facts.position
    position = Position(launch, moment, lines)
    # A launch exists once the program has begun it, so that earlier ones have to run first.
    while len(session.launches) < launch and not session.ended:
        session.forward()
    if position.at_end and launch == len(session.launches):
        session.forward()
    if session.position != position:
        _go(session, position)
    _settle(session, position.lines, facts.digest)
    session.focus = facts.focus
    notes = [
        f"{shown(tail)} is not the file of the recording"
        for tail, known in facts.sources.items()
        if _sources(session).get(tail, known) != known
    ]
    if isinstance(recording.stored, AskedFacts):
        changed = of_sources().found_sources(recording.stored, recording.name).changed
        notes += [f"{shown(name)} is not the file of the recording" for name in changed]
    notes += _restore(session, recording)
    if session.digest() != facts.digest:
        notes.append(
            "the machine is not in the state of the recording: its bytes, or places in the kernel, differ"
        )
    return notes


def _go(session: "DebugSession", position: Position) -> None:
    """Go to *position*, or, if it has fewer lines, to its moment."""
    try:
        session.travel(position)
    except UsageError:
        # A position without lines has no earlier place to try.
        if not position.lines:
            raise
        session.travel(Position(position.launch, position.moment))


def _settle(session: "DebugSession", lines: int, digest: str) -> None:
    """Search the state *digest* at lines nearby, since another version of Python may count lines differently."""
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


def _restore(session: "DebugSession", recording: Recording) -> list[str]:
    """Set the breakpoints; conditions are code, so that their breakpoints are disabled if the recording is not trusted."""
    notes = []
    for facts in recording.facts.breakpoints:
        words = shown(facts.words)
        try:
            location = _watch(facts.watch) if facts.watch is not None else location_of(session, facts.words)
            test = condition(facts.condition) if facts.condition else None
        except UsageError as error:
            notes.append(f"breakpoint {words!r} is left out: {error}")
            continue
        session.numbered += 1
        point = Breakpoint(session.numbered, location, facts.temporary, facts.enabled, facts.task)
        point.words, point.ignore, point.condition, point.test = words, facts.ignore, facts.condition, test
        session.breakpoints[point.number] = point
        # Disabled, not left out, so that the user sees the sender's condition, and decides.
        if test is not None and point.enabled and not recording.trusted:
            point.enabled = False
            notes.append(
                f"breakpoint {point.number} is disabled: its condition `{shown(point.condition or '')[:200]}` comes "
                f"with the file; `enable {point.number}` evaluates it from now on, --trust all of them"
            )
    return notes


def _watch(facts: WatchFacts) -> Watchpoint:
    space = next(s for s in SPACES if s.name == facts.space)
    dtype = None if facts.dtype is None else as_dtype(facts.dtype)
    text = shown(facts.text)
    span = ByteSpan(space, facts.low, facts.high, text, dtype, facts.owner, facts.anyone)
    return Watchpoint(span, text, facts.writes, facts.reads)
