"""What all tests of the debugger have in common."""

import pytest

from mlusim.machine.observed import MEMORY_CORES


@pytest.fixture(scope="module", autouse=True)
def _memory_cores_last():
    """Let tasks begin with task 0, where these tests stop first; memory cores come behind their clusters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MEMORY_CORES, "last")
        yield
