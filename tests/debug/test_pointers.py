"""How a pointer shows itself in any debugger."""

import mlusim
from mlusim.bang import Mlu, float32, half, int32, kernel, uint8
from mlusim.plan import Plan, Region, Stage, Var

N = Var("N", "elements")
PLAN = Plan("rows", [Stage("only", [Region("first", N, half), Region("second", N, half)])])


def shown(body, *args):
    """The text that *body* returns in a kernel."""
    texts = []

    @kernel
    def collect(mlu: Mlu, *given) -> None:
        texts.append(body(mlu, *given))

    mlusim.Device("MLU370-X4").launch(collect, args=args)
    return texts[0]


def test_poison_is_called_so():
    """Floats that were never written are poison; integers that look like it get a question mark."""
    assert shown(lambda mlu: repr(mlu.nram(half, 3))).endswith(": [poison, poison, poison]>")
    assert shown(lambda mlu: repr(mlu.nram(int32, 2))).endswith(": [-1?, -1?]>")
    assert shown(lambda mlu: repr(mlu.nram(uint8, 1))).endswith(": [255?]>")


def test_values_beside_poison():
    """What was written is shown as it is, a NaN that was computed too."""

    def body(mlu):
        pointer = mlu.nram(float32, 8)
        pointer[1], pointer[2] = 2.5, float("nan")
        return repr(pointer)

    assert shown(body).endswith(": [poison, 2.5, nan, poison]>")


def test_the_region_of_the_plan_is_named():
    """With a layout among the arguments a pointer into the buffer says in which region it points."""
    layout = PLAN.layout("MLU370-X4", N=8)

    def body(mlu, layout):
        regions = PLAN.place(mlu.nram(uint8, layout.high_water), N=8)
        return repr(regions.second + 3)

    assert shown(body, layout).endswith(", region second+0x6: [poison, poison, poison, poison]>")
