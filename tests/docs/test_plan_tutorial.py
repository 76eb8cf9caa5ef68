"""The pages about plans do what they print: Python blocks, their output, and every command."""

import argparse
import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from mlusim.cli import plan as verb
from mlusim.cli.arguments import listing

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = DOCS / "tutorial" / "plan-your-nram.md"
EXPLANATION = DOCS / "explanation" / "nram-plans.md"
BLOCK = re.compile(r"```(python|text|console)\n(.*?)```", re.DOTALL)


def blocks(page):
    """Return (language, text) of every block that runs or is output."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def command(line, folder):
    """Return what ``mlusim plan ...`` prints when run in *folder*."""
    words = shlex.split(line.removeprefix("$ mlusim plan "))
    parser = argparse.ArgumentParser()
    listing.plan(parser)
    said = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said):
        verb.run(parser.parse_args(words))
    return said.getvalue()


def stripped(text):
    """Return *text* without blanks at the ends of lines."""
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_tutorial_prints_what_it_says():
    """Every Python block runs in order, and the text block behind it is what it printed."""
    namespace = {"__name__": "page"}
    said = ""
    compared = 0
    for language, text in blocks(TUTORIAL):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, TUTORIAL.name, "exec"), namespace)  # noqa: S102 - the page is the test
            said = out.getvalue()
        elif language == "text":
            compared += 1

            assert stripped(text) == stripped(said)
    assert compared == 5


@pytest.mark.parametrize("page", [TUTORIAL, EXPLANATION], ids=lambda page: page.name)
def test_the_commands_print_what_the_page_says(page, tmp_path, monkeypatch):
    """Every console block is what its command prints on eighty columns."""
    monkeypatch.setenv("COLUMNS", "80")
    first = next((text for language, text in blocks(page) if language == "python"), "")
    (tmp_path / "my_plan.py").write_text(first, encoding="utf-8")
    consoles = [text for language, text in blocks(page) if language == "console"]
    for text in consoles:
        line, _, expected = text.partition("\n")

        assert stripped(expected) == stripped(command(line, tmp_path))
    assert consoles
