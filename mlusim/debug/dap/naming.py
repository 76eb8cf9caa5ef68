"""The numbers and addresses that the editor uses for frames, groups of values and bytes."""

import re
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.debug.look.places import resolve
from mlusim.debug.stop.span import ByteSpan
from mlusim.debug.values import Variable
from mlusim.errors import MlusimError, UsageError
from mlusim.memory.space import SPACES

if TYPE_CHECKING:
    from mlusim.debug.dap.state import State
    from mlusim.debug.session import DebugSession

_REFERENCE = re.compile(r"(?:(?P<owner>[^/]*)/)?(?:(?P<space>\w+)/)?(?P<address>0x[0-9a-fA-F]+)$")


@frozen
class FrameAt:
    """A frame of a task, by its level."""

    task: str
    level: int

    def focus(self, session: "DebugSession") -> None:
        """Make it the frame in focus."""
        if self.task and session.look().core(self.task) is not None:
            session.focus, session.level = self.task, self.level


@frozen
class VariableGroup:
    """Variables of a frame, or the parts of one value."""

    frame: FrameAt
    variables: tuple[Variable, ...]
    whole: Variable | None = None


def child_of(held: VariableGroup, name: str) -> str:
    """Return the expression for the part of *held* that is called *name*."""
    if held.whole is None:
        found = next((one for one in held.variables if one.name == name), None)
        return found.path or found.place or name if found is not None else name
    if not held.whole.path:
        raise UsageError(f"{name} is part of a value that has no name")
    return f"{held.whole.path}{name}" if name.startswith("[") else f"{held.whole.path}[{name}]"


def name_in(state: "State", reference: object, name: str) -> str:
    """Return the expression for *name*, which a request took from a group of values, or typed."""
    if not isinstance(reference, int) or reference < 1:
        return name
    held: VariableGroup = state.target(reference, VariableGroup)
    held.frame.focus(state.session)
    return child_of(held, name)


def memory_reference(session: "DebugSession", one: Variable) -> str | None:
    """Return the place of a variable's bytes, as ``task 3/NRAM/0x200100``; None where it has none."""
    if not one.place:
        return None
    try:
        span = resolve(one.place, session.look(), session.core(), session.frame())
    except MlusimError:
        return None
    return f"{span.owner or ''}/{span.space}/{span.low:#x}"


def span_at(session: "DebugSession", reference: str, offset: int) -> ByteSpan:
    """Return the bytes from *offset* behind a reference on; raises `UsageError` for what is none."""
    found = _REFERENCE.match(reference)
    if found is None:
        raise UsageError(f"{reference!r} is no place in memory; the values of pointers and regions have one")
    low = int(found["address"], 16) + offset
    if found["space"] is None:
        return resolve(hex(low), session.look(), session.core(), session.frame())
    space = next((s for s in SPACES if s.name == found["space"]), None)
    if space is None:
        raise UsageError(f"there is no memory {found['space']!r}")
    owner = found["owner"] or None
    if owner is not None and owner.startswith("task") and session.look().core(owner) is not None:
        session.focus = owner
    return ByteSpan(space, low, low + 1, reference, None, owner)
