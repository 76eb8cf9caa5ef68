"""The page about the debugger: the story does what it prints."""

import contextlib
import io
import re
from pathlib import Path

from mlusim.debug import Console, DebugSession, ScriptProgram

DOCS = Path(__file__).parents[2] / "docs"
STORY = DOCS / "tutorial" / "find-a-wrong-diagonal.md"
COMMAND = re.compile(r"\(mlusim\) (.+)\n((?:(?!\(mlusim\) ).*\n)*)")


def blocks(language):
    """The texts of the page's blocks in *language*."""
    return re.findall(rf"```{language}\n(.*?)```", STORY.read_text(encoding="utf-8"), re.DOTALL)


def plain(text):
    """Lines without blanks at their ends, and without how many lines of source were counted since a moment."""
    return [
        re.sub(r"(moment \d+), \d+ lines? later$", r"\1", line.rstrip()) for line in text.strip().splitlines()
    ]


def printed(console, line):
    """What the console and the script print for a line."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        reply = console.execute(line)
    assert reply.ok, reply.text
    return said.getvalue() + reply.text


def test_the_story_does_what_it_prints(tmp_path, monkeypatch):
    """Every command of the story, in order, from the wrong number back to the wrong line."""
    monkeypatch.chdir(tmp_path)
    Path("wrong_diagonal.py").write_text(blocks("python")[0], encoding="utf-8")
    session = DebugSession(ScriptProgram("wrong_diagonal.py"))
    console = Console(session)
    steps = [pair for text in blocks("text") for pair in COMMAND.findall(text)]

    assert blocks("console")[0].endswith(console.stop_text() + "\n")
    for command, expected in steps:
        assert plain(expected) == plain(printed(console, command))
    assert len(steps) > 10
    session.close()


def test_the_correction_of_the_story_corrects(tmp_path, capsys):
    """With the line that the story ends with, the script prints that the results are equal."""
    text = blocks("python")[0]
    wrong = "    return min(i + 1, S) if i < T else T + S - i\n"
    right = blocks("text")[-1]
    assert (1, True) == (text.count(wrong), right.startswith("    return min("))
    script = tmp_path / "right.py"
    script.write_text(text.replace(wrong, right), encoding="utf-8")
    ScriptProgram(str(script)).run(())

    assert "equal: True\n" == capsys.readouterr().out
