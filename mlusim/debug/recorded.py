"""What the file of a recording holds: classes whose fields are its schema."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import as_dtype
from mlusim.debug.stop.moments import END
from mlusim.errors import UsageError
from mlusim.files.arrays import ArrayFile, open_arrays
from mlusim.files.paths import shown
from mlusim.files.typed import typed
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.memory.space import SPACES
from mlusim.observe.names import observers_of
from mlusim.operators.registry import find_operator

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
        find_operator(self.operator)
        find_board(self.board)
        observers_of(self.checks)
        if self.effects not in EFFECTS:
            raise UsageError(f"the effects {self.effects!r:.40} are unknown; they are {' or '.join(EFFECTS)}")


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
        observers_of(self.checks)
        for name in (self.name, *self.beside):
            parts = name.replace("\\", "/").split("/")
            if not name or "\0" in name or name.startswith("/") or ".." in parts or len(name) > 1000:
                raise UsageError(f"it would write {shown(name)[:80]!r}, which lies outside its folder")

    @property
    def sources(self) -> dict[str, str]:
        """Every text by its path, the script's own first."""
        return {self.name.rpartition("/")[2]: self.source, **self.beside}


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
    """A breakpoint: what `break` would have to be told, and its conditions."""

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


def facts_in(name: str) -> tuple[RecordingFacts, OperatorFacts | ScriptFacts, Arrays]:
    """The recording *name*: its facts, its program, and the arrays that they name; nothing else is unpacked.

    Raises `UsageError` for anything that is no recording.
    """
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


def _named_facts(name: str, text: bytes) -> tuple[RecordingFacts, OperatorFacts | ScriptFacts]:
    """The facts in *text*; what is unknown in them, as an operator that is not installed, is told with the file's name."""
    try:
        return _facts(text)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def _facts(text: bytes) -> tuple[RecordingFacts, OperatorFacts | ScriptFacts]:
    document = json.loads(text)
    if not isinstance(document, dict):
        raise TypeError("its facts are no object")
    if document.get("format") != FORMAT:
        kind = f"{document.get('format')!r:.40}"
        raise UsageError(f"a recording of the kind {kind}; this program reads {FORMAT!r}")
    facts: RecordingFacts = typed(RecordingFacts, document, "it", frozenset({"watch", "arrays"}))
    is_call = facts.program.get("kind") == "operator"
    made = typed(OperatorFacts if is_call else ScriptFacts, facts.program, "its program")
    program: OperatorFacts | ScriptFacts = made
    program.check()
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
    if kind.hasobject or kind.itemsize == 0 or any(extent < 0 for extent in shape):
        raise TypeError(f"the array {key} is of the type {dtype} and the shape {list(shape)}")
    raw = stored.read(key)
    if raw.dtype != np.uint8 or raw.ndim != 1 or raw.size != math.prod(shape) * kind.itemsize:
        raise TypeError(f"the array {key} has not the bytes of {dtype}{list(shape)}")
    return raw.view(kind).reshape(shape)
