"""The architecture page's table of additions: one of each is added to a copy of mlusim as it says, and works everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from import_graph import PAGE

ROOT = Path(__file__).parents[2]

CHECKER = '''"""A checker that counts tasks."""
from mlusim.observe.checker import Checker
from mlusim.observe.finding import Finding


class Census(Checker):
    """Reports each task."""

    name = "census"

    def task_begin(self, core):
        """Report it."""
        self.report("task", lambda: Finding("census-task", "a task began"))
'''
ARGUMENTS = '''

def greet(parser):
    """Declare the arguments."""
    parser.add_argument("who", help="who is greeted")
'''
VERB = '''"""``mlusim greet``: a verb."""


def run(args):
    """Greet."""
    print("hello", args.who)
    return 0
'''
ENGINE = '''"""An engine whose cores count what they run."""
from mlusim.machine.core import Core


class TallyCore(Core):
    """One core."""

    def run(self, kernel, arguments):
        """Run the kernel and print."""
        self.machine.printed.append("tallied")
        super().run(kernel, arguments)


class Tally:
    """The engine for one launch."""

    engine = "tally"
    core_class = TallyCore
'''
OPERATOR = '''"""An operator."""
from attrs import evolve
from ..tin_shift.operator import OPERATORS as SHIFTS

OPERATORS = (evolve(SHIFTS[0], name="shift_again"),)
'''
HOST = '''"""Its host function."""
from ..tin_shift.host import mluOpTinShiftForward as mluOpShiftAgain
'''
FRONT = '''"""Kernels from the names of intrinsics."""
from mlusim.machine.kernel import Kernel


def kernel_of(name):
    """A kernel that calls one intrinsic."""
    return Kernel(lambda mlu, dst, a, b, count: getattr(mlu, name)(dst, a, b, count))
'''
COMMAND = '''

def salute(console, words):
    """Salute."""
    return f"saluted {words}"


COMMANDS += (Command("salute", (), "NAME", RUNNING, "salute someone", salute),)
'''

# By kind: the files that adding one of it touches, each with lines and the text to put behind each
# ("" for the end of the file, None for a new file).
ADDITIONS = {
    "an intrinsic": {
        "mlusim/isa/vector.py": ("", '\nbang_minus = binary("__bang_minus", np.subtract, "Take away.", NUMBERS)\n'),
    },
    "a board": {
        "mlusim/arch/catalog.py": (
            '    _board("MLU370-S4",', '    _board("MLU370-T1", "mtp_372", 8, 8, 1000, 307.2, 384, 2, 24, remarks=_MARKETED),\n',
        ),
    },
    "an operator": {
        "ops/shift_again/__init__.py": (None, ""),
        "ops/shift_again/operator.py": (None, OPERATOR),
        "ops/shift_again/host.py": (None, HOST),
    },
    "a checker": {
        "mlusim/observe/census.py": (None, CHECKER),
        "mlusim/observe/rules.py": ("_ROWS = {", '    "census-task": "a task began",\n'),
        "docs/reference/rules/census-task.md": (None, "# census-task\n"),
        "mlusim/observe/names.py": ('    "PlanCheck",', '    "Census",\n'),
    },
    "a verb": {
        "mlusim/cli/greet.py": (None, VERB),
        "mlusim/cli/arguments/running.py": ("", ARGUMENTS),
        "mlusim/cli/verbs.py": ("VERBS = (", '    Verb("greet", RUNNING, "greet someone"),\n'),
    },
    "a debugger command": {"mlusim/debug/console/cmd_run.py": ("", COMMAND)},
    "an engine": {
        "mlusim/engine/tally/__init__.py": (None, ENGINE),
        "mlusim/engine/preference.py": (
            "ENGINES = AUTO,", 'ENGINES = (*ENGINES, "tally")\n',
        ),
        "mlusim/machine/engine.py": (
            "Return the compiled program of *kernel*, with counters of statements if *covered*",
            '        if self.name == "tally":\n            from mlusim.engine.tally import Tally\n            return Tally()\n',
        ),
    },
    "a front end": {"mlusim/named/__init__.py": (None, FRONT)},
}  # fmt: skip

# What a user, the generated pages and the type checker see of each; runs in the copy, and prints a JSON document.
LOOK = """
import contextlib, io, json
import numpy as np
import mlusim, ops
from mlusim.bang import NRAM2GDRAM, GDRAM2NRAM, float32, kernel
from mlusim.cli.main import main
from mlusim.debug import Console, DebugSession
from mlusim.named import kernel_of
from manual import command_pages, isa_pages, stub
from mlusim.operators.registry import operators

