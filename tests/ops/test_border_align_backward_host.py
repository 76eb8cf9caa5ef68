"""Every check of mluOpBorderAlignBackward: its status, its sentence, its place in the order."""

import numpy as np
import pytest

import ops.host
from mlusim.host import Handle, Status, TensorDescriptor

API = "mluOpBorderAlignBackward"
N, K, H, W, C = 2, 6, 2, 3, 5
SHAPES = {
    "grad_output": (N, K, 4, C),
    "boxes": (N, K, 4),
    "argmax_idx": (N, K, 4, C),
    "grad_input": (N, H, W, 4 * C),
}
DTYPES = {"grad_output": "float32", "boxes": "float32", "argmax_idx": "int32", "grad_input": "float32"}
LAYOUTS = {"grad_output": "NHWC", "boxes": "ARRAY", "argmax_idx": "NHWC", "grad_input": "NHWC"}
NAMES = tuple(SHAPES)
BAD, UNSUPPORTED = Status.MLUOP_STATUS_BAD_PARAM, Status.MLUOP_STATUS_NOT_SUPPORTED
SUCCESS = Status.MLUOP_STATUS_SUCCESS


def description(name, **changes):
    """Describe a legal tensor, with some properties changed."""
    legal = {"shape": SHAPES[name], "dtype": DTYPES[name], "layout": LAYOUTS[name]}
    return TensorDescriptor(**legal | changes)


def answer(descriptors=None, pointers=None, pool_size=4, handle=None, dtypes=DTYPES):
    """Call with legal tensors but for what is given; return (status, sentence, launches)."""
    handle = handle or Handle()
    descs = {name: description(name) for name in NAMES} | (descriptors or {})
    data = {name: handle.device.put(np.zeros(SHAPES[name], dtypes[name])) for name in NAMES} | (
        pointers or {}
    )
    a, b, c, d = ((descs[name], data[name]) for name in NAMES)
    status = ops.host.mluOpBorderAlignBackward(handle, *a, *b, *c, pool_size, *d)
    return status, handle.last_error, len(handle.launches)


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_legal_calls_succeed(board, dtype):
    """The table below changes one property of a call that succeeds, in either type."""
    types = {name: "int32" if name == "argmax_idx" else dtype for name in NAMES}
    descs = {name: description(name, dtype=types[name]) for name in NAMES}

    assert (SUCCESS, "", 2) == answer(descs, handle=Handle(board), dtypes=types)


def test_a_null_handle_is_refused():
    """Without a handle there is nowhere to keep a sentence, only the status."""
    a, b, c, d = ((description(name), None) for name in NAMES)

    assert BAD == ops.host.mluOpBorderAlignBackward(None, *a, *b, *c, 4, *d)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", ["descriptor", "pointer"])
def test_every_null_pointer_is_named(name, what):
    """Every null descriptor and every null pointer is named."""
    found = answer({name: None}) if what == "descriptor" else answer(pointers={name: None})
    named = f"{name}_desc is a null descriptor" if what == "descriptor" else f"{name} is a null pointer"

    assert (BAD, f"{API}: {named}", 0) == found


def _changed():
    """Yield (title, tensor, changes, status, sentence) for every property of every tensor."""
    for name in NAMES:
        shape, size = SHAPES[name], len(SHAPES[name])
        for other in (shape[1:], (*shape, 1)):
            sentence = f"{name}_desc has {len(other)} dimensions; it must have {size}"
            yield f"{name} rank {len(other)}", name, {"shape": other}, BAD, sentence
        strides = tuple(2 * s for s in np.cumprod((1, *shape[:0:-1]))[::-1].tolist())
        sentence = f"{name}_desc is strided; make the tensor contiguous"
        yield f"{name} strided", name, {"strides": strides}, UNSUPPORTED, sentence
    for name in ("grad_output", "argmax_idx", "grad_input"):
        for layout in ("ARRAY", "NCHW"):
            sentence = f"{name}_desc has layout {layout}; it must have NHWC"
            yield f"{name} {layout}", name, {"layout": layout}, BAD, sentence
    for dtype in ("int32", "int64", "bfloat16", "int8", "float64"):
        sentence = f"grad_output_desc is {dtype}; it must be half or float"
        yield f"grad_output {dtype}", "grad_output", {"dtype": dtype}, BAD, sentence
    for dtype in ("int64", "int16", "uint32", "half", "float"):
        sentence = f"argmax_idx_desc is {dtype}; it must be int32"
        yield f"argmax {dtype}", "argmax_idx", {"dtype": dtype}, BAD, sentence
    for name in ("boxes", "grad_input"):
        for dtype in ("half", "int32", "bfloat16"):
            sentence = f"{name}_desc is {dtype}; it must be float, as grad_output_desc"
            yield f"{name} {dtype}", name, {"dtype": dtype}, BAD, sentence


