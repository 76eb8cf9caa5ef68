"""What a shell may do to a program: closed streams, no current directory, names and bytes that are not text."""

import json
import os
import subprocess
import sys

import pytest

RUN = "run tin_shift_forward --case golden_document"
LONG = "x" * 300
ENDINGS = {
    "closed output": (f"{RUN} >&-", 2, "standard output is closed"),
    "everything closed": (f"{RUN} <&- >&- 2>&-", 2, None),
    "debugger without input": ("debug tin_shift_forward --case golden_document <&-", 0, None),
    "a long script": (f"check {LONG}.py", 2, "cannot be read: File name too long"),
    "a long program": (f"debug {LONG}.py --command where", 2, "cannot be read: File name too long"),
    "a long plan": (f"plan {LONG}.py", 2, "cannot be read: File name too long"),
}


def shell(text, **options):
    """What the shell makes of `mlusim` with these words."""
    command = f"{sys.executable} -m mlusim {text}"
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False, timeout=60, **options)


@pytest.mark.parametrize("name", ENDINGS)
def test_streams_and_names_are_no_bug(name):
    """If a stream or name cannot be used, there is one message and exit code 2; otherwise nothing is said."""
    text, code, sentence = ENDINGS[name]
    done = shell(text)
    lines = done.stderr.decode().splitlines()

    assert code == done.returncode
    assert [] == lines if sentence is None else (1 == len(lines) and sentence in lines[0])


def test_bytes_that_are_no_text_are_a_mistake_of_the_line():
    """The session goes on behind them."""
    done = shell("debug tin_shift_forward --case golden_document", input=b"\xff\xfe\nwhere\n")

    assert b"there is no command" in done.stdout
    assert (0, b"") == (done.returncode, done.stderr)


def test_a_directory_that_is_gone(tmp_path):
    """What needs none works, what needs one says so."""
    folder = tmp_path / "gone"
    words = f"{sys.executable} -m mlusim check tin_shift_forward --case golden_document --format sarif"
    script = f"mkdir {folder} && cd {folder} && rmdir {folder} && {words}"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=False, timeout=60)

    assert (0, b"") == (done.returncode, done.stderr)
    assert "2.1.0" == json.loads(done.stdout)["version"]


def test_a_name_of_odd_bytes_has_an_address(tmp_path):
    """SARIF and text carry it, escaped."""
    name = os.fsdecode(b"odd\xff.py")
    (tmp_path / name).write_text(
        "import mlusim\nfrom mlusim.bang import NRAM2GDRAM, float32, kernel\n\n@kernel\ndef body(mlu, x):\n"
        "    a = mlu.nram(float32, 64)\n    mlu.memcpy(x, a, 256, NRAM2GDRAM)\n\n"
        "device = mlusim.Device('MLU370-X4')\ndevice.launch(body, args=(device.empty(64, float32),))\n"
    )
    words = [sys.executable, "-m", "mlusim", "check", name, "-o", "found.sarif"]
    done = subprocess.run(words, capture_output=True, check=False, timeout=60, cwd=tmp_path)
    log = json.loads((tmp_path / "found.sarif").read_text())

    assert 1 == done.returncode
    assert "odd%FF.py" in json.dumps(log)
