"""Sentences about what the machine does: bytes by the names of regions and tensors, effects, stops."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.dtypes import DType, as_dtype
from mlusim.counted import plural
from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.source.frames import full_name, line_of, place_of, source_line
from mlusim.debug.stop import stops
from mlusim.errors import Fault
from mlusim.machine.hub import Effect
from mlusim.memory.allocation import POISON, Allocation
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.debug.run.launches import KeptLaunch

PIECES = 4  # pieces of an instruction's bytes that are listed
PIECEWISE = ("gather", "discrete")  # forms of rows whose accesses are pieces of one operand
WIDE = 110  # characters of a value on one line


# -- bytes -----------------------------------------------------------------------------------------


def named(
    paused: PausedRun, allocation: Allocation, offset: int, nbytes: int = 1
) -> tuple[str, int, DType | None]:
    """Return the variable that contains *nbytes* bytes at *offset* of *allocation*: its name, its begin in it, its element type.

    If several stages have such regions, those that contain all the bytes are named.  A name that a region and a
    tensor share is qualified.
    """
    for name, (tensor, argument) in paused.tensors.items():
        same = tensor.space is allocation.space and tensor.address == allocation.address
        if tensor is allocation or same:
            return (f"tensor.{name}" if name in paused.region_names else name), 0, argument.dtype
    regions = paused.regions_at(allocation, offset)
    if regions:
        whole = {name: r for name, r in regions.items() if offset + nbytes <= r[0] + r[1].bytes}
        kept = whole or regions
        start, first = next(iter(kept.values()))
        shown = (f"region.{name}" if name in paused.tensors else name for name in kept)
        return "/".join(shown), start, as_dtype(first.dtype)
    variable, dtype = paused.declared(allocation)
    if variable is not None:
        return variable, 0, dtype
    return f"{allocation.space}+{allocation.address - paused.base(allocation.space):#x}", 0, None


def access_text(paused: PausedRun, access: Access) -> str:
    """Return the bytes of an access as text: ``term1[0:105]``, ``NRAM+0x100, 64 bytes``, with strides if it has any."""
    name, begins, dtype = named(paused, access.allocation, max(access.start, 0), access.size)
    first = access.start - begins
    if dtype is not None and first % dtype.size == 0 and access.size % dtype.size == 0:
        at, count = first // dtype.size, access.size // dtype.size
        text = f"{name}[{at}]" if count == 1 else f"{name}[{at}:{at + count}]"
    else:
        text = f"{name}, bytes {first}:{first + access.size}"
    times = "".join(
        f", {count} {plural(count, 'time')}, every {stride} {plural(stride, 'byte')}"
        for stride, count in access.steps
        if count > 1
    )
    return text + times


def accesses_text(paused: PausedRun, accesses: Sequence[Access], *, pieces: bool = False) -> str:
    """Return several accesses as text, of many only the first; adjacent *pieces* of one operand are joined."""
    joined: list[Access] = [] if pieces else list(accesses)
    for access in accesses if pieces else ():
        last = joined[-1] if joined else None
        follows = last is not None and last.allocation is access.allocation and not last.steps + access.steps
        if last is not None and follows and last.start + last.size == access.start:
            joined[-1] = Access(last.allocation, last.start, last.size + access.size)
        else:
            joined.append(access)
    shown = "; ".join(access_text(paused, access) for access in joined[:PIECES])
    return shown + (f" and {len(joined) - PIECES} more" if len(joined) > PIECES else "")


def effect_text(paused: PausedRun, effect: Effect, *, pipe: bool = True) -> str:
    """Describe the bytes that an effect writes and reads; with *pipe* also its pipe."""
    parts = [f"on the {effect.pipe.value} pipe"] if pipe else []
    for verb, accesses in (("writes", effect.writes), ("reads", effect.reads)):
        if accesses:
            row = effect.step.row
            pieces = row is not None and row.form in PIECEWISE
            parts.append(f"{verb} {accesses_text(paused, accesses, pieces=pieces)}")
    return ", ".join(parts)


# -- values ----------------------------------------------------------------------------------------


class Parted(ABC):
    """A value that can return its text and its parts."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The type, in the syntax of the source."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of parts."""

    @abstractmethod
    def parts(self, first: int = 0, stop: int | None = None) -> "list[tuple[str, str, Any]]":
        """Return the members or elements: the name, the text that selects it in an expression (``.name``, ``[3]``), and the value."""

    @abstractmethod
    def text(self, paused: PausedRun | None = None, letter: str = "") -> str:
        """Return the value on one line, with numbers in the form *letter*."""


def value_text(value: object, paused: PausedRun | None = None) -> str:
    """Return a value of the kernel on one line."""
    if isinstance(value, Parted):
        return value.text(paused)
    if isinstance(value, Ptr):
        return pointer_text(value, paused)
    if isinstance(value, np.ndarray):
        text = np.array2string(value, threshold=16, edgeitems=4, max_line_width=10**6).replace("\n", "")
        return f"{value.dtype}{list(value.shape)} {text}"
    if isinstance(value, np.generic):
        fresh = value.dtype.kind in "fiuV" and bool(poisoned(np.array([value]))[0])
        return f"{elements(np.array([value]))[0] if fresh else value} ({value.dtype})"
    if isinstance(value, tuple | list) and any(isinstance(one, Ptr) for one in value):
        shown = (
            f"&{address_text(one, paused)}" if isinstance(one, Ptr) else value_text(one, paused)
            for one in value
        )
        text = f"({', '.join(shown)})" if isinstance(value, tuple) else f"[{', '.join(shown)}]"
    else:
        text = " ".join(str(getattr(value, "listed", None) or repr(value)).split())
    return text if len(text) <= WIDE else text[: WIDE - 3] + "..."


def pointer_text(pointer: Ptr, paused: PausedRun | None, count: int = 4, most: int | None = None) -> str:
    """Return a pointer on one line: type, memory, region, and the first values, at most *most*, with poison marked."""
    view = pointer.view
    head = f"{pointer.dtype} * {pointer.space} {pointer.address:#x}"
    place = address_text(pointer, paused)
    if not place.startswith(("0x", str(pointer.space))):
        head += f" {place}"
    if view.nbytes < 0 or not 0 <= pointer.index < view.size:
        return f"{head}: outside"
    there = view.size - pointer.index if most is None else min(view.size - pointer.index, most)
    shown = elements(view.array[pointer.index : pointer.index + min(count, there)])
    more = ", ..." if there > count else ""
    return f"{head}: {', '.join(shown)}{more}"


def address_text(pointer: Ptr, paused: PausedRun | None) -> str:
    """Return the target of a pointer: ``term1[105]``, or its address."""
    if paused is None:
        return f"{pointer.address:#x}"
    name, begins, dtype = named(paused, pointer.view.allocation, max(pointer.offset, 0))
    if dtype is None:
        return f"{pointer.space} {pointer.address:#x}"
    index, rest = divmod(pointer.offset - begins, dtype.size)
    return f"{name}[{index}]" if rest == 0 else f"{name}, byte {pointer.offset - begins}"


def poisoned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return which elements consist of poison: every byte as in fresh memory."""
    raw = np.ascontiguousarray(array).view(np.uint8).reshape(array.size, -1)
    return np.asarray((raw == POISON).all(axis=1))


