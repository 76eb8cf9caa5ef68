"""The launches of a command line's program, of any kind, on its own board or on others, and how the program ended."""

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen
from rich.text import Text

from mlusim.check.checking import Forked, problem_of, sentence_of, threads_watched
from mlusim.cli import entry, programs, show
from mlusim.counted import counted
from mlusim.document import Part
from mlusim.errors import MlusimError, UsageError, said
from mlusim.machine.device import devices_on
from mlusim.machine.hub import attending
from mlusim.machine.launch import Launch
from mlusim.operators.runner import SUCCESS, Run
from mlusim.programs.expectation import Compared, wrong_in
from mlusim.programs.program import Program, ScriptProgram
from mlusim.report.profiled import Profiled

Numbered = tuple[int, Launch]


@frozen
class Launched:
    """The launches of one run, and its end: the return value of the program's `run`, an exception, or a sentence."""

    launches: list[Launch]
    ended: Any

    @property
    def findings(self) -> list[Any]:
        """Return the findings of the checkers in all launches."""
        return [finding for launch in self.launches for finding in launch.findings]

    @property
    def passed(self) -> bool:
        """Return whether every compared output is accurate."""
        return not wrong_in(self.judged)

    @property
    def told(self) -> str:
        """Return a sentence about the program's end if it failed, in the words of a page."""
        if isinstance(self.ended, MlusimError):
            return f"{type(self.ended).__name__}: {said(self.ended)}"
        if isinstance(self.ended, Run):
            return problem_of(self.ended)
        return _ending(self.ended) or "; ".join(wrong_in(self.judged))

    @property
    def judged(self) -> Mapping[str, Compared]:
        """Return the comparisons of a call's outputs, by name; empty for other programs."""
        outputs: Mapping[str, Compared] = getattr(self.ended, "judged", {})
        return outputs

    def judged_parts(self) -> Iterator[Part]:
        """Yield a line for each compared output, as `mlusim run` does."""
        yield from show.judged_lines(self.judged)

    def tell_judged(self) -> None:
        """Print these lines on standard error, if standard output has a document."""
        for name, compared in self.judged.items():
            show.remark(f"{name}: {compared.told}")

    def chosen(self, number: int | None = None, kernel: str | None = None) -> list[Numbered]:
        """Return the selected launches, with their numbers from 1; raises `UsageError` if there are none."""
        if not self.launches and self.ended is not None:
            return []  # `finish` reports the reason
        return chosen(self.launches, number, kernel)

    def finish(self) -> int:
        """Report how the program ended if it failed, and return the exit code.

        If it ended with one of mlusim's errors, that is raised for the command line to report.
        """
        ended = self.ended
        if isinstance(ended, MlusimError):
            raise ended
        if isinstance(ended, Run) and ended.status == SUCCESS and problem_of(ended):
            show.put([Text(problem_of(ended), style="bold red")])
            return entry.FINDINGS
        sentence = _ending(ended)
        if not sentence and not self.launches:
            sentence = "nothing was launched" + (f": {ended.message}" if isinstance(ended, Run) else "")
        if sentence:
            show.remark(f"error: {' '.join(sentence.split())}")
            return entry.USAGE
        return (
            entry.FINDINGS
            if not self.passed or any(getattr(finding, "level", "") != "note" for finding in self.findings)
            else entry.CLEAN
        )


def launched(program: Program, *, lines: bool, processes: bool = True, board: str | None = None) -> Launched:
    """Run *program* and keep its launches, up to an error that ends it; with *lines* they have the times of lines.

    With *processes* launches in other processes are reported.  With *board* every device is of that board.  Raises
    the program's `UsageError` if it comes before any launch, as for a missing file.
    """
    profile, forked = Profiled(lines=lines), Forked()
    ended: Any = None
    where = devices_on(board) if board is not None else contextlib.nullcontext()
    try:
        with attending([profile, *([forked] if processes else [])]), threads_watched(), where:
            ended = program.run(())
    except KeyboardInterrupt:
        raise
    # A program may raise anything, also SystemExit; `finish` reports it.
    except BaseException as error:
        if not profile.launches and isinstance(error, UsageError):
            raise
        ended = error
    finally:
        away = forked.close()
    if ended is None and not profile.launches and isinstance(program, ScriptProgram):
        ended = program.untested or None
    return Launched(profile.launches, away or ended)


def chosen(
    launches: Sequence[Launch], number: int | None = None, kernel: str | None = None
) -> list[Numbered]:
    """Return the selected ones of *launches*, with their numbers from 1; raises `UsageError` if there are none."""
    numbered = list(enumerate(launches, 1))
    if number is not None:
        if not 1 <= number <= len(launches):
            raise UsageError(
                f"--launch {number} is not there; {counted(len(launches), 'launch was', 'launches were')} made, counted from 1"
            )
        numbered = [numbered[number - 1]]
    if kernel is not None:
        names = ", ".join(dict.fromkeys(launch.kernel for launch in launches)) or "none"
        numbered = [(at, launch) for at, launch in numbered if launch.kernel == kernel]
        if not numbered:
            raise UsageError(f"no launch of a kernel {kernel!r}; what was launched: {names}")
    return numbered


def _ending(ended: object) -> str:
    if isinstance(ended, str):
        return ended
    if isinstance(ended, SystemExit):
        return f"the program ended with exit code {said(ended)}"
    if isinstance(ended, BaseException):
        return f"the program raises {sentence_of(ended, '')}"
    return ""


# -- a program on one board or several, as report and what-if run it ------------------------------------


def launched_on(
    args: argparse.Namespace, board: str | None, checks: tuple[str, ...], *, aside: bool
) -> tuple[Program, Launched]:
    """Run the program of the command line on *board* (None: the script's own boards) and return it with its launches."""
    program = programs.judged(programs.program_on(args, checks, board), args)
    where = None if programs.is_source(args.program) else board
    with show.printing_aside(aside):
        return program, launched(program, lines=False, processes=False, board=where)


def usual_boards(args: argparse.Namespace, boards: Sequence[str]) -> Sequence[str | None]:
    """Return the boards if none is named; None stands for those that a script or a test chooses itself."""
    return boards if programs.is_source(args.program) else (None,)


def kernel_wanted(args: argparse.Namespace) -> str | None:
    """Return the name of the kernel whose launches are selected; of a BANG C file ``--kernel`` is the kernel to launch."""
    return None if programs.is_source(args.program) else args.kernel
