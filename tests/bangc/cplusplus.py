"""What a kernel of numbers does as C++ of this machine: the same text, compiled by its compiler."""

import shutil
import subprocess

import numpy as np
import pytest
from engines import NATIVE, run

from mlusim.bangc.errors import SourceError

COMPILER = shutil.which("g++") or shutil.which("c++")
_HEADER = """
#define __mlu_entry__
#define __mlu_func__
#define __nram__
#define __mlu_const__
"""
_MAIN = """
#include <cstdio>
int main() { long long o[%d] = {}; K(o); for (long long n : o) printf("%%lld\\n", n); }
"""


def expected(tmp_path, text, count):
    """What *text*, whose kernel is ``K(long long *o)``, gives on this machine."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    source, program = tmp_path / "host.cpp", tmp_path / "host"
    source.write_text(_HEADER + text + _MAIN % count)
    subprocess.run([COMPILER, "-std=c++17", "-w", "-O0", source, "-o", program], check=True)
    return [
        int(word) for word in subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout.split()
    ]


def answer(load, text, count, *, engine):
    """What *text* gives on *engine*, or the sentence that refuses it."""
    try:
        kernel = load("#include <bang.h>\n" + text)["K"]
    except SourceError as refused:
        return str(refused)
    outcome, arrays = run(kernel, [np.zeros(count, np.int64)], engine)
    return str(outcome) if isinstance(outcome, Exception) else arrays[0].tolist()


def check(load, tmp_path, text, count=8, *, native=True):
    """Hold both engines, or with *native* false the one in Python, against C++."""
    wanted = expected(tmp_path, text, count)
    for engine in ("python", NATIVE if native else "python"):
        assert answer(load, text, count, engine=engine) == wanted
