"""The vendor's own test cases: tensors and numbers of a call, read from files of their text format."""

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from benchmarks.vendor.entries import Call, Library, Watched
from mlusim.errors import UsageError

_WORDS = re.compile(r'#[^\n]*|[\w.+-]+|"[^"]*"|[{}:\[\],]')
_DTYPES = {
    "DTYPE_HALF": np.float16, "DTYPE_FLOAT": np.float32, "DTYPE_INT32": np.int32, "DTYPE_INT64": np.int64,
    "DTYPE_INT8": np.int8, "DTYPE_UINT8": np.uint8, "DTYPE_INT16": np.int16, "DTYPE_BOOL": np.bool_,
    "DTYPE_COMPLEX_FLOAT": np.complex64, "DTYPE_BFLOAT16": ml_dtypes.bfloat16, "DTYPE_UINT32": np.uint32, "DTYPE_UINT64": np.uint64,
}  # fmt: skip
_REDUCTIONS = {f"REDUCE_MODE_{n}": f"MLUOP_REDUCE_D{n}" for n in ("SUM", "MEAN", "MAX")}
_NAMES = {
    "adam_w": "DriveAdamW",
    "adam_w_light": "DriveAdamWLight",
    "carafe_forward": "DriveCarafeForward",
    "carafe_backward": "DriveCarafeBackward",
    "fft": "DriveFFT",
    "nms": "DriveNms",
    "roialign_forward": "DriveRoiAlign",
    "roi_align_backward": "mluOpRoiAlignBackward_v2",
    "dcn_forward": "DriveDCNForward",
    "dcn_backward_data": "DriveDCNBackwardData",
    "dcn_backward_weight": "DriveDCNBackwardWeight",
    "sync_batchnorm_backward_reduce": "mluOpSyncBatchNormBackwardReduce_v2",
    "sync_batchnorm_stats": "mluOpSyncBatchNormStats_v2",
}
_USUAL = {
    "prefer": 1, "scale": 1.0, "iouaware": False, "iouawarefactor": 0.5, "algo": 0, "boxmode": 0, "methodmode": 0, "softnmssigma": 0.0,
    "offset": 0.0, "padtomaxoutputsize": False, "poolmode": 1, "poolingmode": 0, "usenesterov": False,
}  # fmt: skip  # where a case has none
_SIZES = {
    "mluOpRoiPointPool3d": {
        "batch_size": ("points", 0), "pts_num": ("points", 1), "boxes_num": ("boxes3d", 1), "feature_in_len": ("point_features", 2),
        "sampled_pts_num": ("pooled_features", 2),
    }
}  # fmt: skip  # of tensors that are arguments, too
_NAMED = (
    "moving_mean",
    "moving_var",
    "mask",
    "bias",
    "grad_mask",
    "grad_bias",
    "argmax_x",
    "argmax_y",
)  # absent unless a case names them
_ORDERS = {
    "mluOpRoiPoolingForward": ["input", "rois", "output", "argmax"],
    "mluOpPsRoiPoolBackward": ["top_grad", "mapping_channel", "rois", "bottom_grad"],
    "mluOpGenerateProposalsV2": [
        "scores",
        "bbox_deltas",
        "anchors",
        "variances",
        "im_shape",
        "rpn_rois",
        "rpn_roi_probs",
        "rpn_rois_num",
        "rpn_rois_batch_size",
    ],
}  # of tensors in the cases, where it is not that of the parameters
Message = dict[str, list[Any]]


def parse(text: str) -> Message:
    """A message: each field's values in order."""
    words = [w for w in _WORDS.findall(text) if w[0] not in "#,"]
    return _message(words, 0)[0]


def _message(words: list[str], at: int) -> tuple[Message, int]:
    made: Message = {}
    while at < len(words) and words[at] != "}":
        name = words[at]
        at += 1
        if words[at] == ":":
            at += 1
        if words[at] == "{":
            value, at = _message(words, at + 1)
            made.setdefault(name, []).append(value)
            at += 1
        elif words[at] == "[":
            end = words.index("]", at)
            made.setdefault(name, []).extend(_scalar(w) for w in words[at + 1 : end])
            at = end + 1
        else:
            made.setdefault(name, []).append(_scalar(words[at]))
            at += 1
    return made, at


def _scalar(word: str) -> Any:
    if word.startswith('"'):
        return word
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(word, word)


def entry_of(message: Message, library: Library) -> str:
    """The entry point that a case is for."""
    op = message["op_name"][0].strip('"')
    if op in _NAMES:
        return _NAMES[op]
    plain = f"mluop{op.replace('_', '')}"
    return next((n for n in library.folders if n.lower().replace("_", "") == plain), "")


