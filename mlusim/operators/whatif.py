"""An operator on other boards: timed again if its work would be the same there, otherwise run again."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.errors import Fault, LaunchError, UsageError
from mlusim.host.handle import Handle
from mlusim.machine.kernel import UNION1, Kernel, Kind
from mlusim.machine.launch import Launch
from mlusim.machine.options import LaunchOptions
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.pointer import Ptr
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import SUCCESS, Run, attempt, case_generator, source_handle
from mlusim.operators.spec import Operator, policy_of
from mlusim.plan.layout import Layout
from mlusim.report.efficiency import acceptance, efficiency
from mlusim.report.figures import shares
from mlusim.report.whatif import FAILS, RECORDED, RETIMED, RUN, WhatIfRow, WhatIfStudy

Choices = tuple[tuple[Any, ...], ...]

FIRST = "the recorded run"


@frozen(eq=False)
class WhatIf:
    """The call on one board: ``rerun`` says whether it was run there, ``why`` gives the reason for that.

    If the call fails, ``failure`` is a sentence with the reason; ``run`` is None after a fault or a launch
    that the board cannot start, otherwise the answer of the host interface.
    """

    board: str
    run: Run | None
    rerun: bool
    why: str
    failure: str = ""

    @property
    def time_us(self) -> float | None:
        """The hardware time in us; None if the call fails or launches nothing."""
        timed = self.run is not None and not self.failure and bool(self.run.launches)
        return sum(launch.time_us for launch in self.run.launches) if self.run is not None and timed else None


class _Choices(Handle):
    """A handle that notes the launches of the host interface without performing them."""

    def __init__(self, board: Board, policy: str | None = None) -> None:
        super().__init__(board, policy=policy)
        self.choices: list[tuple[Any, ...]] = []

    def launch(
        self, kernel: object, dim: Sequence[int], kind: Kind = UNION1, args: Sequence[Any] = ()
    ) -> Launch:
        """Note the kernel, the dim, the kind and the arguments of the launch."""
        self.choices.append((kernel, tuple(dim), kind, tuple(map(_plain, args))))
        return None  # type: ignore[return-value]  # a host interface that looks at the result depends on it


def _plain(argument: object) -> Any:
    """Return an argument in a form that is comparable between boards: tensors by shape and type, plans without the board's name."""
    if isinstance(argument, DeviceTensor):
        return ("tensor", argument.shape, argument.dtype)
    if isinstance(argument, Ptr):
        # Not the address, which differs with the device.
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
    policy: str | None = None,
    outputs: bool = True,
    done: Callable[[WhatIf], None] | None = None,
) -> tuple[WhatIf, ...]:
    """Run an operator on the first of *boards* and return its time on each of them.

    If a board has the architecture of an earlier one and the host interface chooses the same launches for it, the
    earlier work is timed again; otherwise the operator is run on it.  Without *outputs* the runs keep none, which
    saves memory.  *policy* is one of those that the operator declares.  *done* is called with each answer.  Raises
    `UsageError` for inputs that the operator does not have.
    """
    spec = find_operator(operator) if isinstance(operator, str) else operator
    if policy is not None:
        policy_of(spec.name, spec.policies, policy)
    study = _Study(spec, inputs, params, policy, outputs)
    answers = []
    for board in [find_board(board) for board in boards]:
        answers.append(study.answer(board))
        if done is not None:
            done(answers[-1])
    return tuple(answers)


@frozen(eq=False)
class _Recorded:
    """A run on a board, and the launches that its host function chose there; None if only a run shows them."""

    board: Board
    choices: Choices | None
    run: Run


@define(eq=False)
class _Study:
    """One call of an operator, on board after board."""

    spec: Operator
    inputs: Mapping[str, Any]
    params: Mapping[str, Any] | None
    policy: str | None
    outputs: bool
    recorded: list[_Recorded] = field(factory=list)

    def answer(self, board: Board) -> WhatIf:
        """Return the call on *board*."""
        try:
            return self._answer(board)
        except (Fault, LaunchError) as error:
            return WhatIf(board.name, None, rerun=True, why="it was tried there", failure=str(error))

    def _answer(self, board: Board) -> WhatIf:
        asked, choices = self._asked(board)
        if asked is not None and asked.status != SUCCESS:
            why = "the host interface was asked there"
            return WhatIf(board.name, asked, rerun=False, why=why, failure=asked.message)
        for before in self.recorded:
            if (
                choices is not None
                and before.choices == choices
                and before.board.arch.name == board.arch.name
            ):
                return self._retimed(before, board)
        why = self._difference(board, choices)
        options = LaunchOptions()
        handle = source_handle(board, self.policy, options)
        run = attempt(
            self.spec,
            self.inputs,
            self.params,
            board=board,
            policy=self.policy,
            options=options,
            handle=handle,
            # A study keeps one run for each architecture, and outputs are most of its bytes.
            outputs=self.outputs,
        )
        # The run made other launches than were noted without launching: the host interface chooses by their
        # results.
        if choices is not None and not _came(choices, run):
            choices = None  # it reads results of its launches from memory
        self.recorded.append(_Recorded(board, choices, run))
        return WhatIf(board.name, run, rerun=True, why=why)

    def _asked(self, board: Board) -> tuple[Run | None, Choices | None]:
        """Return the answer of the host interface on *board* and its launches, none of which is performed; None if it needs their results."""
        handle = _Choices(board, self.policy)
        try:
            run = attempt(self.spec, self.inputs, self.params, handle=handle, outputs=False)
        except (AttributeError, IndexError, TypeError):  # the host interface looks at results of its launches
            return None, None
        return run, tuple(handle.choices)

    def _difference(self, board: Board, choices: Choices | None) -> str:
        """Return the reason why the work on *board* differs from that on the boards before; "" if it does not."""
        if not self.recorded:
            return FIRST
        first = next((before for before in self.recorded if before.board.arch.name == board.arch.name), None)
        if first is None:
            return f"another architecture: {board.arch.name} instead of {self.recorded[0].board.arch.name}"
        if choices is None or first.choices is None:
            return "the host interface looks at what its launches did"
        shapes = [[(dim, kind.name) for _, dim, kind, _ in chosen] for chosen in (first.choices, choices)]
        if shapes[0] != shapes[1]:
            return f"the host interface launches {_shown(shapes[1])} instead of {_shown(shapes[0])}"
        return "the host interface passes other arguments"

    def _retimed(self, before: _Recorded, board: Board) -> WhatIf:
        same = f"the work is that of {before.board.name}: same architecture, same launches"
        try:
            return WhatIf(board.name, _on(self.spec, before.run, board), rerun=False, why=same)
        except UsageError as error:  # the board cannot start this launch
            return WhatIf(board.name, None, rerun=False, why=same, failure=str(error))


