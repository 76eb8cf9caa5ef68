"""Names that would move the cursor, ring or retitle a terminal are shown escaped, by every verb that shows them."""

import json
import logging
import re
import sys
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel
from mlusim.cli.main import main
from mlusim.debug import DebugSession, OperatorProgram
from mlusim.debug.recording import save
from mlusim.host import BLOCK, Status
from mlusim.operators import registry
from mlusim.operators.registry import GROUP
from mlusim.operators.spec import Case, Operator, Policy, Scalar, Tensor, Theory, Thresholds
from mlusim.plan import Plan, Region, Stage, Var
from mlusim.report.compare import Baseline, Entry, baseline_text

HOSTILE = "a\x1b[2J\x07\x9bb\x7f"
LOOKS = r"a\x1b[2J\x07\x9bb\x7f"
CONTROL = re.compile(r"[^\n\t -~\xa1-\U0010ffff]|[\x7f-\x9f]")
N = Var("n", high=100)


@kernel
def copies(mlu, y, x, count):
    """Copy *x* to *y*."""
    part = mlu.nram(float32, count)
    mlu.memcpy(part, x, count * 4, GDRAM2NRAM)
    mlu.memcpy(y, part, count * 4, NRAM2GDRAM)


def _call(handle, tensors, descriptors, params):
    if params["refuse" + HOSTILE]:
        handle.last_error = f"no {HOSTILE}"
        return Status.MLUOP_STATUS_BAD_PARAM
    handle.launch(copies, (1, 1, 1), BLOCK, (tensors["y" + HOSTILE], tensors["x" + HOSTILE], 8))
    return Status.MLUOP_STATUS_SUCCESS


def _make(refuse):
    return lambda rng: ({"x" + HOSTILE: np.ones(8, np.float32)}, {"refuse" + HOSTILE: refuse})


OPERATOR = Operator(
    name="op" + HOSTILE,
    summary="sums " + HOSTILE,
    inputs=(Tensor("x" + HOSTILE, "[N" + HOSTILE, ("float",)),),
    params=(Scalar("refuse" + HOSTILE, bool, "meaning " + HOSTILE, False),),
    outputs=(Tensor("y" + HOSTILE, "[N]", ("float",)),),
    shapes=lambda inputs, params: {"y" + HOSTILE: ((8,), "float32")},
    call=_call,
    reference=lambda inputs, params: {"y" + HOSTILE: inputs["x" + HOSTILE]},
    cases=(
        Case("case" + HOSTILE, "network", _make(False), note="note " + HOSTILE),
        Case("no" + HOSTILE, "limit", _make(True), Status.MLUOP_STATUS_BAD_PARAM),
    ),
    thresholds={"y" + HOSTILE: Thresholds(diff3=0.0)},
    theory=lambda inputs, params: Theory(8, 64),
    limits=("limit " + HOSTILE,),
    plans=(Plan("plan" + HOSTILE, [Stage("stage" + HOSTILE, [Region("region", N, float32)])]),),
    policies=(Policy("policy" + HOSTILE, "means " + HOSTILE, lambda: None),),
)


@pytest.fixture
def installed(monkeypatch, tmp_path, only_entries):
    """An operator all of whose names are hostile, a script and files that have such names in them."""
    module = ModuleType("hostile")
    module.OPERATORS = OPERATOR
    monkeypatch.setitem(sys.modules, "hostile", module)
    entry = EntryPoint("hostile", "hostile:OPERATORS", GROUP)
    vars(entry).update(dist=SimpleNamespace(name="hostile"))
    only_entries(registry, [entry])
    monkeypatch.chdir(tmp_path)
    calls = [
        Entry("op" + HOSTILE, case + HOSTILE, "MLU370-X4", 3.5, 0.25, 0.125, {"GDRAM2NRAM": 64}, 9, 9)
        for case in ("case", "gone")
    ]
    stored = Baseline("0.1" + HOSTILE, {entry.key: entry for entry in calls})
    (tmp_path / "stored.json").write_text(baseline_text(stored))
    np.savez(tmp_path / "mine.npz", **{"member" + HOSTILE: np.ones(8, np.float32)})
    (tmp_path / "accepted.toml").write_text(
        f'[[suppress]]\nid = "racecheck-idle-sync"\nplace = {json.dumps("x" + HOSTILE[:-1])}\nreason = "r"\n'
    )
    (tmp_path / f"script{HOSTILE}.py").write_text(SCRIPT)
    session = DebugSession(OperatorProgram(OPERATOR, *OPERATOR.cases[0].make(None), case="case" + HOSTILE))
    session.forward()
    save(session, "sent.rec")
    session.close()
    handlers = list(logging.getLogger().handlers)
    yield
    logging.getLogger().handlers[:] = handlers
    logging.getLogger("mlusim.host").setLevel(logging.NOTSET)


