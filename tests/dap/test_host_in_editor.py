"""Host functions of a program with ``main`` over the protocol."""

from dap_client import editing

HOST = """#include <bang.h>
#include <cnrt.h>
__mlu_global__ void Fill(float *out) {
  __nram__ float tile[16];
  __bang_write_value(tile, 16, 2.0f);
  __memcpy(out, tile, 64, NRAM2GDRAM);
}
int main() {
  float *out, back[16];
  cnrtMalloc((void **)&out, 64);
  cnrtDim3_t dim = {1, 1, 1};
  Fill<<<dim, cnrtFuncTypeBlock, nullptr>>>(out);
  cnrtMemcpy(back, out, 64, cnrtMemcpyDevToHost);
  int same = back[3] == 2;
  return !same;
}
"""


def broken_at(editor, path, line):
    return editor.ask("setBreakpoints", source={"path": str(path)}, breakpoints=[{"line": line}])[
        "breakpoints"
    ]


def test_lines_of_main_stop_and_step_into_the_launch(tmp_path):
    """A breakpoint in main stops there, with a stack, variables of C, and steps into the kernel and out again."""
    path = tmp_path / "lab.mlu"
    path.write_text(HOST)

    def scenario(editor):
        made = editor.launch(path, setup=lambda e: broken_at(e, path, 12))
        assert [True] == [one["verified"] for one in made]
        stop = editor.event("stopped")
        threads = editor.ask("threads")["threads"]
        assert [{"id": stop["threadId"], "name": "host: lab.mlu"}] == threads
        frame = editor.top(stop["threadId"])
        assert ("main", 12) == (frame["name"], frame["line"])
        assert "dim" in editor.scope(frame, "Locals")[1]
        assert "1" == editor.ask("evaluate", expression="dim.x", frameId=frame["id"])["result"]
        group, _ = editor.scope(frame, "Locals")
        refused = editor.refused("setVariable", variablesReference=group, name="dim", value="3")
        assert refused == "dim cannot be given 3: dim has type cnrtDim3, and the value int"
        given = editor.ask("setExpression", expression="dim.x", value="1", frameId=frame["id"])
        assert "1" == given["value"]
        stop = editor.go("stepIn", threadId=stop["threadId"])
        assert ("Fill", 4) == tuple(editor.top(stop["threadId"])[key] for key in ("name", "line"))
        broken_at(editor, path, 14)
        stop = editor.go("continue", threadId=stop["threadId"])
        assert 14 == editor.top(stop["threadId"])["line"]

    editing(scenario)
