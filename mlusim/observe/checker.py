"""`Checker`: an observer that keeps findings, folds repeated ones and obeys comments in the kernel."""

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
    """The base of mlusim's own checkers.

    ``findings`` are those of the last launch, each once with its count; with *notes*, quiet remarks, too, are
    among them.  ``allowed`` are those that the kernel's own comments allow.  The first 200 different findings are kept; ``beyond``
    counts the others.
    """

    name = "checker"
    needs = ""  # what a launch must have for the checker to check it, in a word

    @property
    def checked(self) -> bool:
        """True where the last launch had it."""
        return True

    def __init__(self, *, notes: bool = False) -> None:
        self.notes = notes
        self.kernel = ""
        self._begin()

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Forget the last launch."""
        self.kernel = launch.request.kernel.name
        self._begin()

    def _begin(self) -> None:
        self._found: dict[Hashable, Finding | Allowed] = {}
        self._counts: dict[Hashable, int] = {}
        self._joined: dict[Hashable, dict[Hashable, list[Any]]] = {}  # below a finding: a place and its count
        self.beyond = 0

    def screen_begin(self, _launch: "RunningLaunch", _screen: ObservedScreen) -> bool:
        """Return False if the checker has notes (remarks on what is in order): C knows nothing of them."""
        return not self.notes

    def repeats(self, _kernel: "Kernel") -> bool:
        """Return False if the checker has notes; others remember nothing of earlier launches but what tensors hold."""
        return not self.notes

    def left(self) -> Any:
        """Return a copy of all that `report` and `join` have kept."""
        joined = {
            key: {at: list(entry) for at, entry in below.items()} for key, below in self._joined.items()
        }
        return dict(self._found), dict(self._counts), joined, self.beyond

    def take_over(self, launch: "RunningLaunch", left: Any) -> None:
        """Have found in *launch* what a checker has *left*."""
        self.launch_begin(launch)
        self._found, self._counts, self._joined, self.beyond = left
        self._found, self._counts, self._joined, self.beyond = self.left()  # copies, for more may be reported

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
        """The findings of the last launch that a comment allows."""
        return tuple(finding for finding in self._found.values() if isinstance(finding, Allowed))

    def report(self, key: Hashable, make: Callable[[], Finding], times: int = 1) -> None:
        """Count *times* more of what *key* names; *make* makes the finding the first time."""
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
        """Add a related place, which happened *times* more, to the finding of *key*.

        *about* distinguishes it from other places, *where* from those of the same *about*.  *make* makes it the first time.
        """
        if isinstance(self._found.get(key), Finding):
            below = self._joined.setdefault(key, {})
            held = below.get((about, where))
            if held is None:
                below[about, where] = [evolve(make(), about=about), times]
            else:
                held[1] += times

    def tells(self, key: Hashable) -> bool:
        """Return whether *key* names a finding that is reported: neither allowed nor beyond the two hundredth."""
        return isinstance(self._found.get(key), Finding)


def allowance(finding: Finding) -> str | None:
    """Return the reason why a comment on the finding's line, or alone on the line above, allows it."""
    if finding.file is None or finding.line is None:
        return None
    here, above = (linecache.getline(finding.file, finding.line - up) for up in (0, 1))
    comments = (comment_on(here), comment_on(above) if above.lstrip().startswith(("#", "//")) else None)
    return next((comment[1] for comment in comments if comment and comment[0] == finding.id), None)


def comment_on(source: str) -> tuple[str, str] | None:
    """Return the id and the reason of the comment in a line of source; None without one, or without a reason."""
    match = COMMENT.search(source)
    if match is None or not (match["reason"] or "").strip():
        return None
    return match["id"], match["reason"].strip()


def guard_of(site: Site) -> str:
    """Return the ways to keep memory cores from a statement at *site*, in its language."""
    if site.python:
        return "`if mlu.is_mpu(): return` before it (mlu.coreId is 128 there), or `if mlu.is_ipu():` around it where barriers follow that need the memory core"
    return "`if (__is_mpu()) return;` before it (coreId is 0x80 there), or `if (__is_ipu())` around it where barriers follow that need the memory core"


def place_of(site: Site, task: int | None = None, intrinsic: str | None = None) -> dict[str, Any]:
    """Return where a finding is, by the names that `Finding` has for it."""
    return {"file": site.file, "line": site.line, "task": task, "intrinsic": intrinsic}


# -- what stands in the source for an operand, as a pointer into a pool has a name of its own there ----

KEYWORD = re.compile(r"(\w+)\s*=(?!=)\s*(.*)")  # an argument by its name, in Python
LONGEST_CALL = 5  # lines of source in which a call is looked for


def argument(intrinsic: str, parameter: str, site: Site) -> str:
    """Return what a call of *intrinsic* at *site* gives for *parameter*; "" where that does not stand there."""
    name = intrinsic.lstrip("_")
    row = ISA.get(name)
    names = [] if row is None else [p.name for p in row.parameters]
    if parameter not in names:
        return ""
    lines = (linecache.getline(site.file, site.line + n) for n in range(LONGEST_CALL))
    _, call, behind = "".join(lines).partition(f"{name}(")
    at, words = names.index(parameter), _arguments(behind) if call else []
    named = {match[1]: str(match[2]) for match in map(KEYWORD.match, words) if match}
    return named.get(parameter, "" if at >= len(words) or KEYWORD.match(words[at]) else words[at])


def _arguments(text: str) -> list[str]:
    """Return the arguments of the call whose text behind "(" *text* begins with; none where it does not end there."""
    arguments, depth = [""], 0
    for letter in text:
        if letter == ")" and not depth:
            return [" ".join(word.split()) for word in arguments]
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            arguments.append("")
        else:
            arguments[-1] += letter
    return []


def operand_told(
    name: str, site: Site, *, written: bool, of: Sequence[bool] = (True,), declared: str | None = None
) -> str:
    """Return an operand of the intrinsic *name* with its argument at *site*, as "dst is y + n"; "" where that cannot be said, or is the name of the *declared* array.

    Which of those that are *written*, or read, *of* says, in their order; of one alone nothing has to.
    """
    row = ISA.get(name.lstrip("_"))
    other = "read" if written else "write"
    names = [] if row is None else [n for n, o in row.operands.items() if o.access != other]
    if row is not None and not row.operands:  # a copy, whose operands its direction describes
        names = ["dst" if written else "src"]
    if len(names) != len(of) or True not in of:
        return ""
    operand = names[of.index(True)]
    word = argument(name, operand, site)
    return f"{operand} is {word}" if word not in ("", declared) else ""


def operand_of(step: Step, access: Access, *, written: bool) -> str:
    """Return the operand of *step*, of those *written* or read, that shares bytes with *access*, as `operand_told` does."""
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
    """Return *fault* as a finding of *rule*."""
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
