"""Every check of the host functions of dynamic_scatter_backward: status, sentence, place in the order."""

import numpy as np
import pytest
from dynamic_scatter_tools import MAX, inputs_of

import ops
import ops.host
from mlusim.arch.catalog import BOARDS
from mlusim.errors import StatusError, UsageError
from mlusim.host import Handle, Status, TensorDescriptor
from ops.dynamic_scatter_backward.host import TENSORS, mluOpReduceMode_t, workspace_bytes
from ops.dynamic_scatter_backward.plan import PLAN

N, M, C = 8, 4, 6
SHAPES = {
    "grad_voxel_feats": (M, C),
    "feats": (N, C),
    "voxel_feats": (M, C),
    "point2voxel_map": (N,),
    "voxel_points_count": (M,),
    "voxel_num": (1,),
    "grad_feats": (N, C),
}
BAD, UNSUPPORTED = Status.MLUOP_STATUS_BAD_PARAM, Status.MLUOP_STATUS_NOT_SUPPORTED
SUCCESS = Status.MLUOP_STATUS_SUCCESS
API = "mluOpDynamicScatterBackward"
DMAX = mluOpReduceMode_t.MLUOP_REDUCE_DMAX


def dtype_of(name):
    """Return the dtype that the tensor must have."""
    return "float32" if len(SHAPES[name]) == 2 else "int32"


def descriptions(shapes=None, **changed):
    """Describe legal tensors, of other *shapes*, and with the descriptors in *changed* instead."""
    described = {name: TensorDescriptor((shapes or SHAPES)[name], dtype_of(name)) for name in TENSORS}
    return described | changed


def shaped(n, m, c):
    """Return the shapes of a call with N, M and C."""
    sizes = {"grad_voxel_feats": (m, c), "voxel_feats": (m, c), "voxel_points_count": (m,), "voxel_num": (1,)}
    return sizes | {"feats": (n, c), "grad_feats": (n, c), "point2voxel_map": (n,)}


def answer(descs=None, pointers=None, *, reduce_type=DMAX, workspace=None, handle=None, shapes=None):
    """Call with legal tensors but for what is given; return (status, sentence, launches).

    *workspace* is (pointer, size); the default is what the call needs.
    """
    handle = handle or Handle()
    descs = descs or descriptions(shapes)
    data = {}
    for name in TENSORS:
        shape = SHAPES[name] if shapes is None else shapes[name]
        data[name] = handle.device.put(np.zeros(shape, dtype_of(name)))
    data |= pointers or {}
    size = workspace_bytes(M, C)
    pointer, size = (handle.device.empty(size, "int8"), size) if workspace is None else workspace
    given = [value for name in TENSORS[:-1] for value in (descs[f"{name}"], data[name])]
    status = ops.host.mluOpDynamicScatterBackward(
        handle, reduce_type, *given, pointer, size, descs["grad_feats"], data["grad_feats"]
    )
    return status, handle.last_error, handle.launches


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("reduce_type", [DMAX, 2, "max", mluOpReduceMode_t.MLUOP_REDUCEMODE_MAX])
def test_legal_calls_are_accepted(board, reduce_type):
    """The tables below change one thing of a call that succeeds; the maximum has four spellings."""
    status, sentence, launches = answer(reduce_type=reduce_type, handle=Handle(board))

    assert (SUCCESS, "") == (status, sentence)
    assert [
        "MLUUnion1Fill",
        "MLUUnion1Fill",
        "MLUUnion1Fill",
        "max_reduce_traceback_scatter_idx_kernel",
        "max_reduce_scatter_grad_kernel",
    ] == [launch.kernel for launch in launches]


@pytest.mark.parametrize("layout", ["ARRAY", "NHWC", "NCHW", "NC"])
def test_the_layout_is_not_looked_at(layout):
    """The document states no layout for any tensor, and the library checks none."""
    descs = {name: TensorDescriptor(SHAPES[name], dtype_of(name), layout) for name in TENSORS}

    assert SUCCESS == answer(descs)[0]


def test_a_null_handle_is_refused():
    """Without a handle there is nowhere to keep a sentence, only the status."""
    given = [None] * 12

    assert BAD == ops.host.mluOpDynamicScatterBackward(None, DMAX, *given, None, 0, None, None)
    assert BAD == ops.host.mluOpGetDynamicScatterBackwardWorkspaceSize(None, DMAX, None, [0])


@pytest.mark.parametrize("board", [name for name, board in BOARDS.items() if board.arch.bang_arch < 372])
def test_older_architectures_are_a_mismatch(board):
    """Boards before mtp_372 are refused before anything else is looked at."""
    status, sentence, launches = answer(descriptions(feats=None), handle=Handle(board))

    assert Status.MLUOP_STATUS_ARCH_MISMATCH == status
    assert f"{API}: {board} is " in sentence
    assert not launches


