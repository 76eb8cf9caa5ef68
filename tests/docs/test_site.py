"""The documentation site: its pages exist, every page has its place, every object of the Python pages is there; `help` works."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from manual.made_pages import made_pages
from mlusim.bang import Mlu
from mlusim.errors import UsageError
from mlusim.isa.table import ISA

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def _api():
    """The table of Python pages in the site's hooks, without importing the site's generator."""
    tree = ast.parse((ROOT / "site" / "hooks.py").read_text())
    table = next(node for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "API")
    return ast.literal_eval(table.value)


def test_the_navigation_has_every_page_once():
    """Files are there, folders stand for all their pages, and no page is left out; one in Chinese follows its English one."""
    text = (ROOT / "site" / "mkdocs.yml").read_text().partition("nav:\n")[2]
    entries = re.findall(r"(?:- |: )([\w./-]+(?:\.md|/))$", text, re.MULTILINE)
    folders = [DOCS / entry for entry in entries if entry.endswith("/") and entry != "reference/api/"]
    named = [*(DOCS / e for e in entries if e.endswith(".md") and e not in ("readme.md", "CONTRIBUTING.md"))]
    named += [p for folder in folders for p in folder.glob("*.md") if not p.name.endswith(".zh.md")]
    named += [p.with_suffix(".zh.md") for p in named if p.with_suffix(".zh.md").exists()]

    made = {DOCS / name for name in made_pages()}
    assert sorted({*DOCS.rglob("*.md"), *made}) == sorted(
        {*named, *(page for page in made if page.parent in folders)}
    )


def test_the_python_pages_name_what_there_is():
    """Every object that a page documents is importable and has a docstring."""
    for _, names in _api().values():
        for name in names:
            module, _, last = name.rpartition(".")
            found = getattr(importlib.import_module(module), last, None) or importlib.import_module(name)

            assert inspect.getdoc(found), name


def test_help_knows_intrinsics():
    """`help(Mlu.bang_add)` has the signature and the documentation; only a kernel can call it."""
    assert "(mlu, dst, src0, src1, elem_count)" == str(inspect.signature(Mlu.bang_add))
    assert "Add: ``dst[i] = src0[i] + src1[i]``." in inspect.getdoc(Mlu.bang_add)
    assert "the number of this task along X" == inspect.getdoc(Mlu.taskIdX)
    assert set(ISA) <= set(dir(Mlu))
    assert not hasattr(Mlu, "bang_nothing")
    with pytest.raises(UsageError, match="runs in a kernel"):
        Mlu.bang_add(1, 2, 3, 4)
