"""Operators of third parties: found by their entry points, run like our own, blamed where they are broken."""

import re
import sys
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from attrs import evolve

import ops
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel
from mlusim.errors import StatusError, UsageError
from mlusim.host import BLOCK, Handle, Status
from mlusim.operators import registry
from mlusim.operators.registry import GROUP, find_case, find_operator, operators, registered
from mlusim.operators.runner import run, run_case
from mlusim.operators.spec import Case, Operator, Scalar, Tensor, Theory, Thresholds


@kernel
def scale(mlu: Mlu, y: Ptr, x: Ptr, count: int, factor: float) -> None:
    """Y = x * factor."""
    buffer = mlu.nram(float32, count)
    mlu.memcpy(buffer, x, count * 4, GDRAM2NRAM)
    mlu.bang_mul_scalar(buffer, buffer, factor, count)
    mlu.memcpy(y, buffer, count * 4, NRAM2GDRAM)


def call(handle: Handle, tensors, descriptors, params) -> Status:
    """Refuse a factor of 0, as a host function might."""
    if params["factor"] == 0:
        handle.last_error = "scale: factor is 0; give another"
        return Status.MLUOP_STATUS_BAD_PARAM
    args = (tensors["y"], tensors["x"], tensors["x"].size, params["factor"])
    handle.launch(scale, (1, 1, 1), BLOCK, args)
    return Status.MLUOP_STATUS_SUCCESS


def make(generator):
    """Make inputs and parameters."""
    return {"x": generator.standard_normal(100, np.float32)}, {"factor": 0.5}


SCALE = Operator(
    name="scale",
    summary="Scale a vector.",
    inputs=(Tensor("x", "[N]", ("float",)),),
    params=(Scalar("factor", float, "what to multiply by"),),
    outputs=(Tensor("y", "[N]", ("float",)),),
    shapes=lambda inputs, params: {"y": (inputs["x"].shape, "float")},
    call=call,
    reference=lambda inputs, params: {"y": inputs["x"] * np.float32(params["factor"])},
    cases=(Case("small", "random", make),),
    thresholds={"y": Thresholds(diff1=0.0, diff2=0.0)},
    theory=lambda inputs, params: Theory(inputs["x"].size, 8 * inputs["x"].size),
)


@pytest.fixture
def install(monkeypatch, only_entries):
    """Install fake distributions: each name is a module whose OPERATORS are the given object."""

    class Distribution(SimpleNamespace):
        """What an entry point knows of its distribution."""

    def made(**modules):
        entries = []
        for name, content in modules.items():
            module = ModuleType(name)
            if content is not None:
                module.OPERATORS = content
            monkeypatch.setitem(sys.modules, name, module)
            entry = EntryPoint(name, f"{name}:OPERATORS", GROUP)
            vars(entry).update(dist=Distribution(name=f"mlusim-{name}"))
            entries.append(entry)
        only_entries(registry, entries)

    return made


def test_an_operator_of_a_third_party_runs_like_our_own(install):
    """By its name, on arrays and on its case, judged against its reference, with efficiency."""
    install(vendor=SCALE)
    done = run("scale", {"x": np.arange(8, dtype=np.float32)}, {"factor": 2}, reference=True)

    assert ["scale"] == list(operators())
    assert [0, 2, 4, 6, 8, 10, 12, 14] == done.outputs["y"].tolist()
    assert done.passed
    assert 0 < done.efficiency.io_efficiency
    assert run_case("scale", find_case(SCALE, "small")).passed
    with pytest.raises(StatusError, match="MLUOP_STATUS_BAD_PARAM: scale: factor is 0; give another"):
        run("scale", {"x": np.arange(8, dtype=np.float32)}, {"factor": 0})


def test_an_operator_that_is_not_installed_runs_too(install):
    """Its author may hand it over while it is being written."""
    install()
    inputs = {"x": np.arange(8, dtype=np.float32)}

    assert run(SCALE, inputs, {"factor": 3}, reference=True).passed
    assert run_case(SCALE, SCALE.cases[0]).passed


def test_several_distributions_and_operators(install):
    """An entry point may give one operator or several; the order is that of the names."""
    other = [evolve(SCALE, name=name) for name in ("zoom", "add")]
    install(vendor=SCALE, more=other)

    assert ["add", "scale", "zoom"] == list(operators())
    assert SCALE is find_operator("scale")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be loaded: AttributeError"),
        (5, "cannot be loaded: TypeError: 'int' object is not iterable"),
        ([SCALE, "scale"], "gives 'scale'; it must give an Operator, or a sequence of them"),
    ],
)
def test_a_broken_entry_point_is_named(install, content, sentence):
    """With its distribution, so that it can be uninstalled or mended; the others are there all the same."""
    install(broken=content, vendor=SCALE)

    assert ["scale"] == list(operators())
    assert 1 == len(registered().refusals)
    assert f"broken = broken:OPERATORS of mlusim-broken {sentence}" in registered().refusals[0]
    with pytest.raises(UsageError, match=f"no operator 'other'.*mlusim-broken {sentence}"):
        find_operator("other")


