"""The files that a few common things pass; ``python tests/architecture/walks.py`` prints them, ``--write`` renews the page.

A file is passed where one of its functions is called.  Each thing is done once before it is measured: what is made once, as the method
of a row, is there already.
"""

import contextlib
import io
import os
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import numpy as np
from import_graph import PAGE, ROOT

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel

# ruff: noqa: PLC0415 - the debugger and the command line are loaded for their walks

PACKAGE = str(ROOT / "mlusim") + os.sep
SOURCE = """
__nram__ float buffer[64];
__mlu_global__ void Scale(float *dst, const float *src, int n) {
  __memcpy(buffer, src, n * sizeof(float), GDRAM2NRAM);
  __bang_mul_scalar(buffer, buffer, 2.0f, n);
  __memcpy(dst, buffer, n * sizeof(float), NRAM2GDRAM);
}
"""
TRIAL = "MLUSIM_PARSE_TRIAL"
HEAD = "| walk | files | rooms | calls | which |"
MANY = 30  # files beyond which a room is named with their number


class Passed:
    """The files whose functions are called while it hears, in the order of their first call."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.calls = 0

    def hear(self, frame, event, _):
        """Note the file of a function that is called."""
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.files.setdefault(frame.f_code.co_filename.removeprefix(PACKAGE))
            self.calls += 1

    @contextlib.contextmanager
    def listening(self):
        """Hear this thread, and those that begin meanwhile."""
        threading.setprofile(self.hear)
        sys.setprofile(self.hear)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def _in_kernel(act):
    """What *act*, a part of a kernel in Python, passes; a kernel runs on a stack of its own, which has a profiler of its own."""
    passed = Passed()

    @kernel
    def body(mlu: Mlu, dst: Ptr, src: Ptr) -> None:
        buffer = mlu.nram(float32, 64)
        act(mlu, buffer, src)
        with passed.listening():
            act(mlu, buffer, src)
        mlu.memcpy(dst, buffer, 64 * float32.size, NRAM2GDRAM)

    device = mlusim.Device("MLU370-X4")
    device.launch(body, args=(device.empty(64, np.float32), device.put(np.ones(64, np.float32))))
    return passed


def _store(mlu, buffer, _):
    buffer[3] = buffer[2] if mlu.taskId else 1.0


def _added(mlu, buffer, _):
    mlu.bang_add(buffer, buffer, buffer, 64)


def _copied(mlu, buffer, src):
    mlu.memcpy_async(buffer, src, 64 * float32.size, GDRAM2NRAM)
    mlu.sync()


@kernel
def unwritten(mlu: Mlu, dst: Ptr) -> None:
    """Store what nothing has written."""
    buffer = mlu.nram(float32, 64)
    mlu.bang_add(buffer, buffer, buffer, 64)
    mlu.memcpy(dst, buffer, 64 * float32.size, NRAM2GDRAM)


def _again(act):
    """What *act* passes the second time."""
    act()
    passed = Passed()
    with passed.listening():
        act()
    return passed


def _source(folder):
    """What a file of BANG C passes from its text to its last task, the native engine compiled before."""
    device = mlusim.Device("MLU370-X4")
    tensors = device.empty(64, np.float32), device.put(np.ones(64, np.float32))
    number = 0

    def act():
        nonlocal number
        number += 1
        path = folder / f"scale{number}.mlu"  # a new text, which no cache has
        path.write_text(f"// {number} {os.getpid()}\n{SOURCE}")
        device.launch(mlusim.bangc.load([path])["Scale"], args=(*tensors, 64), engine="native")

    before = os.environ.get(TRIAL)
    os.environ[TRIAL] = "0"  # parsed and lowered in this process, where it is heard
    try:
        return _again(act)
    finally:
        os.environ.pop(TRIAL)
        if before is not None:
            os.environ[TRIAL] = before


def _finding():
    """What a checker's finding passes beside a launch that nothing observes."""
    device = mlusim.Device("MLU370-X4")
    out = device.empty(64, np.float32)
    plain = _again(lambda: device.launch(unwritten, args=(out,)))
    checked = _again(lambda: str(device.launch(unwritten, args=(out,), observe=["initcheck"]).findings[0]))
    for file in plain.files:
        checked.files.pop(file, None)
    return checked


def _launched():
    device = mlusim.Device("MLU370-X4")
    return device.launch(unwritten, args=(device.empty(64, np.float32),))


def _reverse_step(folder):
    """What one step back of the debugger passes, from the verb that its fronts call."""
    from mlusim.debug import DebugSession, verbs
    from mlusim.programs.program import ScriptProgram

    script = folder / "script.py"
    script.write_text(
        "import numpy as np\nimport mlusim\nfrom walks import unwritten\n"
        "device = mlusim.Device('MLU370-X4')\ndevice.launch(unwritten, args=(device.empty(64, np.float32),))\n"
    )
    with contextlib.closing(DebugSession(ScriptProgram(str(script)))) as session:
        verbs.run(session)
        passed = _again(lambda: verbs.reverse_step(session))
        assert session.position.moment > 0, session.stop
        return passed


def _report(folder):
    """What a report of one case on the usual boards passes."""
    from mlusim.cli.main import main

    words = [
        "report",
        "tin_shift_forward",
        "--case",
        "golden_document",
        "--format",
        "html",
        "--jobs",
        "1",
        "-o",
    ]

    def act():
        with contextlib.redirect_stderr(io.StringIO()):
            main([*words, str(folder / "report.html")])

    return _again(act)


def walks():
    """Each walk, in words, with what it passes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield "a load or store through a pointer, in a kernel in Python", _in_kernel(_store)
        yield "`bang_add` and its counters, in a kernel in Python", _in_kernel(_added)
        yield "`memcpy_async` and its `sync`, in a kernel in Python", _in_kernel(_copied)
        yield "a `.mlu`, from its text to its last task in C", _source(folder)
        yield "a finding of initcheck, beside the launch itself", _finding()
        launch = _launched()
        yield "`launch.html(path)`, after the launch", _again(lambda: launch.html(folder / "page.html"))
        yield "`report --format html` of one case, with the times on all boards", _report(folder)
        yield "`reverse-step` of the debugger", _reverse_step(folder)


def table():
    """The walks as the architecture page shows them."""
    yield HEAD
    yield "| --- | --- | --- | --- | --- |"
    for words, passed in walks():
        rooms = Counter(file.partition("/")[0] + "/" for file in passed.files if "/" in file)
        named = [f"`{file}`" for file in passed.files]
        if len(named) > MANY:
            named = [f"`{room}` {files}" for room, files in rooms.items()]
        which = ", ".join(named) or "the method that its row was rendered as"
        yield f"| {words} | {len(passed.files)} | {len(rooms)} | {passed.calls:,} | {which} |"


def write():
    """Renew the table in the architecture page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
    after = rest.partition("\n\n")[2]
    PAGE.write_text(before + "\n".join(table()) + "\n\n" + after, encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        sys.stdout.writelines(f"{line}\n" for line in table())
