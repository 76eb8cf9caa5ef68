"""Local arrays of BANG C: what their accesses are charged."""

import numpy as np
import pytest
from engines import alike

SOURCE = """\
__mlu_global__ void K(float *out, int n) {{
  float total = 0;
  for (int i = 0; i < n; ++i) {{
    {qualifier}int taps[8] = {{1, 2, 3}};
    taps[i % 8] += i;
    total += taps[(i + 1) % 8];
  }}
  out[0] = total;
}}
"""


@pytest.mark.parametrize(
    ("qualifier", "memory"), [("", "NRAM"), ("__ldram__ ", "LDRAM"), ("__nram__ ", "NRAM")]
)
def test_locals_stay_on_the_chip(load, qualifier, memory):
    """The compiler's stack is NRAM unless the source says where an array is; both engines count alike."""
    launch = alike(load(SOURCE.format(qualifier=qualifier))["K"], (np.zeros(1, np.float32), 10))

    assert {memory: 8 * 10 + 10, "GDRAM": 1} == launch.scalar_stores
    assert {memory: 2 * 10} == launch.scalar_loads
