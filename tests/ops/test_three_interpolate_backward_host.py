"""Every check of mluOpThreeInterpolateBackward: its status, its sentence, its place in the order."""

import logging

import numpy as np
import pytest

import ops.host
from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.operators.campaign import Job, perform

NAMES = ("grad_output", "indices", "weights", "grad_features")
B, C, N, M = 4, 8, 16, 5
SHAPES = {
    "grad_output": (B, C, N),
    "indices": (B, N, 3),
    "weights": (B, N, 3),
    "grad_features": (B, C, M),
}
DTYPES = {"grad_output": "float32", "indices": "int32", "weights": "float32", "grad_features": "float32"}
BAD, UNSUPPORTED = Status.MLUOP_STATUS_BAD_PARAM, Status.MLUOP_STATUS_NOT_SUPPORTED


def description(name, **changes):
    """Describe a legal tensor, with some properties changed."""
    return TensorDescriptor(**{"shape": SHAPES[name], "dtype": DTYPES[name]} | changes)


def answer(descriptors=None, pointers=None, handle=None):
    """Call with legal tensors but for what is given; return (status, sentence, launches)."""
    handle = handle or Handle()
    descs = {name: description(name) for name in NAMES} | (descriptors or {})
    data = {name: handle.device.put(np.zeros(SHAPES[name], DTYPES[name])) for name in NAMES} | (
        pointers or {}
    )
    arguments = [value for name in NAMES for value in (descs[name], data[name])]
    status = ops.host.mluOpThreeInterpolateBackward(handle, *arguments)
    return status, handle.last_error, handle.launches


def test_legal_tensors_are_accepted_on_every_architecture_with_the_instructions():
    """The table below changes one property of a call that succeeds."""
    for board in ("MLU220-M2", "MLU270-S4", "MLU290-M5", "MLU370-X4", "MLU590-H8"):
        status, sentence, launches = answer(handle=Handle(board))

        assert (Status.MLUOP_STATUS_SUCCESS, "", 1) == (status, sentence, len(launches))


def test_half_is_accepted():
    """All but the indices may be half together."""
    names = ("grad_output", "weights", "grad_features")
    descriptors = {name: description(name, dtype="float16") for name in names}
    handle = Handle()
    pointers = {name: handle.device.put(np.zeros(SHAPES[name], np.float16)) for name in names}

    assert Status.MLUOP_STATUS_SUCCESS == answer(descriptors, pointers, handle)[0]


def test_a_null_handle_is_refused():
    """Without a handle there is nowhere to keep a sentence, only the status."""
    legal = [value for name in NAMES for value in (description(name), None)]

    assert BAD == ops.host.mluOpThreeInterpolateBackward(None, *legal)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", ["descriptor", "pointer"])
def test_every_null_pointer_is_named(name, what):
    """Every null descriptor and every null pointer is named."""
    if what == "descriptor":
        status, sentence, launches = answer({name: None})
        named = f"{name}_desc is a null descriptor"
    else:
        status, sentence, launches = answer(pointers={name: None})
        named = f"{name} is a null pointer"

    assert BAD == status
    assert f"mluOpThreeInterpolateBackward: {named}" == sentence
    assert not launches


