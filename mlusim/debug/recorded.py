"""The contents of a recording's file: classes whose fields are its schema."""

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import as_dtype
from mlusim.debug.stop.stops import END
from mlusim.engine.preference import AUTO, engine_of
from mlusim.errors import UsageError
from mlusim.files.arrays import ArrayFile, open_arrays
from mlusim.files.reading import shown
from mlusim.files.typed import typed
from mlusim.lazy import lazy
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.memory.space import SPACES
from mlusim.observe.names import observers_of

if TYPE_CHECKING:
    from mlusim.operators import registry
else:
    (registry,) = lazy("mlusim.operators.registry")

FORMAT = "mlusim debug 1"
MEMBER = "record"
MAKES = "the command `record` makes them"
LARGEST = 64 << 20  # bytes of the facts: they hold the text of a script
Arrays = dict[str, np.ndarray[Any, Any]]


@frozen
class OperatorFacts:
    """A call of an operator; its inputs are arrays beside the facts."""

    operator: str
    params: Mapping[str, Any]
    board: str
    seed: int | None
    effects: str
    case: str | None
    checks: tuple[str, ...]

    def check(self) -> None:
        """Raise `UsageError` for a name that there is not."""
        registry.find_operator(self.operator)
        find_board(self.board)
        _check_run(self.checks, self.effects, AUTO)


@frozen
class ScriptFacts:
    """A script, with the text of what it imports from its own folder."""

    name: str
    source: str
    beside: Mapping[str, str]
    arguments: tuple[str, ...]
    checks: tuple[str, ...]

    def check(self) -> None:
        """Raise `UsageError` for a name that there is not, or that leads out of the folder of the script."""
        # A checker of a package may be installed where the recording was made, and not here.
        observers_of(self.checks)
        for name in (self.name, *self.beside):
            # A name with a backslash leads out of the folder on Windows only, and is refused everywhere.
            parts = name.replace("\\", "/").split("/")
            if not name or "\0" in name or name.startswith("/") or ".." in parts or len(name) > 1000:
                raise UsageError(f"it would write {shown(name)[:80]!r}, which lies outside its folder")

    @property
    def sources(self) -> dict[str, str]:
        """Every text by its path, the script's own first."""
        return {self.name.rpartition("/")[2]: self.source, **self.beside}


@frozen
class SourceFacts:
    """Files by their paths from *folder*: those that are compiled, and a digest of each that was read for it."""

    folder: str
    paths: tuple[str, ...]
    digests: Mapping[str, str]
    include: tuple[str, ...]
    define: Mapping[str, str | None]
    board: str

    def check(self) -> None:
        """Raise `UsageError` for a board that there is not, `TypeError` where no sources are named."""
        find_board(self.board)
        words = (self.folder, *self.paths, *self.digests, *self.include)
        if not self.paths or not set(self.paths) <= set(self.digests) or any("\0" in word for word in words):
            raise TypeError("its program names no sources")


@frozen
class SourceRunFacts:
    """The options with which BANG C sources are run."""

    sources: SourceFacts
    checks: tuple[str, ...]
    seed: int | None
    effects: str
    engine: str

    def check(self) -> None:
        """Raise `UsageError` for a board, a checker, effects or an engine that there are not."""
        self.sources.check()
        _check_run(self.checks, self.effects, self.engine)


@frozen
class ExpectationFacts:
    """The expectation of the *outputs*, which has the arrays beside the facts by name, and the largest errors that it accepts."""

    name: str
    outputs: Mapping[str, str]
    diff1: float | None
    diff2: float | None
    diff3: float | None


@frozen
class KernelCallFacts(SourceRunFacts):
    """A call of a kernel of BANG C sources; the arrays that go in are beside the facts."""

    kernel: str | None
    dim: tuple[int, int, int]
    type: str
    arguments: Mapping[str, str]
    draws: int | None = None
    expectation: ExpectationFacts | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments as on the command line."""
        return tuple(f"{name}={value}" for name, value in self.arguments.items())


@frozen
class MainFacts(SourceRunFacts):
    """The ``main`` of BANG C sources, with its arguments."""

    arguments: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments as on the command line."""
        return self.arguments


def _check_run(checks: tuple[str, ...], effects: str, engine: str) -> None:
    """Raise `UsageError` for a checker, effects or an engine that there are not."""
    observers_of(checks)
    engine_of(engine)
    if effects not in EFFECTS:
        raise UsageError(f"the effects {effects!r:.40} are unknown; they are {' or '.join(EFFECTS)}")


