"""A disk that takes no more at the end of long work: nothing that was computed is lost without a word."""

import json
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from mlusim.operators import kept_work

TIN = ("tin_shift_forward", "--board", "MLU370-X4", "--case")
RECORD = ("--case", "golden_document", "--command", "record {}", "--command", "quit")
KINDS = {
    "s.jsonl": ("report", *TIN, "golden_document", "jobs_33", "--jobs", "1", "--keep", "{}"),
    "r.json": ("report", *TIN, "golden_document", "--jobs", "1", "-o", "{}"),
    "b.json": ("report", *TIN, "golden_document", "--jobs", "1", "--write-baseline", "{}"),
    "o.npz": ("run", *TIN, "golden_document", "--save", "{}"),
    "rec.npz": ("debug", "tin_shift_forward", *RECORD),
}
LIMITS = {"s.jsonl": 6000}
PROGRAM = """
    import contextlib, io, json, resource, sys
    from mlusim.cli.main import main
    told = {}
    for name, (words, most) in json.loads(sys.argv[1]).items():
        out, err = io.StringIO(), io.StringIO()
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        told[name] = code, out.getvalue(), err.getvalue()
    print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """What each kind of work answers in a process whose files may not grow: code, output, errors; by name."""
    folder = tmp_path_factory.mktemp("full")
    for name in KINDS:
        if name not in ("b.json", "s.jsonl"):
            (folder / name).write_text("kept")
    wanted = {
        name: ([word.format(folder / name) for word in words], LIMITS.get(name, 64))
        for name, words in KINDS.items()
    }
    done = subprocess.run(
        # -B: Python takes a bytecode file that is cut off by the limit for a whole one
        [sys.executable, "-B", "-c", textwrap.dedent(PROGRAM), json.dumps(wanted)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "") == (done.returncode, done.stderr)
    return folder, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("s.jsonl", "2 of 2 as expected"),
        ("r.json", '"case": "golden_document"'),
        ("b.json", '"tin_shift_forward"'),
        ("o.npz", "IO efficiency"),
    ],
)
def test_what_cannot_be_kept_is_shown(full, name, shown):
    """Where no file may grow: results on standard output, a sentence, code 2; the file of before stays."""
    folder, told = full
    code, out, err = told[name]

    assert 2 == code
    assert shown in out
    assert 1 == err.count("error: ")
    assert f"{folder / name} cannot be written: File too large" in err
    assert (folder / name).exists() == (name != "b.json")
    assert name == "s.jsonl" or not (folder / name).exists() or "kept" == (folder / name).read_text()


def test_a_recording_that_cannot_be_kept_is_a_sentence(full):
    """The recording of before stays, the session goes on, and the sentence says where nothing could be kept."""
    folder, told = full
    code, out, err = told["rec.npz"]

    assert "rec.npz cannot be written: File too large, and neither " in out + err
    assert "takes what was computed" in out + err
    assert "kept" == (folder / "rec.npz").read_text()
    assert code != 3


def test_a_sweep_goes_elsewhere(cli, tmp_path, monkeypatch):
    """What the file takes no more goes, with all that it holds, to another; the sweep goes on from there."""
    words = ("report", *TIN, "golden_document", "jobs_33", "--jobs", 1, "--keep")

    class Full(kept_work.io.FileIO):
        """A file on a disk that has room for 6000 bytes."""

        def write(self, text):
            room = 6000 - self.tell()
            if not room:
                raise OSError(28, "No space left on device")
            return super().write(text[:room])

    with monkeypatch.context() as patch:
        patch.setattr(kept_work.io, "FileIO", Full)
        done = cli(*words, tmp_path / "s.jsonl")
    kept = Path(done.err.rpartition("are in ")[2].split(",")[0])
    again = cli(*words, kept)

    assert (2, "") == (done.code, done.out)
    assert (
        f"s.jsonl cannot be written: No space left on device; all results until now are in {kept}" in done.err
    )
    assert Path(tempfile.gettempdir()) == kept.parent
    assert f"{kept}: 2 of 2 results are there already\n" == again.err
    assert 0 == again.code
    assert [2, 3] == [len(path.read_text().splitlines()) for path in (tmp_path / "s.jsonl", kept)]
    kept.unlink()
