"""Dynamic thresholds: ten times another device's error, never less than the static threshold, cpu mode at last."""

import numpy as np
import pytest

from mlusim.operators.accuracy import judge, judge_dynamic
from mlusim.operators.registry import find_operator
from mlusim.operators.spec import Dynamic, Thresholds

EXACT = np.linspace(1, 2, 400)


def off(share, dtype=np.float32):
    """The exact result with a relative error of both signs."""
    signs = np.where(np.arange(EXACT.size) % 3 == 0, -1, 1)
    return (EXACT * (1 + share * signs)).astype(dtype)


def judged(output, dynamic, device, reference=None):
    """The verdict, with *device* as the other device's output."""
    return judge_dynamic(
        output, dynamic, EXACT, lambda: device, lambda: EXACT if reference is None else reference
    )


@pytest.mark.parametrize(
    ("own", "other", "passed"),
    [(2.5e-3, 0.0, True), (4e-3, 0.0, False), (4e-3, 5e-4, True), (6e-3, 5e-4, False), (0.05, 0.01, True)],
)
def test_ten_times_the_other_or_the_static_threshold(own, other, passed):
    """An output passes below either of the two limits, for both metrics."""
    assert passed == judged(off(own), Dynamic(), off(other)).passed


def test_the_other_device_is_asked_only_where_it_matters():
    """Below the static threshold nothing else is computed."""

    def never():
        raise AssertionError("asked")

    assert judge_dynamic(off(1e-4), Dynamic(), EXACT, never, never).passed


def test_diff4_of_one_sign():
    """Errors of one sign fail, unless those of the other device have one sign, too."""
    dynamic = Dynamic(diff4=1.0)
    high = (EXACT * (1 + 1e-4)).astype(np.float32)

    assert not judged(high, dynamic, off(1e-4)).passed
    assert judged(high, dynamic, high).passed
    assert judged(high, Dynamic(), off(1e-4)).passed


def test_cpu_mode_compares_with_the_reference():
    """What misses the dynamic threshold is judged once more, in its own type, by the static one; the note says so."""
    own, dynamic = off(1e-3), Dynamic(single=1e-5, cpu_mode=True)

    assert judged(own, dynamic, off(1e-7), own).passed
    assert not judged(own, dynamic, off(1e-7), off(9e-4)).passed
    assert "cpu mode: 1e-05" in judged(own, dynamic, off(1e-7), off(9e-4)).note
    assert not judged(own, Dynamic(single=1e-5), off(1e-7), own).passed


def test_the_static_threshold_is_that_of_the_type():
    """Half has its own."""
    dynamic = Dynamic(half=1e-3, single=1e-5)

    assert judged(off(6e-4, np.float16), dynamic, off(0.0)).passed
    assert not judged(off(6e-4), dynamic, off(0.0)).passed


@pytest.mark.parametrize("name", ["border_align_backward", "mutual_information_backward"])
def test_what_the_documents_ask_for(name):
    """Both operators have dynamic thresholds, and declare what these need."""
    operator = find_operator(name)
    for thresholds in operator.thresholds.values():
        assert (10.0, 10.0) == (thresholds.dynamic.diff1, thresholds.dynamic.diff2)
    case = next(case for case in operator.cases if case.group == "boundary")
    inputs, params = case.make(np.random.default_rng(0))
    expected, single = operator.reference(inputs, params), operator.device(inputs, params)

    assert {name: a.dtype for name, a in expected.items()} == {name: a.dtype for name, a in single.items()}
    assert all(judge(single[n], expected[n], Thresholds(diff1=1e-2, diff2=1e-2)).passed for n in expected)


def test_the_exact_gradients_of_border_align_are_not_rounded():
    """They are float64, and what the reference rounds once."""
    operator = find_operator("border_align_backward")
    case = next(case for case in operator.cases if case.group == "random" and "half" in case.name)
    inputs, params = case.make(np.random.default_rng(0))
    exact, expected = (f(inputs, params)["grad_input"] for f in (operator.exact, operator.reference))

    assert exact.dtype == np.float64
    assert np.array_equal(exact.astype(expected.dtype), expected, equal_nan=True)


def test_border_align_declares_its_documents_numbers():
    """[10, 10, 1], else 1e-3 for half and 1e-5 for float in cpu mode; one efficiency of 50 %."""
    operator = find_operator("border_align_backward")
    dynamic = operator.thresholds["grad_input"].dynamic

    assert Dynamic(10.0, 10.0, 1.0, half=1e-3, single=1e-5, cpu_mode=True) == dynamic
    assert (0.5, 0.5) == (operator.rule.network, operator.rule.other)