def said(*words):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = main(list(words))
    return f"{code} {text.getvalue()}"

@kernel
def minus(mlu, dst, src):
    part = mlu.nram(float32, 64)
    mlu.memcpy(part, src, 256, GDRAM2NRAM)
    mlu.bang_minus(part, part, part, 64)
    mlu.memcpy(dst, part, 256, NRAM2GDRAM)

device = mlusim.Device("MLU370-T1")
def launch(**options):
    src, dst = device.put(np.ones(64, np.float32)), device.empty((64,), np.float32)
    return device.launch(minus, dim=(1, 1, 1), kind=mlusim.BLOCK, args=(dst, src), **options), device.get(dst)

host = device.launch(kernel(lambda mlu: kernel_of("bang_minus").body(mlu, *[mlu.nram(float32, 64)] * 3, 64)), (1, 1, 1))
tallied, _ = launch(engine="tally")
plain, zeros = launch()
case = operators()["shift_again"].cases[0].name
session = DebugSession(lambda observers: launch(observe=observers))
print(json.dumps({
    "an intrinsic": ["bang_minus" in plain.instructions, not zeros.any(), "__bang_minus" in said("isa", "__bang_minus"),
                     "def bang_minus(" in stub.stub_text(), any("__bang_minus" in page for page in isa_pages.isa_pages().values())],
    "a board": ["MLU370-T1" in said("boards"), device.board.name == "MLU370-T1"],
    "an operator": ["shift_again" in said("ops"), callable(ops.host.mluOpShiftAgain),
                    said("run", "shift_again", "--case", case).startswith("0 ")],
    "a checker": ["census-task" in said("check", "shift_again", "--case", case, "--only", "census"),
                  ["census-task"] == [f.id for f in launch(observe=["census"])[0].findings]],
    "a verb": [said("greet", "Ada") == "0 hello Ada\\n", "## mlusim greet" in command_pages.command_line(), "greet someone" in said()],
    "a debugger command": [Console(session).execute("salute Ada").text == "saluted Ada", "salute someone" in command_pages.debugger()],
    "an engine": [tallied.engine == "tally", tallied.printed == ("tallied",)],
    "a front end": ["bang_minus" in host.instructions],
}))
"""


def stated():
    """What the page says of each kind: the paths in its cell."""
    rows = re.findall(r"^\| (an? [a-z ]+) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {kind: re.findall(r"`([\w/]+(?:\.py|/))`", cell) for kind, cell in rows}


def batched(parts):
    """*parts* in pairs."""
    return zip(parts[::2], parts[1::2], strict=True)


def add(folder):
    """Make the additions in *folder*, a copy."""
    for touched in ADDITIONS.values():
        for name, parts in touched.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            for behind, text in batched(parts):
                before = "" if behind is None else file.read_text(encoding="utf-8")
                end = before.index("\n", before.index(behind)) + 1 if behind else len(before)
                file.write_text(before[:end] + text + before[end:], encoding="utf-8")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What a copy of mlusim with all additions shows."""
    folder = tmp_path_factory.mktemp("copy")
    for package in ("mlusim", "ops", "manual"):
        shutil.copytree(ROOT / package, folder / package)
    add(folder)
    environment = {**os.environ, "PYTHONPATH": str(folder), "MLUSIM_CC": "none"}
    run = [sys.executable, "-c", LOOK]
    done = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ADDITIONS)
def test_one_is_added_as_the_page_says(seen, kind):
    """It works, and every list, page and check of it follows."""
    worked = seen[kind]

    assert [True] * len(worked) == worked


@pytest.mark.parametrize("kind", ADDITIONS)
def test_the_page_names_what_is_touched(kind):
    """Each file that the addition touches is in a place that the table names, and the table's places exist."""
    places = [
        place if place.startswith(("ops/", "docs/", "mlusim/")) else f"mlusim/{place}"
        for place in stated()[kind]
    ]

    assert [] == [name for name in ADDITIONS[kind] if not name.startswith(tuple(places))]
    assert [] == [place for place in places if not (ROOT / place).exists()]


def test_the_table_has_these_kinds():
    """No row of the table goes untried."""
    kinds = list(stated())

    assert list(ADDITIONS) == kinds
