"""The program itself: streams, terminals, pipes, and a working directory of its own."""

import json
import os
import pty
import re
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

PROGRAM = (sys.executable, "-m", "mlusim")


def environment(**changes):
    """The environment of the tests without what changes a terminal, and with *changes*."""
    kept = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}}
    return kept | changes


def on_a_terminal(*words, **changes):
    """Run with standard error on a terminal; standard output and error as text."""
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        (*PROGRAM, *words), stdout=subprocess.PIPE, stderr=theirs, env=environment(**changes)
    )
    os.close(theirs)
    # A terminal without a reader fills up, and its writer waits.
    with ThreadPoolExecutor(1) as reader, program:
        seen = reader.submit(all_of, ours)
        out, _ = program.communicate()
    os.close(ours)
    return out.decode(), seen.result().decode()


def all_of(terminal):
    """Everything that is written to *terminal* until its last writer has closed it."""
    seen = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            return seen
        if not part:
            return seen
        seen += part


def test_the_two_streams_are_apart(tmp_path):
    """A run off the terminal: one JSON document, silence on standard error; an error: the reverse."""
    good = subprocess.run(
        (*PROGRAM, "run", "tin_shift_forward", "--case", "golden_document", "--json"),
        capture_output=True, cwd=tmp_path, env=environment(), check=False,
    )  # fmt: skip
    bad = subprocess.run(
        (*PROGRAM, "run", "tin_shift_forward", "--inputs", "none.npz"),
        capture_output=True, cwd=tmp_path, env=environment(), check=False,
    )  # fmt: skip

    assert (0, b"") == (good.returncode, good.stderr)
    assert "MLUOP_STATUS_SUCCESS" == json.loads(good.stdout)["status"]
    assert (2, b"") == (bad.returncode, bad.stdout)
    assert b"error: none.npz is not a file; --inputs takes an .npz file\n" == bad.stderr


def test_progress_shows_on_a_terminal_only_and_not_in_the_output():
    """Many cases with a terminal on standard error: a bar there, only the document on standard output."""
    out, err = on_a_terminal("report", "tin_shift_forward", "--group", "golden", "--json", TERM="xterm")

    assert 2 == len(json.loads(out)["runs"])
    assert "tin_shift_forward golden_document" in err
    assert "\x1b[" in err


def test_no_color_is_honoured():
    """With NO_COLOR the bar has no colours."""
    _, err = on_a_terminal(
        "report", "tin_shift_forward", "--group", "golden", "--json", TERM="xterm", NO_COLOR="1"
    )

    assert "golden_document" in err
    assert not any(f"\x1b[{code}" in err for code in ("31", "32", "35", "38"))


def test_tables_have_no_escape_codes_with_no_color():
    """A table on a terminal is bold here and there; with NO_COLOR it is plain text."""

    def table(**changes):
        ours, theirs = pty.openpty()
        subprocess.run(
            (*PROGRAM, "boards"), stdout=theirs, env=environment(TERM="xterm", **changes), check=True
        )
        os.close(theirs)
        seen = os.read(ours, 4096)
        os.close(ours)
        return seen

    assert b"\x1b[" in table()
    assert b"\x1b[" not in table(NO_COLOR="1")


def test_a_kernel_runs_with_styles(cli, monkeypatch, tmp_path):
    """What a launch tells has styles where a terminal shows it, and the same words."""
    (tmp_path / "store.mlu").write_text("__mlu_entry__ void Store(float *y) { y[0] = 1.5f; }")
    words = ("run", tmp_path / "store.mlu", "--arg", "y=out:float32:1")
    plain = cli(*words)
    monkeypatch.setenv("FORCE_COLOR", "1")
    styled = cli(*words)

    assert (0, 0) == (plain.code, styled.code)
    assert "\x1b[" in styled.out
    assert plain.out == re.sub(r"\x1b\[[0-9;]*m", "", styled.out)


def test_a_reader_that_leaves_is_no_error():
    """``mlusim isa --json | head -1`` ends without a word."""
    with subprocess.Popen(
        (*PROGRAM, "isa", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as program:
        program.stdout.readline()
        program.stdout.close()

        assert b"" == program.stderr.read()


def test_a_narrow_encoding_is_no_error(tmp_path):
    """Output in ASCII has question marks and no traceback."""
    done = subprocess.run(
        (*PROGRAM, "isa", "memcpy"),
        capture_output=True,
        env=environment(PYTHONIOENCODING="ascii"),
        check=False,
    )

    assert (0, b"") == (done.returncode, done.stderr)
    assert b"__memcpy(" in done.stdout


@pytest.mark.parametrize("words", [("boards",), ("boards", "--json"), ("isa", "bang_add")])
def test_a_file_that_takes_no_more_gets_a_sentence(words, tmp_path):
    """Standard output that takes no bytes: one sentence, code 2, and no complaint at exit."""

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    with (tmp_path / "out").open("w", encoding="utf-8") as file:
        done = subprocess.run(
            (*PROGRAM, *words), stdout=file, stderr=subprocess.PIPE, env=environment(), check=False,
            preexec_fn=no_room,
        )  # fmt: skip

    assert 2 == done.returncode
    assert b"error: standard output cannot be written: File too large\n" == done.stderr


def test_outputs_come_back_as_inputs(tmp_path):
    """What --save writes, --inputs reads: shifting there and back restores what stayed inside."""
    data = np.arange(24, dtype=np.float32).reshape(1, 4, 2, 3)
    np.savez(tmp_path / "a.npz", input=data, shifts=np.array([[1]], np.int32))
    for given, saved, shift in (("a.npz", "b.npz", -1), ("c.npz", "d.npz", 0)):
        words = ("run", "tin_shift_forward", "--inputs", given, "--save", saved)
        subprocess.run((*PROGRAM, *words), cwd=tmp_path, check=True, capture_output=True, env=environment())
        with np.load(tmp_path / saved) as out:
            if shift:
                np.savez(tmp_path / "c.npz", input=out["output"], shifts=np.array([[shift]], np.int32))
            else:
                assert np.array_equal(data[:, :3], out["output"][:, :3])
