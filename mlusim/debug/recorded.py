"""The contents of a recording's file: classes whose fields are its schema."""

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import asdict, field, frozen

from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import as_dtype
from mlusim.debug.stop.stops import END
from mlusim.document import plain
from mlusim.engine.preference import AUTO, engine_of
from mlusim.errors import UsageError
from mlusim.files.arrays import ArrayFile, open_arrays
from mlusim.files.reading import shown, typed
from mlusim.lazy import lazy
from mlusim.machine.kernel import BLOCK, kind_called
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.memory.space import SPACES
from mlusim.observe.names import observers_of
from mlusim.programs.argument_forms import AskedCall

if TYPE_CHECKING:
    from mlusim.operators import registry
else:
    (registry,) = lazy("mlusim.operators.registry")

FORMAT, FIRST_FORMAT = "mlusim debug 2", "mlusim debug 1"
MEMBER = "record"
MAKES = "the command `record` makes them"
LARGEST = 64 << 20  # bytes of the facts, which contain the text of a script
Arrays = dict[str, np.ndarray[Any, Any]]


@frozen
class OperatorFacts:
    """A call of an operator; its inputs are stored as arrays."""

    operator: str
    params: Mapping[str, Any]
    board: str
    seed: int | None
    effects: str
    case: str | None
    checks: tuple[str, ...]

    def check(self) -> None:
        """Raise `UsageError` for an unknown operator, board, checker or effects."""
        registry.find_operator(self.operator)
        find_board(self.board)
        _check_run(self.checks, self.effects, AUTO)


@frozen
class ScriptFacts:
    """A script, with the texts of the modules that it imports from its own folder."""

    name: str
    source: str
    beside: Mapping[str, str]
    arguments: tuple[str, ...]
    checks: tuple[str, ...]

    def check(self) -> None:
        """Raise `UsageError` for an unknown checker, or for a path outside of the script's folder."""
        # The recording machine may have a package with a checker that is not installed here.
        observers_of(self.checks)
        for name in (self.name, *self.beside):
            # A backslash is a separator only on Windows, but is refused everywhere.
            parts = name.replace("\\", "/").split("/")
            if not name or "\0" in name or name.startswith("/") or ".." in parts or len(name) > 1000:
                raise UsageError(f"it would write {shown(name)[:80]!r}, which lies outside its folder")

    @property
    def sources(self) -> dict[str, str]:
        """Every text by its path, the script's first."""
        return {self.name.rpartition("/")[2]: self.source, **self.beside}


@frozen
class ExpectationFacts:
    """The expected *outputs*, as names of stored arrays, and the largest accepted errors."""

    name: str
    outputs: Mapping[str, str]
    diff1: float | None
    diff2: float | None
    diff3: float | None


@frozen
class AskedFacts:
    """A call that is *asked* of BANG C sources, or their ``main``; its input arrays are stored.

    Files are named by their paths relative to *folder*; *digests* has one for each file that was read.
    """

    kind: str
    folder: str
    digests: Mapping[str, str]
    asked: AskedCall
    expectation: ExpectationFacts | None = None

    def check(self) -> None:
        """Raise `UsageError` for an unknown name, `TypeError` if there are no sources."""
        asked = self.asked
        find_board(asked.board)
        words = (self.folder, *asked.program, *self.digests, *asked.include)
        named = asked.program and set(asked.program) <= set(self.digests)
        if not named or any("\0" in word for word in words):
            raise TypeError("its program names no sources")
        kind_called(asked.kind)
        _check_run(asked.checks, asked.effects, asked.engine)

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments as on the command line."""
        return (*self.asked.words, *(f"{name}={value}" for name, value in self.asked.arguments.items()))


def _renewed(program: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert the facts of sources in the first format of recordings, which had the members of a request side by side."""
    sources = program.get("sources")
    if not isinstance(sources, Mapping):
        return program
    asked = plain(asdict(AskedCall(())))
    asked |= {name: sources.get(name) for name in ("include", "define", "board")}
    asked |= {name: program[name] for name in asked.keys() & program.keys()}
    asked |= {"program": sources.get("paths"), "kind": program.get("type", BLOCK.name)}
    # In that format, the words of a main were called arguments.
    if program.get("kind") == "main":
        asked |= {"words": program.get("arguments"), "arguments": {}}
    around = {name: sources.get(name) for name in ("folder", "digests")}
    return {**program, **around, "asked": asked}


def _check_run(checks: tuple[str, ...], effects: str, engine: str) -> None:
    """Raise `UsageError` for an unknown checker, effects or engine."""
    observers_of(checks)
    engine_of(engine)
    if effects not in EFFECTS:
        raise UsageError(f"the effects {effects!r:.40} are unknown; they are {' or '.join(EFFECTS)}")


