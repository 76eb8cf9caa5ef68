"""The debugger's console on a terminal: colours, what is kept between sessions, a sign of life."""

import os
import pty
import signal
import subprocess
import sys

SCRIPT = """
import mlusim
from mlusim.bang import float32, kernel

@kernel
def spin(mlu):
    buffer = mlu.nram(float32, 64)
    rounds = 0
    while mlu.taskDim:
        rounds = rounds + 1

mlusim.Device("MLU370-X4").launch(spin)
"""


def test_a_session_in_a_terminal(tmp_path):
    """The init file is executed, source has colours, a long run says that it runs, lines are kept for the next session."""
    (tmp_path / "spin.py").write_text(SCRIPT)
    (tmp_path / ".mlusim").mkdir()
    (tmp_path / ".mlusim" / "debug-init").write_text("display rounds * 0 + 41\n")
    terminal, side = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "mlusim", "debug", "spin.py"],
        stdin=side, stdout=side, stderr=side, start_new_session=True, cwd=tmp_path,
        env={**environment, "TERM": "xterm-256color", "HOME": str(tmp_path)},
    )  # fmt: skip
    os.close(side)
    shown = b""
    for wanted, keys in (
        (b"(mlusim) ", b"start\n"),
        (b"\x1b[", b""),
        (b"buffer", b"run\n"),
        (b"running, 1 s: launch 1", None),
        (b"interrupted", b""),
        (b"= 41", b"quit\n"),
    ):
        while wanted not in shown:
            shown += os.read(terminal, 65536)
        shown = shown if keys == b"" else b""
        if keys is None:
            process.send_signal(signal.SIGINT)
        else:
            os.write(terminal, keys)

    assert 0 == process.wait(60)
    assert "quit" in (tmp_path / ".mlusim" / "debug-history").read_text().splitlines()
