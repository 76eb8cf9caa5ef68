"""The pages about BANG C do what they print: their files, their commands, the output."""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from manual import pictures
from mlusim.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = {"tutorial/first-mlu.md": 7, "how-to/ask-why.md": 1, "how-to/tune-a-kernel.md": 1}
"""The pages, and how many of their commands print what stands there."""
if importlib.util.find_spec("triton"):  # an extra
    PAGES |= {"tutorial/first-triton-kernel.md": 5, "how-to/why-does-my-triton-block-not-fit.md": 2}
BLOCK = re.compile(r"```(c|python|console)\n(.*?)```", re.DOTALL)
FIRST = ("gelu.mlu", "gelu_waits.mlu")
NAME = re.compile(r"(?://|#) (\w+\.\w+)\n")


def stripped(text):
    """Return *text* without blanks at the ends of lines."""
    return [line.rstrip() for line in text.strip().splitlines()]


def said(command, capsys):
    """Return what *command* prints in the working directory, without the name of that directory."""
    words = shlex.split(command.removeprefix("$ "))
    if words[0] == "mlusim":
        capsys.readouterr()
        main(words[1:])
        printed = capsys.readouterr()
        return (printed.out + printed.err).replace(f"{Path.cwd()}/", "")
    told = [sys.executable, *words[1:]] if words[0] == "python" else ["sh", "-c", command.removeprefix("$ ")]
    return subprocess.run(told, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder as the working directory, and a terminal of 88 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "88")
    monkeypatch.setitem(
        sys.modules, "reference", None
    )  # so that the page's goes behind the test, and no other is there
    monkeypatch.delitem(sys.modules, "reference")
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_the_page_prints_what_it_says(page, folder, capsys):
    """Every file is written, every command run in order, and the lines behind it are what it printed."""
    compared = 0
    for language, text in BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8")):
        name = NAME.match(text)
        if name is not None:
            (folder / name[1]).write_text(text)
        elif language == "python":
            exec(compile(text, page, "exec"), {"__name__": "page"})  # noqa: S102 - the page is the test
        else:
            for step in re.split(r"^(?=\$ )", text, flags=re.MULTILINE)[1:]:
                command, _, expected = step.partition("\n")
                compared += bool(expected.strip())

                assert stripped(expected) == stripped(said(command, capsys))
    assert PAGES[page] == compared


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_first_kernel_of_the_readme_has_the_finding_that_it_shows(name, folder, capsys):
    """The kernel is that of the examples, and the command beneath it finds what stands there; the page fits three screens."""
    text = (ROOT / name).read_text(encoding="utf-8")
    source, command, expected = re.search(
        r"```c\n(.*?)```.*?```console\n(\$ mlusim check .*?)\n(.*?)```", text, re.DOTALL
    ).groups()
    (folder / "gelu.mlu").write_text(source)

    assert (ROOT / "examples" / "first" / "gelu.mlu").read_text() == source
    assert stripped(expected) == stripped(said(command, capsys))
    assert command == f"$ {pictures.COMMANDS['finding']}"
    assert len(text.splitlines()) < 150


def test_the_example_that_waits_is_the_first_kernel_with_one_more_line():
    """What the finding says is all that the mended kernel has besides."""
    first, mended = ((ROOT / "examples" / "first" / name).read_text().splitlines()[1:] for name in FIRST)

    assert [line for line in mended if line not in first] == ["    __sync_io();"]
    assert first == [line for line in mended if "__sync_io" not in line]


@pytest.mark.parametrize("language", ["", ".zh"])
def test_each_page_of_the_path_for_learners_ends_with_a_link_to_the_next(language):
    """Five pages, in the order of the front page; the last leads back to it."""
    docs = ROOT / "docs"
    listed = re.findall(r"^\d\. \[.*\]\((.*)\)$", (docs / f"index{language}.md").read_text(), re.MULTILINE)
    last = [re.findall(r"\]\((.*?)\)", (docs / page).read_text().splitlines()[-1]) for page in listed]

    assert 5 == len(listed)
    assert last == [*([page.removeprefix("tutorial/")] for page in listed[1:]), [f"../index{language}.md"]]
