"""The cause of a value or a branch: the statement that set it, the values that the statement read, and so on back to the host's tensors.

The launch runs once more with a `Trail` of the statements of one core.  A variable that a statement reads leads to
the statement that wrote it; a load from memory leads to the writer of the bytes, and the writer's scalars lead to
statements again.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.bangc.c_values import Letter
from mlusim.bangc.types import INT8
from mlusim.counted import plural
from mlusim.debug.look.describe import access_text, named, value_text
from mlusim.debug.look.followed import NONE, FollowedTrail, LoadLog, TrailPoint, member_of
from mlusim.debug.look.origins import DEPTH, NODES, UNWRITTEN, BeyondBytes, Byte, Logged, Origin, OriginSearch
from mlusim.debug.run.trail import EVENTS, LoadedBytes, Trail, TrailEnd
from mlusim.debug.source.frames import name_of
from mlusim.debug.source.pieces import BUILT_IN, CALLED, LOCAL, POINTEE, RETURNED, Read, Reads, spelled
from mlusim.debug.stop.stops import END, Position
from mlusim.errors import UsageError
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.debug.run.runs import LaunchRun, RunMaker

WINDOWS = (1 << 12, 1 << 14, 1 << 16, END)
"""The number of moments before a position that a trail covers; the next one is tried if a trail does not reach back far enough."""
FAR, MANY = 8, 48  # links that `why` follows: in one chain, and in all chains
NO_FRAME = (
    "no task is in a function here; `who-wrote PLACE` follows memory, `reverse-stepi` goes back into a task"
)
SOURCES = 8  # values of one statement that are followed
ABOVE, NOT_FURTHER = "as above", "not followed any further"
_VALUES = ("any", "either", "value")  # kinds of parameters whose values an instruction computes with
_FOLLOWED = (int, float, str, dict, np.generic, type(None))


class _TooShort(Exception):
    """The trail begins after the statement that is searched."""


class CauseSearch(BeyondBytes):
    """Follows values back from the position *here*, of the core *label* and its frame *level*."""

    def __init__(
        self,
        runs: "RunMaker",
        here: Position,
        label: str | None,
        level: int = 0,
        depth: int = DEPTH,
        nodes: int = NODES,
    ) -> None:
        self._runs, self._here, self._label, self._level = runs, here, label, level
        self._depth, self._most = depth, nodes
        self._window = 0
        self._known: set[Any] = set()
        self._trails: dict[tuple[int, str], FollowedTrail] = {}
        self._made: list[LaunchRun] = []
        self.bytes = OriginSearch(runs, here, depth, nodes, self)

    def of_byte(self, byte: Byte, text: str) -> Origin:
        """Trace the origin of *byte*, called *text* by the user, through instructions and scalars."""
        return self._widening(lambda: self.bytes.origin(byte, text))

    def of_variable(self, read: Read) -> Origin:
        """Trace the origin of the current value of a variable of the frame."""

        def look() -> Origin:
            point, end = self._stand()
            origin = self._read(point, read, self._depth, held=end.held)
            return origin or Origin(read.text, note="it lies in memory: name an element of it")

        return self._widening(look)

    def of_branch(self, line: int | None) -> Origin:
        """Trace the origin of the function's last decision, or of the last one at *line*."""

        def look() -> Origin:
            point, end = self._stand()
            for event, piece in point.before():
                if piece.test is None or (line is not None and piece.line != line):
                    continue
                first = point.moved(event).decided()
                then = first.next_piece() or end.coming
                if then is not None:
                    outcome = self._outcome(first, first.role(then))
                    decision = self._statement(first, outcome, "decided", piece.test.reads, self._depth)
                    decision.instruction = f"before `{then.text}` of line {then.line},"
                    return decision
            if not point.active.whole:
                self._short(point)
            what = f"no test of line {line}" if line is not None else "no test of this function"
            raise UsageError(f"{what} has been decided before this place; `step` goes on to the next")

        return self._widening(look)

    def close(self) -> None:
        """Abandon the runs that were inspected."""
        self.bytes.close()
        self._forget()

    def _forget(self) -> None:
        for run in self._made:
            run.abandon()
        self._made.clear()
        self._trails.clear()

    # -- trails ----------------------------------------------------------------------------------

    def _widening(self, look: Callable[[], Origin]) -> Origin:
        """Return the result of *look*; repeat it with longer trails while they are too short."""
        while True:
            try:
                origin = look()
            except _TooShort:
                self._window += 1
                self.bytes.nodes = self._most
                self._known.clear()
                self._forget()
            else:
                return origin

    def _stand(self) -> tuple[TrailPoint, TrailEnd]:
        """Return the position of the frame in focus in a trail that ends at the position of the search."""
        if self._label is None:
            raise UsageError(NO_FRAME)
        followed = self._follow(self._label, self._here)
        trail = followed.trail
        standing = trail.standing
        if standing is None:
            core = followed.paused.observed.core(self._label)
            stack = followed.paused.stack(core) if core is not None else []
            standing = trail.stand(stack, self._level)
        if standing.where < 0 and not trail.events:
            raise UsageError(
                "nothing of the function has been executed before this place; `step` goes into it"
            )
        if standing.where < 0:
            raise UsageError(
                "the source of this function is not known, so its statements are not followed; `up` looks at its caller"
            )
        return TrailPoint(followed, standing.where, standing.before), standing

    def _follow(self, label: str, position: Position) -> FollowedTrail:
        """Return a trail of the core *label* up to *position*, or one that extends beyond it."""
        earlier = self._trails.get((position.launch, label))
        if earlier is not None:
            first = earlier.trail.events[0].moment if earlier.trail.events else END
            if earlier.position == position or (position < earlier.position and first < position.moment):
                return earlier
        line = position.lines > 0
        edited = bool(self._runs.recorded(position.launch).edits)
        trail = Trail(label, position if line else None, self._level, every=edited)
        goal = Position(position.launch, position.moment + 1) if line else position
        moment = self._runs.moments(position.launch) if position.at_end else position.moment
        since = max(0, moment - WINDOWS[min(self._window, len(WINDOWS) - 1)])
        run = self._runs.aside(goal, since=since, watching=LoadLog(trail), following=trail)
        self._made.append(run)
        followed = self._trails[position.launch, label] = FollowedTrail(position, trail, run)
        return followed

    def _short(self, point: TrailPoint) -> None:
        """Raise `_TooShort` if a longer trail of the launch is possible."""
        if not point.followed.trail.cut and self._window < len(WINDOWS) - 1:
            raise _TooShort

    def _spent(self, depth: int) -> bool:
        """Return whether the limit of links is reached."""
        return depth <= 0 or self.bytes.nodes <= 0

    # -- variables -------------------------------------------------------------------------------

    def _read(
        self,
        point: TrailPoint,
        read: Read,
        depth: int,
        *,
        held: Mapping[str, Any] | None = None,
        turn: int = 0,
    ) -> Origin | None:
        """Return the origin of a value that a statement reads; None for memory, whose loads are recorded.

        *held* are the values of the locals at the end of the trail, if *point* is that end; *turn* counts calls of
        one name.
        """
        if read.kind == BUILT_IN:
            trail = point.followed.trail
            value = getattr(trail.core.mlu, read.name, NONE) if trail.core is not None else NONE
            return Origin(_valued(read.text, value), note=f"built in, of {trail.label}")
        if read.kind == CALLED:
            return self._returned(point, read, depth, turn)
        value = point.value(read.key, read.path)
        leading = point.active.function.leading  # references have the values of their targets
        if held is not None and read.name in held and (read.kind != LOCAL or read.name not in leading):
            value = member_of(held[read.name], read.path)
        if read.kind == POINTEE and (value is NONE or isinstance(value, Ptr)):
            return None
        if held is None and not (value is NONE or _is_value(value)):
            return None  # a pointer, whose elements are followed in memory; or a register or list, whose history is unknown
        text = _told(read, value)
        if self._spent(depth):
            return Origin(text, note=NOT_FURTHER)
        self.bytes.nodes -= 1
        follow = self._pointee if read.kind == POINTEE else self._variable
        return follow(point, read, text, depth)

    def _variable(self, point: TrailPoint, read: Read, text: str, depth: int) -> Origin:
        definition, edit = point.definition(read.name, read.path), point.edited(read)
        if edit is not None and (definition is None or edit.position > definition[0].position):
            return Origin(text, note=f"changed by hand at {edit.position}: {edit.text}")
        if definition is None:
            return self._given(point, read, text, depth)
        inside, store = definition
        if store is None:
            origin = self._statement(inside, text, "changed")
            origin.sources.append(
                Origin(read.text, note="it was changed through a pointer in this statement")
            )
            return origin
        if store.unset:
            note = (
                f"it has no value: `{inside.piece.text}` at {inside.site} gives none, and nothing has since"
            )
            return Origin(read.text, note=note)
        # The same value of the same statement is shown once; a value without sources is shown again.
        trail = inside.followed.position.launch, inside.followed.trail.label
        key = (*trail, inside.began.moment, inside.at, id(store), text)
        if key in self._known and (store.reads or list(inside.loads())):
            return Origin(text, note=ABOVE)
        self._known.add(key)
        itself = read if inside.where == point.where else None
        return self._statement(inside, text, "set", store.reads, depth, itself)

    def _given(self, point: TrailPoint, read: Read, text: str, depth: int) -> Origin:
        """Return the origin of a local to which the function has not written: the caller's argument."""
        argument = point.given(read.name)
        if argument is not None:
            words, reads, _ = argument
            origin = self._statement(point.caller, text, "given", reads, depth)
            origin.instruction = f"as `{words}` of {origin.instruction}"
            return origin
        if not point.active.whole:
            self._short(point)
            return Origin(text, note=f"more than {EVENTS // 2:,} statements ago; not followed any further")
        if read.name in point.active.function.parameters:
            return Origin(text, note="an argument of the launch, as the host gave it")
        return Origin(text, note="no statement has given it a value")

    def _pointee(self, point: TrailPoint, read: Read, text: str, depth: int) -> Origin:
        """Return the origin of the target of a pointer or reference: a write through it here, or a write before the call."""
        pointer = point.definition(read.name)
        root, where = pointer[1].target if pointer is not None and pointer[1] is not None else None, point
        name = read.text
        if root is None:
            written = point.through(read.name, read.path)
            if written is not None:
                return self._statement(written[0], text, "set", written[1].reads, depth, read)
            argument = point.given(read.name)
            root = argument[2] if argument is not None else None
            if root is None:
                if not point.active.whole:
                    self._short(point)
                note = f"what {read.name} leads to is not followed; ask for the variable itself"
                return Origin(text, note=note)
            where, name = point.caller, spelled(root.text, read.path)
        target = Read(root.kind, root.name, name, (*root.path, *read.path))
        return self._read(where, target, depth) or Origin(text, note="it lies in memory")

    def _returned(self, point: TrailPoint, read: Read, depth: int, turn: int) -> Origin | None:
        """Return the origin of a value that a called function returned to a statement."""
        followed, trail = point.followed, point.followed.trail
        calls = followed.calls(point.where, point.at)
        of_name = [c for c in calls if trail.activations[c].function.code.co_name == read.name]
        if turn >= len(of_name) or self._spent(depth):
            return None
        events = trail.activations[of_name[turn]].events
        if not events or trail.events[events[-1]].piece is not None:
            return None
        text = _valued(read.text, trail.events[events[-1]].value)
        for event, piece in TrailPoint(followed, of_name[turn], events[-1]).before():
            store = next((s for s in piece.stores if s.name == RETURNED), None)
            if store is not None:
                self.bytes.nodes -= 1
                inside = TrailPoint(followed, of_name[turn], event)
                return self._statement(inside, text, "returned", store.reads, depth)
        return Origin(text, note="its function returned without a statement")

    # -- statements ------------------------------------------------------------------------------

    def _statement(
        self,
        point: TrailPoint,
        text: str,
        verb: str,
        reads: Reads | None = None,
        depth: int = 0,
        read: Read | None = None,
    ) -> Origin:
        """Return a link of the chain: a statement wrote *text*; its sources, *reads* and its loads, are followed over *depth* links."""
        moment, label = point.began.moment, point.followed.trail.label
        launch, piece = point.followed.position.launch, point.piece
        origin = Origin(text, launch, moment, label, f"`{piece.text}`", point.file, piece.line, verb=verb)
        origin.because = self._because(point)
        if reads is not None:
            origin.sources = self._sources(point, reads, depth - 1, read)
        return origin

    def _sources(
        self, point: TrailPoint, reads: Reads, depth: int, itself: Read | None = None
    ) -> list[Origin]:
        """Return the origins of a statement's sources: *reads*, its loads, and the earlier value of the variable *itself*, which it updates."""
        origins: list[Origin] = []
        followed: set[Any] = set()
        turns: dict[str, int] = {}
        waiting = point.reads(reads)
        while waiting:
            read = point.placed(waiting.pop(0))
            turn = turns.get(read.name, 0) if read.kind == CALLED else 0
            key = read.kind, read.name, read.path, turn
            if key in followed:
                continue
            followed.add(key)
            if itself is not None and key == (itself.kind, itself.name, itself.path, 0):
                origin = self._earlier(point, read, depth)
            else:
                origin = self._read(point, read, depth, turn=turn)
            if origin is not None:
                origins.append(origin)
                turns[read.name] = turn + 1
            elif read.kind == CALLED:
                waiting[:0] = [r for r in read.given if isinstance(r, Read)]
        for load in list(point.loads()):
            if key_of(load) not in followed:
                followed.add(key_of(load))
                origins.append(self._loaded(point.followed, load, depth))
        if len(origins) > SOURCES:
            origins[SOURCES:] = [Origin(f"{len(origins) - SOURCES} more values", note="not followed")]
        return origins

    def _earlier(self, point: TrailPoint, read: Read, depth: int) -> Origin | None:
        """Return the origin of a variable's value before the first run of a statement such as `i += 1`, which updates it."""
        first, turns = point, 0
        while read.kind == LOCAL:
            definition = first.definition(read.name, read.path)
            if (
                definition is None
                or definition[0].piece is not point.piece
                or definition[0].where != point.where
            ):
                break
            first, turns = definition[0], turns + 1
        if not turns:
            return self._read(point, read, depth)
        text = _told(read, point.value(read.key, read.path))
        origin = Origin(text, note=f"the same statement had run {turns} earlier {plural(turns, 'time')}")
        before = self._read(first, read, depth)
        origin.sources = [] if before is None else [before]
        return origin

    def _loaded(self, followed: FollowedTrail, load: LoadedBytes, depth: int) -> Origin:
        """Return the origin of the loaded bytes."""
        access = load.access
        text, local = self._load_text(followed, load)
        if self._spent(depth):
            return Origin(text, note=NOT_FURTHER)
        byte = Byte(access.allocation.space, access.allocation.address + access.start, load.owner)
        origin = self.bytes.follow(byte, text, followed.position.launch, load.moment, depth)
        point = TrailPoint(followed, load.where, load.after)
        if local and origin.note == UNWRITTEN and point.definition(local):
            return self._variable(point, Read(LOCAL, local, text), text, depth)
        return origin

    def _load_text(self, followed: FollowedTrail, load: LoadedBytes) -> tuple[str, str]:
        """Return the name and value of loaded bytes, and the local array that they belong to, if any."""
        access = load.access
        dtype = named(followed.paused, access.allocation, max(access.start, 0), access.size)[2]
        text, local = access_text(followed.paused, access), ""
        active = followed.trail.activations[load.where]
        for name, value in active.shadow.items() if dtype is None else ():
            if (
                isinstance(value, Ptr)
                and value.view.allocation is access.allocation
                and name not in active.function.parameters
            ):
                offset = access.start - value.offset
                if 0 <= offset < value.view.nbytes and not offset % value.dtype.size:
                    local, dtype = name, value.dtype
                    text = f"{active.function.named[name]}[{offset // dtype.size}]"
        if load.raw and dtype is not None and dtype.size == len(load.raw):
            text = _valued(text, np.frombuffer(load.raw, dtype.dtype)[0].item())
        return text + ", mixed" * (not load.raw), local

    # -- conditions ------------------------------------------------------------------------------

    def _because(self, point: TrailPoint) -> str:
        """Return the last condition that led to a statement, or did not jump past it, with its values; "" if there is none."""
        led = point.led_by()
        return "" if led is None else self._outcome(led, led.role(), f" at {led.site}")

    def _outcome(self, point: TrailPoint, role: str, place: str = "") -> str:
        """Return a condition's text, its outcome and its values."""
        test = point.piece.test
        assert test is not None
        reads = {(r.kind, r.name, r.path): r for r in point.reads(test.reads) if r.kind in (LOCAL, POINTEE)}
        pairs = [(read, point.value(read.key, read.path)) for read in reads.values()]
        values = [_told(read, value) for read, value in pairs if _is_value(value)]
        values += [self._load_text(point.followed, load)[0] for load in point.loads()]
        shown_values = f", with {', '.join(values[:SOURCES])}" if values else ""
        word = f"was {role}" if role in ("true", "false") else f"led to {role}"
        return f"`{test.text}`{place} {word}{shown_values}"

    # -- scalars of instructions -----------------------------------------------------------------

    def reach(self, launch: int, logged: Logged, moment: int) -> None:
        """Make a trail up to a write, in which the statements that computed its scalars come before it."""
        self._follow(name_of(logged.core), Position(launch, moment))

    def add(self, origin: Origin, launch: int, logged: Logged, depth: int) -> None:
        """Add to *origin*, a write of memory, the scalars that it used, and the condition that led to it."""
        followed = self._follow(name_of(logged.core), Position(launch, origin.moment))
        point = followed.issuing(origin.moment, origin.file, origin.line)
        if point is None:
            return
        piece = point.piece
        origin.because = self._because(point)
        if logged.step.row is None:
            origin.instruction = f"{origin.instruction} `{piece.text}`"
            reads = tuple(r for store in piece.stores if not store.name or store.through for r in store.reads)
            origin.sources += self._sources(point, reads, depth)
            return
        parameters = logged.step.row.given
        for site in piece.calls:
            if site.name.strip("_") != logged.step.name.strip("_"):
                continue
            for parameter, (_, reads, _) in zip(parameters, site.given, strict=False):
                for read in reads if parameter.kind in _VALUES else ():
                    source = self._read(point, read, depth) if isinstance(read, Read) else None
                    origin.sources += [] if source is None else [source]


def key_of(load: LoadedBytes) -> tuple[Any, ...]:
    """Return a key that identifies the bytes of a load."""
    return load.access.allocation.space, load.owner, load.access.allocation.address + load.access.start


def _is_value(value: Any) -> bool:
    """Return whether *value* is shown and followed: a number, a struct, a tuple with a number in it."""
    if isinstance(value, tuple):
        return any(isinstance(member, int | float) for member in value)
    return isinstance(value, _FOLLOWED)


def _told(read: Read, value: Any) -> str:
    """Return the text of a value that was read, as `_valued` does, a char with its letter."""
    return _valued(read.text, Letter.of(value, INT8) if read.char else value)


def _valued(text: str, value: Any) -> str:
    """Return ``text = value``, or only the text if there is no value, or only a place."""
    if not _is_value(value):
        return text
    if isinstance(value, dict):
        inner = ", ".join(_valued(name, member) for name, member in list(value.items())[:SOURCES])
        return f"{text} = {{{inner}}}"
    return f"{text} = {value_text(value)}"
