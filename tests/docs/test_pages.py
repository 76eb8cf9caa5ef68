"""The Python blocks of the documents run, in order, in one namespace per page; links lead somewhere."""

import re
from pathlib import Path

import pytest

from manual.made_pages import made_pages

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "README.zh.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
ELSEWHERE = (
    "pytorch-operator.md",  # PyTorch is an extra
    "CONTRIBUTING.md",  # its blocks are pieces of files of isa/
    "first-mlu.md",
    "first-triton-kernel.md",
    "why-does-my-triton-block-not-fit.md",
)  # its blocks are files and commands, which `test_source_tutorial` writes and types
TUTORIALS = [
    p
    for p in PAGES
    if ("docs/tutorial" in p.as_posix() or "docs/how-to" in p.as_posix() or p.parent == ROOT)
    and p.name not in ELSEWHERE
    and (p.parent == ROOT or not p.name.endswith(".zh.md"))  # the same blocks: `test_languages`
]


def _name(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", TUTORIALS, ids=_name)
def test_the_python_of_a_page_runs(page):
    """Every block of Python on the page runs as it stands."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    namespace = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, _name(page), "exec"), namespace)  # noqa: S102 - the page is the test


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page):
    """Every relative link of a page names something that exists; `make site` fails where one leads nowhere in the site."""
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())

    made = {ROOT / "docs" / name for name in made_pages()}

    assert [] == [
        t for t in targets if not (page.parent / t).exists() and (page.parent / t).resolve() not in made
    ]


def test_every_decision_that_is_named_is_on_the_page_of_decisions():
    """`decision D7` in a docstring or on a page leads to a row."""
    listed = re.findall(
        r"^\| (D\d+) \|", (ROOT / "docs" / "operators" / "decisions.md").read_text(), re.MULTILINE
    )
    texts = [
        p.read_text() for p in (*(ROOT / "ops").rglob("*.py"), *(ROOT / "docs" / "operators").glob("*.md"))
    ]
    named = {name for text in texts for name in re.findall(r"decision (D\d+)", text)}

    assert [f"D{n}" for n in range(1, 13)] == listed
    assert {"D4", "D5", "D6", "D7", "D9", "D10", "D11"} <= named <= set(listed)
