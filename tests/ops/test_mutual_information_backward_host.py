"""The host interface of mutual_information_backward: every check, in the library's order, with its sentence."""

import numpy as np
import pytest

from mlusim import DEFAULT_BOARDS
from mlusim.counted import counted
from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.host.library import LAYOUTS
from ops.host import mluOpGetMutualInformationBackwardWorkspaceSize, mluOpMutualInformationBackward
from ops.mutual_information_backward.cases import GAPS

SUCCESS = Status.MLUOP_STATUS_SUCCESS
BAD_PARAM = Status.MLUOP_STATUS_BAD_PARAM
NOT_SUPPORTED = Status.MLUOP_STATUS_NOT_SUPPORTED
ARCH_MISMATCH = Status.MLUOP_STATUS_ARCH_MISMATCH

TENSORS = ("px", "py", "opt_boundary", "p", "ans_grad", "px_grad", "py_grad")
FLOATS = tuple(name for name in TENSORS if name != "opt_boundary")


def shapes(B, S, T):
    """The shape of every tensor."""
    px, py = (B, S, T + 1), (B, S + 1, T)
    return {
        "px": px, "py": py, "opt_boundary": (B, 4), "p": (B, S + 1, T + 1), "ans_grad": (B,), "px_grad": px, "py_grad": py,
    }  # fmt: skip


def descriptors(B, S, T):
    """The descriptor of every tensor, by parameter name."""
    dtypes = {"opt_boundary": "int64"}
    return {f"{n}_desc": TensorDescriptor(s, dtypes.get(n, "float")) for n, s in shapes(B, S, T).items()}


def call(handle, B=4, S=15, T=104, **changes):
    """Call the interface on zeros of B, S, T; *changes* replace arguments.  Tensors are made where there is none."""
    arguments = (
        descriptors(B, S, T) | {"overwrite_ans_grad": True, "workspace": None, "workspace_size": 0} | changes
    )
    for name in TENSORS:
        if name not in arguments:
            desc = arguments[f"{name}_desc"]
            arguments[name] = None if desc is None else tensor(handle, desc)
    return mluOpMutualInformationBackward(handle, **arguments)


def tensor(handle, desc):
    """Zeros for *desc*; one element where the descriptor is about more than a test should hold."""
    if handle is None:
        return None
    shape = desc.shape if desc.size < 1 << 20 else (1,)
    dtype = desc.dtype if isinstance(desc.dtype, str) is False else "uint8"
    made = handle.device.empty(shape, dtype)
    handle.device.set(made, 0)
    return made


def refused(status, sentence, **arguments):
    """Assert that the call is refused with *status* and a sentence with these words, and that nothing ran."""
    handle = Handle(arguments.pop("board", "MLU370-X4"))

    assert status == call(handle, **arguments)
    assert handle.last_error.startswith("mluOpMutualInformationBackward: ")
    assert sentence in handle.last_error
    assert [] == handle.launches


@pytest.mark.parametrize("board", DEFAULT_BOARDS)
def test_the_base_of_this_table_succeeds(board):
    """What the other tests spoil is right: with a boundary and without one."""
    handle = Handle(board)

    assert [SUCCESS] * 2 == [call(handle), call(handle, opt_boundary_desc=None, opt_boundary=None)]
    assert "" == handle.last_error
    assert 2 == len(handle.launches)


def test_a_null_handle_is_refused():
    """Without a handle there is nothing to keep a sentence in."""
    assert BAD_PARAM == call(None)


@pytest.mark.parametrize("name", [f"{n}_desc" for n in FLOATS])
def test_null_descriptors(name):
    """Every descriptor but the boundary's must be there."""
    pointer = {name.removesuffix("_desc"): None}
    refused(BAD_PARAM, f"{name} is a null descriptor", **{name: None}, **pointer)


@pytest.mark.parametrize("name", FLOATS)
def test_null_pointers(name):
    """Every pointer but the boundary's must be there."""
    refused(BAD_PARAM, f"{name} is a null pointer", **{name: None})


@pytest.mark.parametrize("missing", ["opt_boundary_desc", "opt_boundary"])
def test_half_a_boundary(missing):
    """A boundary has a descriptor and a pointer, or neither."""
    handle = Handle()
    given = {"opt_boundary": tensor(handle, TensorDescriptor((4, 4), "int64"))} | {missing: None}

    assert BAD_PARAM == call(handle, **given)
    assert "opt_boundary_desc and opt_boundary must both be null, or neither" in handle.last_error


