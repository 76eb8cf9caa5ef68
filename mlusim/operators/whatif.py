"""What if an operator ran on another board: re-timed where its work would be the same, run again where not."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.host.handle import Handle
from mlusim.machine.device import DeviceTensor
from mlusim.machine.kernel import UNION1, Kind
from mlusim.machine.launch import Launch
from mlusim.memory.pointer import Ptr
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import Run, attempt
from mlusim.operators.spec import Operator
from mlusim.plan.layout import Layout
from mlusim.report.efficiency import efficiency


@frozen(eq=False)
class WhatIf:
    """The run on one board: ``rerun`` says whether it was run there, ``why`` why it had to be or need not."""

    run: Run
    rerun: bool
    why: str


class _Choices(Handle):
    """A handle that notes what the host interface would launch, and launches nothing."""

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self.choices: list[tuple[Any, ...]] = []

    def launch(
        self, kernel: Any, dim: Sequence[int], kind: Kind = UNION1, args: Sequence[Any] = ()
    ) -> Launch:
        """Note the launch."""
        self.choices.append((kernel, tuple(dim), kind, tuple(_plain(argument) for argument in args)))
        return None  # type: ignore[return-value]  # a host interface that looks at it chooses by its result


def _plain(argument: Any) -> Any:
    """An argument as what two boards can have in common: tensors by shape and type, plans without the board's name."""
    if isinstance(argument, DeviceTensor):
        return ("tensor", argument.shape, argument.dtype)
    if isinstance(argument, Ptr):
        return ("pointer", argument.index, argument.dtype, argument.view.nbytes)
    if isinstance(argument, Layout):
        return evolve(argument, board="")
    return argument


def what_if(
    operator: str | Operator,
    inputs: Mapping[str, Any],
    params: Mapping[str, Any] | None = None,
    *,
    boards: Iterable[str | Board],
) -> tuple[WhatIf, ...]:
    """Run an operator on the first of *boards* and tell its time on each of them.

    A board of the same architecture for which the host interface chooses the same launches is
    re-timed from the recorded work; on any other the operator is run again.
    """
    spec = find_operator(operator) if isinstance(operator, str) else operator
    found = [find_board(board) for board in boards]
    first = attempt(spec, inputs, params, board=found[0])
    answers = [WhatIf(first, rerun=True, why="the recorded run")]
    for board in found[1:]:
        why = _difference(spec, inputs, params, found[0], board)
        if why:
            answers.append(WhatIf(attempt(spec, inputs, params, board=board), rerun=True, why=why))
        else:
            same = f"the work is that of {found[0].name}: same architecture, same launches"
            answers.append(WhatIf(_retimed(spec, first, board), rerun=False, why=same))
    return tuple(answers)


def _difference(
    spec: Operator,
    inputs: Mapping[str, Any],
    params: Mapping[str, Any] | None,
    first: Board,
    other: Board,
) -> str:
    """Why the work on *other* would be another than on *first*; empty where it would be the same."""
    if other.arch.name != first.arch.name:
        return f"another architecture: {other.arch.name} instead of {first.arch.name}"
    chosen = []
    for board in (first, other):
        handle = _Choices(board)
        try:
            status = attempt(spec, inputs, params, handle=handle).status
        except AttributeError:
            return "the host interface looks at what its launches did"
        chosen.append((status, handle.choices))
    if chosen[0] == chosen[1]:
        return ""
    shapes = [[(dim, kind.name) for _, dim, kind, _ in choices] for _, choices in chosen]
    if shapes[0] != shapes[1]:
        return f"the host interface launches {_shown(shapes[1])} instead of {_shown(shapes[0])}"
    return "the host interface passes other arguments"


def _shown(shapes: list[tuple[tuple[int, ...], str]]) -> str:
    return ", ".join(f"{kind} {'x'.join(map(str, dim))}" for dim, kind in shapes) or "nothing"


def _retimed(spec: Operator, run: Run, board: Board) -> Run:
    launches = tuple(launch.on(board) for launch in run.launches)
    judged = None
    if run.efficiency is not None:
        dtype = str(run.inputs[spec.primary].dtype)
        time_us = sum(launch.time_us for launch in launches)
        judged = efficiency(board, dtype, run.efficiency.theory_ops, run.efficiency.theory_ios, time_us)
    return evolve(run, board=board.name, launches=launches, efficiency=judged)
