"""What if it were another board: re-timed or run again, the answer is that of a run there, and says which."""

from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

import mlusim
import ops
from mlusim.arch.catalog import BOARDS
from mlusim.bang import NRAM2GDRAM, Mlu, Ptr, kernel
from mlusim.document import plain
from mlusim.errors import MlusimError, StatusError, UsageError
from mlusim.host import Status
from mlusim.machine.options import LaunchOptions
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import attempt
from mlusim.operators.whatif import WhatIfQuestion, ask, study_of, what_if

X = np.arange(2 * 4 * 6 * 10, dtype=np.float32).reshape(2, 4, 6, 10)
SHIFTS = np.array([[1, -1, 2], [0, 1, -2]], np.int32)
TIN = ("tin_shift_forward", {"input": X, "shifts": SHIFTS})


def test_the_same_launches_on_the_same_architecture_are_retimed():
    """MLU590-H8 and MLU590-M9 have as many cores: the host interface chooses the same."""
    first, second = what_if(*TIN, boards=("MLU590-H8", "MLU590-M9"))
    there = ops.run(*TIN, board="MLU590-M9")

    assert (True, False) == (first.rerun, second.rerun)
    assert "MLU590-M9" == second.run.board
    assert there.efficiency == second.run.efficiency
    assert [launch.time_us for launch in there.launches] == [launch.time_us for launch in second.run.launches]
    assert np.array_equal(there.outputs["output"], second.run.outputs["output"])


@pytest.mark.parametrize(
    ("boards", "why"),
    [
        (("MLU370-X4", "MLU590-H8"), "another architecture: mtp_592"),
        (("MLU370-X4", "MLU370-X8"), "launches UNION1"),
    ],
)
def test_other_work_is_run_again(boards, why):
    """Another architecture, or a policy that fills another number of clusters."""
    inputs = {"grad_output": np.ones((1, 600, 4, 64), np.float32)}
    generator = np.random.default_rng(1)
    low = generator.uniform(0, 10, (1, 600, 2))
    inputs["boxes"] = np.concatenate([low, low + 5], 2).astype(np.float32)
    inputs["argmax_idx"] = generator.integers(0, 3, (1, 600, 4, 64)).astype(np.int32)
    params = {"pool_size": 2, "height": 20, "width": 30}
    answer = what_if("border_align_backward", inputs, params, boards=boards)[1]
    there = ops.run("border_align_backward", inputs, params, board=boards[1], engine="native")

    assert answer.rerun
    assert why in answer.why
    assert there.efficiency == answer.run.efficiency


def one(name, inputs, board):
    """The run of an operator's ``kernel.mlu`` on *board*, whose loads are known to wait or not, or the sentence that it ends with."""
    try:
        run = attempt(name, inputs, board=board, options=LaunchOptions(engine="native"))
    except MlusimError as error:
        return str(error)
    return run if run.status == Status.MLUOP_STATUS_SUCCESS else run.message


MUTUAL = {
    "px": np.ones((3, 4, 9), np.float32),
    "py": np.ones((3, 5, 8), np.float32),
    "p": np.ones((3, 5, 9), np.float32),
    "ans_grad": np.ones(3, np.float32),
}


@pytest.mark.parametrize(("name", "inputs"), [TIN, ("mutual_information_backward", MUTUAL)])
def test_every_board_is_answered_as_a_run_there_would(name, inputs):
    """To the digit where it works, in the same words where it does not; and few boards are run for it."""
    answers = what_if(name, inputs, boards=["MLU370-X4", *BOARDS])

    assert [*BOARDS] == [answer.board for answer in answers[1:]]
    for answer in answers:
        there = one(name, inputs, answer.board)
        if answer.failure:
            assert isinstance(there, str)
            assert answer.failure.split(" (")[0] == there.split(" (")[0]
            assert answer.time_us is None
        else:
            assert there.efficiency == answer.run.efficiency
            assert sum(launch.time_us for launch in there.launches) == answer.time_us
            assert [launch.busy_us for launch in there.launches] == [
                launch.busy_us for launch in answer.run.launches
            ]
            assert np.array_equal(*(next(iter(run.outputs.values())) for run in (there, answer.run)))
    run_there = [answer.board for answer in answers if answer.rerun and not answer.failure]
    assert 2 <= len(run_there) <= 7
    assert len(run_there) < len([answer for answer in answers if not answer.failure]) / 3


