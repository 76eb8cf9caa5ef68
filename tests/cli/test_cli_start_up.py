"""What a command loads before it does anything: modules are counted, for time depends on the machine."""

import json
import subprocess
import sys

import pytest

from mlusim import bangc
from mlusim.cli import check, report
from mlusim.cli.arguments import comparing, running
from mlusim.cli.verbs import VERBS

HEAVY = {"numpy", "rich", "ml_dtypes", "greenlet", "clang", "multiprocessing", "asyncio"}
FILL = "__mlu_global__ void Fill(int *out) { if (taskId == 0) out[0] = 7; }\n"
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
    assert len(own(modules)) <= 52
    assert len(modules) <= 250


def test_one_intrinsic_loads_the_table_once(tmp_path, monkeypatch):
    """Neither the helper library nor the vendor's names; its page is kept with those of the others, which need no table."""
    monkeypatch.setenv("MLUSIM_CACHE", str(tmp_path))

    codes, modules = loaded(["isa", "bang_add"])
    codes_again, light = loaded(["isa", "bang_sub"])

    assert [0, 0] == codes + codes_again
    assert set() == {"mlusim.bang", "mlusim.cli.isa_coverage", "mlusim.engine.issue"} & set(modules)
    assert len(own(modules)) <= 100
    assert set() == (HEAVY - {"rich"}) & set(light)
    assert len(own(light)) <= 43


def test_python_collects_as_usual_where_a_program_runs(tmp_path):
    """It does not while modules are loaded, which took a sixth of a short run, and never looks through those again."""
    (tmp_path / "fill.mlu").write_text(FILL)
    words = ["run", str(tmp_path / "fill.mlu"), "--arg", "out=out:int32:1"]
    script = (
        "import gc, sys\nfrom mlusim.cli import entry, main\nentry.collect_rarely()\n"
        "code = main.main(sys.argv[1:])\n"
        "print(code, gc.get_threshold() == entry.USUAL, gc.get_freeze_count() > 10_000)"
    )
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)

    assert "0 True True" == done.stdout.splitlines()[-1]


def test_a_kernel_that_was_translated_loads_what_runs_it(tmp_path):
    """Neither the parser, nor operators, checkers, pages, plans and drivers, which other programs need."""
    (tmp_path / "fill.mlu").write_text(FILL)
    bangc.load(tmp_path / "fill.mlu")

    words = ["run", str(tmp_path / "fill.mlu"), "--arg", "out=out:int32:1"]
    codes, modules = loaded(words, [*words, "--json"])

    assert [0, 0] == codes
    assert set() == {"clang", "multiprocessing", "asyncio", "ssl", "email", "rich"} & set(modules)
    rooms = {name.split(".")[1] for name in own(modules) if "." in name}
    assert set() == {"plan", "operators", "check", "toolkit", "host", "debug"} & rooms
    unwanted = (
        "mlusim.bangc.lower",
        "mlusim.report.page",
        "mlusim.observe.races",
        "mlusim.bangc.c_",
    )
    assert [] == [name for name in own(modules) if name.startswith(unwanted)]
    assert len(own(modules)) <= 300

    words = ["debug", str(tmp_path / "fill.mlu"), "--arg", "out=out:int32:1", "--command", "info locals"]
    codes, modules = loaded(words)

    assert [0] == codes
    assert set() == {"clang", "multiprocessing", "asyncio", "logging", "email", "rich"} & set(modules)
    rooms = {name.split(".")[1] for name in own(modules) if "." in name}
    assert set() == {"plan", "operators", "check", "toolkit", "host"} & rooms
    late = ("observe.races", "observe.memcheck", "debug.recording", "debug.asking", "debug.tui.app")
    assert [] == [name for name in own(modules) if name.removeprefix("mlusim.").startswith(late)]
    assert len(own(modules)) <= 360


@pytest.mark.parametrize(
    ("declared", "written"),
    [(running.CHECK_FORMATS, check.FORMATS), (comparing.REPORT_FORMATS, report.FORMATS)],
)
def test_every_format_that_is_declared_is_written(declared, written):
    """The names are declared apart from what writes them."""
    assert declared == tuple(written)
