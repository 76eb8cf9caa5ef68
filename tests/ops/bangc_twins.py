"""Operators whose kernels run from kernel.mlu in place of kernel.py: what each of both did, to compare."""

import inspect
from functools import cache
from pathlib import Path

import ops
from mlusim import Observer, bangc
from mlusim.engine.native.build import available
from mlusim.errors import UsageError
from mlusim.host import Handle
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import attempt, case_generator
from mlusim.plan import Layout

FOLDERS = {
    "border_align_backward": "border_align_backward",
    "three_interpolate_backward": "three_interpolate_backward",
    "tin_shift_forward": "tin_shift",
    "tin_shift_backward": "tin_shift",
    "dynamic_scatter_backward": "dynamic_scatter_backward",
    "mutual_information_backward": "mutual_information_backward",
}
FILL = "MLUUnion1Fill"  # the library's, in Python only
NATIVE = "native" if available() is not None else "python"  # without a compiler there is one engine
BOARDS = ("MLU370-X4", "MLU590-H8")


@cache
def module(operator, board):
    """The kernels of the operator's kernel.mlu for *board*."""
    return bangc.load([Path(ops.__file__).parent / FOLDERS[operator] / "kernel.mlu"], board=board)


class BangHandle(Handle):
    """Launches kernels of kernel.mlu in place of those of kernel.py.

    A parameter has the value of the Python kernel's parameter of its name, otherwise that of its layout.
    """

    def __init__(self, operator, board, engine, **options):
        super().__init__(board, **options)
        self.engine = engine
        self.sources = module(operator, board)

    def launch(self, kernel, dim, kind=None, args=()):
        """Launch the kernel of the same name; the first pointer's type is the template's."""
        options = () if kind is None else (kind,)
        if kernel.name == FILL:
            return super().launch(kernel, dim, *options, args=args)
        names = list(inspect.signature(kernel.body).parameters)[1:]
        given = dict(zip(names, args, strict=True))
        layouts = [a for a in args if isinstance(a, Layout)]
        given = {**(layouts[0].values if layouts else {}), **given}
        twin = self.find(kernel.name, next(a for a in args if hasattr(a, "dtype")).dtype)
        wanted = [p.source_name for p in twin.form.parameters]
        self._options["engine"] = self.engine
        launch = super().launch(twin, dim, *options, args=[given[name] for name in wanted])
        self._options["engine"] = "auto"
        return launch

    def find(self, name, dtype):
        """The kernel, or its instantiation for *dtype*."""
        try:
            return self.sources[name]
        except UsageError:
            return self.sources[f"{name}<{dtype.name}>"]


class Sequence(Observer):
    """A digest for each task of each launch, over its instructions and scalar accesses in their order.

    An entry has the name, each operand's space, bytes and strides, and its place where that is GDRAM.
    """

    def __init__(self):
        self.launches = []

    def launch_begin(self, _launch):
        """Begin the digests of a launch."""
        self.launches.append({})

    def effect(self, effect):
        """Take one instruction in."""
        step = effect.step
        entry = (step.name, tuple(map(seen, step.reads)), tuple(map(seen, step.writes)))
        digests = self.launches[-1]
        task = effect.core.place.task
        digests[task] = hash((digests.get(task), entry))


def seen(access):
    """What is compared of an operand: layouts on chip may differ, tensors lie alike."""
    space = access.allocation.space.name
    place = access.allocation.address + access.start if space == "GDRAM" else None
    return space, place, access.size, access.steps


def performed(operator, case, board, *, source, observe=(), engine="auto", policy=None):
    """Run a case from kernel.py or, with *source*, from kernel.mlu."""
    spec = find_operator(operator)
    options = {"observe": observe, "policy": policy}
    handle = BangHandle(operator, board, engine, **options) if source else Handle(board, **options)
    inputs, params = case.make(case_generator(case))
    return attempt(spec, inputs, params, handle=handle)
