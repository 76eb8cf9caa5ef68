"""Sources as text for the tests of the BANG C front end."""

import os
import shlex

import pytest

from mlusim import bangc
from mlusim.machine.native.build import CHOICE, available


@pytest.fixture(scope="module", autouse=True)
def _few_optimisations(request):
    """Let the compiler optimise little, which halves its time; operators, intrinsics and `make attack` have what users have."""
    with pytest.MonkeyPatch.context() as patch:
        attack = request.config.option.markexpr == "attack"
        if not attack and CHOICE not in os.environ and (command := available()) is not None:
            patch.setenv(CHOICE, shlex.join((*command, "-Og")))
        yield


@pytest.fixture
def load(tmp_path):
    """Load BANG C given as text: ``load(text)``, or several files by name."""

    def loaded(text="", board="MLU370-X4", **files):
        texts = {f"{name}.mlu": body for name, body in files.items()} or {"k.mlu": text}
        for name, body in texts.items():
            (tmp_path / name).write_text(body)
        return bangc.load([tmp_path / name for name in texts], board=board)

    return loaded


@pytest.fixture(scope="module")
def load_once(tmp_path_factory):
    """Load BANG C given as text, each text once a file of tests."""
    made = {}

    def loaded(text, board="MLU370-X4"):
        if (text, board) not in made:
            path = tmp_path_factory.mktemp("bangc") / "k.mlu"
            path.write_text(text)
            made[text, board] = bangc.load([path], board=board)
        return made[text, board]

    return loaded
