"""Local arrays of BANG C: what their initial values are charged."""

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
    ("qualifier", "stores"),
    [
        ("", {"NRAM": 8 * 10, "LDRAM": 10, "GDRAM": 1}),
        ("__ldram__ ", {"LDRAM": 8 * 10 + 10, "GDRAM": 1}),
        ("__nram__ ", {"NRAM": 8 * 10 + 10, "GDRAM": 1}),
    ],
)
def test_initial_values_stay_on_the_chip(load, qualifier, stores):
    """The compiler's stack is NRAM unless the source says where an array is; both engines count alike."""
    launch = alike(load(SOURCE.format(qualifier=qualifier))["K"], (np.zeros(1, np.float32), 10))

    assert stores == launch.scalar_stores
