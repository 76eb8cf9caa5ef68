"""What a strict type checker says about kernels; run by `make check`, for it needs mypy."""

import textwrap

import pytest
from mypy import api

KERNEL = """
    import numpy as np

    from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel


    @kernel
    def scale(mlu: Mlu, dst: Ptr, src: Ptr, count: int) -> None:
        buffer = mlu.nram(float32, np.int64(count))
        mlu.memcpy(buffer, src, count * float32.size, GDRAM2NRAM)
        mlu.bang_mul_scalar(buffer, buffer, np.float32(2), count)
        chosen: int = mlu.bang_filter(buffer, buffer, buffer, count)
        mlu.bang_printf("%d of %d", chosen, mlu.taskId)
        mlu.memcpy_async(dst, buffer, chosen * float32.size, NRAM2GDRAM)
        {line}
        mlu.sync()
"""


MISTAKES = (
    ("mlu.bang_add(buffer, buffer, count)", "Missing positional argument"),
    ("mlu.bang_ad(buffer, buffer, buffer, count)", 'has no attribute "bang_ad"'),
    ("mlu.bang_add(buffer, buffer, buffer, 2.5)", 'incompatible type "float"'),
    ("mlu.bang_add(buffer, 3, buffer, count)", 'incompatible type "int"; expected "Ptr"'),
    ("mlu.memcpy(buffer, src, count, 3)", 'expected "Direction"'),
    ("wrong: Ptr = mlu.bang_count(buffer, count)", "Incompatible types in assignment"),
)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What `mypy --strict` says about the kernel with one more line, by the line: in one run, which reads mlusim once."""
    folder = tmp_path_factory.mktemp("kernels")
    lines = ["mlu.sync_io()", *(line for line, _ in MISTAKES)]
    files = [folder / f"kernel_{number}.py" for number in range(len(lines))]
    for file, line in zip(files, lines, strict=True):
        file.write_text(textwrap.dedent(KERNEL).format(line=line))
    found, errors, _ = api.run(["--strict", *map(str, files)])

    assert errors == ""
    return {
        line: [one for one in found.splitlines() if f"{file.name}:" in one]
        for file, line in zip(files, lines, strict=True)
    }


def test_a_kernel_passes(said):
    """A kernel that uses counts of NumPy, typed scalars, results and tokens has no error."""
    assert said["mlu.sync_io()"] == []


@pytest.mark.parametrize(("line", "error"), MISTAKES)
def test_a_mistake_is_found(said, line, error):
    """A missing argument, a misspelt name, a fraction for a count, a number for a pointer or a token."""
    assert any(error in one for one in said[line]), said[line]