def _dims():
    """Yield the same for every dimension, one more and one less; each says which dimension it must follow."""
    n, k, c = "dim 0 of grad_input_desc", "dim 1 of boxes_desc", "a quarter of dim 3 of grad_input_desc"
    rules = {
        ("grad_output", 0): (N, n),
        ("grad_output", 1): (K, k),
        ("grad_output", 2): (4, "the borders of a box"),
        ("grad_output", 3): (C, c),
        ("boxes", 0): (N, n),
        ("boxes", 1): (K, "H * W of grad_input_desc"),
        ("boxes", 2): (4, "x0, y0, x1, y1"),
        ("argmax_idx", 0): (N, n),
        ("argmax_idx", 1): (K, k),
        ("argmax_idx", 2): (4, "the borders of a box"),
        ("argmax_idx", 3): (C, c),
    }
    for (name, axis), (wanted, meaning) in rules.items():
        for found in (wanted - 1, wanted + 1, 0):
            shape = tuple(found if i == axis else n for i, n in enumerate(SHAPES[name]))
            sentence = f"{name}_desc dim {axis} is {found}; it must be {wanted}, {meaning}"
            if (name, axis) == ("boxes", 1):
                sentence = sentence.replace(f"be {wanted}", f"be {H * W}")
            yield f"{name} dim {axis} = {found}", name, {"shape": shape}, BAD, sentence
    outputs = {
        (N + 1, H, W, 4 * C): f"grad_output_desc dim 0 is {N}; it must be {N + 1}, {n}",
        (N, H + 1, W, 4 * C): f"boxes_desc dim 1 is {K}; it must be {(H + 1) * W}, H * W of grad_input_desc",
        (N, H, W + 1, 4 * C): f"boxes_desc dim 1 is {K}; it must be {H * (W + 1)}, H * W of grad_input_desc",
        (N, H, W, 4 * C + 4): f"grad_output_desc dim 3 is {C}; it must be {C + 1}, {c}",
        (
            N,
            H,
            W,
            4 * C + 1,
        ): "grad_input_desc: dim 3 must be a multiple of 4, the channels of the four borders",
        (0, H, W, 4 * C): "grad_input_desc: N (dim 0) is 0; it must be 1 or more",
        (N, H, W, 0): "grad_input_desc: 4C (dim 3) is 0; it must be 1 or more",
        (N, 0, W, 4 * C): "grad_input_desc: H (dim 1) is 0; it must be 1 or more",
        (N, H, 0, 4 * C): "grad_input_desc: W (dim 2) is 0; it must be 1 or more",
    }
    for shape, sentence in outputs.items():
        yield f"grad_input {shape}", "grad_input", {"shape": shape}, BAD, sentence


ROWS = [*_changed(), *_dims()]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_one_property_wrong(row):
    """Status and sentence for one wrong property of one tensor; nothing is launched."""
    _, name, changes, status, sentence = row

    assert (status, f"{API}: {sentence}", 0) == answer({name: description(name, **changes)})


@pytest.mark.parametrize("pool_size", [0, -1, -(2**31), 2**31, None, 1.5])
def test_pool_size(pool_size):
    """Anything but an int32 of 1 or more."""
    assert (BAD, f"{API}: pool_size must be an int32 of 1 or more", 0) == answer(pool_size=pool_size)


def test_layout_of_boxes_is_not_checked():
    """Boxes may have any layout, as in the library."""
    assert SUCCESS == answer({"boxes": description("boxes", layout="NTC")})[0]


