"""The cause of a value and of a branch: the statement that gave it, the values that it took, and so on back to the host's tensors.

A launch is run once more with a `Trail` of the statements of one core.  What a statement reads of variables leads to the
statements that wrote them; what it loads from memory leads to the writer of those bytes, and from a writer's scalars back here.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field

from mlusim.debug.look.describe import access_text, named, value_text
from mlusim.debug.look.origins import DEPTH, NODES, UNWRITTEN, BeyondBytes, Byte, Logged, Origin, OriginSearch
from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.run.launches import Edit
from mlusim.debug.run.trail import EVENTS, LoadedBytes, LoadLog, Trail, TrailEnd
from mlusim.debug.source.frames import name_of, place_of
from mlusim.debug.source.pieces import (
    BUILT_IN,
    CALLED,
    LOCAL,
    POINTEE,
    RETURNED,
    CallSite,
    Read,
    Reads,
    SourcePiece,
    Store,
    reads_in,
    spelled,
)
from mlusim.debug.stop.stops import END, Position
from mlusim.errors import UsageError
from mlusim.frontend.bangc.c_values import Letter
from mlusim.frontend.bangc.types import INT8
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.debug.run.runs import LaunchRun, RunMaker

WINDOWS = (1 << 12, 1 << 14, 1 << 16, END)
"""How many moments before a place its statements are followed from: the next where the one before does not reach back far enough."""
FAR, MANY = 8, 48  # links that `why` follows: in one chain, and in all
NO_FRAME = (
    "no task is in a function here; `who-wrote PLACE` follows memory, `reverse-stepi` goes back into a task"
)
SOURCES = 8  # values of one statement that are followed
ISSUED_WITHIN = 5000
"""How many statements before a write are searched for the one that issued it: a write without one in the trail costs no walk through all."""
ABOVE = "as above"
_VALUES = ("any", "either", "value")  # kinds of parameters whose values an instruction computes with
_FOLLOWED = (int, float, str, dict, np.generic, type(None))
_NONE = object()


class _TooShort(Exception):
    """The trail begins after the statement that is looked for."""


@define(eq=False)
class _Followed:
    """A trail up to *position*, and the run that left it."""

    position: Position
    trail: Trail
    run: "LaunchRun"
    children: dict[tuple[int, int], list[int]] = field(factory=dict)

    @property
    def paused(self) -> PausedRun:
        """The machine at the end of the trail."""
        return PausedRun(self.run.recorded, self.run.session, self.run.tracer, self.run.stopped)

    @property
    def launch(self) -> int:
        """The number of the launch."""
        return self.position.launch

    def called_in(self, where: int, event: int) -> list[int]:
        """Return the calls that the statement *event* of activation *where* has made, as activations."""
        if not self.children:
            for number, one in enumerate(self.trail.activations):
                self.children.setdefault((one.parent, one.called), []).append(number)
        return self.children.get((where, event), [])

    def following(self, where: int, event: int) -> int:
        """Return the statement of the activation that follows *event*, or the end of the trail."""
        events = self.trail.activations[where].events
        at = bisect_right(events, event)
        return events[at] if at < len(events) else len(self.trail.events)

    def before(self, where: int, at: int) -> Iterator[tuple[int, int, SourcePiece]]:
        """Yield the statements of an activation before *at*, the latest first: its number in the activation, its event and its piece."""
        events = self.trail.activations[where].events
        for n in range(bisect_left(events, at) - 1, -1, -1):
            piece = self.trail.events[events[n]].piece
            if piece is not None:
                yield n, events[n], piece

    def value(self, where: int, name: str, path: tuple[str, ...], at: int) -> Any:
        """Return the value of a local, or a member of it, where the statement *at* began; `_NONE` where it has none."""
        events = self.trail.activations[where].events
        for n in range(bisect_right(events, at) - 1, -1, -1):
            changes = self.trail.events[events[n]].changes
            if name in changes:
                return _member(changes[name], path)
        return _NONE


class CauseSearch(BeyondBytes):
    """Follows values back from the position *here*, of the core called *label* and its frame *level*."""

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
        self._trails: dict[tuple[int, str], _Followed] = {}
        self._made: list[LaunchRun] = []
        self.bytes = OriginSearch(runs, here, depth, nodes, self)

    def of_byte(self, byte: Byte, text: str) -> Origin:
        """Trace the origin of *byte*, which the user calls *text*, through instructions and scalars."""
        return self._widening(lambda: self.bytes.origin(byte, text))

    def of_variable(self, read: Read) -> Origin:
        """Trace the origin of the value that a variable of the frame has here."""

        def look() -> Origin:
            followed, here = self._stand()
            one = self._read(followed, here.where, here.before, read, self._depth, held=here.held)
            return (
                one if one is not None else Origin(read.text, note="it lies in memory: name an element of it")
            )

        return self._widening(look)

    def of_branch(self, line: int | None) -> Origin:
        """Trace the origin of the last decision of the function, or of that at *line*."""

        def look() -> Origin:
            followed, here = self._stand()
            where = here.where
            events = followed.trail.activations[where].events
            for n, _, piece in followed.before(where, here.before):
                if piece.test is None or (line is not None and piece.line != line):
                    continue
                first = self._entry(followed, events, n, piece)
                pieces = (followed.trail.events[one].piece for one in events[first + 1 :])
                then = next((one for one in pieces if one is not piece), here.coming)
                if then is not None:
                    return self._decision(followed, where, first, then)
            if not followed.trail.activations[where].whole:
                self._short(followed)
            what = f"no test of line {line}" if line is not None else "no test of this function"
            raise UsageError(f"{what} has been decided before this place; `step` goes on to the next")

        return self._widening(look)

    def close(self) -> None:
        """Let go of the runs that were looked at."""
        self.bytes.close()
        self._forget()

    def _forget(self) -> None:
        for run in self._made:
            run.abandon()
        self._made.clear()
        self._trails.clear()

    # -- trails ----------------------------------------------------------------------------------

    def _widening(self, look: Callable[[], Origin]) -> Origin:
        """Return the result of *look*, which is called again with longer trails where they were too short."""
        while True:
            try:
                found = look()
            except _TooShort:
                self._window += 1
                self.bytes.nodes = self._most
                self._known.clear()
                self._forget()
            else:
                return found

    def _stand(self) -> tuple[_Followed, TrailEnd]:
        """Return the trail to the place of the search, and where the frame in focus is there."""
        if self._label is None:
            raise UsageError(NO_FRAME)
        followed = self._follow(self._label, self._here)
        trail = followed.trail
        standing = trail.standing
        if standing is None:
            core = followed.paused.core(self._label)
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
        return followed, standing

    def _follow(self, label: str, position: Position) -> _Followed:
        """Return a trail of the core called *label* to *position*, or one that goes beyond it."""
        known = self._trails.get((position.launch, label))
        if known is not None:
            first = known.trail.events[0].moment if known.trail.events else END
            if known.position == position or (position < known.position and first < position.moment):
                return known
        line = position.lines > 0
        edited = bool(self._runs.recorded(position.launch).edits)
        trail = Trail(label, position if line else None, self._level, every=edited)
        goal = Position(position.launch, position.moment + 1) if line else position
        moment = self._runs.moments(position.launch) if position.at_end else position.moment
        since = max(0, moment - WINDOWS[min(self._window, len(WINDOWS) - 1)])
        run = self._runs.aside(goal, since=since, watching=LoadLog(trail), following=trail)
        self._made.append(run)
        found = self._trails[position.launch, label] = _Followed(position, trail, run)
        return found

    def _short(self, followed: _Followed) -> None:
        """Raise `_TooShort` where a longer trail of the launch can be made."""
        if not followed.trail.cut and self._window < len(WINDOWS) - 1:
            raise _TooShort

    # -- variables -------------------------------------------------------------------------------

    def _read(
        self,
        followed: _Followed,
        where: int,
        at: int,
        read: Read,
        depth: int,
        *,
        held: Mapping[str, Any] | None = None,
        turn: int = 0,
    ) -> Origin | None:
        """Return the origin of what the statement *at* reads; None where it is memory, whose loads are known.

        *held* are the values of the locals at the end of the trail, where that is what *at* means; *turn* counts calls of one name.
        """
        if read.kind == BUILT_IN:
            core = followed.trail.core
            value = getattr(core.mlu, read.name, _NONE) if core is not None else _NONE
            return Origin(_valued(read.text, value), note=f"built in, of {followed.trail.label}")
        if read.kind == CALLED:
            return self._returned(followed, where, at, read, depth, turn)
        value = followed.value(where, read.key, read.path, at)
        leading = followed.trail.activations[
            where
        ].function.leading  # their values are those of their targets
        if held is not None and read.name in held and (read.kind != LOCAL or read.name not in leading):
            value = _member(held[read.name], read.path)
        if read.kind == POINTEE and (value is _NONE or isinstance(value, Ptr)):
            return None
        if held is None and not (value is _NONE or _is_value(value)):
            return None  # a pointer, whose elements are followed in memory; or a vector register or list, whose content has no history
        text = _told(read, value)
        if depth <= 0 or self.bytes.nodes <= 0:
            return Origin(text, note="not followed any further")
        self.bytes.nodes -= 1
        if read.kind == POINTEE:
            return self._pointee(followed, where, at, read, text, depth)
        return self._variable(followed, where, at, read, text, depth)

    def _variable(
        self, followed: _Followed, where: int, at: int, read: Read, text: str, depth: int
    ) -> Origin:
        found = self._definition(followed, where, read.name, read.path, at)
        edit = self._edited(followed, where, at, read)
        if edit is not None and (found is None or edit.position > self._place(followed, found[1])):
            return Origin(text, note=f"changed by hand at {edit.position}: {edit.text}")
        if found is None:
            return self._given(followed, where, read, text, depth)
        inside, event, store = found
        if store is None:
            made = self._statement(followed, inside, event, text, "changed")
            made.sources.append(Origin(read.text, note="it was changed through a pointer in this statement"))
            return made
        if store.unset:
            piece = followed.trail.events[event].piece
            assert piece is not None
            note = f"it has no value: `{piece.text}` at {self._site(followed, where, piece)} gives none, and nothing has since"
            return Origin(read.text, note=note)
        if self._told(followed, inside, event, store, text):
            return Origin(text, note=ABOVE)
        made = self._statement(followed, inside, event, text, "set")
        own = read if inside == where else None
        made.sources = self._sources(followed, inside, event, store.reads, depth - 1, own)
        return made

    def _told(self, followed: _Followed, where: int, event: int, store: Store, text: str) -> bool:
        """Return whether the same value of the same statement has been shown already; one without sources is shown again."""
        key = (
            followed.launch,
            followed.trail.label,
            followed.trail.events[event].moment,
            event,
            id(store),
            text,
        )
        known = key in self._known
        self._known.add(key)
        return known and bool(store.reads or list(self._loads(followed, where, event)))

    def _definition(
        self, followed: _Followed, where: int, name: str, path: tuple[str, ...], at: int
    ) -> tuple[int, int, Store | None] | None:
        """Return the last write of a local before *at*: the activation, the statement, and the store; no store where a pointer wrote it."""
        active = followed.trail.activations[where]
        for n, event, piece in followed.before(where, at):
            stores = [s for s in piece.stores if s.name == name and not s.through and _overlap(s.path, path)]
            if stores and "[]" in stores[-1].path and not self._changed(followed, where, n, name, path):
                continue  # another element, or the same value once more
            if stores and not stores[-1].unset:
                return where, event, stores[-1]
            called = self._by_calls(followed, where, event, LOCAL, name, path)
            if called is not None:
                return called
            if (
                name in active.function.watched
                and name not in active.function.leading
                and self._changed(followed, where, n, name, path)
            ):
                through = next((s for s in piece.stores if s.through), None)
                return where, event, through
            if stores:  # a declaration, whose constructor writes after it
                return where, event, stores[-1]
        return None

    def _by_calls(
        self, followed: _Followed, where: int, event: int, kind: str, name: str, path: tuple[str, ...]
    ) -> tuple[int, int, Store] | None:
        """Return the last write by a function that a statement has called with the address of a variable."""
        piece = followed.trail.events[event].piece
        for site in () if piece is None else piece.calls:
            for argument, (_, _, root) in enumerate(site.given):
                if root is not None and (root.kind, root.name) == (kind, name):
                    found = self._through_call(followed, where, event, site, argument, root.path, path)
                    if found is not None:
                        return found
        return None

    def _through_call(
        self,
        followed: _Followed,
        where: int,
        event: int,
        site: CallSite,
        argument: int,
        root: tuple[str, ...],
        path: tuple[str, ...],
    ) -> tuple[int, int, Store] | None:
        """Return the last write, in functions that a statement has called, through the address that was given as an argument."""
        if not _overlap(root, path):
            return None
        for child in reversed(followed.called_in(where, event)):
            function = followed.trail.activations[child].function
            if function.code.co_name == site.name and argument < len(function.parameters):
                found = self._through(followed, child, function.parameters[argument], path[len(root) :], END)
                if found is not None:
                    return found
        return None

    def _through(
        self, followed: _Followed, where: int, pointer: str, path: tuple[str, ...], at: int
    ) -> tuple[int, int, Store] | None:
        """Return the last write before *at* through a pointer or reference of an activation."""
        for _, event, piece in followed.before(where, at):
            for store in reversed(piece.stores):
                if store.name == pointer and store.through and _overlap(store.path, path):
                    return where, event, store
            called = self._by_calls(followed, where, event, POINTEE, pointer, path)
            if called is not None:
                return called
        return None

    def _changed(self, followed: _Followed, where: int, n: int, name: str, path: tuple[str, ...]) -> bool:
        """Return whether the *n*-th statement of an activation has changed a local."""
        events = followed.trail.activations[where].events
        if n + 1 >= len(events) or name not in followed.trail.events[events[n + 1]].changes:
            return False
        before = followed.value(where, name, path, events[n])
        behind = followed.value(where, name, path, events[n + 1])
        return bool(before is not _NONE and behind is not before and behind != before)

    def _given(self, followed: _Followed, where: int, read: Read, text: str, depth: int) -> Origin:
        """Return the origin of a local that the function has not written: the argument that it was called with."""
        active = followed.trail.activations[where]
        site, argument = self._call_of(followed, where, read.name)
        if site is not None:
            made = self._statement(followed, active.parent, active.called, text, "given")
            words, reads, _ = site.given[argument]
            made.instruction = f"as `{words}` of {made.instruction}"
            made.sources = self._sources(followed, active.parent, active.called, reads, depth - 1)
            return made
        if not active.whole:
            self._short(followed)
            return Origin(text, note=f"more than {EVENTS // 2:,} statements ago; not followed any further")
        if read.name in active.function.parameters:
            return Origin(text, note="an argument of the launch, as the host gave it")
        return Origin(text, note="no statement has given it a value")

    def _call_of(self, followed: _Followed, where: int, name: str) -> tuple[CallSite | None, int]:
        """Return the call that made an activation, and the number of the argument that its parameter *name* is."""
        active = followed.trail.activations[where]
        if active.parent < 0 or active.called < 0 or name not in active.function.parameters:
            return None, 0
        piece = followed.trail.events[active.called].piece
        own = active.function.code.co_name
        sites = [s for s in (piece.calls if piece is not None else ()) if s.name == own]
        same = [
            c
            for c in followed.called_in(active.parent, active.called)
            if followed.trail.activations[c].function is active.function
        ]
        turn = same.index(where) if where in same else 0
        argument = active.function.parameters.index(name)
        if not sites:
            return None, 0
        site = sites[min(turn, len(sites) - 1)]
        return (site, argument) if argument < len(site.given) else (None, 0)

    def _pointee(self, followed: _Followed, where: int, at: int, read: Read, text: str, depth: int) -> Origin:
        """Return the origin of the target of a pointer or reference: written through it here, or before the call."""
        pointer = self._definition(followed, where, read.name, (), at)
        target = pointer[2].target if pointer is not None and pointer[2] is not None else None
        if target is not None:
            own = Read(target.kind, target.name, read.text, (*target.path, *read.path))
            return self._read(followed, where, at, own, depth) or Origin(text, note="it lies in memory")
        found = self._through(followed, where, read.name, read.path, at)
        if found is not None:
            inside, event, store = found
            made = self._statement(followed, inside, event, text, "set")
            made.sources = self._sources(followed, inside, event, store.reads, depth - 1, read)
            return made
        site, argument = self._call_of(followed, where, read.name)
        root = site.given[argument][2] if site is not None else None
        if root is None:
            if not followed.trail.activations[where].whole:
                self._short(followed)
            return Origin(
                text, note=f"what {read.name} leads to is not followed; ask for the variable itself"
            )
        active = followed.trail.activations[where]
        outer = Read(root.kind, root.name, spelled(root.text, read.path), (*root.path, *read.path))
        return self._read(followed, active.parent, active.called, outer, depth) or Origin(
            text, note="it lies in memory"
        )

    def _returned(
        self, followed: _Followed, where: int, at: int, read: Read, depth: int, turn: int
    ) -> Origin | None:
        """Return the origin of what a function of the source returned to the statement *at*."""
        trail = followed.trail
        made = [
            c
            for c in followed.called_in(where, at)
            if trail.activations[c].function.code.co_name == read.name
        ]
        if turn >= len(made) or depth <= 0 or self.bytes.nodes <= 0:
            return None
        events = trail.activations[made[turn]].events
        if not events or trail.events[events[-1]].piece is not None:
            return None
        text = _valued(read.text, trail.events[events[-1]].value)
        for event in reversed(events[:-1]):
            piece = trail.events[event].piece
            store = next((s for s in piece.stores if s.name == RETURNED), None) if piece is not None else None
            if store is not None:
                self.bytes.nodes -= 1
                found = self._statement(followed, made[turn], event, text, "returned")
                found.sources = self._sources(followed, made[turn], event, store.reads, depth - 1)
                return found
        return Origin(text, note="its function returned without a statement")

    # -- statements ------------------------------------------------------------------------------

    def _sources(
        self, followed: _Followed, where: int, event: int, reads: Reads, depth: int, own: Read | None = None
    ) -> list[Origin]:
        """Return the origins of the values that a statement took: *reads* and its loads; of its *own* variable from before it ran first."""
        found: list[Origin] = []
        known: set[Any] = set()
        turns: dict[str, int] = {}
        waiting = list(reads_in(reads, lambda name: followed.value(where, name, (), event)))
        while waiting:
            read = waiting.pop(0)
            if read.at is not None:
                read = _placed(read, read.at(lambda name: followed.value(where, name, (), event)))
            turn = turns.get(read.name, 0) if read.kind == CALLED else 0
            key = read.kind, read.name, read.path, turn
            if key in known:
                continue
            known.add(key)
            if own is not None and key == (own.kind, own.name, own.path, 0):
                one = self._earlier(followed, where, event, read, depth)
            else:
                one = self._read(followed, where, event, read, depth, turn=turn)
            if one is not None:
                found.append(one)
                turns[read.name] = turn + 1
            elif read.kind == CALLED:
                waiting[:0] = [r for r in read.given if isinstance(r, Read)]
        loads = list(self._loads(followed, where, event))
        for load in loads:
            if key_of(load) not in known:
                known.add(key_of(load))
                found.append(self._loaded(followed, load, depth))
        if len(found) > SOURCES:
            found[SOURCES:] = [Origin(f"{len(found) - SOURCES} more values", note="not followed")]
        return found

    def _earlier(self, followed: _Followed, where: int, event: int, read: Read, depth: int) -> Origin | None:
        """Return the origin of a variable that a statement computes from itself, as `i += 1`: from before it ran first."""
        piece = followed.trail.events[event].piece
        first, turns = event, 0
        while read.kind == LOCAL:
            found = self._definition(followed, where, read.name, read.path, first)
            if found is None or followed.trail.events[found[1]].piece is not piece or found[0] != where:
                break
            first, turns = found[1], turns + 1
        if not turns:
            return self._read(followed, where, event, read, depth)
        text = _told(read, followed.value(where, read.key, read.path, event))
        many = f"{turns} earlier time{'s' * (turns != 1)}"
        made = Origin(text, note=f"the same statement had run {many}")
        before = self._read(followed, where, first, read, depth)
        made.sources = [] if before is None else [before]
        return made

    def _loads(self, followed: _Followed, where: int, event: int) -> Iterator[LoadedBytes]:
        """Yield what the statement *event* itself loaded."""
        loads, stop = followed.trail.loads, followed.following(where, event)
        for n in range(bisect_right(loads, event, key=lambda one: one.after), len(loads)):
            if loads[n].after > stop:
                return
            if loads[n].where == where:
                yield loads[n]

    def _loaded(self, followed: _Followed, load: LoadedBytes, depth: int) -> Origin:
        """Return the origin of the bytes of a load."""
        access = load.access
        text, local = self._load_text(followed, load)
        if depth <= 0 or self.bytes.nodes <= 0:
            return Origin(text, note="not followed any further")
        byte = Byte(access.allocation.space, access.allocation.address + access.start, load.owner)
        found = self.bytes.follow(byte, text, followed.launch, load.moment, depth)
        declared = found.note == UNWRITTEN and self._definition(followed, load.where, local, (), load.after)
        if local and declared:
            return self._variable(followed, load.where, load.after, Read(LOCAL, local, text), text, depth)
        return found

    def _load_text(self, followed: _Followed, load: LoadedBytes) -> tuple[str, str]:
        """Return the name of the bytes of a load, with their value, and the local array that they belong to, if any."""
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

    def _statement(self, followed: _Followed, where: int, event: int, text: str, verb: str) -> Origin:
        """Return a link of the chain: *text* was written by a statement."""
        began = followed.trail.events[event]
        piece = began.piece
        assert piece is not None
        file = followed.trail.activations[where].function.code.co_filename
        made = Origin(
            text, followed.launch, began.moment, followed.trail.label, f"`{piece.text}`", file, piece.line
        )
        made.verb = verb
        made.because = self._because(followed, where, event)
        return made

    def _because(self, followed: _Followed, where: int, event: int) -> str:
        """Return the last test that led to a statement, or did not jump past it, with its values; nothing where there was none."""
        piece = followed.trail.events[event].piece
        tests: list[SourcePiece] = []
        while piece is not None:
            tests += piece.guards
            if piece.parent is not None and piece.parent.test is not None and piece.role:
                tests.append(piece.parent)
            piece = piece.parent
        events = followed.trail.activations[where].events
        for n, _, found in followed.before(where, event):
            if found in tests:
                first = self._entry(followed, events, n, found)
                return self._outcome(
                    followed, where, events[first], found, self._role(followed, where, first), with_place=True
                )
        return ""

    def _entry(self, followed: _Followed, events: list[int], n: int, piece: SourcePiece) -> int:
        """Return the event at which the test of *piece* began to be decided: a switch is noted again at each of its labels."""
        if not piece.several:
            return n
        while n and _inside(followed.trail.events[events[n - 1]].piece, piece):
            n -= 1
        return n

    def _role(self, followed: _Followed, where: int, n: int, coming: SourcePiece | None = None) -> str:
        """Return the outcome of the test at the *n*-th event of an activation; after its last event *coming* comes next."""
        events = followed.trail.activations[where].events
        piece = followed.trail.events[events[n]].piece
        assert piece is not None
        behind = (followed.trail.events[one].piece for one in events[n + 1 :])
        child = next((one for one in behind if one is not piece), coming)
        while child is not None and child.parent is not piece:
            child = child.parent
        if child is not None:
            return child.role
        return "none of its cases" if piece.several else "false"

    def _outcome(
        self,
        followed: _Followed,
        where: int,
        event: int,
        piece: SourcePiece,
        role: str,
        *,
        with_place: bool = False,
    ) -> str:
        """Describe a test: its text, its outcome and its values."""
        assert piece.test is not None
        values = []
        reads = list(reads_in(piece.test.reads, lambda name: followed.value(where, name, (), event)))
        for read in {(r.kind, r.name, r.path): r for r in reads if r.kind in (LOCAL, POINTEE)}.values():
            value = followed.value(where, read.key, read.path, event)
            if _is_value(value):
                values.append(_told(read, value))
        values += [self._load_text(followed, load)[0] for load in self._loads(followed, where, event)]
        given = f", with {', '.join(values[:SOURCES])}" if values else ""
        word = f"was {role}" if role in ("true", "false") else f"led to {role}"
        place = f" at {self._site(followed, where, piece)}" if with_place else ""
        return f"`{piece.test.text}`{place} {word}{given}"

    def _decision(self, followed: _Followed, where: int, n: int, then: SourcePiece) -> Origin:
        """Return the decision of the test at the *n*-th event of an activation, after which *then* came, with its values' origins."""
        event = followed.trail.activations[where].events[n]
        piece = followed.trail.events[event].piece
        assert piece is not None
        assert piece.test is not None
        outcome = self._outcome(followed, where, event, piece, self._role(followed, where, n, then))
        made = self._statement(followed, where, event, outcome, "decided")
        made.instruction = f"before `{then.text}` of line {then.line},"
        made.sources = self._sources(followed, where, event, piece.test.reads, self._depth - 1)
        return made

    def _site(self, followed: _Followed, where: int, piece: SourcePiece) -> str:
        return f"{place_of(followed.trail.activations[where].function.code.co_filename)}:{piece.line}"

    def _place(self, followed: _Followed, event: int) -> Position:
        """Return the position at which a statement began."""
        began = followed.trail.events[event]
        return Position(followed.launch, began.moment, began.lines)

    def _edited(self, followed: _Followed, where: int, at: int, read: Read) -> Edit | None:
        """Return the last change by hand of a variable before the statement *at*."""
        limit = self._place(followed, at) if at < len(followed.trail.events) else followed.position
        name = followed.trail.activations[where].function.named.get(read.name, read.name)
        for edit in reversed(followed.run.recorded.edits):
            if edit.position <= limit and edit.text.partition(" ")[0] in (name, read.text):
                return edit
        return None

    # -- scalars of instructions -----------------------------------------------------------------

    def reach(self, launch: int, logged: Logged, moment: int) -> None:
        """Make the trail that leads to a write: the scalars that it was made of are earlier in the same trail."""
        self._follow(name_of(logged.core), Position(launch, moment))

    def add(self, made: Origin, launch: int, logged: Logged, depth: int) -> None:
        """Add to *made*, a write of memory, the scalars that it was made of, and the test that led to it."""
        label = name_of(logged.core)
        followed = self._follow(label, Position(launch, made.moment))
        found = self._issuing(followed, made)
        if found is None:
            return
        where, event = found
        piece = followed.trail.events[event].piece
        assert piece is not None
        made.because = self._because(followed, where, event)
        if logged.step.row is None:
            made.instruction = f"{made.instruction} `{piece.text}`"
            reads = tuple(r for store in piece.stores if not store.name or store.through for r in store.reads)
            made.sources += self._sources(followed, where, event, reads, depth)
            return
        given = logged.step.row.given
        for site in piece.calls:
            if site.name.strip("_") != logged.step.name.strip("_"):
                continue
            values = tuple(
                r
                for n, (_, reads, _) in enumerate(site.given)
                if n < len(given) and given[n].kind in _VALUES
                for r in reads
            )
            for read in values:
                if isinstance(read, Read):
                    one = self._read(followed, where, event, read, depth)
                    made.sources += [] if one is None else [one]

    def _issuing(self, followed: _Followed, made: Origin) -> tuple[int, int] | None:
        """Return the activation and the statement that issued the write *made*; None where it is not in the trail."""
        events = followed.trail.events
        last = bisect_left(events, made.moment, key=lambda one: one.moment) - 1
        for event in range(last, max(last - ISSUED_WITHIN, -1), -1):
            where = events[event].where
            active = followed.trail.activations[where]
            piece = events[event].piece
            if piece is None or active.function.code.co_filename != made.file:
                continue
            if piece.place[0] <= made.line <= piece.place[2] and (
                piece.test is None or piece.line == made.line
            ):
                return where, event
        return None


