"""The pictures that mlusim draws of itself show what it says today."""

import re

import pytest

from manual import pictures


def _words(drawn):
    """The words in a picture; how they are set is the affair of the libraries that draw."""
    return re.findall(r"<text[^>]*>(.*?)</text>", drawn)


@pytest.mark.parametrize("name", ["finding", "back-in-time", "pipes", "plan"])
def test_a_picture_of_the_first_page_is_current(name):
    """`python -m manual.pictures` would draw the words that are there."""
    stored = (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8")

    assert _words(stored) == _words(pictures.PICTURES[name]())


def test_a_picture_that_is_not_there_is_refused(capsys):
    """The sentence names the pictures that are; nothing is drawn."""
    code = pictures.main(["sunset"])
    said = capsys.readouterr().err

    assert (2, []) == (code, [name for name in pictures.PICTURES if name not in said])


def test_every_drawing_has_its_picture_and_every_picture_its_page():
    """None is left that no page shows."""
    pages = [pictures.ROOT / "README.md", *(pictures.ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r"pictures/([\w-]+\.\w+)\)", page.read_text())}

    assert shown == {picture.name for picture in pictures.FOLDER.iterdir()}
    assert {f"{name}.svg" for name in pictures.PICTURES} <= shown