def huge(channels, n=1025, h=32, w=32):
    """Describe tensors of many elements."""
    shapes = ((n, h * w, 4, channels), (n, h * w, 4), (n, h * w, 4, channels), (n, h, w, 4 * channels))
    return {name: description(name, shape=shape) for name, shape in zip(NAMES, shapes, strict=True)}


def test_large_tensors():
    """From 2^31 elements on a tensor is not supported; the pointers are not looked at before."""
    nothing = dict.fromkeys(NAMES)
    exactly = huge(512, 1024)
    below = {name: description(name, shape=shape) for name, shape in BELOW.items()}
    published = huge(512)

    for descs, size in ((exactly, 2**31), (published, 1025 * 1024 * 4 * 512)):
        sentence = f"grad_output_desc has {size} elements; it must have fewer than {2**31}"
        assert (UNSUPPORTED, f"{API}: {sentence}", 0) == answer(descs, nothing)
    assert (BAD, f"{API}: grad_output is a null pointer", 0) == answer(below, nothing)


BELOW = {  # 4 elements short of 2^31
    "grad_output": (1, 1, 4, 2**29 - 1),
    "boxes": (1, 1, 4),
    "argmax_idx": (1, 1, 4, 2**29 - 1),
    "grad_input": (1, 1, 1, 4 * (2**29 - 1)),
}

ORDER = (  # each fails one check; they are listed in the order in which the library asks
    ({"grad_output": None}, "grad_output_desc is a null descriptor"),
    ({"boxes": None}, "boxes_desc is a null descriptor"),
    ({"argmax_idx": None}, "argmax_idx_desc is a null descriptor"),
    ({"grad_input": None}, "grad_input_desc is a null descriptor"),
)
LATER = (  # (tensor, changes, what the sentence says)
    ("boxes", {"shape": (N, K)}, "boxes_desc has 2 dimensions"),
    ("grad_output", {"strides": (1, 1, 1, 1)}, "grad_output_desc is strided"),
    ("grad_output", {"dtype": "int32"}, "grad_output_desc is int32"),
    ("argmax_idx", {"dtype": "float"}, "argmax_idx_desc is float"),
    ("boxes", {"dtype": "half"}, "boxes_desc is half"),
    ("grad_input", {"dtype": "half"}, "grad_input_desc is half"),
    ("grad_output", {"layout": "NCHW"}, "grad_output_desc has layout NCHW"),
    ("grad_input", {"shape": (N, H, W, 4 * C + 1)}, "grad_input_desc: dim 3 must be"),
    ("grad_input", {"shape": (0, H, W, 4 * C)}, "grad_input_desc: N"),
    ("boxes", {"shape": (N, K + 1, 4)}, "boxes_desc dim 1"),
    ("boxes", {"shape": (N, K, 5)}, "boxes_desc dim 2"),
    ("grad_output", {"shape": (N, K, 4, C + 1)}, "grad_output_desc dim 3"),
    ("boxes", {"shape": (N + 1, K, 4)}, "boxes_desc dim 0"),
    ("argmax_idx", {"shape": (N, K, 4, C + 1)}, "argmax_idx_desc dim 3"),
)


def test_the_first_failing_check_wins():
    """Of two wrong properties on different tensors the one that the library asks for first is reported."""
    for (descs, first), (name, changes, second) in [(a, b) for a in ORDER for b in LATER]:
        if name not in descs:
            found = answer({name: description(name, **changes)} | descs)
            assert f"{API}: {first}" == found[1], second
    for i, (name, changes, sentence) in enumerate(LATER):
        for other, more, _ in LATER[i + 1 :]:
            if other != name:
                found = answer({name: description(name, **changes), other: description(other, **more)})
                assert found[1].startswith(f"{API}: {sentence}"), (name, other, found)
    last = answer({"argmax_idx": description("argmax_idx", shape=(N, K, 4, C + 1))}, {"grad_output": None})

    assert f"{API}: argmax_idx_desc dim 3" in last[1]


def test_a_success_forgets_the_last_error():
    """last_error belongs to the last call."""
    handle = Handle()
    refused = answer(pool_size=0, handle=handle)

    assert refused[1]
    assert (SUCCESS, "", 2) == answer(handle=handle)
