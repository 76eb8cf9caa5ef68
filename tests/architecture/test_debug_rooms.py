"""The rooms of the debugger: each imports from those below it only, and a front from no other front."""

import ast
from pathlib import Path

import pytest
from import_graph import nodes_of

DEBUG = Path(__file__).parents[2] / "mlusim" / "debug"
FLOORS = {"source": 0, "stop": 1, "run": 2, "look": 3, "": 4, "console": 5, "tui": 6, "dap": 6}
FILES = sorted(path for path in DEBUG.rglob("*.py") if path != DEBUG / "__init__.py")


def room_of(parts):
    """The room of a module below ``mlusim.debug``; the session's own where it is in none."""
    return parts[0] if parts and parts[0] in FLOORS else ""


def imports(path):
    """The modules below ``mlusim.debug`` that a file imports, those for type checking too."""
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mlusim.debug"):
            yield from (
                [*node.module.split(".")[2:], *([alias.name] if node.module == "mlusim.debug" else [])]
                for alias in node.names
            )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DEBUG)))
def test_imports_point_down(path):
    """A front stands on the console's commands at most, never on the other front."""
    own = room_of(path.relative_to(DEBUG).parts[:-1])
    rooms = {room_of(parts) for parts in imports(path)} - {own}

    assert [] == [room for room in rooms if FLOORS[room] >= FLOORS[own]]


def test_no_property_runs_a_launch():
    """What may run one is a method of the session: `look`, `watched`, `core`, `stack`, `frame`, `site`."""
    tree = ast.parse((DEBUG / "session.py").read_text(encoding="utf-8"))
    session = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "DebugSession")
    running = {"look", "watched", "core", "stack", "frame", "site", "travel", "forward"}
    properties = [
        n
        for n in session.body
        if isinstance(n, ast.FunctionDef)
        and any(isinstance(d, ast.Name) and d.id == "property" for d in n.decorator_list)
    ]
    called = {
        node.func.attr
        for p in properties
        for node in ast.walk(p)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }

    assert set() == running & called
    assert not running & {p.name for p in properties}