ProgramFacts = OperatorFacts | ScriptFacts | AskedFacts
KINDS: Mapping[str, type[ProgramFacts]] = {
    "operator": OperatorFacts,
    "script": ScriptFacts,
    "kernel": AskedFacts,
    "main": AskedFacts,
}


@frozen
class WatchFacts:
    """The bytes of a memory that a watchpoint watches."""

    space: str
    low: int
    high: int
    text: str
    dtype: str | None
    owner: str | None
    anyone: bool
    writes: bool
    reads: bool

    def check(self) -> None:
        """Raise `UsageError` for an unknown memory or type, or for an empty range."""
        if self.space not in {space.name for space in SPACES} or not 0 <= self.low < self.high:
            raise UsageError(f"it watches {self.space!r:.20} [{self.low}, {self.high}), which is nowhere")
        if self.dtype is not None:
            as_dtype(self.dtype)


@frozen
class BreakpointFacts:
    """A breakpoint: the words for `break`, and its conditions."""

    words: str
    enabled: bool
    temporary: bool
    task: str | None
    condition: str | None
    ignore: int
    watch: WatchFacts | None = None


@frozen
class RecordingFacts:
    """Everything but the arrays: the program, the position, the breakpoints, and hashes for comparison."""

    format: str
    program: Mapping[str, Any]
    position: tuple[int, int, int]
    focus: str | None
    digest: str
    breakpoints: tuple[BreakpointFacts, ...]
    sources: Mapping[str, str]
    arrays: Mapping[str, tuple[str, tuple[int, ...]]] = field(factory=dict)


def facts_in(name: str) -> tuple[RecordingFacts, ProgramFacts, Arrays]:
    """Return the facts of the recording *name*, its program, and the arrays that they name; other arrays are not unpacked.

    Raises `UsageError` if the file is not a recording.
    """
    # Only the arrays named in the facts are read, so that a file cannot fill the memory with others.
    with open_arrays(name, f"it is not a recording of the debugger; {MAKES}", "recording", MAKES) as stored:
        if MEMBER not in stored.members:
            raise UsageError(f"{name} is not a recording of the debugger; {MAKES}")
        try:
            facts, program = _named_facts(name, stored.read(MEMBER, LARGEST).tobytes())
            arrays = {key: _array(stored, key, *facts.arrays[key]) for key in facts.arrays}
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise UsageError(
                f"{name} is not a recording of the debugger: {shown(' '.join(str(error).split()))[:200]}"
            ) from None
    return facts, program, arrays


def _named_facts(name: str, text: bytes) -> tuple[RecordingFacts, ProgramFacts]:
    """Parse the facts in *text*; an error, as for an operator that is not installed, begins with the file's name."""
    try:
        return _facts(text)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def _facts(text: bytes) -> tuple[RecordingFacts, ProgramFacts]:
    document = json.loads(text)
    if not isinstance(document, dict):
        raise TypeError("its facts are not an object")
    if document.get("format") not in (FORMAT, FIRST_FORMAT):
        kind = f"{document.get('format')!r:.40}"
        raise UsageError(f"a recording of the kind {kind}; this program reads {FORMAT!r}")
    facts: RecordingFacts = typed(RecordingFacts, document, "it", frozenset({"watch", "arrays"}))
    # An unknown kind is parsed as a script, whose missing fields the error then names.
    schema = KINDS.get(str(facts.program.get("kind")), ScriptFacts)
    named = _renewed(facts.program) if facts.format == FIRST_FORMAT else facts.program
    program: ProgramFacts = typed(schema, named, "its program", frozenset({"expectation"}))
    program.check()
    if isinstance(program, AskedFacts):
        given = (name for name, value in program.asked.arguments.items() if value.endswith(".npy"))
        outputs = program.expectation.outputs.values() if program.expectation is not None else ()
        needed = (*(f"input.{name}" for name in given), *outputs)
        absent = next((name for name in needed if name not in facts.arrays), None)
        if absent is not None:
            raise TypeError(f"it lacks the array {absent}")
    launch, moment, lines = facts.position
    if launch < 1 or not 0 <= moment <= END or lines < 0:
        raise TypeError(f"its position {list(facts.position)} is not a place")
    for one in facts.breakpoints:
        if one.watch is not None:
            one.watch.check()
    return facts, program


def _array(stored: ArrayFile, key: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if key not in stored.members:
        raise TypeError(f"it lacks the array {key}")
    kind = np.dtype(dtype)
    # An array of objects would treat bytes of the file as pointers; a type of size 0 has no size to check.
    if kind.hasobject or kind.itemsize == 0 or any(extent < 0 for extent in shape):
        raise TypeError(f"the array {key} is of the type {dtype} and the shape {list(shape)}")
    raw = stored.read(key)
    if raw.dtype != np.uint8 or raw.ndim != 1 or raw.size != math.prod(shape) * kind.itemsize:
        raise TypeError(f"the array {key} has not the bytes of {dtype}{list(shape)}")
    return raw.view(kind).reshape(shape)