SCRIPT = f"""
import numpy as np
import mlusim
from mlusim.bang import *
from mlusim.plan import Plan, Region, Stage, Var

PLAN = Plan("plan{HOSTILE}", [Stage("stage{HOSTILE}", [Region("region", Var("n"), float32)])])

def body(mlu, x):
    a = mlu.nram(float32, 64)
    mlu.memcpy(x, a, 256, NRAM2GDRAM)  # {HOSTILE}

body.__name__ = body.__qualname__ = "body{HOSTILE}"
if __name__ == "__main__":
    device = mlusim.Device()
    device.launch(kernel(body), args=(device.put(np.zeros(64, np.float32)),))
    raise ValueError("{HOSTILE}")
"""
NAME, CASE, FILE = "op" + HOSTILE, "case" + HOSTILE, f"script{HOSTILE}.py"
BOARD = ["--board", "MLU370-X4"]
LINES = [
    (0, ["ops"]),
    (0, ["ops", NAME]),
    (0, ["run", NAME, *BOARD, "--jobs", "1"]),
    (0, ["run", NAME, "--case", CASE]),
    (0, ["run", NAME, "--case", CASE, "-v"]),
    (0, ["run", NAME, "--case", CASE, "--json"]),
    (0, ["run", NAME, "--case", "no" + HOSTILE]),
    (2, ["run", NAME, "--inputs", "mine.npz"]),
    (2, ["run", NAME, "--case", "nope" + HOSTILE]),
    (2, ["run", NAME, "--policy", "nope"]),
    (0, ["check", NAME, "--case", CASE]),
    (0, ["check", NAME, "--case", CASE, "--suppress", "accepted.toml"]),
    (1, ["check", FILE]),
    *((1, ["check", FILE, "--format", form]) for form in ("json", "sarif", "junit")),
    (1, ["check", FILE, "-o", f"out{HOSTILE}.txt"]),
    (0, ["report", NAME, *BOARD, "--jobs", "1"]),
    (0, ["report", NAME, *BOARD, "--jobs", "1", "--what-if"]),
    (1, ["report", NAME, *BOARD, "--jobs", "1", "--baseline", "stored.json"]),
    *((0, ["report", NAME, *BOARD, "--jobs", "1", "--format", form]) for form in ("csv", "md", "json")),
    (0, ["what-if", NAME, "--case", CASE, "--board", "MLU590-H8"]),
    (0, ["profile", NAME, "--case", CASE]),
    (0, ["profile", NAME, "--case", CASE, "--lines"]),
    (2, ["profile", FILE]),
    (0, ["report", NAME, *BOARD, "--keep", f"kept{HOSTILE}.jsonl", "--jobs", "1"]),
    (2, ["plan", NAME]),
    (0, ["plan", NAME, "--set", "n=5"]),
    (0, ["plan", NAME, "--max", "n"]),
    (2, ["plan", NAME, "--claim", HOSTILE]),
    (0, ["plan", FILE, "--set", "n=5"]),
    (
        0,
        [
            "debug",
            NAME,
            "--case",
            CASE,
            "--command",
            "run",
            "--command",
            "info launches",
            "--command",
            "list",
        ],
    ),
    (
        0,
        [
            "debug",
            FILE,
            "--command",
            "break memcpy",
            "--command",
            "run",
            "--command",
            "list",
            "--command",
            "where",
        ],
    ),
    (0, ["debug", "--replay", "sent.rec", "--command", "info breakpoints", "--command", "where"]),
    (0, ["debug", "--replay", "sent.rec", "--show"]),
    (2, ["debug", "--replay", FILE]),
    (2, ["compile", FILE]),
    (2, ["boards", HOSTILE]),
    (2, ["isa", HOSTILE]),
    (2, [HOSTILE]),
]


def _named(words):
    return " ".join(words).replace(HOSTILE, "~")


@pytest.mark.parametrize(
    ("expected", "words"), LINES, ids=lambda given: str(given) if isinstance(given, int) else _named(given)
)
def test_no_verb_hands_a_control_character_to_the_terminal(expected, words, installed, capfd):
    """Neither stream has one."""
    code = main(words)
    out, err = capfd.readouterr()

    assert expected == code, err
    assert out + err
    assert [] == CONTROL.findall(out) + CONTROL.findall(err), (out, err)


def test_the_name_can_be_read(installed, capfd):
    """In tables, facts and sentences."""
    main(["ops"])
    main(["ops", NAME])
    main(["run", NAME, "--case", "nope" + HOSTILE])
    told = "".join(capfd.readouterr())

    for word in ("op", "sums ", "case", "nope"):
        assert (word + LOOKS).replace(" ", "") in re.sub(r"\s", "", told), (word, told)
