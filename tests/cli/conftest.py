"""Running the command line in this process, with sample operators registered beside the real ones."""

import json
from importlib.metadata import entry_points
from types import SimpleNamespace

import pytest
from attrs import evolve
from sample_operators import GOOD, OPERATORS

from mlusim.cli.main import main
from mlusim.operators import registry
from mlusim.operators.registry import find_operator


def _no_constant(word):
    raise AssertionError(f"{word} is not JSON")


def strict_json(text):
    """The document in *text*, which must be one and must hold no NaN or infinity."""
    return json.loads(text, parse_constant=_no_constant)


@pytest.fixture
def cli(capsys, monkeypatch):
    """Run ``mlusim`` with the words given: ``code``, ``out``, ``err``, and ``json()`` of ``out``."""
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err, json=lambda: strict_json(out))

    return run


@pytest.fixture
def samples(only_entries):
    """Register the sample operators beside those that are installed, for one test."""
    entry = SimpleNamespace(name="samples", value="samples", load=lambda: OPERATORS)
    only_entries(registry, [*entry_points(group=registry.GROUP), entry])


@pytest.fixture
def shift_calls(only_entries):
    """Let the host function of ``tin_shift_forward`` be another, and register no other operator: ``shift_calls(function)``."""
    operator = find_operator("tin_shift_forward")

    def called(function):
        changed = evolve(operator, call=function(operator.call))
        only_entries(registry, [SimpleNamespace(name="changed", value="changed", load=lambda: changed)])

    return called


@pytest.fixture
def only_samples(only_entries):
    """Register an operator that goes well, and no other, for one test."""
    only_entries(registry, [SimpleNamespace(name="samples", value="samples", load=lambda: (GOOD,))])
