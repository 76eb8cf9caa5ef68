"""Random functions translated, and compiled by the C++ compiler of this machine: where they differ.

    python tests/bangc/compared_functions.py FIRST LAST

compares the batches of these seeds, fifty functions each, and prints the calls that differ.
"""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from random_functions import Batch

import mlusim
from mlusim import bangc
from mlusim.errors import MlusimError

FLAGS = (
    "-O0", "-w", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-fexcess-precision=16", "-mf16c", "-std=c++17",
)  # fmt: skip
FUNCTIONS = 50  # a batch


def compiled(folder, text):
    """What a program prints, as integers."""
    (folder / "f.cpp").write_text(text)
    subprocess.run(["g++", *FLAGS, "-o", folder / "f", folder / "f.cpp"], check=True)
    printed = subprocess.run([folder / "f"], check=True, capture_output=True, text=True).stdout
    return [int(word) for word in printed.split()]


def translated(folder, text, count, engine="python"):
    """What the kernel ``Run`` stores."""
    (folder / "f.mlu").write_text(text)
    device = mlusim.Device()
    out = device.empty(count, np.int64)
    device.launch(bangc.load(folder / "f.mlu")["Run"], args=(out,), timing=False, engine=engine)
    return device.get(out).tolist()


def differences(folder, seed, functions=FUNCTIONS, engine="python"):
    """The calls of one batch whose results differ, with what the compiler and the translation gave.

    The native engine is given functions without ``double`` in memory.
    """
    batch = Batch(seed, functions, everything=engine == "python")
    try:
        expected = compiled(folder, batch.for_host())
    except subprocess.CalledProcessError as error:
        if error.returncode != -signal.SIGFPE:
            raise
        # g++ 12 makes x - a / b to x + a / -b, which traps where a is the least number and b is 1.
        sys.stdout.write(f"seed {seed}: the compiler's own program ends in a trap; nothing to compare\n")
        return []
    found = translated(folder, batch.for_device(), len(batch.calls), engine)
    rows = zip(batch.calls, expected, found, strict=True)
    return [row for row in rows if row[1] != row[2]]


def main(first, last):
    """Compare a range of seeds; the number of calls that differ."""
    wrong = 0
    for seed in range(first, last):
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows = differences(Path(folder), seed)
            except MlusimError as error:
                rows = [(type(error).__name__, error)]
        for row in rows:
            sys.stdout.write(f"seed {seed}: {row}\n")
        wrong += len(rows)
    sys.stdout.write(f"{(last - first) * FUNCTIONS} functions, {wrong} calls differ\n")
    return wrong


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])) > 0)