def elements(array: np.ndarray[Any, Any]) -> list[str]:
    """Return the elements as text; ``poison`` for a float that was never written, ``-1?`` for such an integer."""
    unwritten = "poison" if array.dtype.kind not in "iu" else None
    texts = []
    for value, fresh in zip(array, poisoned(array), strict=True):
        shown = f"{float(value):.7g}" if unwritten else str(int(value))
        texts.append(shown if not fresh else unwritten or f"{shown}?")
    return texts


# -- stops -----------------------------------------------------------------------------------------


def frame_text(frame: FrameType, error: BaseException | None = None) -> str:
    """Return ``computeExp at kernel.py:143``, the file relative to the current folder; with *error* the line at which it was raised."""
    return f"{frame.f_code.co_name} at {place_of(frame.f_code.co_filename)}:{line_of(frame, error)}"


def op_text(paused: PausedRun, op: stops.Op) -> str:
    """Describe a moment, in the form of an action that is about to happen."""
    if op.kind is stops.ISSUE and op.effect is not None:
        spelling = op.effect.step.row.spelling if op.effect.step.row is not None else op.name
        verb = "issue" if op.effect.asynchronous else "execute"
        return f"about to {verb} {spelling} {effect_text(paused, op.effect)}"
    if op.kind is stops.LANDING and op.effect is not None:
        return f"about to land: {op.name} of line {op.effect.site.line}, {effect_text(paused, op.effect)}"
    if op.kind is stops.CONTROL:
        goes_on = op.name.endswith(("_arrive", "unlock"))
        return f"about to execute __{op.name}" if goes_on else f"about to wait: __{op.name}"
    if op.kind is stops.BEGIN:
        return "it has not entered the kernel yet"
    return "it has returned from the kernel" if op.kind is stops.FINISH else ""


