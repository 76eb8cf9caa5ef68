"""The listing of border_align_backward as a kernel in which every correction can be turned back, one at a time."""

from border_align_tools import exact, launched

from mlusim.bang import GDRAM2NRAM, PAD_UP, float32, int32, kernel
from ops.border_align_backward.kernel import bilinear_interpolate_gradient


@kernel
def listing(mlu, *arguments):
    """Run one core's part of the last argument, a `Listing` or a subclass."""
    if not mlu.is_mpu():
        arguments[-1](mlu, *arguments[:-1]).run()


class Listing:
    """The listing for float32 with all corrections; a subclass overrides what it takes literally."""

    deal_num = 64

    def __init__(self, mlu, grad_output, boxes, argmax_idx, pool_size, grad_input, N, K, H, W, C):
        self.mlu = mlu
        self.grad_output, self.boxes, self.argmax_idx, self.grad_input = (
            grad_output,
            boxes,
            argmax_idx,
            grad_input,
        )
        self.pool_size, self.N, self.K, self.H, self.W, self.C = pool_size, N, K, H, W, C
        types = (float32, float32, float32, int32, int32)
        self.bbox = mlu.nram(float32, 32)
        self.ping, self.product, self.temp, self.mask, self.argmax = (
            mlu.nram(t, self.deal_num) for t in types
        )

    def run(self):
        """Take the borders of this core."""
        for num_loop in range(self.mlu.taskId, self.N * self.K * 4, self.mlu.taskDim):
            self.num_loop = num_loop
            self.n = self.num_loop // self.K // 4
            self.mlu.memcpy(self.bbox, self.boxes + self.bbox_offset(), 16, GDRAM2NRAM)
            self.chunks()

    def bbox_offset(self):
        """Return the first element of the border's box."""
        return self.num_loop // 4 * 4

    def chunks(self):
        """Take the channels of a border pass by pass."""
        for c in range(self.C // self.deal_num):
            self.impl(c * self.deal_num, self.deal_num)
        if self.C % self.deal_num:
            self.impl(self.C // self.deal_num * self.deal_num, self.C % self.deal_num)

    def border(self):
        """Return which border it is: 0 top, 1 left, 2 bottom, 3 right."""
        return self.num_loop % 4

    def impl(self, c_offset, count):
        """Prepare the point loop for *count* channels from *c_offset*."""
        self.c_offset, self.count, self.padded = c_offset, count, PAD_UP(count, 32)
        border = self.border()
        corner = border // 2 * 2
        self.x0, self.y0 = self.bbox[corner], self.bbox[corner + 1]
        sign = 1 - corner
        width, height = (
            (self.bbox[2] - self.bbox[0], 0) if border % 2 == 0 else (0, self.bbox[3] - self.bbox[1])
        )
        self.x_stride, self.y_stride = sign * width / self.pool_size, sign * height / self.pool_size
        self.points()

    def points(self):
        """Take every point once."""
        for pool_loop in range(self.pool_size + 1):
            self.point(pool_loop)

    def point(self, pool_loop):
        """Add the channels of one point, unless it is outside; return whether it was inside."""
        self.taps = self.bilinear(self.y0 + self.y_stride * pool_loop, self.x0 + self.x_stride * pool_loop)
        if self.taps:
            self.load(self.source())
            self.match(pool_loop)
            for weight, y, x in self.taps:
                self.add(weight, y, x)
        return bool(self.taps)

    def bilinear(self, y, x):
        """Return the taps around a point."""
        return bilinear_interpolate_gradient(self.H, self.W, y, x)

    def source(self):
        """Return the first element of the border's channels in grad_output and argmax_idx."""
        return self.num_loop * self.C + self.c_offset

    def load(self, source):
        """Load argmax and gradient."""
        self.mlu.memcpy(self.argmax, self.argmax_idx + source, self.count * 4, GDRAM2NRAM)
        self.mlu.memcpy(self.ping, self.grad_output + source, self.count * 4, GDRAM2NRAM)

    def match(self, pool_loop):
        """Make the mask of the channels whose maximum was at *pool_loop*."""
        self.mlu.bang_eq_scalar(self.mask, self.argmax, pool_loop, self.padded)
        self.mlu.bang_mul_scalar(self.mask, self.mask, -1, self.padded)

    def add(self, weight, y, x):
        """Add the masked gradient times *weight* to a cell."""
        self.mlu.bang_mul_scalar(self.product, self.ping, weight, self.padded)
        self.apply_mask(y, x)
        self.mlu.bang_atomic_reduce_add(self.grad_input + self.target(y, x), self.temp, self.count)

    def apply_mask(self, y, x):
        """Clear the channels of other points; the cell is not needed."""
        del y, x
        self.mlu.bang_band(self.temp.cast(int32), self.product.cast(int32), self.mask, self.padded)

    def target(self, y, x):
        """Return the first element of the channels' cell in grad_input."""
        cell = (self.n * self.H + y) * self.W + x
        return cell * 4 * self.C + self.border() * self.C + self.c_offset


def run(literal, made=None, **options):
    """Return grad_input of the listing with the pieces that *literal* overrides."""
    return launched(made or exact(), kernel=listing, last=literal, **options)[0]