ProgramFacts = OperatorFacts | ScriptFacts | KernelCallFacts | MainFacts
KINDS: Mapping[str, type[ProgramFacts]] = {
    "operator": OperatorFacts,
    "script": ScriptFacts,
    "kernel": KernelCallFacts,
    "main": MainFacts,
}


@frozen
class WatchFacts:
    """Bytes of a memory that are watched."""

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
        """Raise `UsageError` for a memory or a type that there is not, or for no bytes."""
        if self.space not in {space.name for space in SPACES} or not 0 <= self.low < self.high:
            raise UsageError(f"it watches {self.space!r:.20} [{self.low}, {self.high}), which is nowhere")
        if self.dtype is not None:
            as_dtype(self.dtype)


@frozen
class BreakpointFacts:
    """A breakpoint: the words that `break` needs to set it, and its conditions."""

    words: str
    enabled: bool
    temporary: bool
    task: str | None
    condition: str | None
    ignore: int
    watch: WatchFacts | None = None


@frozen
class RecordingFacts:
    """Everything but the arrays: the program, the place, the breakpoints, hashes to compare with."""

    format: str
    program: Mapping[str, Any]
    position: tuple[int, int, int]
    focus: str | None
    digest: str
    breakpoints: tuple[BreakpointFacts, ...]
    sources: Mapping[str, str]
    arrays: Mapping[str, tuple[str, tuple[int, ...]]] = field(factory=dict)


def facts_in(name: str) -> tuple[RecordingFacts, ProgramFacts, Arrays]:
    """Return the recording *name*: its facts, its program, and the arrays that they name; nothing else is unpacked.

    Raises `UsageError` for anything that is no recording.
    """
    # Only the arrays that the facts name are read, so that a file cannot fill the memory with others.
    with open_arrays(name, f"it is no recording of the debugger; {MAKES}", "recording", MAKES) as stored:
        if MEMBER not in stored.members:
            raise UsageError(f"{name} is no recording of the debugger; {MAKES}")
        try:
            facts, program = _named_facts(name, stored.read(MEMBER, LARGEST).tobytes())
            arrays = {key: _array(stored, key, *facts.arrays[key]) for key in facts.arrays}
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise UsageError(
                f"{name} is no recording of the debugger: {shown(' '.join(str(error).split()))[:200]}"
            ) from None
    return facts, program, arrays


def _named_facts(name: str, text: bytes) -> tuple[RecordingFacts, ProgramFacts]:
    """Return the facts in *text*; an error, as for an operator that is not installed, begins with the file's name."""
    try:
        return _facts(text)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def _facts(text: bytes) -> tuple[RecordingFacts, ProgramFacts]:
    document = json.loads(text)
    if not isinstance(document, dict):
        raise TypeError("its facts are no object")
    if document.get("format") != FORMAT:
        kind = f"{document.get('format')!r:.40}"
        raise UsageError(f"a recording of the kind {kind}; this program reads {FORMAT!r}")
    facts: RecordingFacts = typed(RecordingFacts, document, "it", frozenset({"watch", "arrays"}))
    # An unknown kind is read as a script, whose missing fields are then named in the error.
    schema = KINDS.get(str(facts.program.get("kind")), ScriptFacts)
    # Recordings of before have neither.
    program: ProgramFacts = typed(schema, facts.program, "its program", frozenset({"draws", "expectation"}))
    program.check()
    if isinstance(program, KernelCallFacts):
        given = (name for name, value in program.arguments.items() if value.endswith(".npy"))
        outputs = program.expectation.outputs.values() if program.expectation is not None else ()
        needed = (*(f"input.{name}" for name in given), *outputs)
        absent = next((name for name in needed if name not in facts.arrays), None)
        if absent is not None:
            raise TypeError(f"it lacks the array {absent}")
    launch, moment, lines = facts.position
    if launch < 1 or not 0 <= moment <= END or lines < 0:
        raise TypeError(f"its position {list(facts.position)} is no place")
    for one in facts.breakpoints:
        if one.watch is not None:
            one.watch.check()
    return facts, program


def _array(stored: ArrayFile, key: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if key not in stored.members:
        raise TypeError(f"it lacks the array {key}")
    kind = np.dtype(dtype)
    # An array of objects would treat bytes of the file as pointers; a type without bytes has no size to check.
    if kind.hasobject or kind.itemsize == 0 or any(extent < 0 for extent in shape):
        raise TypeError(f"the array {key} is of the type {dtype} and the shape {list(shape)}")
    raw = stored.read(key)
    if raw.dtype != np.uint8 or raw.ndim != 1 or raw.size != math.prod(shape) * kind.itemsize:
        raise TypeError(f"the array {key} has not the bytes of {dtype}{list(shape)}")
    return raw.view(kind).reshape(shape)