@kernel
def unaligned(mlu: Mlu, output: Ptr) -> None:
    """Fill what MLU2xx cannot: no multiple of 128 bytes."""
    if mlu.is_mpu():
        return
    buffer = mlu.nram(output.dtype, 40)
    mlu.bang_write_zero(buffer, 40)
    mlu.memcpy(output, buffer, 160, NRAM2GDRAM)


def launch_unchecked(handle, tensors, descs, params):
    """A host function that looks at nothing."""
    handle.launch(unaligned, (handle.cores_per_cluster, 1, 1), args=(tensors["output"],))
    return Status.MLUOP_STATUS_SUCCESS


REASONS = {
    "CE3226-V101": "UNION1 needs 1 cluster at once; CE3226-V101 allows up to BLOCK",
    "MLU270-S4": "__bang_write_zero: dst has 160 bytes",
}


@pytest.mark.parametrize("board", REASONS)
def test_where_it_fails_the_sentence_says_why(board):
    """No SRAM and no union; an operand that the older vector unit does not take; the file is named from the current folder."""
    unchecked = evolve(find_operator(TIN[0]), call=launch_unchecked)
    answer = what_if(unchecked, TIN[1], boards=("MLU370-X4", board))[1]

    assert answer.failure.startswith(REASONS[board])
    assert str(Path.cwd()) not in answer.failure
    assert (None, None) == (answer.run, answer.time_us)


def test_a_host_interface_that_refuses_is_asked_only():
    """An architecture that the interface does not take: its status and its message are the answer."""
    answer = what_if("mutual_information_backward", MUTUAL, boards=("MLU370-X4", "MLU290-M5"))[1]

    assert Status.MLUOP_STATUS_ARCH_MISMATCH == answer.run.status
    assert answer.failure == answer.run.message
    assert not answer.rerun


def test_a_board_is_retimed_from_any_run_of_its_architecture():
    """The second of two boards of another architecture needs no run of its own."""
    answers = what_if(*TIN, boards=("MLU370-X4", "MLU590-H8", "MLU590-M9"), outputs=False)

    assert [True, True, False] == [answer.rerun for answer in answers]
    assert "the work is that of MLU590-H8: same architecture, same launches" == answers[2].why
    assert all({} == answer.run.outputs for answer in answers)


@kernel
def _waste(mlu: Mlu, y: Ptr, x: Ptr) -> None:
    """Declare more NRAM than the 592 boards have."""
    if not mlu.is_mpu():
        mlu.nram("float", 150_000)


def _greedy(handle, tensors, descriptors, params):
    handle.launch(_waste, (4, 1, 1), args=(tensors["output"], tensors["input"]))
    return Status.MLUOP_STATUS_SUCCESS


def _looking(handle, tensors, descriptors, params):
    launch = handle.launch(_nothing, (4, 1, 1), args=(tensors["output"], tensors["input"]))
    assert launch.time_us > 0
    return Status.MLUOP_STATUS_SUCCESS


@kernel
def _nothing(mlu: Mlu, y: Ptr, x: Ptr) -> None:
    """Do nothing."""


def _wide(handle, tensors, descriptors, params):
    handle.launch(_nothing, (32, 1, 1), mlusim.UNION8, args=(tensors["output"], tensors["input"]))
    return Status.MLUOP_STATUS_SUCCESS


def test_a_plan_that_does_not_fit_is_told():
    """600 KB of NRAM fit a 372 board, not a 592 one."""
    spec = evolve(find_operator("tin_shift_forward"), call=_greedy)
    first, second = what_if(spec, TIN[1], boards=("MLU370-X4", "MLU590-H8"))

    assert "" == first.failure
    assert "NRAM" in second.failure
    assert "600000 bytes" in second.failure


def test_a_union_that_a_board_cannot_start_is_told_without_a_run():
    """UNION8 takes eight clusters; MLU370-X8 has four."""
    spec = evolve(find_operator("tin_shift_forward"), call=_wide)
    answer = what_if(spec, TIN[1], boards=("MLU370-X4", "MLU370-X8"))[1]

    assert "MLU370-X8 cannot start UNION8; launch the kernel there with a smaller kind" == answer.failure


