"""The harness of the contest's kernels, on a checkout of two kernels, a starter kit and a device that are written here."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.contest import judged
from benchmarks.contest.checkout import problems
from benchmarks.contest.child import older_draws
from mlusim.toolkit import folder

ROW = "| {index} | [{name}]({name}.mlu) | someone | [done](https://there/commit/{old}) [again](https://there/commit/{commit}) |\n"
TEMPLATE = 'bang_func_source = """\n"""\nprint(bang_func_source)\n'
DEVICE = """\
import json, pathlib, runpy, sys
import numpy as np
path = pathlib.Path(sys.argv[1])
asked = json.loads(path.read_text())
source = runpy.run_path(asked["solution"])["bang_func_source"]
told = {"step": "run"}
def keep(name, array):
    path.with_name(name).mkdir()
    np.save(path.with_name(name) / "0.npy", array)
if "hang" in source:
    import time
    time.sleep(600)
if "fault" in source:
    path.with_name("told.json").write_text(json.dumps(told))
    raise RuntimeError("__memcpy: dst reaches 4 bytes past its end (/there/kept-1/a.mlu:3, task 0)")
keep("expected", np.float32([1, np.inf]))
keep("actual", np.float16([0, 0] if "zeros" in source else [1.5 if "wrong" in source else 1, np.inf]))
replaced = ["torch.rand"] if "torch.rand" in source else []
if replaced:
    keep("changed", np.float32([1.5, np.inf]))
told = {"step": "done", "time": 2.5, "written": source.count("inplace"), "replaced": replaced}
path.with_name("told.json").write_text(json.dumps(told))
"""


def git(folder: Path, *words: str) -> str:
    """Run git without settings of the user."""
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    names = ["-c", "user.name=n", "-c", "user.email=n@n", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(folder), *names, *words],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | plain,
    )
    return done.stdout.strip()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A checkout whose second kernel was changed after it was accepted, a kit, and a device that reads sources."""
    root, kit, device = tmp_path / "checkout", tmp_path / "kit", tmp_path / "device.py"
    device.write_text(DEVICE)
    monkeypatch.setattr(judged, "CHILD", device)
    monkeypatch.setattr(folder, "make", lambda *_: None)  # the device needs no toolkit
    root.mkdir()
    git(root, "init", "-q")
    commits = []
    for text in ("first", "wrong torch.rand"):
        for name in ("Good", "Drop"):
            (root / f"{name}.mlu").write_text(f"{'inplace' if name == 'Good' else text} k<<<1>>>();")
        git(root, "add", ".")
        git(root, "commit", "-qm", text)
        commits.append(git(root, "rev-parse", "HEAD"))
    (root / "Drop.mlu").write_text("later")
    rows = enumerate(("Good", "Drop"), 1)
    readme = [ROW.format(index=f"{n:03}", name=name, old=commits[0], commit=commits[1]) for n, name in rows]
    (root / "README.md").write_text("".join(readme))
    for number, name in ((1, "Good"), (2, "Drop")):
        for part, ending, text in (("mlu", "_mlu.py", TEMPLATE), ("ref", ".py", "")):
            (kit / part).mkdir(parents=True, exist_ok=True)
            (kit / part / f"{number:03}_{name}{ending}").write_text(text)
    return root, kit


