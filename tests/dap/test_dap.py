"""The server of the Debug Adapter Protocol, driven by a client that holds every message against the schema."""

import base64
import re
import textwrap

import numpy as np
import pytest
from dap_client import Editor, editing

from mlusim.cli.dap import program_of
from mlusim.errors import UsageError

SCRIPT = textwrap.dedent(
    """
    import numpy as np
    import mlusim
    from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel

    def scaled(mlu, data, factor, count):
        mlu.bang_mul_scalar(data, data, factor, count)
        return 3

    @kernel
    def scale(mlu: Mlu, out: Ptr, data: Ptr, factor: float, count: int) -> None:
        share = count // mlu.taskDim  # first
        buffer = mlu.nram(float32, share)
        at = mlu.taskId * share
        mlu.memcpy(buffer, data + at, share * 4, GDRAM2NRAM)  # load
        times = scaled(mlu, buffer, factor, share)  # call
        mlu.bang_add_scalar(buffer, buffer, times, share)  # add
        mlu.memcpy(out + at, buffer, share * 4, NRAM2GDRAM)  # store

    print("SAID")
    device = mlusim.Device("MLU370-X4")
    source, out = device.put(np.arange(64, dtype=np.float32)), device.empty(64, float32)
    device.launch(scale, 4, mlusim.BLOCK, (out, source, 2.0, 64))
    print("RESULT", device.get(out)[:3].tolist())
    """
)


def line(mark):
    """The line of the script that ends with a mark."""
    return next(n for n, text in enumerate(SCRIPT.splitlines(), 1) if text.endswith(f"# {mark}"))


@pytest.fixture
def script(tmp_path):
    """The script as a file."""
    path = tmp_path / "scaling.py"
    path.write_text(SCRIPT)
    return path


def lines(editor, script, *breakpoints):
    """Set breakpoints at lines."""
    source = {"path": str(script), "name": script.name}
    return editor.ask("setBreakpoints", source=source, breakpoints=list(breakpoints))["breakpoints"]


def test_breakpoints_of_every_kind_are_checked_when_they_are_set(script):
    """Lines slide to code; conditions and counts are refused with a sentence; the stop names the breakpoint."""

    def scenario(editor):
        def setup(editor):
            return lines(
                editor,
                script,
                {"line": line("load"), "condition": "mlu.taskId == 2", "hitCondition": ">= 1"},
                {"line": line("first") - 1},
                {"line": line("add"), "condition": "nonsense > 1"},
                {"line": line("add"), "hitCondition": "often"},
                {"line": line("call"), "logMessage": "task {mlu.taskId} at {at} of {nothing}"},
            )

        made = editor.launch(script, setup=setup)
        assert [True, True, False, False, True] == [one["verified"] for one in made]
        assert line("first") == made[1]["line"]
        assert "names nonsense" in made[2]["message"]
        assert "is not a count of hits" in made[3]["message"]
        stop = editor.event("stopped")
        assert ("breakpoint", [made[1]["id"]]) == (stop["reason"], stop["hitBreakpointIds"])
        lines(editor, script, {"line": line("load"), "condition": "mlu.taskId == 2"})
        stop = editor.go("continue", threadId=stop["threadId"])
        assert (5, line("load")) == (stop["threadId"], editor.top(5)["line"])
        assert "SAID" in editor.output()

    editing(scenario)


def test_log_points_show_and_go_on(script):
    """Expressions in braces are evaluated; one that cannot be says so."""

    def scenario(editor):
        editor.launch(
            script,
            setup=lambda e: lines(
                e, script, {"line": line("call"), "logMessage": "{mlu.taskId}: {at}, {nothing}"}
            ),
        )
        stop = editor.event("stopped")
        assert "has ended" in stop["text"]
        assert "3: 48, <name 'nothing' is not defined" in editor.output()
        assert "RESULT [3.0, 5.0, 7.0]" in editor.output()
        editor.ask("continue", threadId=stop["threadId"])
        assert 0 == editor.event("exited")["exitCode"]

    editing(scenario)


