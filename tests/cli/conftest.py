"""Running the command line in this process, with sample operators registered beside the real ones."""

import json
from types import SimpleNamespace

import pytest
from sample_operators import GOOD, OPERATORS

from mlusim.cli.main import main
from mlusim.operators import registry


def _no_constant(word):
    raise AssertionError(f"{word} is no JSON")


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
def samples(monkeypatch):
    """Register the sample operators for one test."""
    real = registry.entry_points
    entry = SimpleNamespace(name="samples", value="samples", load=lambda: OPERATORS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [*real(group=group), entry])
    registry.registered.cache_clear()
    yield
    registry.registered.cache_clear()


@pytest.fixture
def only_samples(monkeypatch):
    """Register an operator that goes well, and no other, for one test."""
    entry = SimpleNamespace(name="samples", value="samples", load=lambda: (GOOD,))
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    registry.registered.cache_clear()
    yield
    registry.registered.cache_clear()
