"""Kernels that share a name: namespaces, static ones, ones of several files."""

import numpy as np
import pytest
from engines import run

from mlusim import bangc
from mlusim.errors import UsageError

NAMES = """\
namespace a { static __mlu_entry__ void K(int *o) { o[0] = 1; } }
namespace b { __mlu_entry__ void K(int *o) { o[0] = 2; } namespace { __mlu_entry__ void Q(int *o) { o[0] = 3; } } }
__mlu_entry__ void K(int *o) { o[0] = 4; }
__mlu_entry__ void K(int *o, half *x) { o[0] = 5; }
"""


def said(kernel):
    """The number that a kernel stores."""
    arguments = (np.zeros(4, np.int32), *[np.zeros(4, np.float16)] * (len(kernel.form.parameters) - 1))
    return int(run(kernel, arguments, "python")[1][0][0])


def test_each_has_a_name_that_no_other_has(load):
    """A static one, which has another symbol, keeps its namespace; a namespace without a name is not named."""
    module = load(NAMES)

    assert {"a::K": 1, "b::K": 2, "Q": 3, "K(int *)": 4, "K(int *, half *)": 5} == {
        name: said(kernel) for name, kernel in module.kernels.items()
    }
    with pytest.raises(
        UsageError, match=r"'K' is the name of 4 kernels of .*; give one of a::K \(.*k.mlu:1\), b::K"
    ):
        module["K"]


def test_the_one_at_file_scope_has_the_name_alone(load):
    """Beside one of a namespace, whose name is longer."""
    module = load(
        "namespace a { static __mlu_entry__ void K(int *o) { o[0] = 1; } }\n__mlu_entry__ void K(int *o) { o[0] = 2; }\n"
    )

    assert {"a::K": 1, "K": 2} == {name: said(kernel) for name, kernel in module.kernels.items()}


def test_static_kernels_of_two_files_are_not_mixed_up(tmp_path):
    """They have one symbol; neither is run for the other."""
    paths = [tmp_path / "x.mlu", tmp_path / "y.mlu"]
    for n, path in enumerate(paths):
        path.write_text(
            f"static __mlu_entry__ void K(int *o) {{ o[0] = {n}; }}\n__mlu_entry__ void L{n}(int *o) {{}}\n"
        )
    module = bangc.load([str(p) for p in paths])

    assert ["L0", "L1"] == list(module.kernels)
    with pytest.raises(
        UsageError,
        match=r"2 kernels of .*load one of their files alone, or rename one: K\(int \*\) \(.*x.mlu:1\), K",
    ):
        module["K"]
