"""What the document of border_align_backward says of offsets, lengths and sizes, literally: BA-4 to BA-9, BA-11 to BA-15.

A literal reading replaces one piece of the listing, which then runs in the simulator and loses against
the definition; or it ends in a fault.
"""

import numpy as np
import pytest
from border_align_listing import Listing, run
from border_align_tools import NAME, exact, expected_of, is_right, launched
from hypothesis import given, strategies as st

import mlusim.bang
import ops
from mlusim import Device
from mlusim.bang import PAD_DOWN, PAD_UP, float32, half, int8, kernel
from mlusim.errors import Fault, LaunchError, OutOfBounds, OutOfMemory, UsageError
from mlusim.host import TensorDescriptor
from mlusim.isa.table import find_intrinsic
from mlusim.operators.accuracy import bit_equal
from ops.border_align_backward.kernel import share
from ops.border_align_backward.plan import FIGURE, PLAN


def test_ba_4_border_is_the_remainder_by_four():
    """num_loop / N / K % 4 names another border than num_loop % 4 for 72 of the 96 borders of N 2, K 12."""
    wrong = [i for i in range(2 * 12 * 4) if i // 2 // 12 % 4 != i % 4]

    class Literal(Listing):
        def border(self):
            return self.num_loop // self.N // self.K % 4

    made = exact(2, (3, 4))

    assert len(wrong) == 72
    assert not is_right(run(Literal, made), made)


def test_ba_5_boxes_have_four_elements():
    """The number of the border is not an element offset: the last borders read behind the tensor."""

    class Literal(Listing):
        def bbox_offset(self):
            return self.num_loop

    with pytest.raises(OutOfBounds, match="memcpy"):
        run(Literal)


def test_ba_5_boxes_straddle_before_that():
    """Before the end of the tensor the four numbers are of two boxes."""

    class Literal(Listing):
        def bbox_offset(self):
            return min(self.num_loop, self.N * self.K * 4 - 4)

    made = exact()

    assert not is_right(run(Literal, made), made)


def test_ba_6_gradients_are_found_by_box_not_by_cell():
    """The names h and w as coordinates of the point read the gradients of other boxes."""

    class Literal(Listing):
        def source(self):
            _, h, w = self.taps[0]
            image = self.n * self.H * self.W * self.C * 4
            return image + h * self.C * 4 + w * self.C + self.c_offset

    made = exact()

    assert not is_right(run(Literal, made), made)


@given(st.integers(0, 3), st.integers(1, 5), st.integers(1, 5), st.integers(1, 9), st.data())
def test_ba_6_the_names_mean_box_and_border(n, height, width, c, data):
    """With h the box and w the border the offset is right, and only because H * W is K."""
    k = data.draw(st.integers(0, height * width - 1))
    border = data.draw(st.integers(0, 3))
    num_loop = (n * height * width + k) * 4 + border

    literal = n * height * width * c * 4 + k * c * 4 + border * c
    with_one_box_more = ((n * (height * width + 1) + k) * 4 + border) * c

    assert literal == num_loop * c
    assert (literal == with_one_box_more) == (n == 0)


def test_ba_7_a_vector_operand_cannot_lie_in_gdram():
    """The second operand of the product is an address in GDRAM, made of the cell's coordinates."""

    class Literal(Listing):
        def apply_mask(self, y, x):
            cell = self.grad_output + (y * self.W + x) * self.C + self.c_offset
            self.mlu.bang_mul(self.temp, cell, self.mask.cast(float32), self.padded)

    with pytest.raises(Fault, match="bang_mul") as fault:
        run(Literal)

    assert "GDRAM" in str(fault.value)


OFFSETS = {
    "as printed": lambda s, y, x: (y * s.W + x) * s.C + s.c_offset,
    "without the image": lambda s, y, x: (y * s.W + x) * 4 * s.C + s.border() * s.C + s.c_offset,
    "without the four borders": lambda s, y, x: ((s.n * s.H + y) * s.W + x) * s.C + s.c_offset,
    "without the own border": lambda s, y, x: ((s.n * s.H + y) * s.W + x) * 4 * s.C + s.c_offset,
}


@pytest.mark.parametrize("name", OFFSETS)
def test_ba_8_the_cell_needs_image_width_and_border(name):
    """The destination as printed, and with any one of its missing parts missing."""

    class Literal(Listing):
        def target(self, y, x):
            return OFFSETS[name](self, y, x)

    made = exact()

    assert not is_right(run(Literal, made), made)


def test_ba_9_the_tail_overwrites_deal_num():
    """72 channels, 64 a pass: the tail's own deal_num of 32 puts its offset at 32, and spoils later borders."""

    class Literal(Listing):
        def chunks(self):
            c = 0
            for c in range(1, self.C // self.now + 1):
                self.impl((c - 1) * self.now, self.now)
            c_tail = self.C % self.now
            if c_tail:
                self.now = PAD_UP(c_tail, 32)
                self.impl(c * self.now, c_tail)

        now = 64

    made = exact(1, (2, 2), 72, 2)

    assert not is_right(run(Literal, made), made)


def test_ba_9_a_padded_load_and_add_reach_the_next_border():
    """Three channels padded to 32 are those of ten borders: the values are wrong, and the last borders fault."""

    class Padded(Listing):
        def impl(self, c_offset, count):
            super().impl(c_offset, PAD_UP(count, 32))

    class Inside(Padded):
        def load(self, source):
            super().load(min(source, self.N * self.K * 4 * self.C - self.count))

        def target(self, y, x):
            return min(super().target(y, x), self.N * self.K * 4 * self.C - self.count)

    made = exact()

    assert not is_right(run(Inside, made), made)
    with pytest.raises(OutOfBounds, match="past its end"):
        run(Padded, made)


def test_ba_11_without_zeros_the_result_is_what_was_there():
    """Fresh device memory is NaN, and the kernel adds to it; the host's fill is what makes it a gradient."""
    made = exact()
    found, _ = launched(made, start=np.nan)
    filled = ops.run(NAME, *made).outputs["grad_input"]

    assert np.isnan(found).all()
    assert bit_equal(expected_of(made), filled)


def test_ba_12_descriptors_stay_on_the_host():
    """The dims of a descriptor are host memory; handed to a kernel they are refused."""
    device = Device()
    dims = np.array(TensorDescriptor((2, 12, 4), "float").shape, np.int32)

    @kernel
    def literal(mlu, boxes_desc_dims, total):
        total[0] = int(boxes_desc_dims[0]) * int(boxes_desc_dims[1]) * 4 + mlu.taskId

    with pytest.raises(LaunchError, match="host array"):
        device.launch(literal, args=(dims, device.empty(1, "int32")))


def test_ba_13_nfu_align_num_has_no_definition():
    """BANG C knows bytes, NFU_ALIGN_SIZE; only 128 / sizeof(T) keeps a pass aligned and as long as fits."""

    @kernel
    def literal(mlu):
        return PAD_DOWN((655360 - 128 - 128) // (4 * 4 + 4), NFU_ALIGN_NUM)  # noqa: F821 - that is the defect

    room = (655360 - 128 - 128) // (4 * float32.size + 4), (655360 - 128 - 128) // (4 * half.size + 4)
    taken = [PLAN.describe("MLU370-X4", dtype=t, C=10**6).values["deal_num"] for t in (float32, half)]

    with pytest.raises(NameError, match="NFU_ALIGN_NUM"):
        Device().launch(literal)
    assert not hasattr(mlusim.bang, "NFU_ALIGN_NUM")
    assert [n // a * a for n, a in zip(room, (32, 64), strict=True)] == taken
    assert [n // 128 * 128 for n in room] != taken


@given(st.integers(0, 5000), st.integers(1, 64))
def test_ba_14_the_split_is_right(total, tasks):
    """The document's start_per_core, no defect: every border once, in order, and no core has two more than another."""
    parts = [share(total, task, tasks) for task in range(tasks)]
    numbers = [end - start for start, end in parts]

    assert list(range(total)) == [i for start, end in parts for i in range(start, end)]
    assert max(numbers) - min(numbers) <= 1


def test_ba_14_dealing_round_robin_gives_the_same():
    """The corrected listing above deals borders in turn, as later versions do; the sums are the same."""
    made = exact(2, (3, 5), 7, 2)

    assert bit_equal(launched(made, clusters=3)[0], run(Listing, made, clusters=3))


def test_ba_15_the_figure_with_pad_up_overflows():
    """Sized as the first release did, the figure's partition needs 128 bytes more than NRAM has."""
    claim = FIGURE.claims[0]
    elements = PAD_UP((655360 - 128 - 128) // (3 * 4 + 4), 128)
    layout = FIGURE.layout("MLU370-X4", dtype="float", deal_num=elements)

    @kernel
    def literal(mlu):
        mlu.nram(int8, layout.high_water)

    assert claim.value.evaluate(FIGURE.scope.env({}, float32, "MLU370-X4")) == elements
    assert layout.high_water == 655488
    assert not layout.fits
    with pytest.raises(OutOfMemory):
        Device("MLU370-X4").launch(literal)


@pytest.mark.parametrize("dtype", [half, float32])
def test_ba_15_the_document_s_own_formula_fits(dtype):
    """PAD_DOWN with the five buffers of the listing, on both boards, is the plan's largest pass."""
    for board, nram in (("MLU370-X4", 655360), ("MLU590-H8", 393216)):
        align = 128 // dtype.size
        formula = (nram - 128 - 128) // (4 * dtype.size + 4) // align * align

        assert PLAN.describe(board, dtype=dtype, C=10**6).values["deal_num"] == formula


def test_the_listing_s_name_of_the_atomic_does_not_exist():
    """`__bang_atomic_add_reduce` names no intrinsic; the one that is meant has its words the other way round."""
    with pytest.raises(UsageError, match="__bang_atomic_add_reduce"):
        find_intrinsic("__bang_atomic_add_reduce")
    assert find_intrinsic("__bang_atomic_reduce_add").atomic
