"""What a command loads before it does anything: modules are counted, for time depends on the machine."""

import json
import subprocess
import sys

import pytest

from mlusim.cli import check, formats
from mlusim.cli.arguments import check as check_arguments
from mlusim.cli.arguments import report as report_arguments
from mlusim.cli.main import VERBS

HEAVY = {"numpy", "rich", "ml_dtypes", "greenlet", "clang", "multiprocessing", "asyncio"}
LOADED = """
import contextlib, io, json, sys
from mlusim.cli.main import main

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    codes = [main(words) for words in json.loads(sys.argv[1])]
print(json.dumps([codes, list(sys.modules)]))
"""


def loaded(*commands):
    """The exit codes of *commands*, run in one process, and the modules that it has loaded then."""
    words = [sys.executable, "-c", LOADED, json.dumps(commands)]
    codes, modules = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return codes, modules


def own(modules):
    """Those of mlusim."""
    return [name for name in modules if name.split(".")[0] == "mlusim"]


def test_help_and_wrong_arguments_load_no_machine():
    """The arguments of all verbs together need a few light modules, and nothing that computes or draws."""
    helps = [[verb.name, "--help"] for verb in VERBS]
    wrong = [[verb.name, "--no-such-option"] for verb in VERBS]

    codes, modules = loaded(["--help"], *helps, *wrong, ["no_such_verb"])

    assert codes == [0] * (len(helps) + 1) + [2] * (len(wrong) + 1)
    assert set() == HEAVY & set(modules)
    assert len(own(modules)) <= 50
    assert len(modules) <= 250


def test_one_intrinsic_loads_the_table_alone():
    """Neither the helper library nor the vendor's names, which other words of the verb need."""
    codes, modules = loaded(["isa", "bang_add"])

    assert [0] == codes
    assert set() == {"mlusim.bang", "mlusim.manual.coverage", "mlusim.engine.issue"} & set(modules)
    assert len(own(modules)) <= 95


@pytest.mark.parametrize(
    ("declared", "written"),
    [(check_arguments.FORMATS, check.FORMATS), (report_arguments.FORMATS, formats.FORMATS)],
)
def test_every_format_that_is_declared_is_written(declared, written):
    """The names are declared apart from what writes them."""
    assert declared == tuple(written)
