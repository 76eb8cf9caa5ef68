"""kernel.mlu beside kernel.py: the same instructions on the same operands in the same order, the same bytes.

What differs is argued in docs/operators/index.md: a kernel in BANG C declares all of the NRAM that it may use.
"""

import pytest
from bangc_twins import BOARDS, NATIVE, OPERATORS, SCALARS, Sequence, performed, steps

from mlusim.operators.registry import find_case, find_operator

MEASURES = (
    "instructions",
    "traffic",
    "scalar_loads",
    "scalar_stores",
    "bound",
    "io_bytes",
)
SMALL = (
    ("border_align_backward", "golden_document_float", None, "MLU370-X4"),
    ("border_align_backward", "edges_half", None, "MLU590-H8"),
    ("three_interpolate_backward", "cube_31_float32", None, "MLU590-H8"),
    ("three_interpolate_backward", "case_1_half", "shipped", "MLU370-X4"),
    ("tin_shift_forward", "golden_document", None, "MLU370-X4"),
    ("tin_shift_forward", "channel_one_frame_more_half_MLU590-H8", None, "MLU590-H8"),
    ("tin_shift_backward", "frame_two_pieces_and_one_float_MLU370-X4", None, "MLU370-X4"),
    ("dynamic_scatter_backward", "ties", "flags", "MLU370-X4"),
    ("dynamic_scatter_backward", "points_5", "atomic", "MLU590-H8"),
    ("mutual_information_backward", "mixed", None, "MLU370-X4"),
    ("mutual_information_backward", "s7_t0", None, "MLU590-H8"),
)


def network():
    """Every network case, with every policy of its operator, on both default boards."""
    for operator in OPERATORS:
        spec = find_operator(operator)
        for policy in [p.name for p in spec.policies] or [None]:
            for case in spec.cases:
                if case.group == "network":
                    yield from ((operator, case.name, policy, board) for board in BOARDS)


def hold(operator, case_name, policy, board):
    """Hold that both sources do the same on the Python engine, and kernel.mlu the same on the native one."""
    case = find_case(find_operator(operator), case_name)
    sequences = Sequence(), Sequence()
    python, bang = (
        performed(operator, case, board, source=source, observe=[sequence], policy=policy)
        for source, sequence in zip((False, True), sequences, strict=True)
    )
    native = performed(operator, case, board, source=True, engine=NATIVE, policy=policy)

    assert sequences[0].launches == sequences[1].launches
    for done in (bang, native):
        assert {n: a.tobytes() for n, a in python.outputs.items()} == {
            n: a.tobytes() for n, a in done.outputs.items()
        }
        for ours, theirs in zip(python.launches, done.launches, strict=True):
            assert {m: getattr(ours, m) for m in MEASURES} == {m: getattr(theirs, m) for m in MEASURES}
            assert paid(ours) == paid(theirs)
            assert [steps(t.log) for t in ours.tasks] == [steps(t.log) for t in theirs.tasks]
            assert ours.time_us == pytest.approx(theirs.time_us, rel=SCALARS)
    for one, other in zip(bang.launches, native.launches, strict=True):
        assert one.time_us == other.time_us
        assert [t.log.key for t in one.tasks] == [t.log.key for t in other.tasks]


def paid(launch):
    """The lanes that each instruction took; how many held data of the shape only PAD_UP of Python remembers."""
    return {name: lanes.paid for name, lanes in launch.lanes.items()}


@pytest.mark.parametrize(("operator", "case", "policy", "board"), SMALL)
def test_small_cases(operator, case, policy, board):
    """Half and float, tails, every regime and scheme."""
    hold(operator, case, policy, board)


@pytest.mark.attack
@pytest.mark.parametrize(("operator", "case", "policy", "board"), list(network()))
def test_network_cases(operator, case, policy, board):
    """Every network case of every operator."""
    hold(operator, case, policy, board)
