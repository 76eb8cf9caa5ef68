"""Operands are evaluated from left to right in C as in Python, and what is stored first: the first fault, and the first number that does not fit, are the same."""

import numpy as np
import pytest
from engines import NATIVE, alike
from test_bangc_native_quiet import all_checkers

import mlusim
from mlusim.errors import MlusimError
from mlusim.machine.hub import attending

STATEMENTS = (
    "out[0] = room[far] + data[far];",
    "out[0] = less(room[far], data[far]);",
    "__bang_write_value(room, (int)room[far], data[far]);",
    "out[(int)room[far]] = data[far];",
    "room[far] += data[far];",
    "out[0] = fmaxf(room[far], data[far]);",
    "out[0] = far / (big - big) + data[far];",
    "out[0] = data[far] + far / (big - big);",
    "out[0] = 64 * big + 65 * big;",
    "__memcpy(room + 64 * big, data + 67 * big, 64, GDRAM2NRAM);",
    "__memcpy(room, data + (64 * big & 7), (65 * big & 7) + 64, GDRAM2NRAM);",
    "__bang_add(room + 64 * big, room + 65 * big, room + 66 * big, 64 * (big + 5));",
    "room[64 * big & 7] = data[65 * big & 7] * (short)(66 * (big + 1));",
    "out[0] = less(64 * big, 65 * big);",
)
KERNEL = f"""\
__nram__ float room[64];
__mlu_func__ float less(float a, float b) {{ return a - b; }}
__mlu_global__ void ordered(float *out, const float *data, int which, int far, int big) {{
  if (__is_mpu()) return;
  __bang_write_value(room, 64, 1.0f);
  switch (which) {{
    {" ".join(f"case {n}: {statement} break;" for n, statement in enumerate(STATEMENTS))}
  }}
}}
"""
CASES = pytest.mark.parametrize("which", range(len(STATEMENTS)), ids=STATEMENTS)
NUMBERS = (1 << 20, 1 << 27)


@CASES
def test_the_first_fault(load_once, which):
    """Of two operands that cannot be computed, the left one is told."""
    zeros = np.zeros(64, np.float32)

    alike(load_once(KERNEL)["ordered"], (zeros, zeros, which, *NUMBERS))


@CASES
def test_the_first_finding(load_once, which):
    """Of several numbers on a line that do not fit, the first one is told; all are counted."""
    told = []
    for engine in ("python", NATIVE):
        device, watching, said = mlusim.Device("MLU370-X4"), all_checkers(), ""
        tensors = device.put(np.zeros(64, np.float32)), device.put(np.zeros(64, np.float32))
        with attending(watching):
            try:
                device.launch(
                    load_once(KERNEL)["ordered"], 1, mlusim.BLOCK, (*tensors, which, *NUMBERS), engine=engine
                )
            except MlusimError as fault:
                said = str(fault)
        told.append((said, [checker.findings for checker in watching]))
    python, native = told

    assert python == native
