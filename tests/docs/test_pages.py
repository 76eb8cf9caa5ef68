"""The Python blocks of the documents run, in order, in one namespace per page; links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = [
    p for p in PAGES if "docs/tutorial" in p.as_posix() or "docs/how-to" in p.as_posix() or p.parent == ROOT
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
    """Every relative link of a page names something that exists."""
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())

    assert [] == [t for t in targets if not (page.parent / t).exists()]