def test_stepping_forth_and_back(script):
    """next, stepIn, stepOut, stepBack by lines and by instructions, reverseContinue, goto both ways, goToCycle."""

    def scenario(editor):
        editor.launch(script, stopOnEntry=True)
        entry = editor.event("stopped")
        assert "entry" == entry["reason"]
        assert line("first") == editor.top(entry["threadId"])["line"]
        lines(editor, script, {"line": line("call")})
        thread = editor.go("continue", threadId=1)["threadId"]
        places = []
        for command, more in (
            ("stepIn", {}),
            ("stepOut", {}),
            ("next", {}),
            ("stepBack", {}),
            ("next", {"granularity": "instruction"}),
            ("stepBack", {"granularity": "instruction"}),
        ):
            editor.go(command, threadId=thread, **more)
            frame = editor.top(thread)
            places.append((command, frame["name"], frame["line"]))
        assert ["scaled", "scale"] == [place[1] for place in places[:2]]
        assert line("add") == places[2][2] or line("store") == places[2][2]
        editor.go("reverseContinue", threadId=thread)
        assert line("call") == editor.top(thread)["line"]
        source = {"path": str(script)}
        targets = editor.ask("gotoTargets", source=source, line=line("load"))["targets"]
        assert ["back", "on"] == [target["label"].partition(" ")[0] for target in targets]
        editor.go("goto", threadId=thread, targetId=targets[0]["id"])
        assert line("load") == editor.top(thread)["line"]
        cycle = editor.go("mlusim/goToCycle", cycle=3)
        assert "goto" == cycle["reason"]
        assert "moment 3" in cycle["text"]

    editing(scenario)


def test_what_there_is_to_see(script):
    """Threads with states, scopes, parts of values, completions, sources, modules, operations as instructions."""

    def scenario(editor):
        editor.launch(script, setup=lambda e: lines(e, script, {"line": line("store")}))
        thread = editor.event("stopped")["threadId"]
        frame = editor.top(thread)
        threads = editor.ask("threads")["threads"]
        assert "task 0: stopped" == threads[0]["name"]
        names = [scope["name"] for scope in editor.ask("scopes", frameId=frame["id"])["scopes"]]
        assert ["Locals", "Arguments"] == names[:2]
        assert {"Tensors", "Built-ins"} <= set(names)
        _, local = editor.scope(frame, "Locals")
        assert {"share", "buffer", "at", "times"} == set(local)
        elements = editor.ask(
            "variables", variablesReference=local["buffer"]["variablesReference"], start=2, count=3
        )
        assert [("[2]", "7"), ("[3]", "9"), ("[4]", "11")] == [
            (v["name"], v["value"]) for v in elements["variables"]
        ]
        hover = editor.ask("evaluate", expression="buffer[1] * 2", frameId=frame["id"], context="hover")
        assert hover["result"].startswith("10.0")
        told = editor.ask("evaluate", expression="info tasks", frameId=frame["id"], context="repl")
        assert "task 0" in told["result"]
        words = editor.ask("completions", text="print bu", column=9, frameId=frame["id"])["targets"]
        assert "buffer" in [word["label"] for word in words]
        assert str(script) in [source["path"] for source in editor.ask("loadedSources")["sources"]]
        assert 1 <= editor.ask("modules")["totalModules"]
        operations = editor.ask(
            "disassemble",
            memoryReference=frame["instructionPointerReference"],
            instructionOffset=-3,
            instructionCount=4,
        )["instructions"]
        shown = [one["instruction"] for one in operations if "on the" in one["instruction"]]
        assert any("bang_mul_scalar" in text or "bang_add" in text for text in shown)
        assert all(re.match(r"0\.\d{3} us from \d\.\d{3} us; task 0: ", text) for text in shown)
        assert not all("0.000 us from" in text for text in shown)
        # The last of them comes next: it is at the line where the frame stands.
        assert operations[-1]["line"] == frame["line"]
        around = {"memoryReference": frame["instructionPointerReference"], "instructionOffset": -1000}
        every = editor.ask("disassemble", **around, instructionCount=2000)["instructions"]
        assert len(every) == 2000
        texts = list(dict.fromkeys(one["instruction"] for one in every))
        assert texts[:2] == ["(before the launch)", "task 0 begins"]
        assert texts[-2:] == ["launch ends", "(the launch is over)"]
        assert "(not known here)" not in texts
        assert "nothing" in editor.refused("evaluate", expression="nothing", frameId=frame["id"])
        assert "belongs to an earlier stop" in editor.refused("scopes", frameId=999)
        editor.go("next", threadId=3)
        # Numbers are not given twice: an answer that comes late is refused, and shows no box.
        assert "belongs to an earlier stop" in editor.refused("scopes", frameId=frame["id"])
        late = editor.response(editor.send("scopes", frameId=frame["id"]))
        assert not late["body"]["error"]["showUser"]

    editing(scenario)


