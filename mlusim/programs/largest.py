"""The largest value of an integer argument with which a kernel of BANG C still runs, found by running it.

Launches without observers, which run natively where they can, find the largest value without a fault: values are
doubled from the one that was given, then the interval is bisected.  Below it the same search finds the largest value at
which no part of an on-chip array overwrites another (`carve`).  Values between those that were tried are not.
"""

from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from mlusim.errors import Fault, LimitReached, UsageError
from mlusim.frontend.bangc import types as t
from mlusim.machine.limits import Limit, limiting
from mlusim.programs.carving import carve
from mlusim.programs.kernel_call import KernelCall

FAR = Limit(instructions=5e6, growth=1 << 30)
"""How far a launch of the search may go; counted, so that the answer is the same on every machine."""


@frozen
class Failure:
    """A *value* with which the kernel does not run: what is wrong, as a sentence, and where.

    ``kind`` is "fault", "overlap", or "limit" where the launch took more than the search waits for.  ``space`` is the
    memory that a fault is about.
    """

    value: int
    kind: str
    sentence: str
    file: str | None = None
    line: int | None = None
    space: str | None = None


@frozen
class LargestValue:
    """The largest value that ran, None where none did; ``fails`` is the smallest above it that was seen to fail.

    Without ``fails`` every value that was tried ran, up to the largest of the argument's type.  ``tried`` has the
    values in the order of the search.
    """

    kernel: str
    board: str
    variable: str
    largest: int | None
    fails: Failure | None
    tried: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """The document of ``plan FILE.mlu --max``."""
        fails = self.fails
        return {
            "kernel": self.kernel,
            "board": self.board,
            "variable": self.variable,
            "sampled": True,
            "largest": self.largest,
            "fails": None
            if fails is None
            else {
                "value": fails.value,
                "kind": fails.kind,
                "sentence": fails.sentence,
                "file": fails.file,
                "line": fails.line,
            },
            "tried": list(self.tried),
        }


def largest_value(call: KernelCall, variable: str) -> LargestValue:
    """The largest *variable* with which *call* runs without a fault and without an overlap on chip.

    The search begins at the value that the call has, or at 1.  Raises `UsageError` where the kernel has no such
    integer, and for what no value of it mends.
    """
    kernel = call.loaded()
    numbers = {
        p.source_name: p.type
        for p in kernel.form.parameters
        if isinstance(p.type, t.Arithmetic) and p.type.kind in ("int", "uint")
    }
    if variable not in numbers:
        legal = ", ".join(numbers) or "it has none"
        raise UsageError(f"{kernel.name} has no integer {variable!r} to look for; its integers: {legal}")
    text = call.arguments.get(variable, "1")
    try:
        start = max(int(text, 0), 1)
    except ValueError:
        raise UsageError(f"--arg {variable}={text} is no whole number for --max to begin at") from None
    search = _Search(call, variable, numbers[variable].high)
    largest, fails = search.ascend(start, search.fault)
    if largest is not None:
        fitting, overlap = search.ascend(largest, search.overlap, ceiling=largest)
        largest, fails = fitting, overlap or fails
    board = call.sources.board.name
    return LargestValue(kernel.name, board, variable, largest, fails, tuple(search.tried))


@frozen
class _Search:
    """The launches of one search."""

    call: KernelCall
    variable: str
    top: int
    tried: dict[int, None] = field(factory=dict)

    def fault(self, value: int) -> Failure | None:
        """Return how a launch without observers fails with *value*; None where it does not."""
        return self._failure(value, lambda call: call.run(()))

    def overlap(self, value: int) -> Failure | None:
        """Which part of an array overwrites another with *value*."""

        def look(call: KernelCall) -> Failure | None:
            found = carve(call).findings
            if not found:
                return None
            first = found[0]
            return Failure(value, "overlap", first.message, first.file, first.line)

        return self._failure(value, look)

    def ascend(
        self, start: int, failing: Callable[[int], Failure | None], ceiling: int | None = None
    ) -> tuple[int | None, Failure | None]:
        """The largest value that does not fail, up to *ceiling*, and the failure above it."""
        top = self.top if ceiling is None else ceiling
        value = min(start, top)
        failure = failing(value)
        low = value if failure is None else None
        while failure is None and value < top:
            value = min(2 * value, top)
            failure = failing(value)
            low = low if failure is not None else value
        while low is None and value > 1:
            value //= 2
            below = failing(value)
            low = value if below is None else None
            failure = below or failure
        while low is not None and failure is not None and failure.value - low > 1:
            value = (low + failure.value) // 2
            between = failing(value)
            low, failure = (value, failure) if between is None else (low, between)
        return low, failure

    def _failure(self, value: int, look: Callable[[KernelCall], Any]) -> Failure | None:
        self.tried[value] = None
        try:
            with limiting(FAR):
                found = look(self.call.with_argument(self.variable, str(value)))
        except LimitReached as fault:
            return Failure(value, "limit", str(fault), fault.file, fault.line)
        except Fault as fault:
            return Failure(value, "fault", str(fault), fault.file, fault.line, fault.space)
        return found if isinstance(found, Failure) else None
