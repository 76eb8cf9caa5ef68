"""Names of public code and of older headers: each is what the name says, or refused with what to do instead."""

import numpy as np
import pytest
from isa_rows import execute

from mlusim.errors import RuleFault, UsageError
from mlusim.isa.table import REPLACED, find_intrinsic

SIGNS = np.array([-3, 0, 2, 5], np.int32)
PICTURE = np.array([[3, 1, 2], [0, 5, 4]], np.float32).reshape(-1)


def on_filters(dtype=np.int8):
    """64 filters of 2 elements, and one row."""
    return {
        "src": np.array([2, 3], dtype),
        "weight": np.arange(128).astype(dtype),
        "outputs": 64,
        "inputs": 2,
    }


CASES = {
    "bang_ge_const": ({"src": SIGNS, "value": 2}, [0, 0, 1, 1]),
    "bang_bxor_scalar": ({"src": SIGNS, "value": 5}, [-3 ^ 5, 5, 7, 0]),
    "bang_active_gelup": ({"src": np.array([0, 100], np.float32)}, [0, 100]),
}


@pytest.mark.parametrize("name", CASES)
def test_vectors(name):
    """Element by element."""
    given, expected = CASES[name]
    src = given["src"]

    after = execute(name, dst=np.full_like(src, 77), elem_count=src.size, **given)["dst"]

    assert expected == after.tolist()


def test_names_of_public_code():
    """Rows of one form each."""
    for name in CASES:
        test_vectors(name)
    places = execute(
        "bang_minpool_index",
        dst=np.full(2, 9, np.uint32), src=PICTURE, channel=1, height=2, width=3, kernel_height=2, kernel_width=2,
        stride_w=1, stride_h=1,
    )["dst"]  # fmt: skip
    layer = execute("bang_mlp", dst=np.zeros(64, np.float32), **on_filters())["dst"]
    numbers = [execute(f"cn_scalar_{word}_f32", first=1.5, second=-2.0)["result"] for word in ("max", "min")]

    assert [2, 0] == places[:2].tolist()
    assert [4 * n + 3 * (2 * n + 1) for n in range(4)] == layer[:4].tolist()
    assert [1.5, -2.0] == numbers
    with pytest.raises(RuleFault, match="the kernel calls __abort"):
        execute("abort")


@pytest.mark.parametrize("name", REPLACED)
def test_what_is_refused_says_what_to_do(name):
    """By the name that the source has."""
    with pytest.raises(UsageError) as told:
        find_intrinsic(name)

    assert str(told.value) == f"there is no intrinsic {name!r}; {REPLACED[name]}"
