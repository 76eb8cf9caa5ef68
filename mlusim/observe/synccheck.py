"""synccheck: barriers that not every core reaches, and barriers that synchronize nothing."""

import dis
import functools
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from attrs import frozen

from mlusim.counted import counted
from mlusim.errors import Divergence, Fault, SyncFault
from mlusim.kernel_frames import file_of, function_of, own_file
from mlusim.machine.hub import MetAlone, ObservedScreen, TaskRan, TaskWay, launch_place
from mlusim.machine.observed import Screened, Site
from mlusim.observe.checker import Checker, place_of
from mlusim.observe.finding import Finding, RelatedPlace

if TYPE_CHECKING:
    from mlusim.machine.cluster import Sync
    from mlusim.machine.core import Core, RunningLaunch
    from mlusim.machine.kernel import Kernel


HELD = "held"  # the first part of the keys of findings about mutexes
SHOWN = 8  # places of waiting cores in one finding


class SyncCheck(Checker):
    """Reports barrier divergence, returns before a barrier, and cluster barriers in Block tasks.

    A barrier that can never complete ends the launch as a fault; the finding says who waits where, the last barrier
    that the absent tasks passed, and what to do.
    """

    name = "synccheck"
    screens = Screened.SYNC

    def repeats(self, kernel: "Kernel") -> bool:
        """Return whether no finding depends on the place of the launch in the host's code."""
        told = any(isinstance(key, tuple) and key[0] == HELD for key in self._counts)
        return not told and super().repeats(kernel)

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Begin with no barrier passed."""
        super().launch_begin(launch)
        self._passed: dict[str, tuple[str, Site]] = {}
        # The mutexes that are held, each with its task and the place where the task took it.
        self._held: dict[tuple[int, int], tuple[Core, Site]] = {}
        self._kept: list[tuple[Core, tuple[int, int], Site]] = []  # of tasks that have ended
        self._leaving = Leaving(launch.request.kernel.body)

    def screen_end(self, screen: ObservedScreen) -> bool:
        """Return whether all barriers were complete, or C has recorded where tasks passed barriers and returned."""
        return not isinstance(screen.refused, SyncFault) or screen.ways() is not None

    def task_begin(self, core: "Core") -> None:
        """Observe where the task returns from its functions."""
        self._leaving.begin(core)

    def sync(self, sync: "Sync") -> None:
        """Note the last barrier that each core passed; a barrier of the cluster in a Block task synchronizes nothing."""
        if sync.scope == "mutex" and sync.mutex is not None:
            if sync.name == "__bang_lock":
                self._held[sync.mutex] = sync.core, sync.site
            else:
                self._held.pop(sync.mutex, None)
        if sync.scope in (None, "mutex", "arrive"):
            return
        for core in sync.participants:
            self._passed[core.place.label] = sync.name, Site(*core.site())
        core = sync.core
        if core.union.block and sync.scope.startswith("cluster"):
            self._alone(core, sync.site, sync.name)

    def _alone(self, core: "Core | TaskRan", site: Site, name: str, times: int = 1) -> None:
        self.report((name, site), lambda: _alone(core.place.task, site, name), times)

    def screened(self, screen: ObservedScreen) -> None:
        """Report the barriers that C has recorded as passed by one core alone, and take what it has recorded of those that cannot complete."""
        if isinstance(screen.refused, SyncFault):
            for label, way in (screen.ways() or {}).items():
                if way.passed is not None:
                    self._passed[label] = way.passed
                self._leaving.went(label, way)
        for out in screen.left():
            if isinstance(out, MetAlone):
                self._alone(*out)
        if screen.refused is None:
            self._hold(screen.held())

    def task_end(self, core: "Core") -> None:
        """Note where the task returned, and the mutexes that it still holds."""
        self._leaving.end(core)
        for mutex, (holder, site) in list(self._held.items()):
            if holder is core:
                del self._held[mutex]
                self._kept.append((core, mutex, site))

    def launch_end(self, _launch: "RunningLaunch") -> None:
        """Report mutexes held at the end; if a task had waited for one, the launch would have ended as a fault."""
        self._hold(self._kept)
        self._kept = []
        self._leaving.close()

    def _hold(self, held: "Iterable[tuple[Core | TaskRan, tuple[int, int], Site]]") -> None:
        for core, mutex, site in held:
            self.report((HELD, site), functools.partial(_kept, core, mutex, site))

    def error(self, _core: "Core", _error: BaseException) -> None:
        """Drop the frames of the kernel."""
        self._leaving.close()

    def fault(self, core: "Core", fault: Fault) -> None:
        """Convert the fault to a finding."""
        self._leaving.close()
        if isinstance(fault, SyncFault):
            rule = _rule(fault)
            self.report((rule, fault.file, fault.line), lambda: self._told(rule, core, fault))

    def _told(self, rule: str, core: "Core", fault: SyncFault) -> Finding:
        here = (fault.file, fault.line)
        passed = [
            RelatedPlace(*site, f"{label} passed {name} here last")
            for label in fault.absent[:SHOWN]
            for name, site in [self._passed.get(label, (None, None))]
            if name is not None and site is not None
        ]
        waits = {
            (file, line): f"{label} waits in {name}" for label, name, file, line in reversed(fault.waits)
        }
        spins = {
            (file, line): f"{label} looks at memory again and again" for label, file, line in fault.spins
        }
        other = [RelatedPlace(*at, text) for at, text in (waits | spins).items() if at != here]
        never = [label for label in fault.absent if label not in self._passed]
        return Finding(
            rule,
            f"{fault.intrinsic}: {fault.message}" if fault.intrinsic else fault.message,
            file=fault.file,
            line=fault.line,
            task=core.place.task,
            intrinsic=fault.intrinsic
            or next((name for _, name, *at in fault.waits if tuple(at) == here), None),
            context=(counted(len(fault.waits), "core waits", "cores wait"),) if fault.waits else (),
            places=tuple(self._returns(core, fault)[:SHOWN] + other[:SHOWN] + passed),
            note=f"{', '.join(never[:SHOWN])} passed no barrier at all" if never else "the launch ended here",
            hint=fault.hint,
            facts={"absent": list(fault.absent), "waiting": len(fault.waits), "spinning": len(fault.spins)},
        )

    def _returns(self, core: "Core", fault: SyncFault) -> list[RelatedPlace]:
        """Return where the absent tasks returned: first from a function that the waiting tasks have not left, then from the kernel."""
        waiting = [core.place.label, *(label for label, *_ in fault.waits)]
        early: dict[Left, list[str]] = {}
        left: dict[Site, list[str]] = {}
        for label in fault.absent:
            helper = self._leaving.early(label, waiting)
            if helper is not None:
                early.setdefault(helper, []).append(label)
            end = self._leaving.returned(label)
            if end is not None and (helper is None or end not in {helper.kernel, self._leaving.last}):
                left.setdefault(end, []).append(label)
        return [
            RelatedPlace(
                *out.site,
                f"{_listed(labels)} returned from {out.function} here, called by {out.caller} at {out.call.told_from(out.site)}",
            )
            for out, labels in early.items()
        ] + [RelatedPlace(*site, f"{_listed(labels)} returned here") for site, labels in left.items()]


def _listed(labels: list[str]) -> str:
    more = f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
    return f"{', '.join(labels[:SHOWN])}{more}"


def _rule(fault: SyncFault) -> str:
    if isinstance(fault, Divergence):
        memory_cores = all(label.startswith("memory core") for label in fault.absent)
        return "synccheck-memory-core-left" if memory_cores else "synccheck-early-return"
    return "synccheck-stuck" if fault.spins else "synccheck-divergence"


def _kept(core: "Core | TaskRan", mutex: tuple[int, int], site: Site) -> Finding:
    place = launch_place()
    return Finding(
        "synccheck-mutex-held",
        f"{core.place.label} ends and still holds the mutex {mutex}",
        **place_of(site, core.place.task, "__bang_lock"),
        context=() if place is None else (f"launched at {place}",),
        note="who takes it next waits without end",
        hint=f"give it back on every way out of the kernel: {site.spelled('bang_unlock')}({mutex[0]}, {mutex[1]})",
    )


def _alone(task: int, site: Site, name: str) -> Finding:
    return Finding(
        "synccheck-block-cluster",
        f"{name} in a Block task is a plain __sync: it waits for no other task",
        **place_of(site, task, name),
        hint=f"launch as UNION1 or wider if tasks are to meet, or write {site.spelled('sync')}()",
    )


# -- where tasks returned, for those that never came to a barrier: from their kernel, and from functions below
# it that reach one

_BARRIERS = ("sync_all", "sync_cluster")  # the beginnings of the names of all barriers
_RETURNS = {dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap}


@frozen
class Left:
    """A return from a function: its place, the place of the call, and the kernel's own line at that time."""

    function: str
    site: Site
    caller: str
    call: Site
    kernel: Site


