"""Every defect of the document's listing: left in it is wrong, and with all of them corrected it is right."""

import numpy as np
import pytest
from listing_mutual_information import EVERY_CORRECTION, kernel_as_printed, listing, literal_data_num

from mlusim import Device
from mlusim.errors import Fault
from mlusim.operators.accuracy import judge
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import case_generator, run_case
from ops.mutual_information_backward.inputs import lattice_of_log_probabilities, uniform
from ops.mutual_information_backward.plan import PLAN
from ops.mutual_information_backward.reference import reference

OPERATOR = find_operator("mutual_information_backward")


def made(name):
    """The inputs and parameters of a case of the operator."""
    case = find_case(OPERATOR, name)
    return case.make(case_generator(case))


def run_listing(inputs, params, fixed):
    """Run the listing on one core and return its outputs."""
    device = Device("MLU370-X4")
    tensors = {name: device.put(array) for name, array in inputs.items()}
    outputs = {"px_grad": device.empty(inputs["px"].shape, "float")}
    outputs |= {"py_grad": device.empty(inputs["py"].shape, "float"), "ans_grad": tensors["ans_grad"]}
    (B, S, columns) = inputs["px"].shape
    names = ("px", "py", "opt_boundary", "p", "ans_grad")
    arguments = [tensors.get(name) for name in names]
    more = (params["overwrite_ans_grad"], outputs["px_grad"], outputs["py_grad"], (B, S, columns - 1), fixed)
    device.launch(listing, args=(*arguments, *more))
    return {name: device.get(tensor) for name, tensor in outputs.items()}


def outcome(inputs, params, fixed):
    """What the listing gives on these inputs: "right", "wrong", or the name of the fault."""
    expected = reference(inputs, params)
    try:
        found = run_listing(inputs, params, fixed)
    except Fault as fault:
        return type(fault).__name__
    verdicts = [judge(found[n], expected[n], t).passed for n, t in OPERATOR.thresholds.items()]
    return "right" if all(verdicts) else "wrong"


NEEDED = [  # defect, a case that it breaks, how
    (1, "forward_5x8x8", "wrong"),
    (2, "p_minus_inf_last_row", "wrong"),
    (2, "p_minus_inf_only_row", "wrong"),
    (3, "mixed", "wrong"),
    (4, "s7_t0", "RuleFault"),
    (4, "same_frame", "RuleFault"),
    (5, "s1_t8", "OutOfBounds"),
    (5, "s0_t9", "OutOfBounds"),
    (6, "forward_2x31x17", "wrong"),
    (7, "forward_1x2x2", "RuleFault"),
    (8, "forward_2x31x17", "wrong"),
    (9, "forward_2x31x17", "wrong"),
    (9, "forward_3x17x31", "wrong"),
    (10, "forward_2x31x17", "wrong"),
    (11, "forward_2x31x17", "OutOfBounds"),
    (12, "uniform_2x3x5", "wrong"),
    (13, "mixed", "OutOfBounds"),
    (14, "forward_2x31x17", "wrong"),
    (15, "forward_2x31x17", "wrong"),
    (16, "forward_2x31x17", "wrong"),
    (17, "forward_1x2x2", "OutOfBounds"),
    (20, "network_boundary", "wrong"),
    (20, "inverted", "wrong"),
]


@pytest.mark.parametrize(("defect", "name", "how"), NEEDED, ids=[f"MI-{n}-{name}" for n, name, _ in NEEDED])
def test_each_correction_is_needed(defect, name, how):
    """The listing with every correction but one fails on the case, and with that one it is right."""
    inputs, params = made(name)

    assert how == outcome(inputs, params, EVERY_CORRECTION - {defect})
    assert "right" == outcome(inputs, params, EVERY_CORRECTION)


def test_a_comment_taken_at_its_word():
    """MI-18 is a comment, which no run can show to be wrong: the instructions below it are right.

    Shown is what follows for who believes it and stores the first product as py_grad.
    """
    inputs, params = made("forward_1x2x2")

    assert "wrong" == outcome(inputs, params, EVERY_CORRECTION - {18})