def _changed():
    """Yield (title, tensor, changes, status, start of the sentence) for every property of every tensor."""
    for name in NAMES:
        for shape in [SHAPES[name][:2], (*SHAPES[name], 1)]:
            yield (
                f"{name} rank {len(shape)}",
                name,
                {"shape": shape},
                BAD,
                f"{name}_desc has {len(shape)} dim",
            )
        yield f"{name} layout", name, {"layout": "NHWC"}, BAD, f"{name}_desc has layout NHWC"
        y, z = SHAPES[name][1:]
        strided = {"strides": (y * z * 2, z * 2, 2)}
        yield f"{name} strided", name, strided, UNSUPPORTED, f"{name}_desc is strided"
    yield "grad_output half", "grad_output", {"dtype": "half"}, BAD, "weights_desc is float"
    yield "weights half", "weights", {"dtype": "half"}, BAD, "weights_desc is half"
    yield "grad_features half", "grad_features", {"dtype": "half"}, BAD, "grad_features_desc is half"
    for dtype in ("int64", "float", "int16", "uint32"):
        yield f"indices {dtype}", "indices", {"dtype": dtype}, BAD, f"indices_desc is {dtype}"
    for axis, size in enumerate((5, 9, 17)):
        shape = tuple(size if i == axis else n for i, n in enumerate(SHAPES["grad_output"]))
        named = ("indices_desc dim 0", "grad_features_desc dim 1", "indices_desc dim 1")[axis]
        yield f"grad_output dim {axis}", "grad_output", {"shape": shape}, BAD, named
    for axis, size in enumerate((5, 9)):
        shape = tuple(size if i == axis else n for i, n in enumerate(SHAPES["grad_features"]))
        yield f"features dim {axis}", "grad_features", {"shape": shape}, BAD, f"grad_features_desc dim {axis}"
    for axis, size in enumerate((5, 17, 4)):
        shape = tuple(size if i == axis else n for i, n in enumerate(SHAPES["indices"]))
        named = "indices_desc dim 0" if axis == 0 else "weights_desc is [4, 16, 3]"
        yield f"indices dim {axis}", "indices", {"shape": shape}, BAD, named
        yield f"weights dim {axis}", "weights", {"shape": shape}, BAD, f"weights_desc is {list(shape)}"


@pytest.mark.parametrize(
    ("name", "changes", "status", "start"), [pytest.param(*row[1:], id=row[0]) for row in _changed()]
)
def test_one_property_changed(name, changes, status, start):
    """One wrong property of one tensor gives its status and a sentence that names the parameter."""
    found, sentence, launches = answer({name: description(name, **changes)})

    assert status == found
    assert sentence.startswith(f"mluOpThreeInterpolateBackward: {start}")
    assert not launches


@pytest.mark.parametrize("dtype", ["int32", "int16", "bfloat16", "float64"])
def test_a_dtype_that_all_share_and_nobody_supports(dtype):
    """Data of one dtype that is neither half nor float is refused."""
    names = ("grad_output", "weights", "grad_features")
    status, sentence, _ = answer({name: description(name, dtype=dtype) for name in names})

    assert BAD == status
    assert "grad_output_desc is " in sentence
    assert "must be half or float" in sentence


def test_four_neighbours():
    """Indices and weights may agree on a number of neighbours; it must be three."""
    shape = (B, N, 4)
    descriptors = {name: description(name, shape=shape) for name in ("indices", "weights")}
    status, sentence, _ = answer(descriptors)

    assert BAD == status
    assert "weights_desc dim 2 is 4; it must be 3" in sentence


def _shapes(b, c, n, m):
    shapes = {
        "grad_output": (b, c, n),
        "indices": (b, n, 3),
        "weights": (b, n, 3),
        "grad_features": (b, c, m),
    }
    return {name: description(name, shape=shape) for name, shape in shapes.items()}


NOTHING = dict.fromkeys(NAMES)


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ((0, C, N, M), "grad_output_desc: B (dim 0) is 0"),
        ((B, 0, N, M), "grad_output_desc: C (dim 1) is 0"),
        ((B, C, 0, M), "grad_output_desc: N (dim 2) is 0"),
        ((B, C, N, 0), "grad_features_desc: M (dim 2) is 0"),
        ((0, 0, 0, 0), "grad_output_desc: B (dim 0) is 0"),
    ],
)
def test_zero_elements(shape, named):
    """A dimension of 0 is an error by the document, M included, and found before null pointers are."""
    status, sentence, launches = answer(_shapes(*shape), NOTHING)

    assert BAD == status
    assert f"mluOpThreeInterpolateBackward: {named}; it must be 1 or more" == sentence
    assert not launches


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ((1, 1 << 15, 1 << 16, 1), "grad_output_desc"),
        ((1, 1, 715827883, 1), "indices_desc"),
        ((1, 1 << 15, 1, 1 << 16), "grad_features_desc"),
    ],
)
def test_large_tensors(shape, named):
    """2^31 elements are not supported; the first tensor that has them is named (weights are as large as indices)."""
    status, sentence, _ = answer(_shapes(*shape), NOTHING)

    assert UNSUPPORTED == status
    assert sentence.startswith(f"mluOpThreeInterpolateBackward: {named} has ")
    assert "fewer than 2147483648" in sentence