@pytest.mark.parametrize("name", TENSORS)
def test_null_descriptor(name):
    """Each null descriptor is named."""
    status, sentence, launches = answer(descriptions(**{name: None}))

    assert (BAD, f"{API}: {name}_desc is a null descriptor", []) == (status, sentence, launches)


@pytest.mark.parametrize("name", TENSORS)
def test_null_pointer(name):
    """Each null pointer of a tensor with elements is named."""
    status, sentence, launches = answer(pointers={name: None})

    assert (BAD, f"{API}: {name} is a null pointer", []) == (status, sentence, launches)


def _changed():
    """Yield (title, tensor, changes of its descriptor, status, start of the sentence)."""
    for name, shape in SHAPES.items():
        for other in (shape[:-1], (*shape, 1)):
            yield (
                f"{name} rank {len(other)}",
                name,
                {"shape": other},
                BAD,
                f"{name}_desc has {len(other)} dim",
            )
        wrong = (
            ("half", "int32", "bfloat16", "float64")
            if len(shape) == 2
            else ("float", "int64", "uint32", "int16")
        )
        for dtype in wrong:
            shown = str(TensorDescriptor((), dtype).dtype)
            yield f"{name} {dtype}", name, {"dtype": dtype}, BAD, f"{name}_desc is {shown}; it must be "
        if shape != (1,):
            strided = {"strides": tuple(2 * n for n in ([shape[1], 1] if len(shape) == 2 else [1]))}
            yield f"{name} strided", name, strided, UNSUPPORTED, f"{name}_desc is strided"


@pytest.mark.parametrize(
    ("name", "changes", "status", "start"), [pytest.param(*row[1:], id=row[0]) for row in _changed()]
)
def test_one_property_changed(name, changes, status, start):
    """One wrong property of one descriptor gives its status and a sentence that names it."""
    wrong = TensorDescriptor(**{"shape": SHAPES[name], "dtype": dtype_of(name)} | changes)

    found, sentence, launches = answer(descriptions(**{name: wrong}))

    assert status == found
    assert sentence.startswith(f"{API}: {start}")
    assert not launches


@pytest.mark.parametrize(
    ("name", "axis", "named"),
    [
        ("grad_voxel_feats", 0, "voxel_feats_desc dim 0 is 4; it must be 5, dim 0 of grad_voxel_feats_desc"),
        ("grad_voxel_feats", 1, "feats_desc dim 1 is 6; it must be 7, dim 1 of grad_voxel_feats_desc"),
        ("feats", 0, "point2voxel_map_desc dim 0 is 8; it must be 9, dim 0 of feats_desc"),
        ("feats", 1, "feats_desc dim 1 is 7; it must be 6, dim 1 of grad_voxel_feats_desc"),
        ("voxel_feats", 0, "voxel_feats_desc dim 0 is 5; it must be 4, dim 0 of grad_voxel_feats_desc"),
        ("voxel_feats", 1, "voxel_feats_desc dim 1 is 7; it must be 6, dim 1 of grad_voxel_feats_desc"),
        ("point2voxel_map", 0, "point2voxel_map_desc dim 0 is 9; it must be 8, dim 0 of feats_desc"),
        ("voxel_points_count", 0, "voxel_points_count_desc dim 0 is 5; it must be 4, dim 0 of grad_voxel"),
        ("voxel_num", 0, "voxel_num_desc dim 0 is 2; it must be 1, the number of voxels in use"),
        ("grad_feats", 0, "grad_feats_desc dim 0 is 9; it must be 8, dim 0 of feats_desc"),
        ("grad_feats", 1, "grad_feats_desc dim 1 is 7; it must be 6, dim 1 of feats_desc"),
    ],
)
def test_one_dimension_changed(name, axis, named):
    """A dimension that is one larger disagrees with another tensor, and the sentence says with which."""
    shape = tuple(size + (i == axis) for i, size in enumerate(SHAPES[name]))

    status, sentence, launches = answer(descriptions(**{name: TensorDescriptor(shape, dtype_of(name))}))

    assert BAD == status
    assert sentence.startswith(f"{API}: {named}")
    assert not launches


def test_more_voxels_than_points():
    """M may be N and not one more, whatever voxel_num says; it is refused for zero-element tensors too."""
    for n, m, c in ((4, 5, 6), (0, 1, 6), (4, 5, 0)):
        status, sentence, launches = answer(shapes=shaped(n, m, c))

        assert BAD == status
        assert "voxel_feats_desc: M (dim 0) is larger than N, dim 0 of feats_desc" in sentence
        assert not launches
    assert SUCCESS == answer(shapes=shaped(M, M, C))[0]


