"""`Checker`: an observer that collects findings, folds repeated ones and obeys comments in the kernel."""

import functools
import itertools
import linecache
import re
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from mlusim.errors import Fault
from mlusim.isa.table import ISA
from mlusim.machine.hub import ObservedScreen, Observer
from mlusim.machine.observed import Site, Step
from mlusim.memory.footprint import Access
from mlusim.observe.finding import NOTE, Finding, RelatedPlace
from mlusim.observe.rules import RULES

if TYPE_CHECKING:
    from mlusim.machine.core import RunningLaunch
    from mlusim.machine.kernel import Kernel


MOST = 200  # different findings of one checker in one launch; further ones are only counted
COMMENT = re.compile(r"(?:#|//)\s*mlusim:\s*allow\s+(?P<id>[\w-]+)\s*(?::\s*(?P<reason>.*))?$")


@frozen
class Allowed:
    """A finding that a comment in the kernel allows: ``# mlusim: allow <id>: <reason>``, in C after ``//``."""

    finding: Finding
    reason: str


class Checker(Observer):
    """The base class of mlusim's own checkers.

    ``findings`` are those of the last launch, each once with its count; with *notes* they include notes that are
    otherwise left out.  ``allowed`` are findings that comments in the kernel allow.  The first 200 different findings
    are kept; ``beyond`` counts the others.
    """

    name = "checker"
    needs = ""  # what a launch must have for the checker to check it, in one word

    @property
    def checked(self) -> bool:
        """True if the checker could check the last launch."""
        return True

    def __init__(self, *, notes: bool = False) -> None:
        self.notes = notes
        self.kernel = ""
        self._begin()

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Discard the findings of the last launch."""
        self.kernel = launch.request.kernel.name
        self._begin()

    def _begin(self) -> None:
        self._found: dict[Hashable, Finding | Allowed] = {}
        self._counts: dict[Hashable, int] = {}
        self._joined: dict[Hashable, dict[Hashable, list[Any]]] = {}  # its related places, with counts
        self.beyond = 0

    def screen_begin(self, _launch: "RunningLaunch", _screen: ObservedScreen) -> bool:
        """Return False if the checker reports notes, which C does not compute."""
        return not self.notes

    def repeats(self, _kernel: "Kernel") -> bool:
        """Return False if the checker reports notes; otherwise it depends on earlier launches only by the contents of tensors."""
        return not self.notes

    def left(self) -> Any:
        """Return a copy of everything that `report` and `join` have collected."""
        joined = {
            key: {at: list(entry) for at, entry in below.items()} for key, below in self._joined.items()
        }
        return dict(self._found), dict(self._counts), joined, self.beyond

    def take_over(self, launch: "RunningLaunch", left: Any) -> None:
        """Make *left*, a result of `left`, the findings of *launch*."""
        self.launch_begin(launch)
        self._found, self._counts, self._joined, self.beyond = left
        self._found, self._counts, self._joined, self.beyond = (
            self.left()
        )  # copies, which later reports may change

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the last launch, by file and line."""
        shown = [
            evolve(
                finding,
                count=self._counts[key],
                places=(
                    *finding.places,
                    *(evolve(place, count=count) for place, count in self._joined.get(key, {}).values()),
                ),
            )
            for key, finding in self._found.items()
            if isinstance(finding, Finding)
            and (self.notes or finding.level != NOTE or not RULES[finding.id].quiet)
        ]
        return tuple(sorted(shown, key=lambda f: (f.file or "", f.line or 0, f.id)))

    @property
    def allowed(self) -> tuple[Allowed, ...]:
        """The findings of the last launch that comments allow."""
        return tuple(finding for finding in self._found.values() if isinstance(finding, Allowed))

    def report(self, key: Hashable, make: Callable[[], Finding], times: int = 1) -> None:
        """Count *times* more occurrences of *key*; *make* makes the finding of the first one."""
        if key in self._counts:
            self._counts[key] += times
        elif len(self._found) >= MOST:
            self.beyond += times
        else:
            draft = make()
            finding = evolve(draft, kernel=draft.kernel or self.kernel, level=self.level_of(draft.id))
            reason = allowance(finding)
            self._counts[key] = times
            self._found[key] = finding if reason is None else Allowed(finding, reason)

    def level_of(self, rule: str) -> str:
        """Return the level of findings of *rule*."""
        return RULES[rule].level

    def join(
        self,
        key: Hashable,
        about: str,
        make: Callable[[], RelatedPlace],
        times: int = 1,
        where: object = None,
    ) -> None:
        """Add a related place, with *times* more occurrences, to the finding of *key*.

        *about* and *where* identify the place; *make* makes it for the first occurrence.
        """
        if isinstance(self._found.get(key), Finding):
            below = self._joined.setdefault(key, {})
            held = below.get((about, where))
            if held is None:
                below[about, where] = [evolve(make(), about=about), times]
            else:
                held[1] += times

    def tells(self, key: Hashable) -> bool:
        """Return whether *key* has a finding that is reported: it is neither allowed nor beyond the first 200."""
        return isinstance(self._found.get(key), Finding)