def end_text(recorded: "KeptLaunch", stop: stops.Stop) -> str:
    """Return a sentence that a launch has ended, and the reason of the stop."""
    count = f" after {recorded.moments} moments" if recorded.moments is not None else ""
    lines = [reason for reason in stop.reasons if reason]
    return "\n".join([*lines, f"launch {recorded.index} ({recorded.kernel}) has ended{count}"])


def outcome_text(result: object) -> str:
    """Describe the outcome of a program: the status of an operator's run, the accuracy of its or a case's outputs."""
    status = getattr(result, "status", None)
    text = "" if status is None else f" with {getattr(status, 'name', status)}"
    for name, one in getattr(result, "judged", {}).items():
        text += f"\n{name}: {one.told}"
    for name, accuracy in getattr(result, "accuracy", {}).items():
        verdict = "accurate" if accuracy.passed else "not accurate"
        index = accuracy.worst_index
        worst = "" if index is None else f", worst at [{', '.join(map(str, index))}]"
        text += f"\n{name}: {verdict}, diff1 {accuracy.diff1:.3g}, diff2 {accuracy.diff2:.3g}{worst}"
    return text


def stop_text(paused: PausedRun, stop: stops.Stop, ended: str = "") -> str:
    """Return the reason and the place of a stop, with the source line."""
    lines = [reason for reason in stop.reasons if reason]
    if stop.kind is stops.LAUNCH_BEGIN:
        return "\n".join([*lines, f"launch {paused.recorded.index} begins: {launch_text(paused)}"])
    if stop.kind is stops.LAUNCH_END:
        return end_text(paused.recorded, stop) + ended
    if isinstance(stop.error, Fault):
        lines.append(f"fault: {stop.error}")
    elif stop.error is not None:
        said = f": {stop.error}" if str(stop.error) else ""
        lines.append(f"error: {type(stop.error).__name__}{said}")
    lines += _place_lines(paused, stop)
    if stop.op is not None and (text := op_text(paused, stop.op)):
        lines.append(text)
    lines += [f"value returned: {value_text(value, paused)}" for value in stop.value]
    return "\n".join(lines) + ended


def _place_lines(paused: PausedRun, stop: stops.Stop) -> list[str]:
    core = stop.core
    if core is None:
        return [f"launch {paused.recorded.index}, between tasks"]
    stack = paused.stack(core)
    when = "" if stop.kind in (stops.FAULT, stops.INTERRUPTED) else f", {stop.position}"
    if not stack:
        return [f"{full_name(core)}{when}"]
    frame = stack[0]
    return [f"{full_name(core)} in {frame_text(frame, stop.error)}{when}", *source_line(frame, stop.error)]


def launch_text(paused: PausedRun) -> str:
    """Return the launch in one line: the kernel, its grid, its kind, the board."""
    request = paused.machine.request
    return (
        f"{request.kernel.name} with dim {' x '.join(map(str, request.dim))}, {request.kind.name}, "
        f"on {paused.machine.board.name}"
    )