class Leaving:
    """Observes where each task of a launch of *body* returns from its functions.

    Python keeps the line at which a frame has ended, so that the kernel's own costs nothing.  Calls are traced
    only if the kernel has functions that reach a barrier, since a task may return from one of them too early.
    """

    def __init__(self, body: object) -> None:
        function = getattr(body, "__wrapped__", body)
        code = getattr(function, "__code__", None)
        self._body = None if code is None else function_of(code)
        self._helpers = _reaching(function) if isinstance(function, FunctionType) else set()
        self._names = {key[-1] for key in self._helpers}
        self._returns: Callable[[], Mapping[tuple[str, int, str], Any]] = getattr(body, "returns", dict)
        self._sites: dict[tuple[int, int], Site] = {}  # of returns, by code object and last instruction
        self._beginning: Core | None = None
        self._frames: dict[Core, FrameType] = {}
        self._left: dict[str, Counter[Left]] = {}
        # By task, how the kernel's function returned: the code, its last instruction and line, or the place.
        self._returned: dict[str, tuple[CodeType, int, int] | Site] = {}

    def begin(self, core: "Core") -> None:
        """Begin to trace the kernel's function of *core*."""
        if self._body is not None and sys.getprofile() in {None, self._heard}:
            self._beginning = core
            sys.setprofile(self._heard)

    def end(self, core: "Core") -> None:
        """Note where the task of *core* returned from the kernel."""
        frame = self._frames.pop(core, None)
        if frame is not None:
            self._returned[core.place.label] = frame.f_code, frame.f_lasti, frame.f_lineno
        elif not self._frames:
            self.close()

    def close(self) -> None:
        """Stop tracing, and drop the frames."""
        self._frames = {}
        if sys.getprofile() == self._heard:
            sys.setprofile(None)

    def went(self, label: str, way: TaskWay) -> None:
        """Take the *way* of the task *label*, which C has run."""
        if way.returned is not None:
            self._returned[label] = way.returned
        helpers = ((out, n) for out, n in way.left.items() if out.function in self._helpers)
        self._left[label] = Counter(
            {Left(out.function[-1], out.site, out.caller, out.call, out.kernel): n for out, n in helpers}
        )

    def early(self, absent: str, waiting: Iterable[str]) -> Left | None:
        """Return the first return that the task *absent* made more often than any task in *waiting*; None without one."""
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
                and code.co_code[frame.f_lasti] in _RETURNS  # otherwise an exception ends the frame
            ):
                self._note(frame)

    def _note(self, frame: FrameType) -> None:
        frames = {id(kernel): core for core, kernel in self._frames.items()}
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
        code, at = frame.f_code, frame.f_lasti
        site = self._sites.get((id(code), at)) or self._end(code, at, frame.f_lineno)
        left = Left(code.co_name, site, caller.f_code.co_name, _site(caller), _site(above))
        self._left.setdefault(label, Counter())[left] += 1

    @functools.cached_property
    def _ends(self) -> "Mapping[tuple[str, int, str], Any]":
        """Of functions of BANG C: their return statements, and the lines of their ends."""
        return self._returns()

    @property
    def last(self) -> Site | None:
        """Return the end of a kernel of BANG C; None of another."""
        file, *_ = key = self._body or ("", 0, "")
        return Site(file, self._ends[key][1]) if key in self._ends else None

    def returned(self, label: str) -> Site | None:
        """Return the place at which the kernel's function returned in the task *label*."""
        out = self._returned.get(label)
        return out if out is None or isinstance(out, Site) else self._end(*out)

    def _end(self, code: CodeType, instruction: int, line: int) -> Site:
        """Return where a function returned at an *instruction* of *line*: one of BANG C without a return statement there at its end."""
        spans, end = self._ends.get(function_of(code), ((), 0))
        at = next(itertools.islice(code.co_positions(), instruction // 2, None), (None,) * 4)
        place = at[0], (at[2] or 0) + 1
        explicit = not end or any(s[1:3] <= place < s[3:5] for s in spans)
        site = self._sites[id(code), instruction] = Site(file_of(code), line if explicit else end)
        return site


def _site(frame: FrameType) -> Site:
    return Site(file_of(frame.f_code), frame.f_lineno)


def _reaching(kernel: FunctionType) -> set[tuple[str, int, str]]:
    """Return the functions called below *kernel* that call a barrier, directly or indirectly."""
    below: dict[FunctionType, list[FunctionType]] = {}
    reaching: set[FunctionType] = set()
    to_do = [kernel]
    while to_do:
        function = to_do.pop()
        if function in below:
            continue
        names = set(_names(function.__code__))
        if any(name.strip("_").startswith(_BARRIERS) for name in names):
            reaching.add(function)
        below[function] = list(_named(function, names))
        to_do += below[function]
    more = True
    while more:
        further = {f for f, called in below.items() if f not in reaching and not reaching.isdisjoint(called)}
        reaching |= further
        more = bool(further)
    return {function_of(function.__code__) for function in reaching - {kernel}}


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that *code* and the code nested in it look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _named(function: FunctionType, names: set[str]) -> Iterator[FunctionType]:
    """Yield the functions of kernels, not mlusim's own, that *names* refer to in *function*."""
    values = [function.__globals__.get(name) for name in names]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not yet assigned
            continue
    for value in values:
        if isinstance(value, FunctionType) and not own_file(value.__code__.co_filename):
            yield value