def test_changing_values_and_memory_forks_the_run(script):
    """setVariable, setExpression and writeMemory; readMemory shows it, and the program goes on with it."""

    def scenario(editor):
        editor.launch(script, setup=lambda e: lines(e, script, {"line": line("add")}))
        thread = editor.event("stopped")["threadId"]
        frame = editor.top(thread)
        reference, local = editor.scope(frame, "Locals")
        assert (
            "50" == editor.ask("setVariable", variablesReference=reference, name="times", value="50")["value"]
        )
        place = local["buffer"]["memoryReference"]
        raw = base64.b64decode(editor.ask("readMemory", memoryReference=place, count=8)["data"])
        assert [0.0, 2.0] == np.frombuffer(raw, np.float32).tolist()
        data = base64.b64encode(np.float32([100]).tobytes()).decode()
        assert 4 == editor.ask("writeMemory", memoryReference=place, offset=4, data=data)["bytesWritten"]
        editor.ask("setExpression", expression="buffer[2]", value="7", frameId=frame["id"])
        assert 5 == editor.ask("readMemory", memoryReference=place, offset=60, count=9)["unreadableBytes"]
        page = editor.ask("readMemory", memoryReference=place, offset=-(1 << 20), count=1 << 20)
        assert (1 << 20, False) == (page["unreadableBytes"], "data" in page)
        lines(editor, script)
        editor.go("continue", threadId=thread)
        assert "RESULT [50.0, 150.0, 57.0]" in editor.output()
        assert "launch 1 forks here" in editor.output()

    editing(scenario)


def test_bytes_functions_moments_and_findings(script):
    """Data, function, instruction and exception breakpoints; who wrote a byte."""

    def scenario(editor):
        def setup(editor):
            made = editor.ask(
                "setFunctionBreakpoints",
                breakpoints=[{"name": "bang_add_scalar", "hitCondition": "2"}, {"name": "nowhere"}],
            )["breakpoints"]
            editor.ask(
                "setExceptionBreakpoints", filters=["faults"], filterOptions=[{"filterId": "findings"}]
            )
            return made

        made = editor.launch(script, setup=setup)
        assert [True, False] == [one["verified"] for one in made]
        stop = editor.event("stopped")
        assert (3, "breakpoint") == (stop["threadId"], stop["reason"])
        editor.ask("setFunctionBreakpoints", breakpoints=[])
        frame = editor.top(3)
        scalar = editor.ask("dataBreakpointInfo", name="mlu.taskId + 1", frameId=frame["id"])
        assert ["write"] == scalar["accessTypes"]
        assert "the value in" in scalar["description"]
        assert editor.ask("dataBreakpointInfo", name="3", frameId=frame["id"])["dataId"] is None
        assert editor.ask("dataBreakpointInfo", name="0x3", asAddress=True, bytes=4)["dataId"] is None
        info = editor.ask("dataBreakpointInfo", name="0x1000000000", asAddress=True, bytes=4)
        assert info["description"] == "0x1000000000:4 (GDRAM 0x1000000000..0x1000000004)"
        info = editor.ask("dataBreakpointInfo", name="out[16]", frameId=frame["id"])
        assert ["read", "write", "readWrite"] == info["accessTypes"]
        editor.ask("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"], "accessType": "write"}])
        stop = editor.go("continue", threadId=3)
        assert "data breakpoint" == stop["reason"]
        assert "out[16] is written" in stop["text"]
        origin = editor.ask("mlusim/whoWrote", expression="buffer[0]", frameId=editor.top(3)["id"])["origin"]
        assert ("__bang_add_scalar", line("add")) == (origin["instruction"], origin["line"])
        assert "__bang_mul_scalar" == origin["sources"][0]["instruction"]
        origin = editor.ask("mlusim/why", expression="share", frameId=editor.top(3)["id"])["origin"]
        assert origin["text"].startswith("share = ")
        assert "set at moment" in origin["text"]
        moment = editor.ask("setInstructionBreakpoints", breakpoints=[{"instructionReference": "0x2"}])
        assert moment["breakpoints"][0]["verified"]
        editor.ask("setDataBreakpoints", breakpoints=[])
        assert "moment 2" in editor.go("reverseContinue", threadId=3)["text"]

    editing(scenario)


