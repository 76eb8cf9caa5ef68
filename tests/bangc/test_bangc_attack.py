"""The semantics of C, held against the C++ compiler of this machine: 20,000 random functions, 5,000 on the native engine."""

import pytest
from compared_functions import differences
from engines import NATIVE


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(400))
def test_functions_give_what_the_compiler_gives(tmp_path, seed):
    """Fifty random functions give the same results translated and compiled."""
    rows = differences(tmp_path, seed)

    assert [] == rows


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(100))
def test_native_functions_give_what_the_compiler_gives(tmp_path, seed):
    """The same on the other engine."""
    rows = differences(tmp_path, seed, engine=NATIVE)

    assert [] == rows
