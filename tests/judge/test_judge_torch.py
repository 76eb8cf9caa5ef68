"""Candidates that are written for PyTorch: judged through its device, in their own process, by the rules of all others."""

import importlib.metadata
import importlib.util
import sys

import pytest
from judged import REFERENCE, kernel

from mlusim.judge.candidate import run
from mlusim.judge.judging import candidates, judge, task_of
from mlusim.programs.argument_forms import AskedCall

HEAD = "#include <framework/core/MLUStream.h>\n#include <torch/extension.h>\n"
FUNCTION = """
torch::Tensor bang_func(torch::Tensor x, torch::Tensor y, double slope) {
  auto out = torch::empty_like(x);
  cnrtDim3_t dim = {2, 1, 1};
%s
  Fused<<<dim, cnrtFuncTypeBlock, torch_mlu::getCurMLUStream()>>>(out.data_ptr<float>(), x.data_ptr<float>(), y.data_ptr<float>(), slope, x.numel());
%s
  return out;
}
"""
CANDIDATES = {
    "good": FUNCTION % ("", ""),
    # a library call in place of the kernel's result
    "library": FUNCTION % ("", "  out = x * slope + y;"),
    # all that Python could do for it
    "python": "static void run(const char *text) {\n"
    '  try { py::module_::import("builtins").attr("exec")(text, py::dict()); } catch (std::exception &e) { printf("%.40s\\n", e.what()); }\n  fflush(stdout);\n}'
    + FUNCTION
    % (
        (
            "  py::gil_scoped_acquire gil;\n  run(\"print('read', open('REFERENCE').read())\");\n"
            "  run(\"import subprocess; subprocess.run(['echo', 'started'])\");\n"
            "  run(\"import os; os.chmod('REFERENCE', 511)\");"
        ),
        "",
    ),
    "needs_too_much": FUNCTION % ("  auto big = torch::ones({3LL << 30}, torch::kFloat);", ""),
    "throws": FUNCTION % ('  TORCH_CHECK(x.numel() == 512, "of 512 elements alone");', ""),
    "faults": (FUNCTION % ("", "")).replace("x.numel());", "x.numel() + 256);"),
    "other_type": FUNCTION % ("", "  return out.to(torch::kHalf);"),
    "not_c": FUNCTION % ("", "  return nonsense;"),
}


def source(body):
    """A file of a kernel and a function of PyTorch."""
    return HEAD + kernel() + body


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """The verdict of each, where PyTorch is."""
    try:
        importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("PyTorch is not installed: pip install torch")
    folder = tmp_path_factory.mktemp("torch")
    (folder / "reference.py").write_text(REFERENCE)
    for name, body in CANDIDATES.items():
        text = source(body).replace("REFERENCE", str(folder / "reference.py"))
        (folder / f"{name}.mlu").write_text(text)
    task = task_of(str(folder / "reference.py"), AskedCall((), board="MLU370-X4", seed=5), seconds=600.0)
    wanted = candidates(task, [str(folder / f"{name}.mlu") for name in CANDIDATES])
    return dict(zip(CANDIDATES, judge(wanted, workers=1), strict=True))


def test_a_right_one(verdicts):
    """With its time, and tensors by the names of the parameters."""
    found = verdicts["good"]

    assert (found["verdict"], found["error"], found["launches"]) == ("right", None, 4)
    assert found["time_band"][0] < found["time_us"] < found["time_band"][1]
    assert (found["wrote_inputs"], found["findings"], found["errors"]) == ([], [], [])


def test_one_that_calls_python(verdicts):
    """It is compiled, and its Python has no other files than its C++, and starts nothing."""
    found = verdicts["python"]

    assert (found["verdict"], found["errors"]) == ("right", [])
    assert "started" not in found["printed"]
    if found["confinement"]["files"]:
        assert "read" not in found["printed"]
        assert "PermissionError" in found["printed"]


@pytest.mark.parametrize(
    ("name", "verdict", "said"),
    [
        ("library", "wrong", "no kernel has stored all of out"),
        ("needs_too_much", "limit", "it takes more memory than --memory allows"),
        ("throws", "refused", "bang_func throws RuntimeError: of 512 elements alone"),
        ("faults", "fault", "past its end"),
        (
            "other_type",
            "refused",
            "bang_func returns out as half (512,), where the reference has float (512,)",
        ),
        ("not_c", "untranslated", "use of undeclared identifier 'nonsense'"),
    ],
)
def test_what_is_wrong_with_the_others(verdicts, name, verdict, said):
    """Each in a sentence."""
    found = verdicts[name]

    assert (found["verdict"], found["right"]) == (verdict, False)
    assert said in found["error"]


def test_without_pytorch(tmp_path, monkeypatch):
    """It is refused in a sentence, and nothing is made for it."""
    monkeypatch.setitem(sys.modules, "torch", None)
    path = tmp_path / "candidate.mlu"
    path.write_text(source(CANDIDATES["good"]))
    request = {"path": str(path), "kernel": None, "function": None, "board": "MLU370-X4", "seconds": 600.0, "include": [], "define": []}  # fmt: skip

    monkeypatch.setattr("mlusim.judge.candidate.confine_calls", lambda _: None)  # of this process
    facts = run(request, []).facts

    assert facts["translated"]
    assert "it needs PyTorch, which is not installed; install it with `" in facts["error"]
