"""Programs on other boards: launches are timed again if their work is the same, and run again otherwise."""

import contextlib
import io
from collections.abc import Callable, Sequence

from attrs import evolve

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.counted import counted
from mlusim.errors import MlusimError, UsageError, said
from mlusim.machine.device import devices_on
from mlusim.machine.launch import Launch
from mlusim.operators.runner import OperatorProgram
from mlusim.operators.whatif import FIRST, WhatIf, launches_row, study_of, what_if
from mlusim.programs.kernel_call import KernelCall
from mlusim.programs.native_program import CommandProgram, HostProgram
from mlusim.programs.program import Program
from mlusim.report.profiled import Profiled
from mlusim.report.whatif import FAILS, RECORDED, RETIMED, RUN, WhatIfRow, WhatIfStudy

Choose = Callable[[Sequence[Launch]], Sequence[Launch]]


def elsewhere(
    program: Program,
    launches: Sequence[Launch],
    boards: Sequence[str],
    choose: Choose,
    step: Callable[[str], None] = lambda _: None,
) -> WhatIfStudy:
    """Predict the time of *program*, which made *launches*, on each of *boards*; only the launches that *choose* returns count.

    The launches of a script or a kernel are timed again on boards of their architecture; on any other the program
    runs again with devices of that board, where a fault or a refusal is the answer, and its output is discarded.  An
    operator is predicted as by `mlusim what-if`.  *step* is called with each finished board.
    """
    shown = choose(launches)
    base = sum(launch.time_us for launch in shown)
    recorded = tuple(dict.fromkeys(launch.board for launch in shown))
    others = [board for board in map(find_board, boards) if (board.name,) != recorded]
    if isinstance(program, OperatorProgram):
        asked = [program.board, *others]
        answers = what_if(program.operator, program.inputs, program.params, boards=asked, outputs=False)
        rows = [_asked(answer, choose, base) for answer in answers]
        return WhatIfStudy(program.operator.name, program.case, recorded[0], tuple(rows))
    first = launches_row(recorded[0], RECORDED, FIRST, shown, base)
    if len(recorded) > 1:
        first = evolve(first, board=" and ".join(recorded), arch="-")
    rows = [first]
    for board in others:
        rows.append(_elsewhere(program, shown, board, choose, base))
        step(board.name)
    told = next((launch.estimate for launch in shown if launch.estimate), "")
    case = counted(len(shown), "launch", "launches")
    return WhatIfStudy(program.name, case, first.board, tuple(rows), told)


def _asked(answer: WhatIf, choose: Choose, base: float) -> WhatIfRow:
    """Return the row of an operator's answer, for the launches that *choose* returns."""
    (row,) = study_of("", None, [answer]).rows
    if answer.run is None or answer.failure:
        return row
    shown = choose(answer.run.launches)
    part = launches_row(row.board, row.how, row.why, shown, base)
    return evolve(row, speed_up=part.speed_up) if len(shown) == len(answer.run.launches) else part


def _elsewhere(
    program: Program, shown: Sequence[Launch], board: Board, choose: Choose, base: float
) -> WhatIfRow:
    archs = {launch.forecast.board.arch.name for launch in shown}
    try:
        # Timing again is exact and takes no run; work depends only on the architecture.
        if archs == {board.arch.name}:
            moved = [launch.on(board) for launch in shown]
            return launches_row(
                board.name, RETIMED, "the same architecture, and so the same work", moved, base
            )
        why = f"another architecture: {board.arch.name} instead of {' and '.join(sorted(archs))}"
        return launches_row(board.name, RUN, why, choose(_run_on(program, board)), base)
    except MlusimError as error:
        return WhatIfRow(board.name, board.arch.name, FAILS, "it was tried there", said(error))


def _run_on(program: Program, board: Board) -> list[Launch]:
    """Return the launches of *program* on devices of *board*.  Raises `UsageError` if it fails."""
    profile = Profiled(lines=False)
    # A native program's messages about errors are discarded: the exception has the first one.
    native = isinstance(program, CommandProgram | HostProgram)
    aside = contextlib.redirect_stderr(io.StringIO()) if native else contextlib.nullcontext()
    moved = program.asking(board=board.name) if isinstance(program, KernelCall | HostProgram) else program
    try:
        with devices_on(board), contextlib.redirect_stdout(io.StringIO()), aside:
            moved.run([profile])
    except MlusimError:
        raise
    except Exception as error:
        raise UsageError(f"the program raises {type(error).__name__} there: {said(error)}") from error
    except SystemExit as leaving:
        raise UsageError(f"the program ends with exit code {said(leaving)} there") from leaving
    # Threads that the program started earlier are not affected by the block around this run.
    astray = next((launch for launch in profile.launches if launch.board != board.name), None)
    if astray is not None:
        raise UsageError(
            f"the program launches {astray.kernel} on {astray.board} all the same, from another thread"
        )
    return profile.launches