def key_of(load: LoadedBytes) -> tuple[Any, ...]:
    """Return a key that tells the bytes of a load from others."""
    return load.access.allocation.space, load.owner, load.access.allocation.address + load.access.start


def _inside(piece: SourcePiece | None, outer: SourcePiece) -> bool:
    """Return whether *piece* is *outer* or lies in it."""
    while piece is not None and piece is not outer:
        piece = piece.parent
    return piece is not None


def _placed(read: Read, index: Any) -> Read:
    """Return *read* with the element that it reads, where its index is known."""
    if not isinstance(index, int) or "[]" not in read.path:
        return read
    n = read.path.index("[]")
    path = (*read.path[:n], f"[{index}]", *read.path[n + 1 :])
    return evolve(read, path=path, text=read.text.replace("[]", f"[{index}]", 1), at=None)


def _overlap(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Return whether one part of a variable contains the other; ``[]`` may be any element."""
    known = (("[]" in (x, y) and x[0] == y[0] == "[") or x == y for x, y in zip(a, b, strict=False))
    return all(known)


def _member(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return _NONE
        value = value[name]
    return value


def _is_value(value: Any) -> bool:
    """Return whether *value* is shown and followed: a number, a record, a tuple with a number in it."""
    if isinstance(value, tuple):
        return any(isinstance(one, int | float) for one in value)
    return isinstance(value, _FOLLOWED)


def _told(read: Read, value: Any) -> str:
    """Return a value that was read as `_valued` does, a char with its letter."""
    return _valued(read.text, Letter.of(value, INT8) if read.char else value)


def _valued(text: str, value: Any) -> str:
    """Return ``text = value``; the text alone where there is no value, or only a place."""
    if not _is_value(value):
        return text
    if isinstance(value, dict):
        inner = ", ".join(_valued(name, one) for name, one in list(value.items())[:SOURCES])
        return f"{text} = {{{inner}}}"
    return f"{text} = {value_text(value)}"