@pytest.mark.parametrize("shape", [(1, 1, 1, 2**31 - 1), (1, 2**31 - 1, 1, 1), (1, 1, 715827882, 1)])
def test_the_largest_legal_tensors(shape):
    """One element fewer passes all checks of shapes: only the null pointers stop the call."""
    status, sentence, _ = answer(_shapes(*shape), NOTHING)

    assert BAD == status
    assert "mluOpThreeInterpolateBackward: grad_output is a null pointer" == sentence


def test_a_zero_element_tensor_may_have_any_strides():
    """Strides of a tensor without elements mean nothing: the zero is what is named."""
    descriptors = _shapes(B, C, N, 0)
    descriptors["grad_features"] = description("grad_features", shape=(B, C, 0), strides=(7, 7, 7))

    assert "M (dim 2) is 0" in answer(descriptors)[1]


ORDER = [
    ("null descriptor", {"grad_features": None}, "grad_features_desc is a null descriptor"),
    ("rank", {"grad_features": {"shape": (B, C)}}, "grad_features_desc has 2 dimensions"),
    ("layout", {"grad_features": {"layout": "NTC"}}, "grad_features_desc has layout NTC"),
    ("data dtype", {"weights": {"dtype": "half"}}, "weights_desc is half"),
    ("index dtype", {"indices": {"dtype": "int64"}}, "indices_desc is int64"),
    ("output dtype", {"grad_features": {"dtype": "half"}}, "grad_features_desc is half"),
    ("batch", {"indices": {"shape": (5, N, 3)}, "weights": {"shape": (5, N, 3)}}, "indices_desc dim 0"),
    ("weights", {"weights": {"shape": (B, 17, 3)}}, "weights_desc is [4, 17, 3]"),
    ("neighbours", {"indices": {"shape": (B, N, 4)}, "weights": {"shape": (B, N, 4)}}, "weights_desc dim 2"),
    ("features batch", {"grad_features": {"shape": (5, C, M)}}, "grad_features_desc dim 0"),
    ("features channels", {"grad_features": {"shape": (B, 9, M)}}, "grad_features_desc dim 1"),
    ("points", {"indices": {"shape": (B, 17, 3)}, "weights": {"shape": (B, 17, 3)}}, "indices_desc dim 1"),
    ("strides", {"indices": {"strides": (96, 6, 2)}}, "indices_desc is strided"),
    ("large", {"grad_features": {"shape": (B, C, 1 << 26)}}, "grad_features_desc has 2147483648 elements"),
    ("zero", {"grad_features": {"shape": (B, C, 0)}}, "grad_features_desc: M (dim 2)"),
]


@pytest.mark.parametrize("first", range(len(ORDER)), ids=[row[0] for row in ORDER])
def test_the_first_failing_check_wins(first):
    """With each check failing together with every later one that touches other tensors, the earlier one answers."""
    _, changes, named = ORDER[first]
    later = [row[1] for row in ORDER[first + 1 :] if not set(row[1]) & set(changes)] or [{}]
    for other in later:
        both = {**changes, **other}
        descriptors = {name: c if c is None else description(name, **c) for name, c in both.items()}
        status, sentence, _ = answer(descriptors, NOTHING)

        assert sentence.startswith(f"mluOpThreeInterpolateBackward: {named}")
        assert (UNSUPPORTED if first in (12, 13) else BAD) == status


