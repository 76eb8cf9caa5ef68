"""The house rules that a machine can hold: imports point down, nothing is global, nothing prints."""

import ast
import functools
import importlib.util
import re
from pathlib import Path

from import_graph import later, nodes_of

ROOT = Path(__file__).parents[2]
LAYERS = {
    "errors": 0,
    "kernel_frames": 0,
    "near": 0,
    "lazy": 0,
    "installing": 0,
    "text_grid": 0,
    "document": 0,
    "presenting": 0,
    "arch": 0,
    "files": 0,
    "memory": 1,
    "formula": 1,
    "isa": 2,
    "time": 3,
    "engine": 3,
    "machine": 3,
    "bangc": 4,
    "mluops": 4,
    "host": 4,
    "plan": 4,
    "observe": 4,
    "bang": 5,
    "report": 5,
    "toolkit": 5,
    "operators": 6,
    "programs": 6,
    "check": 6,
    "judge": 6,
    "tune": 6,
    "fuzz": 6,
    "debug": 6,
    "testing": 6,
    "triton": 7,
    "cli": 7,
}
SOURCES = sorted((ROOT / "mlusim").rglob("*.py"))
APART = (
    "mlusim.toolkit.torch.python.",  # a package of its own, for Pythons with PyTorch
    *(() if importlib.util.find_spec("triton") else ("mlusim.triton.",)),
)
OPS = sorted((ROOT / "ops").rglob("*.py"))
OPS_MAY_IMPORT = (
    "mlusim.bang",
    "mlusim.host",
    "mlusim.plan",
    "mlusim.operators",
    "mlusim.testing",
    "mlusim.errors",
)


@functools.cache
def _imports(path):
    """Every module that a file imports, inside functions too and later (`mlusim.lazy`), but for type checking."""
    guarded = {
        id(child)
        for node in nodes_of(path)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for child in ast.walk(node)
    }
    found = []
    for node in nodes_of(path):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return [*found, *later(nodes_of(path))]


def _offenders(paths, found):
    """What *found* finds in each file, by the names of those in which it finds something."""
    return {_name(path): offences for path in paths if (offences := found(path))}


def _layer(module):
    parts = module.split(".")
    return LAYERS.get(parts[1]) if parts[0] == "mlusim" and len(parts) > 1 else None


def _name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_the_page_shows_the_layers():
    """The tree in the architecture page has every room and its layer."""
    page = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    shown = re.findall(r"^  ([a-z_]+)(?:/|\.py)? +(\d)  ", page, re.MULTILINE)

    assert LAYERS == {name: int(layer) for name, layer in shown}


def test_imports_point_down():
    """A module imports from its own layer or a lower one."""

    def upward(path):
        own = _layer(_name(path))  # none of the package itself, which re-exports
        return own is not None and [m for m in _imports(path) if (_layer(m) or 0) > own]

    # A launch takes checker names, which belong to the layer above: the one upward import, made at the call.
    assert _offenders(SOURCES, upward) == {"mlusim.machine.device": ["mlusim.observe.names"]}


def test_observers_see_events_only():
    """Observers import from the machine only what it shows of a launch, and the observer's base class."""
    seen = ("mlusim.machine.observed", "mlusim.machine.hub")

    def unseen(path):
        return [m for m in _imports(path) if m.startswith("mlusim.machine") and m not in seen]

    assert _offenders([p for p in SOURCES if "observe" in p.parts], unseen) == {}


def test_operators_use_the_public_surface():
    """Operators import what a third party's operator may import."""

    def foreign(path):
        return [m for m in _imports(path) if m.startswith("mlusim") and not m.startswith(OPS_MAY_IMPORT)]

    assert _offenders(OPS, foreign) == {}


MUTATORS = {"append", "extend", "insert", "update", "setdefault", "add", "pop", "clear", "remove", "discard"}


def _changed(node):
    """The names of the containers that a statement or call changes in place."""
    targets = []
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        targets = [t.value for t in targets if isinstance(t, ast.Subscript)]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        targets = [node.func.value]
    return {t.id for t in targets if isinstance(t, ast.Name)}


def _variables(path):
    """The names of a module that its functions change, or call `global`."""
    nodes = nodes_of(path)
    named = {
        t.id
        for node in nodes[0].body
        if isinstance(node, ast.Assign)
        for t in node.targets
        if isinstance(t, ast.Name)
    }
    variables = [name for node in nodes if isinstance(node, ast.Global) for name in node.names]
    for function in [node for node in nodes if isinstance(node, ast.FunctionDef)] if named else []:
        inner = list(ast.walk(function))
        changed = named & set().union(*map(_changed, inner))
        own = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        own |= {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
        variables += changed - own
    return variables


def test_nothing_is_a_global_variable():
    """What a module names is a constant: upper case or private, and never changed; no `global`."""
    assert _offenders(SOURCES + OPS, _variables) == {}


def test_nothing_prints():
    """Code returns values; the command line renders them."""

    def printing(path):
        return [
            node.lineno
            for node in nodes_of(path)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("print", "input")
        ]

    quiet = [p for p in SOURCES + OPS if p.parent.name != "cli"]
    assert _offenders(quiet, printing) == {}


def test_one_file_writes_what_verbs_say():
    """A verb makes a document: only `cli/show.py` writes to a console of rich, and only `document.py` writes tables in Markdown."""

    def consoles(path):
        return [
            node.lineno
            for node in nodes_of(path)
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("terminal.output", "output")
        ]

    def tables(path):
        return [
            node.lineno for node in nodes_of(path) if isinstance(node, ast.Constant) and node.value == "---"
        ]

    assert {} == _offenders([p for p in SOURCES if p.name != "show.py"], consoles)
    assert {} == _offenders([p for p in SOURCES if p.name != "document.py"], tables)


def test_functions_stay_small():
    """The body of a function has at most 50 lines; a file is as long as its subject."""

    def long(path):
        return [
            node.name
            for node in nodes_of(path)
            if isinstance(node, ast.FunctionDef)
            and node.end_lineno - node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0].lineno
            >= 50
        ]

    assert _offenders(SOURCES + OPS, long) == {}


def test_the_door_knows_no_instruction():
    """The code that performs rows names none of them."""
    for name in ("issue", "refuse"):
        text = (ROOT / "mlusim" / "engine" / f"{name}.py").read_text()

        assert "bang_" not in text.replace("bang_arch", "")


def test_greenlets_are_one_file_s_business():
    """Only the carrier imports greenlet."""
    users = [_name(p) for p in SOURCES if "greenlet" in {m.split(".")[0] for m in _imports(p)}]

    assert ["mlusim.machine.scheduling.carrier"] == users


def test_every_module_can_be_imported():
    """No module of the product is broken or half there; the room of Triton needs its extra."""
    for path in SOURCES + OPS:
        name = _name(path).removesuffix(".__init__")
        apart = name.startswith(APART)
        if not apart and not name.endswith("__main__"):
            assert importlib.util.find_spec(name) is not None
