"""The account that C gives of a launch that it has run: its tasks, and the lines that each of them passed."""

from collections.abc import Sequence

from attrs import frozen

Lines = frozenset[tuple[str, int]]
"""Files and numbers of lines."""


@frozen
class PassedTask:
    """A task, or a memory core, that C has run: its name, its row of counts, and who had ended before it began.

    *in_c* are how many groups had ended, and how many cores of its own group; None where others were under way.
    """

    name: str
    row: int
    in_c: tuple[int, int] | None


@frozen(eq=False)
class PassedLaunch:
    """A launch that C has run: its tasks in the order in which they began, which lines each of them passed; whether it failed."""

    tasks: Sequence[PassedTask]
    lines: Sequence[Lines]
    failed: bool