def test_a_breakpoint_waits_for_its_code(tmp_path):
    """The editor hears when it is there, or why there is none, and stops at it."""
    (tmp_path / "late_scaling.py").write_text(SCRIPT.replace("scaled", "scaled_late"))
    script = tmp_path / "first.py"
    script.write_text(
        "import sys\nimport mlusim\nfrom mlusim.bang import kernel\n\n@kernel\ndef first(mlu):\n    mlu.sync()\n\n"
        f"mlusim.Device('MLU370-X4').launch(first)\nsys.path.insert(0, {str(tmp_path)!r})\nimport late_scaling\n"
    )

    def scenario(editor):
        def setup(editor):
            named = editor.ask("setFunctionBreakpoints", breakpoints=[{"name": "scaled_late"}])["breakpoints"]
            return named + lines(editor, tmp_path / "late_scaling.py", {"line": 999}, {"line": line("add")})

        pending = editor.launch(script, setup=setup)
        stop = editor.event("stopped")
        told = [one["body"]["breakpoint"] for one in editor.seen if one["event"] == "breakpoint"]
        frame = editor.top(stop["threadId"])

        assert [(False, "pending")] * 3 == [(one["verified"], one["reason"]) for one in pending]
        assert [True, False, True] == [one["verified"] for one in told]
        assert "there is no code of a function at" in told[1]["message"]
        assert ("scaled_late", [pending[0]["id"]]) == (frame["name"], stop["hitBreakpointIds"])

    editing(scenario)


def test_a_fault_is_an_exception(tmp_path):
    """Its sentence, its type, the kernel's frame; stepping back leads to what was before it."""
    script = tmp_path / "beyond.py"
    script.write_text(SCRIPT.replace("share * 4, NRAM2GDRAM", "share * 4 + 64, NRAM2GDRAM"))

    def scenario(editor):
        editor.launch(script)
        stop = editor.event("stopped")
        assert "exception" == stop["reason"]
        info = editor.ask("exceptionInfo", threadId=stop["threadId"])
        assert "OutOfBounds" == info["exceptionId"]
        frame = editor.top(stop["threadId"])
        assert line("store") == frame["line"]
        rows = {"memoryReference": frame["instructionPointerReference"], "instructionOffset": -4}
        assert [] == [
            one["instruction"]
            for one in editor.ask("disassemble", **rows, instructionCount=5)["instructions"]
            if "us from" in one["instruction"]
        ]
        assert (
            "launch 1 ends with OutOfBounds, so it has no predicted time" in editor.event("output")["output"]
        )
        # A test explorer has its verdict though the session ends here.
        (outcome,) = [one["body"] for one in editor.seen if one["event"] == "mlusim/outcome"]
        assert not outcome["passed"]
        assert outcome["text"].startswith("__memcpy: src: ")
        editor.go("stepBack", threadId=stop["threadId"])
        assert line("add") <= editor.top(stop["threadId"])["line"] <= line("store")

    editing(scenario)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "names no program"),
        ({"program": "nothing"}, "nothing"),
        ({"program": "nothing.py"}, "is not a file"),
        ({"program": "tin_shift_forward", "case": "nosuch"}, "nosuch"),
        ({"program": "tin_shift_forward", "seed": "many"}, "seed"),
        ({"program": "tin_shift_forward", "cwd": "/nowhere/at/all"}, "is not a folder"),
    ],
)
def test_a_launch_that_cannot_be_is_refused_in_a_sentence(arguments, sentence):
    """And the server waits for the next one."""

    def scenario(editor):
        editor.ask("initialize", adapterID="mlusim")
        assert "nothing is launched yet" in editor.refused("threads")
        assert sentence in editor.refused("launch", **arguments)
        assert "knows no request" in editor.refused("mlusim/florp")

    editing(scenario)


