"""Every example runs, quickly, and prints what its .out file holds."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("[0-9]*.py")), ids=lambda p: p.stem)
def test_example_prints_what_it_says(script):
    """The output is the expected one, to the letter."""
    done = subprocess.run(
        [sys.executable, script.name], cwd=EXAMPLES, capture_output=True, text=True, timeout=60, check=False
    )

    assert "" == done.stderr
    assert script.with_suffix(".out").read_text() == done.stdout


def test_examples_are_numbered_without_a_gap():
    """The reading order is complete."""
    numbers = [int(p.name[:2]) for p in sorted(EXAMPLES.glob("[0-9]*.py"))]

    assert list(range(1, len(numbers) + 1)) == numbers