@pytest.mark.parametrize("board", ["MLU220-M2", "MLU270-S4", "MLU290-M5", "CE3226-V101"])
def test_older_boards(board):
    """The operator needs architecture 372."""
    refused(ARCH_MISMATCH, f"{board} is", board=board)


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("more", [-1, 1])
def test_ranks(name, more):
    """A dimension too few or too many."""
    shape = shapes(4, 15, 104)[name]
    wrong = (*shape, 1) if more > 0 else shape[:-1]
    dtype = "int64" if name == "opt_boundary" else "float"
    sentence = f"{name}_desc has {counted(len(wrong), 'dimension')}; it must have {len(shape)}"
    refused(BAD_PARAM, sentence, **{f"{name}_desc": TensorDescriptor(wrong, dtype)})


DIMENSIONS = [  # tensor, axis, size instead, who is blamed, status
    ("px", 0, 3, "py_desc dim 0 is 4; it must be 3", BAD_PARAM),
    ("py", 0, 3, "py_desc dim 0 is 3; it must be 4", BAD_PARAM),
    ("p", 0, 3, "p_desc dim 0 is 3; it must be 4", BAD_PARAM),
    ("ans_grad", 0, 1, "ans_grad_desc dim 0 is 1; it must be 4", BAD_PARAM),
    ("px_grad", 0, 5, "px_grad_desc dim 0 is 5; it must be 4", BAD_PARAM),
    ("py_grad", 0, 5, "py_grad_desc dim 0 is 5; it must be 4", BAD_PARAM),
    ("px", 2, 104, "px_desc dim 2 must be T + 1", NOT_SUPPORTED),
    ("py", 2, 107, "px_desc dim 2 must be T + 1", NOT_SUPPORTED),
    ("px", 1, 14, "py_desc dim 1 is 16; it must be 15, S + 1", BAD_PARAM),
    ("py", 1, 15, "py_desc dim 1 is 15; it must be 16, S + 1", BAD_PARAM),
    ("opt_boundary", 0, 3, "opt_boundary_desc dim 0 is 3; it must be 4", BAD_PARAM),
    ("opt_boundary", 1, 3, "opt_boundary_desc dim 1 is 3; it must be 4, begin_symbol", BAD_PARAM),
    ("p", 1, 20, "p_desc dim 1 is 20; it must be 16, S + 1", BAD_PARAM),
    ("p", 2, 10, "p_desc dim 2 is 10; it must be 105, T + 1", BAD_PARAM),
    ("px_grad", 1, 16, "px_grad_desc is [4, 16, 105]; it must be [4, 15, 105], as px_desc", BAD_PARAM),
    ("px_grad", 2, 104, "px_grad_desc is [4, 15, 104]; it must be [4, 15, 105], as px_desc", BAD_PARAM),
    ("py_grad", 1, 15, "py_grad_desc is [4, 15, 104]; it must be [4, 16, 104], as py_desc", BAD_PARAM),
    ("py_grad", 2, 105, "py_grad_desc is [4, 16, 105]; it must be [4, 16, 104], as py_desc", BAD_PARAM),
]


@pytest.mark.parametrize(
    ("name", "axis", "size", "sentence", "status"),
    DIMENSIONS,
    ids=[f"{n}-{a}-{s}" for n, a, s, _, _ in DIMENSIONS],
)
def test_every_wrong_dimension_is_refused(name, axis, size, sentence, status):
    """Every dimension of every tensor."""
    shape = list(shapes(4, 15, 104)[name])
    shape[axis] = size
    dtype = "int64" if name == "opt_boundary" else "float"
    refused(status, sentence, **{f"{name}_desc": TensorDescriptor(shape, dtype)})


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("dtype", ["half", "bfloat16", "float", "int8", "int32", "int64", "uint8", "float64"])
def test_dtypes(name, dtype):
    """Every dtype but float, and int64 for the boundary, is not supported."""
    right = "int64" if name == "opt_boundary" else "float"
    desc = TensorDescriptor(shapes(4, 15, 104)[name], dtype)
    if dtype == right:
        assert SUCCESS == call(Handle(), **{f"{name}_desc": desc})
    else:
        refused(NOT_SUPPORTED, f"{name}_desc is {dtype}; it must be {right}", **{f"{name}_desc": desc})


@pytest.mark.parametrize("name", TENSORS)
def test_strided_tensors(name):
    """A tensor with gaps between its elements is not supported."""
    shape = shapes(4, 15, 104)[name]
    dense = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    dtype = "int64" if name == "opt_boundary" else "float"
    gaps = TensorDescriptor(shape, dtype, strides=tuple(2 * n for n in dense))

    refused(NOT_SUPPORTED, f"{name}_desc is strided", **{f"{name}_desc": gaps})
    assert SUCCESS == call(Handle(), **{f"{name}_desc": TensorDescriptor(shape, dtype, strides=tuple(dense))})


