"""An editor on the kernels of a native program, whose host another debugger has."""

import shutil
import subprocess

import pytest
from dap_client import Editor

from mlusim.arch.catalog import find_board
from mlusim.toolkit.folder import make

ADDS = r"""
#include <cnrt.h>
#include <cstdio>
__mlu_entry__ void add(int *x, int n) {
  int sum = x[0] + n;
  x[0] = sum;
}

__mlu_entry__ void twice(int *x) {
  x[0] *= 2;
}
int main() {
  int host = 40, *there;
  cnrtMalloc((void **)&there, sizeof host);
  cnrtMemcpy(there, &host, sizeof host, cnrtMemcpyHostToDev);
  cnrtDim3_t dim = {1, 1, 1};
  add<<<dim, cnrtFuncTypeBlock, nullptr>>>(there, 2);
  twice<<<dim, cnrtFuncTypeBlock, nullptr>>>(there);
  cnrtMemcpy(&host, there, sizeof host, cnrtMemcpyDevToHost);
  printf("host %d, %s\n", host, getchar() == EOF ? "nothing to read" : "another's bytes");
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a native program of two kernels, ``lab``, and its source."""
    folder = tmp_path_factory.mktemp("lab")
    make(folder / "neuware", find_board("MLU370-X4"))
    (folder / "lab.mlu").write_text(ADDS)
    words = [str(folder / "neuware" / "bin" / "cncc"), "-g", "lab.mlu", "-o", "lab"]
    subprocess.run(words, cwd=folder, check=True)
    return folder


def _stopped_in_kernel(folder, program, *words):
    """What the editor shows of *program*, with a stop in each of its kernels on the way; between them there is no place to stop."""
    editor = Editor(cwd=folder)
    source = {"path": str(folder / "lab.mlu")}
    places = [{"line": line} for line in (6, 8, 10)]
    stops = editor.launch(program, args=list(words), cwd=str(folder), stopAtEnd=False,
                          setup=lambda e: e.ask("setBreakpoints", source=source, breakpoints=places))["breakpoints"]  # fmt: skip
    thread = editor.event("stopped")["threadId"]
    assert (editor.top(thread)["name"], editor.top(thread)["line"]) == ("add", 6)
    assert editor.scope(editor.top(thread), "Locals")[1]["sum"]["value"] == "42"
    thread = editor.go("continue", threadId=thread)["threadId"]
    assert (editor.top(thread)["name"], editor.top(thread)["line"]) == ("twice", 10)
    assert [(True, 6), (False, None), (True, 10)] == [(stop["verified"], stop.get("line")) for stop in stops]
    editor.ask("continue", threadId=thread)
    editor.event("terminated")
    assert editor.close() == 0
    return editor.output()


def test_a_native_program_does_not_read_the_editors_requests(folder):
    """Its input is empty: the editor's stream is the adapter's alone."""
    assert "host 84, nothing to read\n" in _stopped_in_kernel(folder, "./lab")


@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb")
def test_gdb_has_the_host_and_the_editor_the_kernels(folder):
    """Both stop in one run of the program."""
    words = [f"-ex={line}" for line in ("break main", "run", "next", "print host", "continue")]
    said = _stopped_in_kernel(folder, "gdb", "-q", "-nx", "-batch", *words, "./lab")

    assert "main () at lab.mlu:13" in said
    assert "$1 = 40" in said
    assert "host 84, nothing to read\n" in said
