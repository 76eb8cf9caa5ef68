"""What the document of border_align_backward says of points and channels, literally, and why it cannot be meant.

BA-1, BA-2, BA-3, BA-10, BA-13 and BA-16.  A literal reading replaces one piece of the listing, which then
runs in the simulator and loses against the definition; or it ends in a fault.
"""

import numpy as np
import pytest
from border_align_listing import Listing, run
from border_align_tools import NAME, exact, expected_of, is_right, launched, named

import ops
from mlusim.bang import float32
from mlusim.errors import Fault
from mlusim.operators.accuracy import bit_equal


@pytest.mark.parametrize(
    "made", [exact(), exact(1, (2, 2), 200, 2), exact(3, (1, 5), 64, 8)], ids=["small", "passes", "full pass"]
)
def test_the_listing_as_corrected_is_the_definition(made):
    """The kernel from which the literal readings below depart is right, and gives the ported kernel's bits."""
    found = run(Listing, made)

    assert np.array_equal(expected_of(made), found)
    assert bit_equal(launched(made)[0], found)


def test_ba_1_the_body_never_runs():
    """The flag starts as false, and only a true one lets the body run."""

    class Literal(Listing):
        def points(self):
            empty = False
            for pool_loop in range(self.pool_size + 1):
                if empty:
                    empty = not self.point(pool_loop)

    made = exact()

    assert expected_of(made).any()
    assert not run(Literal, made).any()


def test_ba_2_every_other_point_is_left_out():
    """The loop's header advances and its body too: of five points the listing visits 0, 2 and 4."""
    visited = set()

    class Literal(Listing):
        def points(self):
            pool_loop = 0
            while pool_loop < self.pool_size + 1:
                visited.add(pool_loop)
                self.point(pool_loop)
                pool_loop += 1
                pool_loop += 1

    made = exact(pool_size=4)
    found = run(Literal, made)

    assert {0, 2, 4} == visited
    assert not is_right(found, made)


def test_ba_3_every_point_adds_the_channels_of_the_first():
    """Compared with 0, a channel of point 0 is added at all points and the others never."""

    class Literal(Listing):
        def match(self, pool_loop):
            del pool_loop
            super().match(0)

    made = exact()

    assert not is_right(run(Literal, made), made)


def test_ba_3_a_comparison_of_int32_gives_int32():
    """The listing compares integers into a buffer of T, for which there is no instruction."""

    class Literal(Listing):
        def match(self, pool_loop):
            self.mlu.bang_eq_scalar(self.temp, self.argmax, pool_loop, self.padded)

    with pytest.raises(Fault, match="bang_eq_scalar"):
        run(Literal)


def test_ba_3_argmax_is_not_exact_in_half():
    """Converted to half first, argmax 2049 is taken for point 2048."""
    converted = np.array([2048, 2049], np.int32).astype(np.float16)
    inputs, params = named("half_large_argmax").make(np.random.default_rng(0))
    inputs["argmax_idx"][:] = 2049
    found = ops.run(NAME, inputs, params | {"pool_size": 2048}).outputs["grad_input"]

    assert converted[0] == converted[1]
    assert not found.any()


def test_ba_10_the_helper_takes_y_before_x():
    """Called with (x, y) it interpolates in the transposed features."""

    class Literal(Listing):
        def bilinear(self, y, x):
            return super().bilinear(x, y)

    made = exact()

    assert not is_right(run(Literal, made), made)


def test_ba_10_the_cells_are_named_low_before_high_of_one_axis():
    """Outputs taken as y_tl, y_br, x_tl, x_br where x_tl, x_br, y_tl, y_br are given change places."""

    class Literal(Listing):
        def bilinear(self, y, x):
            return tuple(
                (weight, min(j, self.H - 1), min(i, self.W - 1)) for weight, i, j in super().bilinear(y, x)
            )

    made = exact()

    assert not is_right(run(Literal, made), made)


def test_ba_13_the_outer_flag_does_not_help():
    """Were the outer `empty = true` the one that is asked, the first point inside would end all work."""

    class Literal(Listing):
        empty = True

        def points(self):
            for pool_loop in range(self.pool_size + 1):
                if self.empty:
                    self.empty = not self.point(pool_loop)

    made = exact()

    assert not is_right(run(Literal, made), made)


class MaskedByProduct(Listing):
    """The listing's mask: 1 or 0 in T, multiplied."""

    def match(self, pool_loop):
        """Leave 1 and 0."""
        self.mlu.bang_eq_scalar(self.mask, self.argmax, pool_loop, self.padded)
        self.mlu.bang_int322float(self.mask.cast(float32), self.mask, self.padded, 0)

    def apply_mask(self, y, x):
        """Multiply."""
        del y, x
        self.mlu.bang_mul(self.temp, self.product, self.mask.cast(float32), self.padded)


def test_ba_16_zero_times_nan_is_nan():
    """Multiplied by 0 a NaN stays one and reaches the cells of every point; masked by bits it does not."""
    made = named("nan_in_unsampled_channels").make(np.random.default_rng(0))

    assert np.isnan(run(MaskedByProduct, made)).any()
    assert is_right(run(Listing, made), made)
    assert is_right(launched(made)[0], made)


def test_ba_16_finite_gradients_do_not_tell():
    """Without NaN and infinity the product is as good as the mask."""
    made = exact()

    assert np.array_equal(expected_of(made), run(MaskedByProduct, made))


def test_zero_weight_taps_add_too():
    """All four taps add, whatever their weight: on a whole pixel an infinity makes NaN of three neighbours."""
    inputs, params = exact(1, (3, 3))
    inputs["boxes"][:] = 1
    inputs["grad_output"][0, 4, 2, 1] = np.inf
    made = inputs, params

    class Skipping(Listing):
        def add(self, weight, y, x):
            if weight:
                super().add(weight, y, x)

    assert 3 == np.isnan(launched(made)[0]).sum()
    assert bit_equal(launched(made)[0], run(Listing, made))
    assert not is_right(run(Skipping, made), made)