def test_strides_of_nothing_do_not_matter():
    """A tensor without elements has no gaps, whatever its strides."""
    empty = TensorDescriptor((4, 0, 6), "float", strides=(9, 9, 9))

    assert SUCCESS == call(Handle(), 4, 0, 5, px_desc=empty)


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_not_looked_at(name, layout):
    """The document limits layouts to ARRAY, but neither its check list nor the library tests them."""
    desc = TensorDescriptor(shapes(4, 15, 104)[name], "int64" if name == "opt_boundary" else "float", layout)

    assert SUCCESS == call(Handle(), **{f"{name}_desc": desc})


LARGE = [  # B, S, T, and the first tensor of 2^31 elements or more
    (1, 46340, 46341, "px_desc has 2147488280 elements"),
    (1, 1, 1 << 30, "py_desc has 2147483648 elements"),
    (1 << 29, 0, 1, "opt_boundary_desc has 2147483648 elements"),
    (1, 46340, 46340, "p_desc has 2147488281 elements"),
]


@pytest.mark.parametrize(("B", "S", "T", "sentence"), LARGE)
def test_large_tensors(B, S, T, sentence):
    """2^31 elements are too many, told from the descriptors alone."""
    refused(NOT_SUPPORTED, sentence, B=B, S=S, T=T)


def test_one_element_less_is_not_large():
    """A p of 2^31 - 1 elements passes that check, and is then too wide for NRAM."""
    refused(NOT_SUPPORTED, "need 51539607524 bytes of NRAM", B=1, S=0, T=(1 << 31) - 2)


def test_the_scale_limit_says_what_is_there():
    """The sentence names S and T, the bytes needed, the board and the bytes it has."""
    refused(
        NOT_SUPPORTED,
        "px_desc and py_desc: S = 9 and T = 5648 need 655368 bytes of NRAM; MLU370-X4 has 655360 for a kernel",
        S=9,
        T=5648,
        B=1,
    )


@pytest.mark.parametrize(("B", "S", "T"), [(0, 15, 104), (0, 0, 0), (0, 7, 0), (4, 0, 0)])
def test_zero_elements(B, S, T):
    """B = 0, or S = T = 0, is a success without a launch, whatever the pointers and the workspace."""
    handle = Handle()
    nothing = dict.fromkeys((*TENSORS, "workspace"))

    assert SUCCESS == call(handle, B, S, T, workspace_size=8, **nothing)
    assert "" == handle.last_error
    assert [] == handle.launches


def test_zero_elements_come_after_the_scale_limit():
    """An empty batch of a lattice that no board holds is not supported."""
    S, T = GAPS["mlu370"][0]
    refused(NOT_SUPPORTED, "bytes of NRAM", B=0, S=S, T=T)


@pytest.mark.parametrize(("S", "T", "empty"), [(0, 5, ("px", "px_grad")), (6, 0, ("py", "py_grad"))])
def test_one_empty_gradient_is_computed(S, T, empty):
    """S = 0 or T = 0 alone is a launch, and the empty tensors may come as null pointers."""
    handle = Handle()
    boundary = dict.fromkeys(("opt_boundary_desc", "opt_boundary"))
    ans_grad = handle.device.put(np.array([2.0, 3.0], np.float32))
    full = {name: tensor(handle, TensorDescriptor(shapes(2, S, T)[name], "float")) for name in FLOATS}
    arguments = full | dict.fromkeys(empty) | {"ans_grad": ans_grad} | boundary
    written = "py_grad" if S == 0 else "px_grad"

    assert SUCCESS == call(handle, 2, S, T, **arguments)
    assert [1.0, 1.0] == (handle.device.get(full[written]).reshape(2, -1)[:, 0] / [2.0, 3.0]).tolist()
    assert 1 == len(handle.launches)


@pytest.mark.parametrize(("S", "T", "needed"), [(0, 5, ("py", "py_grad")), (6, 0, ("px", "px_grad"))])
def test_the_other_gradient_needs_its_pointers(S, T, needed):
    """Where one gradient is empty, the pointers of the other must be there."""
    for name in needed:
        refused(BAD_PARAM, f"{name} is a null pointer", B=2, S=S, T=T, **{name: None})


