"""One kernel on both engines: what each did, compared."""

import numpy as np

import mlusim
from mlusim.errors import MlusimError
from mlusim.machine.native.build import available

MEASURES = (
    "instructions", "traffic", "lanes", "memory", "scalar_loads", "scalar_stores", "busy_us", "time_us", "bound", "io_bytes", "printed",
)  # fmt: skip
PLACE = ("file", "line", "task")
NATIVE = "native" if available() is not None else "python"  # without a compiler there is one engine


def run(kernel, arguments, engine, *, dim=(1, 1, 1), kind=mlusim.BLOCK, board="MLU370-X4", **options):
    """Launch *kernel*; arrays become tensors.  The launch or the fault, and the arrays afterwards."""
    device = mlusim.Device(board)
    tensors = [device.put(a) if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        outcome = device.launch(kernel, dim, kind, tensors, engine=engine, **options)
    except MlusimError as fault:
        outcome = fault
    return outcome, [device.get(t) for t in tensors if hasattr(t, "allocation")]


def alike(kernel, arguments, **options):
    """Run on both engines and compare everything that a user sees; the launch, or the fault."""
    python, first = run(kernel, arguments, "python", **options)
    native, second = run(kernel, arguments, NATIVE, **options)
    if isinstance(python, MlusimError) or isinstance(native, MlusimError):
        assert str(python) == str(native)
        assert type(python) is type(native)
        assert [getattr(python, m, None) for m in PLACE] == [getattr(native, m, None) for m in PLACE]
        return native
    assert NATIVE == native.engine
    assert {m: getattr(python, m) for m in MEASURES} == {m: getattr(native, m) for m in MEASURES}
    assert [task.log.key for task in python.tasks] == [task.log.key for task in native.tasks]
    assert [] == [n for n, pair in enumerate(zip(first, second, strict=True)) if not same_numbers(*pair)]
    return native


def same_numbers(first, second):
    """Whether two arrays hold the same bytes, NaN of any bits being one: of floats, and of halves in an array of floats."""
    if first.tobytes() == second.tobytes():
        return True
    if first.dtype != np.float32:
        return False
    with np.errstate(invalid="ignore"):  # signalling ones say so
        odd = (first.view(np.uint32) != second.view(np.uint32)) & ~(np.isnan(first) & np.isnan(second))
        a, b = (np.ascontiguousarray(array[odd]).view(np.float16) for array in (first, second))
        return bool(np.all((a.view(np.uint16) == b.view(np.uint16)) | (np.isnan(a) & np.isnan(b))))