def test_a_host_interface_that_looks_at_its_launches_is_run_everywhere():
    """What it would launch cannot be known without launching."""
    spec = evolve(find_operator("tin_shift_forward"), call=_looking)
    answers = what_if(spec, TIN[1], boards=("MLU370-X4", "MLU370-X4K"))

    assert [True, True] == [answer.rerun for answer in answers]
    assert "the host interface looks at what its launches did" == answers[1].why


@kernel
def _count(mlu: Mlu, y: Ptr, x: Ptr) -> None:
    """Write a 1 where the host interface reads it."""
    if mlu.taskId == 0 and not mlu.is_mpu():
        y[0] = 1.0


def _reading(handle, tensors, descriptors, params):
    handle.launch(_count, (4, 1, 1), args=(tensors["output"], tensors["input"]))
    if handle.device.get(tensors["output"]).reshape(-1)[0] == 1:
        handle.launch(_nothing, (4, handle.clusters, 1), args=(tensors["output"], tensors["input"]))
    return Status.MLUOP_STATUS_SUCCESS


def _indexing(handle, tensors, descriptors, params):
    handle.launch(_nothing, (4, 1, 1), args=(tensors["output"], tensors["input"]))
    assert handle.launches[-1].time_us > 0
    return Status.MLUOP_STATUS_SUCCESS


@pytest.mark.parametrize("call", [_reading, _indexing])
def test_a_host_interface_that_reads_what_its_launches_left_is_run_everywhere(call):
    """What it chose while nothing was launched is not what it launches."""
    spec = evolve(find_operator("tin_shift_forward"), call=call)
    answers = what_if(spec, TIN[1], boards=("MLU370-X4", "MLU370-X8"))

    assert [True, True] == [answer.rerun for answer in answers]
    assert "the host interface looks at what its launches did" == answers[1].why
    if call is _reading:
        assert [(4, 4, 1)] == [launch.dim for launch in answers[1].run.launches[1:]]


def test_a_policy_goes_into_every_run():
    """Re-timed or run, the tiles are those of the policy; an unknown one is refused."""
    spec, boards = "three_interpolate_backward", ("MLU370-X4", "MLU370-X8", "MLU590-H8")
    for policy in ("document", "shipped"):
        answers = what_if(spec, _points(), {"m": 300}, boards=boards, policy=policy)
        assert [policy] * 3 == [answer.run.policy for answer in answers]
        there = [
            ops.run(spec, _points(), {"m": 300}, board=board, policy=policy, engine="native")
            for board in boards
        ]
        assert [run.efficiency for run in there] == [answer.run.efficiency for answer in answers]
    with pytest.raises(UsageError, match="no policy"):
        what_if(spec, _points(), {"m": 300}, boards=boards, policy="none")


def test_inputs_that_are_none_are_refused_before_any_board():
    """Names and sizes are the caller's business, not a board's."""
    with pytest.raises(UsageError, match="no input"):
        what_if("tin_shift_forward", {"data": X}, boards=("MLU370-X4",))
    with pytest.raises(StatusError, match="would be"):
        what_if("three_interpolate_backward", _points(), {"m": -1}, boards=("MLU370-X4",))


def _points():
    return {
        "grad_output": np.ones((1, 2, 4), np.float32),
        "indices": np.zeros((1, 4, 3), np.int32),
        "weights": np.ones((1, 4, 3), np.float32),
    }


def test_a_study_is_plain_data():
    """Times, speed-ups against the first board, how and why; what fails has no numbers."""
    told = []
    boards = ("MLU370-X4", "MLU370-M8", "MLU590-H8", "CE3226-V101")
    study = ask(WhatIfQuestion("tin_shift_forward", "golden_document", boards), told.append)
    recorded, retimed, run, failed = study.rows
    answers = what_if(*TIN, boards=boards)

    assert [*boards] == [answer.board for answer in told]
    assert ["recorded", "re-timed", "run", "fails"] == [row.how for row in study.rows]
    assert recorded.time_us / retimed.time_us == retimed.speed_up
    assert (1.0, "<30%", "io") == (recorded.speed_up, recorded.grade, recorded.bottleneck)
    assert (None, None) == (failed.time_us, failed.grade)
    assert study.works
    assert [row.board for row in study.rows] == [row["board"] for row in plain(study.to_json())["rows"]]
    assert answers[1].time_us == study_of("tin", None, answers).rows[1].time_us
    assert run.launches == ("MLUUnion1TinShift UNION1 4x1x1",)
