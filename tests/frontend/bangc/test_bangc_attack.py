"""The semantics of C, held against the C++ compiler of this machine: 20,000 random functions."""

import pytest
from compared_functions import differences


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(400))
def test_functions_give_what_the_compiler_gives(tmp_path, seed):
    """Fifty random functions give the same results translated and compiled."""
    rows = differences(tmp_path, seed)

    assert [] == rows
