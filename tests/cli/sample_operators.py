"""Operators that go well or wrong in a known way, for the tests of the command line."""

import numpy as np

from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, kernel
from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.host.checks import contiguous, dtype, not_null, rank, verify
from mlusim.operators.spec import Case, Operator, Scalar, Tensor, Theory, Thresholds

CHECKS = (not_null("x_desc"), rank("x_desc", 1), contiguous("x_desc"), dtype("x_desc", "float"))


@kernel
def add_twice(mlu: Mlu, dst: Ptr, src: Ptr, count: int) -> None:
    """Double *count* floats."""
    if mlu.is_mpu():
        return
    buffer = mlu.nram("float", count)
    mlu.memcpy(buffer, src, count * 4, GDRAM2NRAM)
    mlu.bang_add(buffer, buffer, buffer, count)
    mlu.memcpy(dst, buffer, count * 4, NRAM2GDRAM)


def call(handle: Handle, tensors, descriptors, params) -> Status:
    """The host function: an `offset` beyond the end makes the kernel run out of bounds."""
    x: TensorDescriptor = descriptors["x"]
    status = verify(handle, "mluOpSample", CHECKS, {"x_desc": x})
    if status is not None:
        return status
    if params["exact"]:
        handle.launch(add_twice, (4, 1, 1), args=(tensors["y"], tensors["x"], x.size + params["offset"]))
    return Status.MLUOP_STATUS_SUCCESS


def made(shape=(8,), **params):
    """A case's maker: ones of *shape*."""
    return lambda _: ({"x": np.ones(shape, np.float32)}, params)


def sample(name="sample", factor=2.0, **properties):
    """An operator that doubles, judged against a reference that multiplies by *factor*."""
    fields = {
        "name": name,
        "summary": "double",
        "inputs": (Tensor("x", "[N]", ("float",)),),
        "params": (
            Scalar("offset", int, "elements past the end", 0),
            Scalar("exact", bool, "whether to compute at all", True),
            Scalar("mode", str, "a word", "plain"),
        ),
        "outputs": (Tensor("y", "[N]", ("float",)),),
        "shapes": lambda inputs, params: {"y": ((inputs["x"].shape[0],), "float32")},
        "call": call,
        "reference": lambda inputs, params: {"y": inputs["x"] * np.float32(factor)},
        "cases": (
            Case("small", "network", made()),
            Case("refused", "limit", made((2, 4)), status=Status.MLUOP_STATUS_BAD_PARAM),
            Case("only_590", "limit", made(), boards=("MLU590-H8",)),
            Case("big", "network", made((4096,)), effort=100.0),
        ),
        "thresholds": {"y": Thresholds(diff1=1e-6)},
        "theory": lambda inputs, params: Theory(inputs["x"].size, 2 * inputs["x"].nbytes),
    }
    return Operator(**fields | properties)


GOOD = sample()
WRONG = sample("wrong", factor=3.0)
HALVED = sample("halved", factor=0.5)
FAULTY = sample("faulty", cases=(Case("small", "network", made(offset=8)), Case("fine", "network", made())))
SURPRISING = sample("surprising", cases=(Case("small", "network", made((2, 4))),))
OPERATORS = (GOOD, WRONG, HALVED, FAULTY, SURPRISING)
