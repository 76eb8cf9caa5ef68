"""A class name means one thing in the whole of mlusim."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "mlusim").rglob("*.py"), *(ROOT / "ops").rglob("*.py")])

# Here a protocol may bear the name of the class for which it stands: what one room may see of an object of another.
VIEWS = {"mlusim/machine/observed.py", "mlusim/machine/announcer.py", "mlusim/engine/contract.py"}


def _is_view(path, node):
    return path in VIEWS and any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def _classes(sources):
    """Of each public class name, the files that define it; and of each view, the files that show it."""
    classes, views = defaultdict(list), defaultdict(list)
    for path, text in sources:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                (views if _is_view(path, node) else classes)[node.name].append(path)
    return classes, views


def shared_names(sources):
    """The class names that mean several things, with the files that define them."""
    return {name: files for name, files in _classes(sources)[0].items() if len(files) > 1}


def test_a_class_name_means_one_thing():
    """No two public classes share a name; a view of a class in another room has that class's name."""
    read = [(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in SOURCES]

    assert {} == shared_names(read)


def test_a_shared_name_is_seen():
    """The measure itself: two classes of one name in two rooms, one of them a protocol; and a view, which may."""
    twice = [("mlusim/a/x.py", "class Span: ..."), ("mlusim/b/y.py", "class Span(Protocol): ...")]
    view = [
        ("mlusim/a/x.py", "class Core: ..."),
        ("mlusim/engine/contract.py", "class Core(Port, Protocol): ..."),
    ]

    assert {"Span": ["mlusim/a/x.py", "mlusim/b/y.py"]} == shared_names(twice)
    assert {} == shared_names(view)
