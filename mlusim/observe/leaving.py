"""The places where tasks left their kernel, and the functions below it that reach a barrier: for those that never came to one."""

import dis
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.kernel_frames import file_of, function_of, own_file
from mlusim.machine.events import Site

if TYPE_CHECKING:
    from mlusim.machine.observed import Core

_BARRIERS = ("sync_all", "sync_cluster")  # what the names of all barriers begin with
_RETURNS = {dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap}


@frozen
class Left:
    """A way out of a function: where it returned, who had called it there, and the kernel's own line at that moment."""

    function: str
    site: Site
    caller: str
    call: Site
    kernel: Site


class Leaving:
    """Hears where each task of a launch of *body* leaves its functions.

    Python keeps the line at which a frame has ended, so that the kernel's own costs nothing.  Calls are followed
    further only where the kernel has functions that reach a barrier: a task may leave one of them too early.
    """

    def __init__(self, body: object) -> None:
        function = getattr(body, "__wrapped__", body)
        code = getattr(function, "__code__", None)
        self._body = None if code is None else function_of(code)
        self._helpers = _reaching(function) if isinstance(function, FunctionType) else set()
        self._names = {key[-1] for key in self._helpers}
        self._beginning: Core | None = None
        self._frames: dict[Core, FrameType] = {}
        self._left: dict[str, Counter[Left]] = {}
        self.returned: dict[str, Site] = {}  # by task, where the kernel's function ended

    def begin(self, core: "Core") -> None:
        """Wait for the kernel's function of *core*, which begins."""
        if self._body is not None and sys.getprofile() in {None, self._heard}:
            self._beginning = core
            sys.setprofile(self._heard)

    def end(self, core: "Core") -> None:
        """Note where *core*, which has ended, left the kernel."""
        frame = self._frames.pop(core, None)
        if frame is not None:
            self.returned[core.place.label] = _site(frame)
        elif not self._frames:
            self.close()

    def close(self) -> None:
        """Hear nothing more, and let go of the frames."""
        self._frames = {}
        if sys.getprofile() == self._heard:
            sys.setprofile(None)

    def early(self, absent: str, waiting: Iterable[str]) -> Left | None:
        """Return the way out that the task *absent* took more often than any that is *waiting*, the first such."""
        others = [self._left[label] for label in waiting if label in self._left]
        for left, count in self._left.get(absent, Counter[Left]()).items():
            if count > max((other[left] for other in others), default=0):
                return left
        return None

    def _heard(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            if self._beginning is not None and function_of(frame.f_code) == self._body:
                self._frames[self._beginning] = frame
                self._beginning = None
                if not self._helpers:
                    sys.setprofile(None)
        elif event == "return":
            code = frame.f_code
            if (
                code.co_name in self._names
                and function_of(code) in self._helpers
                and code.co_code[frame.f_lasti] in _RETURNS  # else it is an exception that ends the frame
            ):
                self._note(frame)

    def _note(self, frame: FrameType) -> None:
        """Note that the function of *frame* returns."""
        frames = {id(own): core for core, own in self._frames.items()}
        above: FrameType | None = frame
        callers = []
        while above is not None and id(above) not in frames:
            above = above.f_back
            if above is not None and not own_file(above.f_code.co_filename):
                callers.append(above)
        if above is None or not callers:
            return
        label = frames[id(above)].place.label
        caller = callers[0]
        left = Left(frame.f_code.co_name, _site(frame), caller.f_code.co_name, _site(caller), _site(above))
        self._left.setdefault(label, Counter())[left] += 1


def _site(frame: FrameType) -> Site:
    return Site(file_of(frame.f_code), frame.f_lineno)


def _reaching(kernel: FunctionType) -> set[tuple[str, int, str]]:
    """Return the functions below *kernel* that call a barrier, or a function that does."""
    below: dict[FunctionType, list[FunctionType]] = {}
    found: set[FunctionType] = set()
    to_do = [kernel]
    while to_do:
        function = to_do.pop()
        if function in below:
            continue
        names = set(_names(function.__code__))
        if any(name.strip("_").startswith(_BARRIERS) for name in names):
            found.add(function)
        below[function] = list(_named(function, names))
        to_do += below[function]
    more = True
    while more:
        further = {f for f, called in below.items() if f not in found and not found.isdisjoint(called)}
        found |= further
        more = bool(further)
    return {function_of(function.__code__) for function in found - {kernel}}


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that *code* and what is defined in it look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _named(function: FunctionType, names: set[str]) -> Iterator[FunctionType]:
    """Yield the functions of kernels, not mlusim's own, that *names* of *function* stand for."""
    values = [function.__globals__.get(name) for name in names]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not yet assigned
            continue
    for value in values:
        if isinstance(value, FunctionType) and not own_file(value.__code__.co_filename):
            yield value
