"""Queries of a trail: which statement wrote a variable last, its arguments, its loads, and the outcomes of conditions."""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

from attrs import define, evolve, field

from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.run.launches import Edit
from mlusim.debug.run.runs import LaunchRun, RunListener
from mlusim.debug.run.trail import Activation, Began, LoadedBytes, Trail
from mlusim.debug.source.frames import name_of, place_of
from mlusim.debug.source.pieces import LOCAL, POINTEE, CallSite, Read, Reads, SourcePiece, Store, reads_in
from mlusim.debug.stop.stops import END, Position
from mlusim.kernel_frames import kernel_frame
from mlusim.machine.hub import Effect

ISSUED_WITHIN = 5000
"""The number of statements before a write that are searched for its issuing one, so that a write without one costs no walk through all."""
NONE = object()
"""Represents a missing value."""


class LoadLog(RunListener):
    """Adds the loads of a core to its trail."""

    name = "loads"

    def __init__(self, trail: Trail) -> None:
        self.trail = trail

    def effect(self, effect: Effect) -> None:
        """Record the reads of a blocking instruction or a scalar load."""
        if effect.step.reads and not effect.asynchronous and name_of(effect.core) == self.trail.label:
            self.trail.loaded(effect, kernel_frame(sys._getframe()))  # noqa: SLF001 - the kernel, behind mlusim's own frames


@define(eq=False)
class FollowedTrail:
    """A trail up to *position*, and the run that recorded it."""

    position: Position
    trail: Trail
    run: LaunchRun
    _children: dict[tuple[int, int], list[int]] = field(factory=dict, init=False)

    @property
    def paused(self) -> PausedRun:
        """The machine at the end of the trail."""
        return PausedRun(self.run.recorded, self.run.machine, self.run.tracer, self.run.stopped)

    def calls(self, where: int, event: int) -> list[int]:
        """Return the calls made by the statement *event* of activation *where*, as activations."""
        if not self._children:
            for number, activation in enumerate(self.trail.activations):
                self._children.setdefault((activation.parent, activation.called), []).append(number)
        return self._children.get((where, event), [])

    def issuing(self, moment: int, file: str, line: int) -> "TrailPoint | None":
        """Return the statement that issued a write at *moment* in *line* of *file*; None if it is not in the trail."""
        events = self.trail.events
        last = bisect_left(events, moment, key=lambda one: one.moment) - 1
        for event in range(last, max(last - ISSUED_WITHIN, -1), -1):
            point, piece = TrailPoint(self, events[event].where, event), events[event].piece
            if piece is None or point.file != file or not piece.place[0] <= line <= piece.place[2]:
                continue
            if piece.test is None or piece.line == line:
                return point
        return None