def test_what_was_accepted_is_judged_and_what_is_no_kernel_counts_apart(
    places: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """A row a problem, at the last commit of its row; the page has the table; results are kept."""
    kept, page = tmp_path / "results.json", tmp_path / "page.md"
    page.write_text("before\n<!-- begin: python -m benchmarks contest --page -->\nold\n<!-- end -->\nafter\n")
    words = ["contest", *map(str, places), "--cache", str(tmp_path / "cache"), "--results", str(kept)]

    assert main([*words, "--check", "600", "--page", str(page)]) == 0

    table = capsys.readouterr().out
    assert "| Good | right | 0 | 2.5 | none | writes 1 of its inputs |\n" in table
    row = "| Drop | right otherwise | 0.5 | 2.5 | none | no kernel: replaces torch.rand; 0 from the reference that it leaves |"
    assert row in table
    assert "1 kernels: 1 right.\n1 submissions that are not kernels: 1 right otherwise." in table
    assert page.read_text() == (
        f"before\n<!-- begin: python -m benchmarks contest --page -->\n\n{table}\n<!-- end -->\nafter\n"
    )
    assert main([*words, "--missing", "--only", "Good"]) == 0
    assert set(json.loads(kept.read_text())) == {"Good", "Drop"}
    assert "Not judged: " not in capsys.readouterr().out
    assert main([*words[:-2], "--only", "Good"]) == 0
    assert capsys.readouterr().out.endswith(
        "1 kernels: 1 right.\n0 submissions that are not kernels.\nNot judged: Drop.\n"
    )
    assert main([*words, "--only", "Bad"]) == 2
    assert "no problem is called Bad" in capsys.readouterr().err


def test_files_of_a_team_are_problems_by_their_names_and_the_kit_s_tester_is_measured(
    places: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """As they are at the head, with the number of their problem or without; what fails does not pass."""
    root, kit = places
    for path in (root / "README.md", root / "Drop.mlu"):
        path.unlink()
    (root / "002_Drop.mlu").write_text("fails")
    git(root, "add", ".")
    git(root, "commit", "-qm", "a team's")
    (kit / "bangc_torch_tester.py").write_text(
        "import runpy, sys\nruns = 'fails' not in runpy.run_path(sys.argv[4])['bang_func_source']\nprint('{\"passed\": true}' * runs)\n"
    )

    assert ["Good", "002_Drop"] == [one.title for one in problems(root, kit)]
    assert 0 == main(["contest", str(root), str(kit), "--cache", str(tmp_path / "cache"), "--tester"])

    table = capsys.readouterr().out
    assert re.search(r"\| Good \| passed \| 0\.\d \| 0\.\d \|\n\| 002_Drop \| not passed \| 0\.\d \|", table)
    assert re.search(r"\nMedian of 2: 0\.\d s with the build, 0\.\d s again\.\n", table)


def test_what_fails_says_why(places: tuple[Path, Path], tmp_path: Path) -> None:
    """The last exception of a process, the end of its time, and zeros where there should be none."""
    root, kit = places
    readme = root / "README.md"
    outcomes = []
    for text, timeout in (("fault <<<", 60), ("hang <<<", 0.5), ("zeros <<<", 60)):
        (root / "Good.mlu").write_text(text)
        git(root, "commit", "-qam", text)
        commit = git(root, "rev-parse", "HEAD")
        readme.write_text(re.sub(r"(001.*)commit/\w+", rf"\1commit/{commit}", readme.read_text()))
        good = problems(root, kit)[0]
        one = judged.Court(tmp_path, tmp_path, timeout).judge(good)
        outcomes.append((one.outcome, one.remark or one.apart))
    assert outcomes == [
        ("fails", "RuntimeError: __memcpy: dst reaches 4 bytes past its end (a.mlu:3, task 0)"),
        ("out of time", "takes longer than 0 s"),
        ("wrong", "returns zeros"),
    ]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("// <<<\nvoid f() {}", "launches nothing: the host does it"),
        ("k<<<d, t, q>>>(x);", ""),
        (
            "cnnlSetX(d); cnnlPoolingForward(h, d); k<<<d>>>();",
            "calls cnnlPoolingForward of the closed library",
        ),
    ],
)
def test_what_is_no_kernel_is_told_by_its_text(source: str, why: str) -> None:
    """Launches and the work of the closed library count; comments and descriptors do not."""
    assert judged.no_kernel(source) == why


def test_differences_are_those_of_the_contest() -> None:
    """Signs of singular vectors do not count, nor do indices of the largest; a NaN is not an agreement."""
    u, s, v = np.linalg.svd(np.arange(6.0).reshape(2, 3) ** 2, full_matrices=False)
    assert judged.difference("SVD_decomposition", [u, s, v], [-u, s, -v]) < 1e-5
    best = np.float32([3, 2])
    assert judged.difference("TopK", [best, np.int64([0, 1])], [best, np.int64([1, 0])]) == 0
    assert judged.difference("Cos", [best], [np.float32([np.nan, 2])]) == np.inf
    near = np.float32([40.0156, 1])  # 40 is the nearest number of half, 1.5 is not
    assert judged.difference("Cos", [near], [np.float16([40, 1])]) == 0
    assert judged.difference("Cos", [near], [np.float16([40, 1.5])]) == 0.5
    assert judged.difference("Cos", [near], [np.float32([40, 1])]) > 0.01
    with pytest.raises(ValueError, match=r"a result of \[1\] instead of \[2\]"):
        judged.difference("Cos", [best], [best[:1]])


def test_numbers_of_half_are_drawn_as_before() -> None:
    """Within what a logarithm of one of 2048 numbers gives, with the deviation of that; other types as they are."""
    torch = pytest.importorskip("torch")
    own = torch.randn
    with older_draws():
        torch.manual_seed(0)
        drawn, wide = torch.randn(2, 1 << 17, dtype=torch.float16), torch.randn(8, 4, dtype=torch.float32)
    assert drawn.shape == (2, 1 << 17)
    assert drawn.dtype == torch.float16
    assert wide.shape == (8, 4)
    assert 3.7 < float(drawn.abs().max()) < 3.91
    assert float(drawn.float().std()) == pytest.approx(0.9988, abs=0.004)
    assert abs(float(drawn.float().mean())) < 0.01
    assert torch.randn is own
