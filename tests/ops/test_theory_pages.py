"""The theory formulas on the operators' pages are those that efficiencies are computed by."""

import re
from pathlib import Path

import numpy as np
import pytest

from mlusim.operators.registry import find_operator

PAGES = Path(__file__).parents[2] / "docs" / "operators"


def made(kind, **shapes):
    """Arrays of ones by name; those called int32 or int64 in *kind*'s place are given as (shape, type)."""
    return {n: np.ones(*(s if isinstance(s[0], tuple) else (s, kind))) for n, s in shapes.items()}


def calls():
    """Operators with inputs, parameters and what the letters of the page are."""
    for kind in (np.float32, np.float16):
        size = np.dtype(kind).itemsize
        yield (
            "tin_shift_forward",
            "tin_shift",
            made(kind, input=(2, 3, 6, 5), shifts=((2, 3), np.int32)),
            {},
            {"N": 2, "T": 3, "C": 6, "HW": 5, "G": 3, "size": size},
        )
        yield (
            "three_interpolate_backward",
            "three_interpolate_backward",
            made(kind, grad_output=(2, 3, 5), indices=((2, 5, 3), np.int32), weights=(2, 5, 3)),
            {"m": 7},
            {"B": 2, "C": 3, "N": 5, "M": 7, "size": size},
        )
        yield (
            "border_align_backward",
            "border_align_backward",
            made(kind, grad_output=(2, 6, 4, 9), boxes=(2, 6, 4), argmax_idx=((2, 6, 4, 9), np.int32)),
            {"pool_size": 2, "height": 2, "width": 3},
            {"N": 2, "K": 6, "C": 9, "H": 2, "W": 3, "size": size},
        )
    yield (
        "dynamic_scatter_backward",
        "dynamic_scatter_backward",
        made(
            np.float32,
            grad_voxel_feats=(3, 4),
            feats=(5, 4),
            voxel_feats=(3, 4),
            point2voxel_map=((5,), np.int32),
            voxel_points_count=((3,), np.int32),
            voxel_num=((1,), np.int32),
        ),
        {},
        {"M": 3, "N": 5, "C": 4, "size": 4},
    )
    for overwrite in (False, True):
        for boundary in (False, True):
            inputs = made(np.float32, px=(2, 3, 6), py=(2, 4, 5), p=(2, 4, 6), ans_grad=(2,))
            if boundary:
                inputs["opt_boundary"] = np.array([[0, 0, 3, 5]] * 2, np.int64)
            yield (
                "mutual_information_backward",
                "mutual_information_backward",
                inputs,
                {"overwrite_ans_grad": overwrite},
                {"B": 2, "S": 3, "T": 5, "boundary": boundary, "overwrite_ans_grad": overwrite, "size": 4},
            )


@pytest.mark.parametrize(("name", "page", "inputs", "params", "letters"), list(calls()))
def test_the_formulas_of_a_page_are_the_code(name, page, inputs, params, letters):
    """Both lines of the page, with the sizes of a call in place of their letters."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    formulas = dict(re.findall(r"^    theory_(ops|ios) = (.*)$", text, re.MULTILINE))
    found = find_operator(name).theory(inputs, params)
    said = {key: eval(text, {}, dict(letters)) for key, text in formulas.items()}  # noqa: S307 - of the page

    assert said == {"ops": found.ops, "ios": found.ios}