def allowance(finding: Finding) -> str | None:
    """Return the reason in a comment that allows *finding*: on the finding's line, or alone on the line above; None without one."""
    if finding.file is None or finding.line is None:
        return None
    here, above = (linecache.getline(finding.file, finding.line - up) for up in (0, 1))
    comments = (comment_on(here), comment_on(above) if above.lstrip().startswith(("#", "//")) else None)
    return next((comment[1] for comment in comments if comment and comment[0] == finding.id), None)


def comment_on(source: str) -> tuple[str, str] | None:
    """Return the id and the reason of the comment in a line of source; None if there is no comment, or no reason."""
    match = COMMENT.search(source)
    if match is None or not (match["reason"] or "").strip():
        return None
    return match["id"], match["reason"].strip()


def guard_of(site: Site) -> str:
    """Return a phrase about keeping memory cores from the statement at *site*, in its language."""
    if site.python:
        return "`if mlu.is_mpu(): return` before it (mlu.coreId is 128 there), or `if mlu.is_ipu():` around it where barriers follow that need the memory core"
    return "`if (__is_mpu()) return;` before it (coreId is 0x80 there), or `if (__is_ipu())` around it where barriers follow that need the memory core"


def place_of(site: Site, task: int | None = None, intrinsic: str | None = None) -> dict[str, Any]:
    """Return the place of a finding, as keyword arguments of `Finding`."""
    return {"file": site.file, "line": site.line, "task": task, "intrinsic": intrinsic}


# -- operands as the source spells them: a pointer into a pool has a name of its own there -------------

KEYWORD = re.compile(r"(\w+)\s*=(?!=)\s*(.*)")  # a keyword argument of Python
LONGEST_CALL = 5  # lines of source that a call may have


def argument(intrinsic: str, parameter: str, site: Site) -> str:
    """Return the argument for *parameter* of the call of *intrinsic* at *site*, as the source spells it; "" if it is not found."""
    name = intrinsic.lstrip("_")
    row = ISA.get(name)
    names = [] if row is None else [p.name for p in row.parameters]
    if parameter not in names:
        return ""
    lines = (linecache.getline(site.file, site.line + n) for n in range(LONGEST_CALL))
    calls = (text.partition(f"{name}(")[2] for text in itertools.accumulate(lines))
    at, words = names.index(parameter), next(filter(None, map(_arguments, calls)), ())
    named = {match[1]: str(match[2]) for match in map(KEYWORD.match, words) if match}
    return named.get(parameter, "" if at >= len(words) or KEYWORD.match(words[at]) else words[at])


@functools.lru_cache
def _arguments(text: str) -> tuple[str, ...]:
    """Return the arguments of a call, where *text* is the source after its "("; none if the call does not end in *text*."""
    arguments, depth = [""], 0
    for letter in text:
        if letter == ")" and not depth:
            return tuple(" ".join(word.split()) for word in arguments)
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            arguments.append("")
        else:
            arguments[-1] += letter
    return ()


def operand_told(
    name: str, site: Site, *, written: bool, of: Sequence[bool] = (True,), declared: str | None = None
) -> str:
    """Return an operand of the intrinsic *name* with its argument at *site*, as "dst is y + n"; "" if it is not found, or if it is the name of the *declared* array.

    *of* selects it from the operands that are *written*, or else read, in their order; a single operand is always
    selected.
    """
    row = ISA.get(name.lstrip("_"))
    other = "read" if written else "write"
    names = [] if row is None else [n for n, o in row.operands.items() if o.access != other]
    if row is not None and not row.operands:  # a copy: its operands follow from its direction
        names = ["dst" if written else "src"]
    if len(names) != len(of) or True not in of:
        return ""
    operand = names[of.index(True)]
    word = argument(name, operand, site)
    return f"{operand} is {word}" if word not in ("", declared) else ""


def operand_of(step: Step, access: Access, *, written: bool) -> str:
    """Return the operand of *step*, among those *written* or else read, that shares bytes with *access*, in the form of `operand_told`."""
    accesses = step.writes if written else step.reads
    low, high = access.span
    return operand_told(
        step.name,
        step.site,
        written=written,
        declared=access.allocation.declared.name,
        of=[a.allocation is access.allocation and a.span[0] < high and low < a.span[1] for a in accesses],
    )


def told_of(fault: Fault, rule: str, **more: Any) -> Finding:
    """Convert *fault* to a finding of *rule*."""
    return Finding(
        rule,
        f"{fault.intrinsic}: {fault.message}" if fault.intrinsic else fault.message,
        file=fault.file,
        line=fault.line,
        task=fault.task,
        intrinsic=fault.intrinsic,
        hint=fault.hint,
        **more,
    )