RUNAWAY = textwrap.dedent(
    """
    import mlusim
    from mlusim.bang import kernel

    @kernel
    def runaway(mlu):
        rounds = 1
        print("STARTED", flush=True)
        while True:
            rounds = rounds + 1

    mlusim.Device("MLU370-X4").launch(runaway)
    """
)


def test_a_runaway_kernel_is_paused_and_left(tmp_path):
    """In a process of its own, as an editor starts it: pause stops it where it is, disconnect ends it at once."""
    (tmp_path / "runaway.py").write_text(RUNAWAY)
    editor = Editor(cwd=tmp_path)
    editor.launch("runaway.py", cwd=str(tmp_path))
    while "STARTED" not in editor.output():
        editor.event("output")
    editor.ask("pause", threadId=1)
    stop = editor.event("stopped")
    _, local = editor.scope(editor.top(stop["threadId"]), "Locals")
    editor.ask("continue", threadId=stop["threadId"])

    assert "pause" == stop["reason"]
    assert int(local["rounds"]["value"]) > 0
    assert 0 == editor.close()


def test_slow_work_shows_its_progress_and_is_cancelled(tmp_path):
    """An editor that shows progress is told what goes on; its cancel stops the kernel, and the end comes before the stop."""
    (tmp_path / "runaway.py").write_text(RUNAWAY)
    editor = Editor(cwd=tmp_path)
    editor.launch("runaway.py", cwd=str(tmp_path), progress=True)
    start = editor.event("progressStart")
    while start["title"] != "running":  # on a busy machine the launch itself is slow
        start = editor.event("progressStart")
    editor.ask("cancel", progressId=start["progressId"])
    stop = editor.event("stopped")
    ended = [
        one["event"]
        for one in editor.seen
        if one.get("body", {}).get("progressId", start["progressId"]) == start["progressId"]
        and one["event"] in {"progressStart", "progressEnd", "stopped"}
    ]
    here = editor.top(stop["threadId"])["instructionPointerReference"]
    asked = editor.send("disassemble", memoryReference=here, instructionCount=1)
    predicting = editor.event("progressStart")
    editor.ask("cancel", progressId=predicting["progressId"])
    rows = editor.response(asked)["body"]["instructions"]
    told = editor.event("output")["output"]
    while "prediction" not in told:
        told = editor.event("output")["output"]
    again = editor.ask("disassemble", memoryReference=here, instructionCount=1)["instructions"]
    editor.close()

    assert start["cancellable"]
    assert ["progressStart", "progressEnd", "stopped"] == ended
    assert "pause" == stop["reason"]
    assert "predicting the time of each instruction" == predicting["title"]
    assert "launch 1 was interrupted, so its instructions are shown without time" in told
    assert [here] == [row["address"] for row in rows]
    assert rows == again


