"""``#line``: what another program has written names its own source, on both engines."""

import numpy as np
import pytest
from engines import alike

from mlusim import bangc
from mlusim.errors import OutOfBounds

SOURCE = """\
#include <bang.h>
#line 100 "%(named)s"
__mlu_global__ void K(float *o, int n) {
  __nram__ float b[64];
#line 7 "%(named)s"
  __bang_write_zero(b, 64);
  for (int i = 0; i < 2; ++i) {
# 20 "%(named)s"
    __memcpy(o, b, n * sizeof(float), NRAM2GDRAM);
  }
}
"""


@pytest.mark.parametrize(("n", "line"), [(65, 20), (33, 20)])
def test_faults_are_at_the_line_that_is_named(tmp_path, n, line):
    """Whether the array on the chip is too short or the one in GDRAM."""
    named = tmp_path / "generated.py"
    (tmp_path / "k.mlu").write_text(SOURCE % {"named": named})
    module = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")
    outcome = alike(module["K"], (np.zeros(32, np.float32), n))

    assert (str(named), line) == (outcome.file, outcome.line)
    assert isinstance(outcome, OutOfBounds)


def test_functions_and_variables_are_there_too(tmp_path):
    """A file without directives keeps its own lines."""
    named = tmp_path / "generated.py"
    (tmp_path / "k.mlu").write_text(SOURCE % {"named": named})
    form = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["K"].form

    assert (str(named), 100) == (form.span.file, form.span.line)
    assert [(str(named), 101)] == [(one.span.file, one.span.line) for one in form.locals if one.name == "b"]