@pytest.mark.parametrize(
    "name", ["network", "network_boundary", "zoo_2_small", "ans_grad_inf_term_zero", "single_cell"]
)
def test_the_corrected_listing_is_the_kernel(name):
    """The corrected listing, written apart from the kernel, gives the same bits.

    It keeps the last diagonal in cur_p_grad where the kernel loads it as the listing says, so that
    load changes nothing; and both multiply in place, row by row.
    """
    inputs, params = made(name)

    expected = run_case(OPERATOR, find_case(OPERATOR, name), reference=False).outputs
    found = run_listing(inputs, params, EVERY_CORRECTION)

    for output in OPERATOR.thresholds:
        assert expected[output].tobytes() == found[output].tobytes()


def cells(S, T, i):
    """Count the cells of anti-diagonal *i* of an (S+1) x (T+1) grid, counted from the last cell."""
    return sum(1 for s in range(S + 1) for t in range(T + 1) if (S - s) + (T - t) == i)


def test_data_num_is_wrong_for_every_shape():
    """MI-7: the printed count differs from the cells of some diagonal for all 361 shapes, and always of the last."""
    shapes = [(S, T) for S in range(1, 20) for T in range(1, 20)]

    wrong = [
        (S, T)
        for S, T in shapes
        if any(cells(S, T, i) != literal_data_num(i, S, T) for i in range(1, S + T + 1))
    ]
    last = {literal_data_num(S + T, S, T) for S, T in shapes}

    assert shapes == wrong
    assert {0} == last
    assert [2, 3, 2, 1] == [cells(2, 2, i) for i in range(1, 5)]
    assert [2, 2, 1, 0] == [literal_data_num(i, 2, 2) for i in range(1, 5)]


@pytest.mark.parametrize(("S", "T"), [(0, 27306), (3, 13653)])
def test_the_printed_limit_admits_what_the_terms_overflow(S, T):
    """MI-5: the 5 T floats of scratch that limit I1 counts fit, but the five rows of T+1 that are needed do not."""
    inputs, params = lattice_of_log_probabilities(np.random.default_rng(0), b=1, s=S, t=T)
    terms = S * (T + 1) + (S + 1) * T

    assert terms + 5 * T <= 163840 < terms + 5 * (T + 1)
    assert "OutOfBounds" == outcome(inputs, params, EVERY_CORRECTION - {5})
    assert "OutOfMemory" == outcome(inputs, params, EVERY_CORRECTION)


@pytest.mark.parametrize(("printed", "short"), [("limit I2", 3), ("drawing", 2)])
def test_the_printed_diagonal_buffers_are_short(printed, short):
    """MI-11: a diagonal has up to min(S, T) + 1 cells; the limit has 3 floats too few, the drawing 2."""
    S, T = 31, 17
    diagonal = {"limit I2": 3 * min(S, T) + 1, "drawing": 3 * min(S, T) + 2}[printed]

    layout = PLAN.layout("MLU370-X4", S=S, T=T)

    terms = S * (T + 1) + (S + 1) * T + (S + 1) * (T + 1)
    assert short * 4 == layout.high_water - (terms + diagonal) * 4
    assert min(S, T) + 1 == max(cells(S, T, i) for i in range(S + T + 1))


def test_drawn_sizes_are_a_finding_of_the_drawing():
    """MI-11: the plan checker names the region of the drawing that the printed zeroing overruns."""
    findings = [str(finding) for finding in PLAN.drawings[0].check()]

    assert any("cur_p_grad" in finding for finding in findings)


def test_the_kernel_as_printed_knows_no_sizes():
    """MI-19: without batches, S and T among its parameters the kernel cannot even split its work."""
    device = Device("MLU370-X4")
    inputs, _ = uniform(np.random.default_rng(0), b=2, s=3, t=4, reach=1.0)
    px, py, p, ans_grad = (device.put(inputs[name]) for name in ("px", "py", "p", "ans_grad"))

    with pytest.raises(NameError, match="batches"):
        device.launch(kernel_as_printed, args=(px, py, None, p, ans_grad, False, None, px, py))


def test_outside_the_region_the_terms_must_be_zero():
    """MI-20: the full-size stores carry what lies outside the region, which only zeroing makes 0."""
    inputs, params = made("mixed")
    inputs["opt_boundary"][:] = [1, 2, 5, 9]
    whole, _ = made("mixed")
    del whole["opt_boundary"]

    bounded = run_listing(inputs, params, EVERY_CORRECTION)
    unbounded = run_listing(whole, params, EVERY_CORRECTION)

    outside = np.ones(inputs["px"].shape, bool)
    outside[:, 1:5, 2:10] = False
    assert not bounded["px_grad"][outside].any()
    assert unbounded["px_grad"][outside].any()
