"""Every example runs, quickly, and prints what its .out file holds."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


SCRIPTS = sorted(p for p in EXAMPLES.glob("[0-9]*") if p.suffix in (".py", ".mlu"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_example_prints_what_it_says(script):
    """The output is the expected one, to the letter."""
    words = [script.name] if script.suffix == ".py" else ["-m", "mlusim", "run", script.name]
    done = subprocess.run(
        [sys.executable, *words], cwd=EXAMPLES, capture_output=True, text=True, timeout=60, check=False
    )

    assert "" == done.stderr
    assert script.with_suffix(".out").read_text() == done.stdout


def test_examples_are_numbered_without_a_gap():
    """The reading order is complete."""
    numbers = [int(p.name[:2]) for p in SCRIPTS]

    assert list(range(1, len(numbers) + 1)) == numbers