def test_an_operator_over_tcp():
    """`--port 0` says which port it has; the first editor that connects is served."""
    import socket  # noqa: PLC0415
    import subprocess  # noqa: PLC0415
    import sys  # noqa: PLC0415

    process = subprocess.Popen(
        [sys.executable, "-m", "mlusim", "dap", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    port = int(process.stdout.readline().rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as peer:
        editor = Editor(streams=(peer.makefile("rb"), peer.makefile("wb")))
        editor.launch("tin_shift_forward", case="golden_document", stopOnEntry=True)
        stop = editor.event("stopped")
        top = editor.top(stop["threadId"])
        editor.close()
    process.stdout.close()

    assert top["source"]["path"].endswith("kernel.py")
    assert 0 == process.wait(60)


BANGC = """#include <bang.h>
__mlu_entry__ void add(float *out, float *a, int n) {
  __nram__ float x[64];
  __memcpy(x, a, n * sizeof(float), GDRAM2NRAM);
  __bang_add(x, x, x, n);
  __memcpy(out, x, n * sizeof(float), NRAM2GDRAM);
}
"""


def test_bang_c_is_debugged_like_python(tmp_path):
    """Lines, variables and declarations are those of the `.mlu` file; stepping back works in it, too; a case is judged at the end."""
    (tmp_path / "add.mlu").write_text(BANGC)
    (tmp_path / "cases.toml").write_text(
        'program = "add.mlu"\nkernel = "add"\n[case.all]\nexpect = { out = "ones:float32:64" }\n'
    )
    np.save(tmp_path / "a.npy", np.arange(64, dtype=np.float32))
    path = str(tmp_path / "add.mlu")

    def scenario(editor):
        editor.launch(
            tmp_path / "cases.toml",
            arg={"out": "out:float32:64", "a": str(tmp_path / "a.npy"), "n": 64},
            setup=lambda e: e.ask("setBreakpoints", source={"path": path}, breakpoints=[{"line": 6}]),
        )
        thread = editor.event("stopped")["threadId"]
        if editor.top(thread)["line"] != 6:
            editor.go("continue", threadId=thread)
        frame = editor.top(thread)
        assert ("add", path, 6) == (frame["name"], frame["source"]["path"], frame["line"])
        value = editor.ask("evaluate", expression="x[3]", frameId=frame["id"], context="hover")
        assert value["result"].startswith("6.0")
        editor.go("stepBack", threadId=thread)
        assert 5 == editor.top(thread)["line"]
        editor.ask("setBreakpoints", source={"path": path}, breakpoints=[])
        verdict = "out: diff1 62, diff2 72.2, FAILED; worst at [63]: 126, the reference has 1"
        assert f"the program has ended\n{verdict}" in editor.go("continue", threadId=thread)["text"]
        told = [one["body"]["output"] for one in editor.seen if one["event"] == "output"]
        assert told[-1:] == [f"the program has ended\n{verdict}\n"]
        outcomes = [one["body"] for one in editor.seen if one["event"] == "mlusim/outcome"]
        assert [{"passed": False, "edited": False, "text": verdict}] == outcomes
        editor.ask("continue", threadId=thread)
        assert 1 == editor.event("exited")["exitCode"]

    editing(scenario)


def test_a_finding_is_an_exception(tmp_path):
    """Its rule and its sentence, beside the line; ``stopOnEntry`` false lets the kernel that the launch names run up to it."""
    (tmp_path / "add.mlu").write_text(BANGC.replace("__memcpy(x", "__memcpy_async(x"))

    def scenario(editor):
        editor.launch(
            tmp_path / "add.mlu",
            kernel="add",
            arg=["out=out:float32:64", "a=ones:float32:64", "n=64"],
            check=["racecheck"],
            stopOnEntry=False,
            setup=lambda e: e.ask("setExceptionBreakpoints", filters=["findings"]),
        )
        stop = editor.event("stopped")
        assert ("exception", 5) == (stop["reason"], editor.top(stop["threadId"])["line"])
        info = editor.ask("exceptionInfo", threadId=stop["threadId"])
        assert info["exceptionId"] == "racecheck-read-after-write"
        assert info["description"].startswith("__bang_add reads bytes [0, 256)")

    editing(scenario)


def test_a_launch_names_a_case_of_a_file(tmp_path):
    """Its call, with what the launch says before what the case says; a file of several wants a name."""
    cases = tmp_path / "cases.toml"
    cases.write_text('program = "k.mlu"\nkernel = "K"\n[case.small]\nargs = { n = 3, m = 4 }\n[case.large]\n')
    call = program_of({"program": str(cases), "case": "small", "dim": "4", "arg": {"n": "5"}})

    assert ((str(tmp_path / "k.mlu"),), "K", (4, 1, 1)) == (call.asked.program, call.asked.kernel, call.dim)
    assert {"n": "5", "m": "4"} == call.arguments
    with pytest.raises(UsageError, match="name one with --case: small, large"):
        program_of({"program": str(cases)})


@pytest.mark.parametrize(
    ("words", "key"),
    [(["--arg", "n=3"], '"arg": ["n=3"]'), (["--dim=4"], '"dim": "4"'), (["-DN=2"], '"define": ["N=2"]')],
)
def test_an_option_among_the_words_of_a_program_names_its_key(tmp_path, words, key):
    """An editor's launch has keys for what the command line has options for."""
    source = tmp_path / "k.mlu"
    source.write_text("#include <bang.h>\n__mlu_entry__ void K(float *out, int n) { out[0] = n; }\n")
    with pytest.raises(UsageError) as refused:
        program_of({"program": str(source), "args": words})

    assert key in str(refused.value)
    with pytest.raises(UsageError) as refused:
        program_of({"program": str(source), "args": ["word"]})
    assert "an editor" not in str(refused.value)
