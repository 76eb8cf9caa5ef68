"""A class name means one thing in the whole of mlusim."""

import ast
from collections import defaultdict
from pathlib import Path

from import_graph import nodes_of

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "mlusim").rglob("*.py"), *(ROOT / "ops").rglob("*.py")])


def shared_names(sources):
    """The public class names that mean several things, with the files that define them."""
    classes = defaultdict(list)
    for path, nodes in sources:
        for node in nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(path)
    return {name: files for name, files in classes.items() if len(files) > 1}


def test_a_class_name_means_one_thing():
    """No two public classes share a name; a protocol has one that says who sees the class by it."""
    read = [(path.relative_to(ROOT).as_posix(), nodes_of(path)) for path in SOURCES]

    assert {} == shared_names(read)


def test_a_shared_name_is_seen():
    """The measure itself: two classes of one name in two rooms, one of them a protocol."""
    twice = [
        (path, ast.walk(ast.parse(text)))
        for path, text in (
            ("mlusim/a/x.py", "class Span: ..."),
            ("mlusim/b/y.py", "class Span(Protocol): ..."),
        )
    ]

    assert {"Span": ["mlusim/a/x.py", "mlusim/b/y.py"]} == shared_names(twice)
