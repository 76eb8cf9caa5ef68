"""One toolkit folder and one process with PyTorch for all tests: what it found, by name."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def run_torch(toolkit):
    """Runs a script with ``torch_mlu`` on its path; what it did."""
    try:
        importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("PyTorch is not installed: pip install torch")

    def run(*words, **variables):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MLUSIM_") or k == "MLUSIM_CACHE"}
        more = {"NEUWARE_HOME": str(toolkit), "PYTHONPATH": str(toolkit / "python")}
        return subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, check=False, env=kept | more | variables
        )

    return run


@pytest.fixture(scope="session")
def found(run_torch):
    """What ``program.py`` found out, by the names of its functions."""
    done = run_torch(str(HERE / "program.py"), TORCH_MLU_FALLBACK="log", MLUSIM_DEVICES="2")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]) | {"stderr": done.stderr}