def tensor(
    message: Message, random: np.random.Generator
) -> tuple[Any, tuple[int, ...], tuple[int, ...] | None, str]:
    """The values of a tensor, its sizes, its strides where it has any, and its layout."""
    shape_of = message.get("shape", [{}])[0]
    shape = tuple(shape_of.get("dims", ()))
    strides = tuple(shape_of["dim_stride"]) if "dim_stride" in shape_of else None
    dtype = np.dtype(_DTYPES[message["dtype"][0]])
    layout = str(message.get("layout", ["LAYOUT_ARRAY"])[0]).removeprefix("LAYOUT_")
    count = (
        int(np.prod(shape))
        if strides is None
        else 1 + sum((d - 1) * s for d, s in zip(shape, strides, strict=True))
    )
    return (
        _filled(message, count, dtype, random).reshape(shape if strides is None else -1),
        shape,
        strides,
        layout,
    )


def _filled(message: Message, count: int, dtype: Any, random: np.random.Generator) -> Any:
    for name, kind in (("value_f", dtype), ("value_i", dtype), ("value_l", dtype), ("value_h", None)):
        if name in message:
            given = message[name]
            if kind is None:  # the bits of each element
                whole = dtype if dtype.kind != "c" else np.dtype(np.float32)
                bits = [int(str(word).strip('"'), 16) for word in given]
                return np.array(bits, f"u{whole.itemsize}").view(dtype)
            if name == "value_i" and dtype.kind == "f":  # their bits
                bits = [*given, *[0] * (count - len(given))][:count]
                return np.array(bits, f"i{dtype.itemsize}").view(dtype)
            return np.array([*given, *[0] * (count - len(given))][:count], kind)
    if "path" in message:
        raise UsageError("the case's values are in a file that the checkout does not have")
    data = message.get("random_data", [{}])[0]
    low, high = (float(data.get(n, [d])[0]) for n, d in (("lower_bound", 0), ("upper_bound", 0)))
    low, high = min(low, high), max(low, high)
    if dtype.kind == "V":  # bfloat16
        return random.uniform(low, high, count).astype(np.float32).astype(dtype)
    if dtype.kind == "c":
        return (random.uniform(low, high, count) + 1j * random.uniform(low, high, count)).astype(dtype)
    if dtype.kind in "iub":
        return random.integers(int(low), max(int(high), int(low) + 1), count).astype(dtype)
    return random.uniform(low, high, count).astype(dtype)


def call_of(path: Path, library: Library, handle: Watched) -> Call:
    """The call that the case at *path* is."""
    message = parse(path.read_text())
    name = entry_of(message, library)
    random = np.random.default_rng(0)
    inputs = [(m.get("id", [""])[0].strip('"'), tensor(m, random)) for m in message.get("input", [])]
    inputs = [given for given in inputs if given[0] != "NULL"]
    outputs = [(m.get("id", [""])[0].strip('"'), tensor(m, random)) for m in message.get("output", [])]
    numbers = _numbers(message)
    call = Call(library, handle, name, {}, {}, {}, {})
    parameters = library.parameters(name)
    wanted = [
        call.owner(parameters, n)
        for n, (kind, _) in enumerate(parameters)
        if "mluOpTensorDescriptor_t" in kind and "*" not in kind
    ]
    kinds = {other: kind for kind, other in parameters}
    wanted = _ORDERS.get(name, wanted)
    queue, spare = [*inputs, *outputs], len(inputs) + len(outputs) < len(wanted)
    for pointer in wanted:
        named = next((t for t in queue if t[0] == pointer), None)
        absent = spare and kinds[pointer].startswith("const") and len(queue) <= len(outputs)
        absent = absent or (pointer in _NAMED and len(queue) > 0 and named is None)
        found = None if absent or not queue else named or queue[0]
        call.given[pointer] = None
        if found is not None:
            queue = [t for t in queue if t is not found]
            _take(call, pointer, *found[1])
    for parameter, (owner, axis) in _SIZES.get(name, {}).items():
        call.given[parameter] = call.given[owner].shape[axis]
    for kind, parameter in parameters:
        plain = parameter.replace("_", "").lower()
        if parameter not in call.given and plain in numbers:
            value = numbers[plain]
            call.given[parameter] = _REDUCTIONS.get(value, value) if isinstance(value, str) else value
            if kind.startswith("const float") or kind == "float":
                call.given[parameter] = float(value)
    return call


def _numbers(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = dict(_USUAL)
    for group, given in message.items():
        if group.endswith("_param") and isinstance(given[0], dict):
            found.update(
                {k.replace("_", "").lower(): v[0] if len(v) == 1 else v for k, v in given[0].items()}
            )
    found.setdefault("base", found.get("logbase", 0))
    return found


def _take(call: Call, pointer: str, value: Any, shape: Any, strides: Any, layout: str) -> None:
    call.given[pointer], call.layouts[pointer] = value, layout
    if strides is not None:
        call.strides[pointer], call.shapes[pointer] = strides, shape