def test_a_workspace_size_needs_a_pointer():
    """A size needs a pointer; a pointer and a size that are not needed do no harm."""
    handle = Handle()

    refused(BAD_PARAM, "workspace is a null pointer although workspace_size is not 0", workspace_size=4)
    assert SUCCESS == call(handle, workspace=handle.device.empty(4, "uint8"), workspace_size=4)
    assert SUCCESS == call(handle, workspace=handle.device.empty(4, "uint8"), workspace_size=0)


FLOAT_3D = TensorDescriptor((4, 15, 105), "float")
IN_ORDER = [  # one mistake for each check, in the library's order; each leaves the later ones possible
    ("py_grad_desc is a null", {"py_grad_desc": None}),
    ("MLU270-S4 is", {"board": "MLU270-S4"}),
    ("opt_boundary_desc has 1", {"opt_boundary_desc": TensorDescriptor((16,), "int64")}),
    ("ans_grad_desc dim 0", {"ans_grad_desc": TensorDescriptor((3,), "float")}),
    ("px_desc dim 2", {"px_desc": TensorDescriptor((4, 15, 104), "float")}),
    ("opt_boundary_desc dim 1", {"opt_boundary_desc": TensorDescriptor((4, 5), "int64")}),
    ("p_desc dim 2", {"p_desc": TensorDescriptor((4, 16, 104), "float")}),
    ("px_grad_desc is [4, 16, 105]", {"px_grad_desc": TensorDescriptor((4, 16, 105), "float")}),
    ("py_grad_desc is [4, 15, 105]", {"py_grad_desc": FLOAT_3D}),
    ("p_desc is strided", {"p_desc": TensorDescriptor((4, 16, 105), "float", strides=(9999, 105, 1))}),
    ("px_desc is half", {"px_desc": TensorDescriptor((4, 15, 105), "half")}),
    ("opt_boundary_desc is int32", {"opt_boundary_desc": TensorDescriptor((4, 4), "int32")}),
    ("ans_grad_desc is int32", {"ans_grad_desc": TensorDescriptor((4,), "int32")}),
    ("workspace is a null", {"workspace_size": 1}),
    ("px is a null", {"px": None}),
    ("px_grad is a null", {"px_grad": None}),
    ("py is a null", {"py": None}),
    ("py_grad is a null", {"py_grad": None}),
    ("p is a null", {"p": None}),
    ("ans_grad is a null", {"ans_grad": None}),
    ("must both be null", {"opt_boundary": None}),
]


@pytest.mark.parametrize("first", range(len(IN_ORDER)), ids=[sentence for sentence, _ in IN_ORDER])
def test_the_first_failing_check_wins(first):
    """With all the later mistakes made as well, the earlier check still speaks."""
    arguments = {}
    for _, mistake in reversed(IN_ORDER[first:]):
        arguments |= mistake
    handle = Handle(arguments.pop("board", "MLU370-X4"))

    assert call(handle, **arguments) in (BAD_PARAM, NOT_SUPPORTED, ARCH_MISMATCH)
    assert IN_ORDER[first][0] in handle.last_error


def query(handle, box, **changes):
    """Ask for the workspace of the base call."""
    descs = {
        name: d
        for name, d in descriptors(4, 15, 104).items()
        if "grad_desc" not in name or name == "ans_grad_desc"
    }
    return mluOpGetMutualInformationBackwardWorkspaceSize(
        handle, **(descs | {"overwrite_ans_grad": True, "workspace_size": box} | changes)
    )


@pytest.mark.parametrize("box", [[7], np.array([7]), [7, 8]])
def test_workspace_query(box):
    """D4: the answer is 0 bytes, stored where the pointer points."""
    handle = Handle()

    assert SUCCESS == query(handle, box)
    assert SUCCESS == query(handle, box, opt_boundary_desc=None)
    assert 0 == box[0]
    assert len(box) == 1 or box[1] == 8


@pytest.mark.parametrize("name", ["px_desc", "py_desc", "p_desc", "ans_grad_desc", "workspace_size"])
def test_workspace_query_refuses_null(name):
    """The pointer and every descriptor but the boundary's must be there; nothing is stored."""
    handle, box = Handle(), [7]

    assert BAD_PARAM == query(handle, box, **{name: None})
    assert f"mluOpGetMutualInformationBackwardWorkspaceSize: {name} is a null" in handle.last_error
    assert [7] == box
    assert BAD_PARAM == query(None, box)


@pytest.mark.parametrize("box", [7, (7,), [], "7"])
def test_workspace_query_refuses_what_cannot_receive(box):
    """An object that cannot store a number at index 0 is refused with a message, not a traceback."""
    handle = Handle()

    assert BAD_PARAM == query(handle, box)
    assert "cannot receive a number; give a list of one element" in handle.last_error