@define(eq=False)
class TrailPoint:
    """A point of a trail: the beginning of the statement *at*, an event of the activation *where*, or the end of the trail."""

    followed: FollowedTrail
    where: int
    at: int

    @property
    def active(self) -> Activation:
        """The activation of the function."""
        return self.followed.trail.activations[self.where]

    @property
    def began(self) -> Began:
        """The event of a point before the end of the trail."""
        return self.followed.trail.events[self.at]

    @property
    def piece(self) -> SourcePiece:
        """The statement of a point that is one."""
        piece = self.began.piece
        assert piece is not None
        return piece

    @property
    def file(self) -> str:
        """The file of the function."""
        return self.active.function.code.co_filename

    @property
    def site(self) -> str:
        """The file and line of the statement."""
        return f"{place_of(self.file)}:{self.piece.line}"

    @property
    def position(self) -> Position:
        """The position at which the statement began; for the end of the trail, its position."""
        if self.at >= len(self.followed.trail.events):
            return self.followed.position
        return Position(self.followed.position.launch, self.began.moment, self.began.lines)

    @property
    def caller(self) -> "TrailPoint":
        """The statement that called this function."""
        return TrailPoint(self.followed, self.active.parent, self.active.called)

    def moved(self, at: int) -> "TrailPoint":
        """Return the point of the event *at* in the same activation."""
        return TrailPoint(self.followed, self.where, at)

    def before(self) -> Iterator[tuple[int, SourcePiece]]:
        """Yield the earlier statements of the activation, the latest first: the event and the piece of each."""
        events, every = self.active.events, self.followed.trail.events
        for n in range(bisect_left(events, self.at) - 1, -1, -1):
            piece = every[events[n]].piece
            if piece is not None:
                yield events[n], piece

    def behind(self) -> Iterator[int]:
        """Yield the events of the activation after this one."""
        events = self.active.events
        return (events[n] for n in range(bisect_right(events, self.at), len(events)))

    # -- variables -------------------------------------------------------------------------------

    def value(self, name: str, path: tuple[str, ...] = ()) -> Any:
        """Return the value of a local or of its member *path* at the beginning of the statement; `NONE` if it has none."""
        events, every = self.active.events, self.followed.trail.events
        for n in range(bisect_right(events, self.at) - 1, -1, -1):
            changes = every[events[n]].changes
            if name in changes:
                return member_of(changes[name], path)
        return NONE

    def reads(self, reads: Reads) -> list[Read]:
        """Return the variables in *reads* that the statement actually read."""
        return list(reads_in(reads, self.value))

    def placed(self, read: Read) -> Read:
        """Return *read* with the index of its element, if it is known."""
        index = None if read.at is None else read.at(self.value)
        if not isinstance(index, int) or "[]" not in read.path:
            return read
        n = read.path.index("[]")
        path = (*read.path[:n], f"[{index}]", *read.path[n + 1 :])
        return evolve(read, path=path, text=read.text.replace("[]", f"[{index}]", 1), at=None)

    def changed(self, name: str, path: tuple[str, ...]) -> bool:
        """Return whether the statement has changed a local."""
        events = self.active.events
        n = bisect_right(events, self.at)
        if n >= len(events) or name not in self.followed.trail.events[events[n]].changes:
            return False
        before, after = self.value(name, path), self.moved(events[n]).value(name, path)
        return bool(before is not NONE and after is not before and after != before)

    def definition(self, name: str, path: tuple[str, ...] = ()) -> "tuple[TrailPoint, Store | None] | None":
        """Return the last write of a local before this point: the statement, and its store; None in place of the store if a pointer wrote it."""
        function = self.active.function
        hidden = name in function.watched and name not in function.leading
        for event, piece in self.before():
            here = self.moved(event)
            stores = [s for s in piece.stores if s.name == name and not s.through and _overlap(s.path, path)]
            if stores and "[]" in stores[-1].path and not here.changed(name, path):
                continue  # another element, or an update with the same value
            if stores and not stores[-1].unset:
                return here, stores[-1]
            called = here.by_calls(LOCAL, name, path)
            if called is not None:
                return called
            if hidden and here.changed(name, path):
                return here, next((s for s in piece.stores if s.through), None)
            if stores:  # a declaration, followed by the writes of its constructor
                return here, stores[-1]
        return None

    def through(self, pointer: str, path: tuple[str, ...]) -> "tuple[TrailPoint, Store] | None":
        """Return the last write before this point through a pointer or reference of the activation."""
        for event, piece in self.before():
            for store in reversed(piece.stores):
                if store.name == pointer and store.through and _overlap(store.path, path):
                    return self.moved(event), store
            called = self.moved(event).by_calls(POINTEE, pointer, path)
            if called is not None:
                return called
        return None

    def by_calls(self, kind: str, name: str, path: tuple[str, ...]) -> "tuple[TrailPoint, Store] | None":
        """Return the last write by a function that the statement called with the address of a variable."""
        for site in self.piece.calls:
            for argument, (_, _, root) in enumerate(site.given):
                if root is None or (root.kind, root.name) != (kind, name) or not _overlap(root.path, path):
                    continue
                point = self._in_call(site, argument, path[len(root.path) :])
                if point is not None:
                    return point
        return None

    def _in_call(
        self, site: CallSite, argument: int, path: tuple[str, ...]
    ) -> "tuple[TrailPoint, Store] | None":
        for child in reversed(self.followed.calls(self.where, self.at)):
            function = self.followed.trail.activations[child].function
            if function.code.co_name == site.name and argument < len(function.parameters):
                point = TrailPoint(self.followed, child, END).through(function.parameters[argument], path)
                if point is not None:
                    return point
        return None

    def given(self, name: str) -> tuple[str, Reads, Read | None] | None:
        """Return the argument for the parameter *name* of the activation; None if its call is not in the trail."""
        active = self.active
        parameters = active.function.parameters
        if active.parent < 0 or active.called < 0 or name not in parameters:
            return None
        calls, piece = self.followed.calls(active.parent, active.called), self.caller.began.piece
        sites = (
            [s for s in piece.calls if s.name == active.function.code.co_name] if piece is not None else []
        )
        same = [c for c in calls if self.followed.trail.activations[c].function is active.function]
        if not sites:
            return None
        turn = same.index(self.where) if self.where in same else 0
        arguments = sites[min(turn, len(sites) - 1)].given
        argument = parameters.index(name)
        return arguments[argument] if argument < len(arguments) else None

    def edited(self, read: Read) -> Edit | None:
        """Return the last change by hand of a variable before this point."""
        limit = self.position
        name = self.active.function.named.get(read.name, read.name)
        for edit in reversed(self.followed.run.recorded.edits):
            if edit.position <= limit and edit.text.partition(" ")[0] in (name, read.text):
                return edit
        return None

    def loads(self) -> Iterator[LoadedBytes]:
        """Yield the loads of the statement itself."""
        trail = self.followed.trail
        stop = next(self.behind(), len(trail.events))
        for n in range(bisect_right(trail.loads, self.at, key=lambda one: one.after), len(trail.loads)):
            load = trail.loads[n]
            if load.after > stop:
                return
            if load.where == self.where:
                yield load

    # -- conditions ------------------------------------------------------------------------------

    def led_by(self) -> "TrailPoint | None":
        """Return the last condition that led to the statement, or did not jump past it; None if there is none."""
        piece: SourcePiece | None = self.piece
        tests: list[SourcePiece] = []
        while piece is not None:
            tests += piece.guards
            if piece.parent is not None and piece.parent.test is not None and piece.role:
                tests.append(piece.parent)
            piece = piece.parent
        return next((self.moved(event).decided() for event, test in self.before() if test in tests), None)

    def decided(self) -> "TrailPoint":
        """Return the point at which the evaluation of the condition began: a switch is recorded again at each of its labels."""
        piece, events = self.piece, self.active.events
        n = bisect_left(events, self.at)
        while piece.several and n and _inside(self.followed.trail.events[events[n - 1]].piece, piece):
            n -= 1
        return self.moved(events[n])

    def next_piece(self) -> SourcePiece | None:
        """Return the next different statement of the activation; None if the trail has none, or the function returns."""
        pieces = (self.followed.trail.events[event].piece for event in self.behind())
        return next((piece for piece in pieces if piece is not self.piece), None)

    def role(self, coming: SourcePiece | None = None) -> str:
        """Return the outcome of the condition in the statement; *coming* is the statement after the last event of the trail."""
        piece, child = self.piece, self.next_piece() or coming
        while child is not None and child.parent is not piece:
            child = child.parent
        return child.role if child is not None else "none of its cases" if piece.several else "false"


def _inside(piece: SourcePiece | None, outer: SourcePiece) -> bool:
    """Return whether *piece* is *outer* or nested in it."""
    while piece is not None and piece is not outer:
        piece = piece.parent
    return piece is not None


def _overlap(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Return whether one part of a variable contains the other; ``[]`` may be any element."""
    return all(("[]" in (x, y) and x[0] == y[0] == "[") or x == y for x, y in zip(a, b, strict=False))


def member_of(value: Any, path: tuple[str, ...]) -> Any:
    """Return the member *path* of a value, or `NONE`."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return NONE
        value = value[name]
    return value