@pytest.mark.parametrize("mode", [0, 1, 3, "mean", "sum", "Max", None, mluOpReduceMode_t.MLUOP_REDUCE_DSUM])
def test_other_reductions(mode):
    """Only the maximum is supported, by the call and by the query."""
    status, sentence, launches = answer(reduce_type=mode)
    handle = Handle()
    query = ops.host.mluOpGetDynamicScatterBackwardWorkspaceSize(handle, mode, descriptions()["feats"], [0])

    assert (BAD, []) == (status, launches)
    assert f"{API}: reduce_type must be MLUOP_REDUCE_DMAX, the maximum" == sentence
    assert BAD == query
    assert "reduce_type must be MLUOP_REDUCE_DMAX" in handle.last_error


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ((1 << 26, 1 << 26, 32), "grad_voxel_feats_desc has 2147483648 elements"),
        ((1 << 26, 4, 32), "feats_desc has 2147483648 elements"),
    ],
)
def test_large_tensors(sizes, named):
    """2^31 elements are not supported; the descriptors alone decide."""
    legal = shaped(N, M, C)
    data = {name: Handle().device.put(np.zeros(legal[name], dtype_of(name))) for name in TENSORS}
    status, sentence, launches = answer(descriptions(shaped(*sizes)), data)

    assert UNSUPPORTED == status
    assert sentence.startswith(f"{API}: {named}; it must have fewer than 2147483648")
    assert not launches


def test_one_element_less_than_large_is_no_large_tensor():
    """2^31 - 1 elements pass that check and get to the pointers."""
    nulls = dict.fromkeys(TENSORS)
    status, sentence, _ = answer(descriptions(shaped((1 << 31) - 1, 4, 1)), nulls)

    assert (BAD, f"{API}: grad_voxel_feats is a null pointer") == (status, sentence)


@pytest.mark.parametrize(("board", "widest"), [("MLU370-X4", 27306), ("MLU590-H8", 16383)])
def test_rows_wider_than_the_nram(board, widest):
    """The widest row runs; one channel more is refused before any launch, and the sentence says the limit."""
    inputs = inputs_of([0, 0, 1], widest)
    handle = Handle(board)
    status, sentence, launches = answer(descriptions(shaped(3, 2, widest + 1)), handle=handle)
    run = ops.run("dynamic_scatter_backward", inputs, MAX, board=board)

    assert (BAD, []) == (status, launches)
    assert (
        f"feats_desc dim 1 is {widest + 1}; one point fits the NRAM of {board} with at most {widest}"
        in sentence
    )
    assert widest == PLAN.largest("C", board=board).largest
    assert SUCCESS == run.status
    assert 0 <= run.memory["NRAM"].capacity - run.memory["NRAM"].high_water < 24


@pytest.mark.parametrize(("n", "m", "c"), [(0, 0, 6), (8, 4, 0), (0, 0, 0)])
def test_no_elements(n, m, c):
    """Without elements there is nothing to do: success without a launch, and null pointers are fine."""
    shapes = shaped(n, m, c)

    assert (SUCCESS, "", []) == answer(descriptions(shapes), dict.fromkeys(TENSORS), workspace=(None, 0))


def test_no_voxel():
    """With M = 0 the output is zero-filled; what belongs to voxels may be null, the rest may not."""
    shapes = shaped(N, 0, C)
    free = dict.fromkeys(("grad_voxel_feats", "voxel_feats", "voxel_points_count"))
    handle = Handle()
    output = handle.device.put(np.full((N, C), 7, np.float32))
    status, sentence, launches = answer(
        shapes=shapes, pointers=free | {"grad_feats": output}, workspace=(None, 0), handle=handle
    )

    assert (SUCCESS, "", ["MLUUnion1Fill"]) == (status, sentence, [launch.kernel for launch in launches])
    assert not handle.device.get(output).any()
    for name in ("feats", "point2voxel_map", "voxel_num", "grad_feats"):
        status, sentence, _ = answer(shapes=shapes, pointers={name: None}, workspace=(None, 0))
        assert (BAD, f"{API}: {name} is a null pointer") == (status, sentence)


def test_a_workspace_that_is_too_small_is_refused():
    """It must be there and hold reduce_from and the flags; one byte less is refused."""
    needed = workspace_bytes(M, C)
    tensor = Handle().device.empty(needed, "int8")

    assert M * C * 4 + M * 4 == needed
    assert (BAD, f"{API}: workspace is a null pointer", []) == answer(workspace=(None, needed))
    status, sentence, launches = answer(workspace=(tensor, needed - 1))
    assert (BAD, []) == (status, launches)
    assert "workspace_size is too small; ask mluOpGetDynamicScatterBackwardWorkspaceSize" in sentence