def test_a_module_that_does_not_import_is_named(install, monkeypatch):
    """Whatever it raises."""
    install(missing=SCALE)
    monkeypatch.setitem(sys.modules, "missing", None)

    assert {} == operators()
    assert "of mlusim-missing cannot be loaded: ModuleNotFoundError" in registered().refusals[0]


def test_two_operators_of_one_name_are_refused(install):
    """The first that is found stays, the other is named; the same one twice is no matter."""
    install(one=SCALE, two=[SCALE])
    assert ["scale"] == list(operators())
    install(one=SCALE, two=[evolve(SCALE, summary="Another.")])

    assert SCALE is find_operator("scale")
    assert re.search(
        r"of mlusim-two and .* of mlusim-one both have an operator 'scale'", registered().refusals[0]
    )


def test_unknown_names_suggest_the_nearest(install):
    """For operators and for cases."""
    install(vendor=SCALE)

    with pytest.raises(UsageError, match="there is no operator 'scalle'; did you mean scale"):
        find_operator("scalle")
    with pytest.raises(UsageError, match="None is not an operator; give a name or an Operator"):
        run(None, {})
    with pytest.raises(UsageError, match="scale has no case 'smal'; did you mean small"):
        find_case(SCALE, "smal")


def test_our_own_operators_are_installed():
    """They come through the same door, and the package shows its parts."""
    assert set(operators()) >= {operator.name for operator in ops.catalog.OPERATORS}
    assert callable(ops.host.mluOpTinShiftForward)


@pytest.mark.parametrize(
    ("inputs", "params", "sentence"),
    [
        (None, {}, "scale takes its inputs by name"),
        ([1], {}, "scale takes its inputs by name"),
        ({}, {"factor": 1}, "scale needs the input 'x'"),
        ({"z": 1}, {"factor": 1}, "scale has no input 'z'; its inputs are x"),
        ({"x": [[1], [1, 2]]}, {"factor": 1}, "the input x is not an array"),
        ({"x": ["a"]}, {"factor": 1}, "the input x has elements of <U1; give numbers"),
        ({"x": [object()]}, {"factor": 1}, "the input x has elements of object; give numbers"),
        ({"x": [1]}, {}, r"scale needs the parameter 'factor' \(what to multiply by\)"),
        ({"x": [1]}, {"factor": "2"}, "parameter factor = '2' must be of type float"),
        ({"x": [1]}, {"factor": True}, "parameter factor = True must be of type float"),
        ({"x": [1]}, {"gain": 1}, "scale has no parameter 'gain'; its parameters: factor"),
        ({"x": [1]}, [("factor", 1)], "scale takes its parameters by name"),
    ],
)
def test_wrong_inputs_and_parameters(inputs, params, sentence):
    """Each is named, and nothing runs."""
    with pytest.raises(UsageError, match=sentence):
        run(SCALE, inputs, params)


def test_a_large_output_is_a_status_and_takes_no_memory():
    """An output of 2^31 elements or more is for the host checks to refuse, before the board's memory is asked."""
    points = {
        "grad_output": np.ones((1, 4, 8), np.float32),
        "indices": np.zeros((1, 8, 3), np.int32),
        "weights": np.ones((1, 8, 3), np.float32),
    }
    borders = {
        "grad_output": np.ones((1, 1, 4, 8), np.float32),
        "boxes": np.zeros((1, 1, 4), np.float32),
        "argmax_idx": np.zeros((1, 1, 4, 8), np.int32),
    }

    with pytest.raises(
        StatusError, match="grad_features_desc has .* must have fewer than 2147483648"
    ) as large:
        ops.run("three_interpolate_backward", points, {"m": 1 << 40})
    with pytest.raises(StatusError, match="boxes_desc dim 1 is 1; it must be 1099511627776") as earlier:
        ops.run("border_align_backward", borders, {"pool_size": 10, "height": 1, "width": 1 << 40})
    assert Status.MLUOP_STATUS_NOT_SUPPORTED is large.value.status
    assert Status.MLUOP_STATUS_BAD_PARAM is earlier.value.status


def test_a_negative_size_is_a_status():
    """The library makes no such descriptor; the parameters that gave it are named."""
    arrays = {
        "grad_output": np.ones((1, 4, 8), np.float32),
        "indices": np.zeros((1, 8, 3), np.int32),
        "weights": np.ones((1, 8, 3), np.float32),
    }

    with pytest.raises(
        StatusError, match=r"BAD_PARAM.*grad_features would be \[1, 4, -1\] with m = -1"
    ) as caught:
        ops.run("three_interpolate_backward", arrays, {"m": -1})
    assert Status.MLUOP_STATUS_BAD_PARAM is caught.value.status


def test_a_case_declares_shapes_of_outputs_only():
    """The shape that a case declares is what the host function gets; a name that is not an output is refused."""
    wrong = Case("wrong", "zero", make, outputs={"y": (7,)})

    assert (7,) == SCALE.called_as(wrong).shapes({"x": np.ones(5, np.float32)}, {})["y"][0]
    with pytest.raises(UsageError, match="case off of scale declares a shape of 'x'; its outputs: y"):
        run_case(SCALE, Case("off", "zero", make, outputs={"x": (7,)}))
