"""Memory: the peak of each operator's largest case, unchecked and checked, over the bytes that it accesses; and of sessions with many launches."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row
from mlusim.arch.catalog import find_board
from mlusim.operators.registry import operators
from mlusim.toolkit.folder import make

BOARD = "MLU370-X4"
UNCHECKED, CHECKED = 2.5, 4.0  # times the bytes that a case accesses: its inputs, reference and outputs
ON_CHIP = 24 << 20  # bytes of NRAM of the cores that run at once, in addition
MANY, FLAT = 10_000, 2.0  # launches of a process, and MiB that it may grow by after the first thousand
MOST = 256 << 20  # bytes of a case's tensors: larger ones take minutes under checkers
LARGEST = """
import sys
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import case_generator
def nbytes(case):
    return sum(a.nbytes for a in case.make(case_generator(case))[0].values() if a is not None)
cases = [c for c in find_operator(sys.argv[1]).cases if c.status == 0 and c.memory <= int(sys.argv[2])]
print(max([c for c in cases if c.group == "network"] or cases, key=nbytes).name)
"""
CASE = """
import ctypes, json, sys
from pathlib import Path
import ops
from mlusim.observe.names import CHECKERS
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import case_generator
name, chosen, board, observe = sys.argv[1], sys.argv[2], sys.argv[3], tuple(CHECKERS) if sys.argv[4] == "checked" else ()
cases = [c for c in find_operator(name).cases if c.status == 0]
def held(what):
    ctypes.CDLL(None).malloc_trim(0)  # freed memory of an earlier step is no part of the next
    return next(int(line.split()[1]) << 10 for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
def run(case):
    inputs, params = case.make(case_generator(case))
    held("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again: to draw the inputs takes more than to run
    done = ops.run(name, inputs, params, engine="native", board=board, observe=observe)
    return sum(a.nbytes for a in inputs.values() if a is not None) + sum(a.nbytes for a in done.outputs.values())
run(next(c for c in reversed(cases) if not c.memory))
before = held("VmRSS")
touched = run(next(c for c in cases if c.name == chosen))
print(json.dumps([touched, held("VmHWM") - before]))
"""
SESSION = """
import resource, sys, tempfile
from pathlib import Path
import numpy as np
import mlusim
from mlusim import bangc
folder = Path(tempfile.mkdtemp())
(folder / "k.mlu").write_text("__mlu_global__ void nothing(float *a, int n) {}")
kernel, device = bangc.load([str(folder / "k.mlu")], board=sys.argv[2])["nothing"], mlusim.Device(sys.argv[2])
tensor = device.put(np.zeros(1024, np.float32))
def grown(many):
    for _ in range(many):
        device.launch(kernel, 1, args=(tensor, 3), engine="native")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
first = grown(1000)
print((grown(int(sys.argv[1])) - first) / 1024)
"""
PROGRAM = r"""
#include <cnrt.h>
#include <cstdlib>
__mlu_global__ void nothing(const float *a, int n) {}
int main(int, char **argv) {
  float *a;
  cnrtQueue_t queue;
  cnrtMalloc((void **)&a, 4096);
  cnrtQueueCreate(&queue);
  cnrtDim3_t dim = {1, 1, 1};
  for (int i = 0; i < atoi(argv[1]); ++i) nothing<<<dim, cnrtFuncTypeBlock, queue>>>(a, 1024);
  cnrtQueueSync(queue);
}
"""
TENSORS = r"""
import sys
from pathlib import Path
import torch
import torch_mlu
from torch_mlu.utils.cpp_extension import load_inline
SOURCE = '''
#include <framework/core/MLUStream.h>
#include <torch/extension.h>
__mlu_global__ void nothing(const float *a, int n) {}
void launch(torch::Tensor a) {
  cnrtDim3_t dim = {1, 1, 1};
  nothing<<<dim, cnrtFuncTypeBlock, torch_mlu::getCurMLUStream()>>>(a.data_ptr<float>(), a.numel());
}
'''
declared = "void launch(torch::Tensor a);"
extension = load_inline("many", declared, SOURCE, functions=["launch"], build_directory=sys.argv[2])
tensor = torch.zeros(1024).mlu()
def held(launches):
    for _ in range(launches):
        extension.launch(tensor)
    torch.mlu.synchronize()
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
first = held(1000)
print(first, held(int(sys.argv[1])) - first)
"""


def memory() -> Iterator[Row]:
    """Yield each operator's largest case within the limit of its tensors, each in a process of its own."""
    for name in operators():
        largest = _python(LARGEST, name, str(MOST))
        for how, limit in (("unchecked", UNCHECKED), ("checked", CHECKED)):
            touched, peak = json.loads(_python(CASE, name, largest, BOARD, how))
            told = f"{peak / 2**20:.0f} MiB; it touches {touched / 2**20:.0f} MiB"
            most = limit + ON_CHIP / touched
            yield Row(f"peak of {name} {largest}, {how}", peak / touched, most, "x its bytes", told)
    grown = float(_python(SESSION, str(MANY), BOARD))
    yield Row(f"{MANY:,} launches of a process, device.launch", grown, FLAT, "MiB", "beyond the first 1,000")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "neuware"
        make(home, find_board(BOARD))
        yield _program(home)
        if importlib.util.find_spec("torch") is None:
            print("the row of PyTorch is left out: pip install torch")
        else:
            yield _tensors(home)


def _program(home: Path) -> Row:
    """Return the peak of all processes of a program with many launches, built in the toolkit *home*, minus that of one with a thousand."""
    source, program = home.parent / "many.mlu", str(home.parent / "many")
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run([str(home / "bin" / "cncc"), str(source), "-o", program], check=True)  # noqa: S603 - ours
    few, many = (float(_python(PEAK, program, str(n))) for n in (1000, MANY))
    work, detail = f"{MANY:,} launches of a program of the toolkit", f"{many:.0f} MiB, all processes"
    return Row(work, many - few, FLAT, "MiB", detail)


def _tensors(home: Path) -> Row:
    """Return the growth of a process with PyTorch, whose device is in the toolkit *home*, over many launches of an extension's kernel."""
    variables = {"NEUWARE_HOME": str(home), "PYTHONPATH": str(home / "python")}
    held, grown = map(float, _python(TENSORS, str(MANY), str(home.parent / "build"), **variables).split())
    work, detail = f"{MANY:,} launches on tensors of PyTorch", f"beyond the first 1,000, with {held:.0f} MiB"
    return Row(work, grown, FLAT, "MiB", detail)


PEAK = """
import os, resource, subprocess, sys, ctypes
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.run(sys.argv[1:], check=True)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def _python(text: str, *words: str, **variables: str) -> str:
    """Return the last line that a Python process prints that runs *text* with *words* and environment *variables*."""
    command = [sys.executable, "-c", text, *words]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | variables)  # noqa: S603 - ours
    return told.stdout.strip().splitlines()[-1]
