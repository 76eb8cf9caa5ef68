"""The interrupt key while the program is still being imported, and folders that may not be searched."""

import json
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

INTERRUPTED = """
    import os, runpy, signal, sys

    class Key:
        def find_spec(self, name, *_):
            if name == sys.argv[0]:
                os.kill(os.getpid(), signal.SIGINT)

    # A shell that runs this in the background tells it to ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.meta_path.insert(0, Key())
    sys.argv = sys.argv[1:]
    runpy.run_module("mlusim", run_name="__main__", alter_sys=False)
"""


@pytest.mark.parametrize("name", ["mlusim.cli.main", "numpy", "greenlet"])
def test_an_interruption_of_imports_is_a_sentence(name):
    """Whatever is being imported: "interrupted", 130, no traceback."""
    words = (name, "report", "tin_shift_forward", "--case", "golden_document", "--jobs", "2")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED), *words],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (130, "", "error: interrupted\n") == (done.returncode, done.stdout, done.stderr)


SWALLOWED = """
    import os, runpy, signal, sys

    class Key:
        def find_spec(self, name, *_):
            try:
                if name == "mlusim.cli.isa":
                    os.kill(os.getpid(), signal.SIGINT)
                    for _ in range(1000):
                        pass
            except KeyboardInterrupt:  # as NumPy and callbacks of the import system do
                pass

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.meta_path.insert(0, Key())
    sys.argv = ["mlusim", "isa", "bang_add"]
    runpy.run_module("mlusim", run_name="__main__", alter_sys=False)
"""
ENDED = """
    import atexit, os, runpy, signal, sys

    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
    sys.argv = ["mlusim", "isa", "no_such_intrinsic"]
    runpy.run_module("mlusim", run_name="__main__", alter_sys=False)
"""


def test_an_interruption_that_an_import_swallows_ends_the_program():
    """Nothing is raised amid imports: the program leaves."""
    words = [sys.executable, "-c", textwrap.dedent(SWALLOWED)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (130, "", "error: interrupted\n") == (done.returncode, done.stdout, done.stderr)


def test_an_interruption_of_the_end_changes_nothing():
    """After the last line the program keeps its exit code, and prints no traceback as the interpreter ends."""
    words = [sys.executable, "-c", textwrap.dedent(ENDED)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_the_program_is_the_entry_that_hears_it():
    """What a shell starts is what the test above starts."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())

    assert "mlusim.cli.entry:main" == project["project"]["scripts"]["mlusim"]


CLOSED = """
    import contextlib, importlib, io, json, os, pkgutil, sys
    import mlusim, ops
    from mlusim.cli.main import main

    for package in (mlusim, ops):  # what is imported later may lie where only root may search
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if "__main__" not in found.name and "textual" not in found.name:
                with contextlib.suppress(ImportError):
                    importlib.import_module(found.name)
    folder, lines = sys.argv[1], json.loads(sys.argv[2])
    with contextlib.redirect_stdout(io.StringIO()):
        main(["run", "tin_shift_forward", "--case", "golden_document"])
    os.chmod(folder, 0)
    if os.geteuid() == 0:
        os.seteuid(65534)
    told = []
    for line in lines:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(line)
        told.append([code, out.getvalue(), err.getvalue()])
    print(json.dumps(told))
"""
TIN = "{op} --board MLU370-X4 --case golden_document"
READ = (
    "run {op} --inputs {}/file",
    f"report {TIN} --jobs 1 --baseline {{}}/file",
    "check {}/file.py",
    "check --replay {}/file",
    "profile {}/below/file.py",
    "compile {}",
    "run {}/file.mlu --kernel k",
    "debug {}/file.py --command quit",
    "debug --replay {}/below/file --command quit",
    "plan {}/file.py",
)
WRITTEN = (
    f"run {TIN} --save {{}}/file",
    f"run {TIN} --trace {{}}/new",
    f"report {TIN} --jobs 1 -o {{}}/file.json",
    f"report {TIN} --jobs 1 --write-baseline {{}}/below/file",
    f"report {TIN} --jobs 1 --keep {{}}/file",
    f"check {TIN} --format sarif -o {{}}/file",
)


def test_folders_that_may_not_be_searched_are_sentences(tmp_path):
    """Without root's rights: code 2, one sentence that names the file, and nothing has run."""
    (tmp_path / "closed" / "below").mkdir(parents=True)
    for name in ("file", "file.py", "file.json", "file.mlu", "below/file", "below/file.py"):
        (tmp_path / "closed" / name).write_text("{}")
    closed = str(tmp_path / "closed")
    lines = [line.format(closed, op="tin_shift_forward").split() for line in (*READ, *WRITTEN)]
    program = [sys.executable, "-c", textwrap.dedent(CLOSED), closed, json.dumps(lines)]
    try:
        done = subprocess.run(program, capture_output=True, text=True, check=False)
    finally:
        Path(closed).chmod(0o700)

    assert (0, "") == (done.returncode, done.stderr)
    for index, (line, (code, out, err)) in enumerate(zip(lines, json.loads(done.stdout), strict=True)):
        verb = "read" if index < len(READ) else "written"
        file = next(word for word in line if word.startswith(closed))
        assert (2, "", f"error: {file} cannot be {verb}: Permission denied\n") == (code, out, err)