def _came(choices: Choices, run: Run) -> bool:
    """Return whether *run* performed the launches in *choices*."""
    asked = [
        ((kernel if hasattr(kernel, "name") else Kernel(kernel)).name, dim, kind.name)
        for kernel, dim, kind, _ in choices
    ]
    return asked == [(launch.kernel, launch.dim, launch.kind) for launch in run.launches]


def _shown(shapes: list[tuple[tuple[int, ...], str]]) -> str:
    distinct = dict.fromkeys([f"{kind} {'x'.join(map(str, dim))}" for dim, kind in shapes])
    return ", ".join(distinct) or "nothing"


def _on(spec: Operator, run: Run, board: Board) -> Run:
    """Return *run* with its launches timed for *board*."""
    launches = tuple([launch.on(board) for launch in run.launches])
    rate, reached = None, run.efficiency
    if reached is not None:
        dtype = str(run.inputs[spec.primary].dtype)
        rate = functools.partial(efficiency, board, dtype, reached.theory_ops, reached.theory_ios)
    layouts = tuple([evolve(layout, board=board.name) for layout in run.layouts])
    return evolve(run, board=board.name, launches=launches, rate=rate, layouts=layouts)


def study_of(
    operator: str, case: str | None, answers: Sequence[WhatIf], group: str | None = None
) -> WhatIfStudy:
    """Return *answers* as plain data; the first is the basis of comparison, *group* is the case's group."""
    base = answers[0].time_us
    return WhatIfStudy(
        operator, case, answers[0].board, tuple(_row(answer, base, group) for answer in answers)
    )


def _row(answer: WhatIf, base: float | None, group: str | None) -> WhatIfRow:
    if answer.failure or answer.run is None:
        arch = find_board(answer.board).arch.name
        return WhatIfRow(answer.board, arch, FAILS, answer.why, answer.failure)
    how = RECORDED if answer.why == FIRST else RUN if answer.rerun else RETIMED
    row = launches_row(answer.board, how, answer.why, answer.run.launches, base)
    reached = answer.run.efficiency
    if reached is None:
        return evolve(row, time_us=None, time_band=None, speed_up=None)
    return evolve(
        row,
        io_efficiency=reached.io_efficiency,
        compute_efficiency=reached.compute_efficiency,
        bottleneck=reached.bottleneck,
        grade=acceptance(reached, group).grade,
    )


def launches_row(board: str, how: str, why: str, launches: Sequence[Launch], base: float | None) -> WhatIfRow:
    """Return the row of *launches* on *board*, whose time is compared with *base* us."""
    time_us = sum([launch.time_us for launch in launches]) if launches else None
    bandwidth, compute = shares(launches) if launches else (None, None)
    bands = [launch.time_band for launch in launches]
    return WhatIfRow(
        board,
        find_board(board).arch.name,
        how,
        why,
        time_us=time_us,
        # The sums of the lowest and of the highest times that the model allows.
        time_band=(sum([low for low, _ in bands]), sum([high for _, high in bands])) if bands else None,
        speed_up=base / time_us if base is not None and time_us else None,
        launches=tuple([f"{launch.kernel} {_shown([(launch.dim, launch.kind)])}" for launch in launches]),
        bandwidth_share=bandwidth,
        compute_share=compute,
        engines=tuple([launch.engine for launch in launches]),
    )


@frozen
class WhatIfQuestion:
    """One case of one operator, by name, and the boards; the first is that of the recorded run."""

    operator: str
    case: str
    boards: tuple[str, ...]
    policy: str | None = None


def ask(question: WhatIfQuestion, done: Callable[[WhatIf], None] | None = None) -> WhatIfStudy:
    """Answer *question* with plain data, so that it may be computed in another process."""
    spec = find_operator(question.operator)
    case = find_case(spec, question.case)
    inputs, params = case.make(case_generator(case))
    answers = what_if(
        spec.called_as(case),
        inputs,
        params,
        boards=question.boards,
        policy=question.policy,
        outputs=False,
        done=done,
    )
    return study_of(spec.name, case.name, answers, case.group)