@pytest.mark.parametrize(
    ("n", "c", "expected"), [(17176, 128, 17176 * 129 * 4), (0, 5, 0), (5, 0, 0), (1, 1, 8)]
)
def test_workspace_query(n, c, expected):
    """The query knows feats only, so it answers for M = N; it is enough for any M that is legal."""
    handle, size = Handle(), [-1]
    desc = TensorDescriptor((n, c), "float")
    status = ops.host.mluOpGetDynamicScatterBackwardWorkspaceSize(handle, DMAX, desc, size)

    assert (SUCCESS, [expected], "") == (status, size, handle.last_error)
    assert all(workspace_bytes(m, c) <= expected for m in range(n + 1)) or c == 0


def test_workspace_query_writes_into_an_array():
    """Whatever takes an item takes the size: here an array of one size_t."""
    size = np.zeros(1, np.uint64)
    ops.host.mluOpGetDynamicScatterBackwardWorkspaceSize(Handle(), DMAX, descriptions()["feats"], size)

    assert workspace_bytes(N, C) == size[0]


@pytest.mark.parametrize(
    ("desc", "size", "named"),
    [
        (None, [0], "feats_desc is a null descriptor"),
        (TensorDescriptor((N, C), "float"), None, "workspace_size is a null pointer"),
        (TensorDescriptor((N,), "float"), [0], "feats_desc has 1 dimension; it must have 2"),
    ],
)
def test_workspace_query_refuses(desc, size, named):
    """A query that cannot be answered says why and writes nothing."""
    handle = Handle()
    status = ops.host.mluOpGetDynamicScatterBackwardWorkspaceSize(handle, DMAX, desc, size)

    assert BAD == status
    assert f"mluOpGetDynamicScatterBackwardWorkspaceSize: {named}" == handle.last_error
    assert size in (None, [0])


def test_the_first_failing_check_wins():
    """Everything wrong at once is reported in the library's order, one by one as it is put right."""
    half = TensorDescriptor((4, 6, 1), "half", strides=(12, 2, 2))
    wrong = descriptions(feats=None, grad_feats=half, voxel_num=TensorDescriptor((2,), "int64"))
    strided = wrong | {"feats": descriptions()["feats"]}
    halved = strided | {"grad_feats": TensorDescriptor((4, 6, 1), "half")}
    int64 = halved | {"grad_feats": TensorDescriptor((4, 6, 1), "float")}
    deep = int64 | {"voxel_num": TensorDescriptor((2,), "int32")}
    two = deep | {"grad_feats": TensorDescriptor((4, 6), "float")}
    short = two | {"voxel_num": TensorDescriptor((1,), "int32")}
    steps = [
        (wrong, BAD, "feats_desc is a null descriptor"),
        (strided, UNSUPPORTED, "grad_feats_desc is strided"),
        (halved, BAD, "grad_feats_desc is half"),
        (int64, BAD, "voxel_num_desc is int64"),
        (deep, BAD, "grad_feats_desc has 3 dimensions"),
        (two, BAD, "voxel_num_desc dim 0 is 2"),
        (short, BAD, "grad_feats_desc dim 0 is 4"),
        (descriptions(), BAD, "reduce_type must be"),
    ]
    for descs, expected, start in steps:
        status, sentence, _ = answer(descs, dict.fromkeys(TENSORS), reduce_type=0, workspace=(None, 0))

        assert expected == status
        assert sentence.startswith(f"{API}: {start}")
    status, sentence, _ = answer(pointers={"feats": None}, workspace=(None, 0))
    assert f"{API}: feats is a null pointer" == sentence


def test_run_raises_the_sentence():
    """`ops.run` raises `StatusError` with the parameter's name, `UsageError` for a parameter of a wrong type."""
    inputs = inputs_of([0, 0, 1], 3)

    with pytest.raises(StatusError, match="reduce_type must be MLUOP_REDUCE_DMAX") as caught:
        ops.run("dynamic_scatter_backward", inputs, {"reduce_type": "mean"})
    assert BAD == caught.value.status
    with pytest.raises(UsageError, match="reduce_type"):
        ops.run("dynamic_scatter_backward", inputs, {"reduce_type": 2})


def test_parameters_have_the_names_of_the_document():
    """The order and the names are the document's, its misspelt gard_feats put right (DS-14)."""
    code = ops.host.mluOpDynamicScatterBackward.__code__
    names = code.co_varnames[: code.co_argcount]
    pairs = [part for name in TENSORS[:-1] for part in (f"{name}_desc", name)]

    assert names == (
        "handle",
        "reduce_type",
        *pairs,
        "workspace",
        "workspace_size",
        "grad_feats_desc",
        "grad_feats",
    )
    code = ops.host.mluOpGetDynamicScatterBackwardWorkspaceSize.__code__
    assert ("handle", "reduce_type", "feats_desc", "workspace_size") == code.co_varnames[: code.co_argcount]
