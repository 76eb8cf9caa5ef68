"""What if it were another board: re-timed or run again, the answer is that of a run there, and says which."""

import numpy as np
import pytest

import ops
from mlusim.operators.whatif import what_if

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
    there = ops.run("border_align_backward", inputs, params, board=boards[1])

    assert answer.rerun
    assert why in answer.why
    assert there.efficiency == answer.run.efficiency