@pytest.mark.parametrize("board", ["MLU220-M2", "MLU270-S4", "MLU290-M5"])
def test_ti_12_more_features_than_mlu2xx_counts(board):
    """2^23 features pass on to the null pointers, one more is refused; MLU370 takes it."""

    def said(m, board):
        descriptors = {"grad_features": description("grad_features", shape=(B, C, m))}
        return answer(descriptors, NOTHING, Handle(board))[:2]

    arch = Handle(board).board.arch.name
    null = (BAD, "mluOpThreeInterpolateBackward: grad_output is a null pointer")
    sentence = (
        f"mluOpThreeInterpolateBackward: grad_features_desc: M (dim 2) is 8388609; on {board} ({arch}) indices go to "
        "2^23 - 1, so M is at most 8388608; take a board of mtp_372 or mtp_592"
    )

    assert null == said(2**23, board)
    assert (UNSUPPORTED, sentence) == said(2**23 + 1, board)
    assert null == said(2**23 + 1, "MLU370-X4")


@pytest.mark.parametrize(
    ("shape", "board", "expected"),
    [
        ((1, 1, 1, 1), "MLU370-X4", (4, 1, 1)),
        ((4, 1, 1, 1), "MLU370-X4", (4, 1, 1)),
        ((5, 1, 1, 1), "MLU370-X4", (4, 2, 1)),
        ((97, 1, 1, 1), "MLU370-X4", (4, 8, 1)),
        ((97, 1, 1, 1), "MLU590-H8", (4, 12, 1)),
        ((1, 40, 40, 3001), "MLU590-H8", (4, 2, 1)),
        ((1, 40, 40, 600), "MLU590-H8", (4, 1, 1)),
    ],
)
def test_the_launch_takes_no_more_clusters_than_it_needs(shape, board, expected):
    """Union1 tasks, one tile of features of one batch per core, at most as many clusters as the board has."""
    handle = Handle(board)
    b, c, n, m = shape
    arrays = {
        "grad_output": np.ones((b, c, n), np.float32),
        "indices": np.zeros((b, n, 3), np.int32),
        "weights": np.ones((b, n, 3), np.float32),
        "grad_features": np.zeros((b, c, m), np.float32),
    }
    _, _, launches = answer(_shapes(*shape), {k: handle.device.put(v) for k, v in arrays.items()}, handle)

    assert [(expected, "UNION1")] == [(launch.dim, launch.kind) for launch in launches]


ZERO_SIZES = {  # the document's table, as printed
    "case_11": ([0, 128, 128], [0, 128, 3], [0, 128, 3], [0, 128, 128]),
    "case_12": ([16, 0, 128], [16, 128, 3], [16, 128, 3], [16, 128, 0]),
    "case_13": ([16, 128, 128], [16, 128, 3], [16, 128, 3], [16, 128, 0]),
    "case_14": ([16, 128, 0], [16, 0, 3], [16, 0, 3], [16, 128, 128]),
    "case_15": ([0, 0, 0], [0, 0, 3], [0, 0, 3], [0, 0, 0]),
}


@pytest.mark.parametrize("name", ZERO_SIZES)
def test_the_cases_without_elements_have_the_sizes_of_the_document(name, caplog):
    """What the host function is given, case 12 with the channels and points that its output has alone."""
    with caplog.at_level(logging.DEBUG, "mlusim.host"):
        record = perform(Job("three_interpolate_backward", name, "MLU370-X4"))
    told = "\n".join(caplog.messages)

    assert record.passed
    for tensor, size in zip(NAMES, ZERO_SIZES[name], strict=True):
        assert f"{tensor}_desc: shape {size}," in told


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"indices": {"shape": (B, N, 4)}},
            f"weights_desc is [{B}, {N}, 3] and indices_desc is [{B}, {N}, 4]; they must have the same shape",
        ),
        (
            {"grad_output": {"dtype": "int32"}},
            "weights_desc is float and grad_output_desc is int32; they must have the same dtype",
        ),
    ],
    ids=["shape", "dtype"],
)
def test_no_tensor_is_held_against_one_that_may_be_wrong(changed, said):
    """Both are named, since nothing before says which of them is right."""
    descriptors = _shapes(B, C, N, M)
    for name, given in changed.items():
        descriptors[name] = description(name, **given)

    assert answer(descriptors)[1] == f"mluOpThreeInterpolateBackward: {said}"
