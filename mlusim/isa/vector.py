"""Elementwise arithmetic."""


import numpy as np

from mlusim.isa.declare import NUMBERS
from mlusim.isa.elementwise import binary, unary, with_scalar

bang_add = binary("__bang_add", np.add, "Add element by element: ``dst[i] = src0[i] + src1[i]``.", NUMBERS)
bang_sub = binary("__bang_sub", np.subtract, "Subtract element by element: ``dst[i] = src0[i] - src1[i]``.", NUMBERS)
bang_mul = binary("__bang_mul", np.multiply, "Multiply element by element: ``dst[i] = src0[i] * src1[i]``.", NUMBERS)
bang_add_scalar = with_scalar("__bang_add_scalar", np.add, "Add a scalar: ``dst[i] = src[i] + value``.", NUMBERS)
bang_square = unary("__bang_square", np.square, "Square: ``dst[i] = src[i] * src[i]``.", NUMBERS)

