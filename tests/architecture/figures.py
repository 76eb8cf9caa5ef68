"""The figures of the code's structure; ``python tests/architecture/figures.py`` prints them, ``--list`` also the places behind them."""

import ast
import re
import sys
from collections import Counter
from functools import cache

from import_graph import PAGE, ROOT, circles, depth, graph, modules, nodes_of, room_of, tree_of

from mlusim.arch.catalog import BOARDS
from mlusim.engine.recipes.recipe import LaunchPolicy, recipe
from mlusim.engine.recipes.render import RENDERED
from mlusim.isa.table import ISA

C_ENGINE = "mlusim.machine.native."
SMALL = 40  # lines of a file without a subject of its own, as a rule


@cache
def trees():
    """Return each module of the product by its path: its number of lines and its tree."""
    return {path.relative_to(ROOT): (text_of(path).count("\n"), tree_of(path)) for path in modules().values()}


@cache
def text_of(path):
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")


@cache
def nodes():
    """Return each node of the product with the path of its file: walked once for all figures."""
    return [(path, n) for path in trees() for n in nodes_of(ROOT / path)]


@cache
def functions():
    """Return each function with the path of its file."""
    return [(path, n) for path, n in nodes() if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def small_files():
    """Return the files of few lines."""
    return [f"{path}" for path, (lines, _) in trees().items() if lines <= SMALL and path.stem != "__init__"]


def long_functions(most):
    """Return the functions of more than *most* lines."""
    return [f"{path}:{n.lineno} {n.name}" for path, n in functions() if n.end_lineno - n.lineno + 1 > most]


def late_imports():
    """Return the imports inside functions."""
    imports = [(path, n.lineno) for path, n in nodes() if isinstance(n, ast.Import | ast.ImportFrom)]
    lines = {path: set() for path, _ in imports}
    for path, n in functions():
        lines.get(path, set()).update(range(n.lineno, n.end_lineno + 1))
    return sorted(f"{path}:{line}" for path, line in imports if line in lines[path])


def files_of_the_product():
    """Return the files of Python."""
    return [f"{path}" for path in trees()]


def import_lines():
    """Return one place for each line of 1,000 that imports, those with the longest imports."""
    found = sorted(
        (
            (n.end_lineno - n.lineno + 1, f"{path}:{n.lineno}")
            for path, n in nodes()
            if isinstance(n, ast.Import | ast.ImportFrom)
        ),
        reverse=True,
    )
    share = sum(lines for lines, _ in found) / sum(lines for lines, _ in trees().values())
    return [place for _, place in found[: round(1000 * share)]]


@cache
def edges():
    """Return the import graph, with imports for type checking."""
    return graph(modules(), types=True)


def file_circles():
    """Return the circles of files."""
    return [" ".join(sorted(group)) for group in circles(edges()) if len(group) > 1]


def upward_arrows():
    """Return the arrows between rooms that point up: of two rooms that import each other the one of fewer imports; and longer circles of rooms."""
    arrows = Counter(
        (room_of(name), room_of(other))
        for name, imported in edges().items()
        for other in imported
        if "." in name and "." in other and room_of(name) != room_of(other)
    )
    up = {(a, b) for a, b in arrows if (b, a) in arrows and (arrows[a, b], a) < (arrows[b, a], b)}
    below = {room: set() for arrow in arrows for room in arrow}
    for a, b in set(arrows) - up:
        below[a].add(b)
    return [
        *(f"{a} > {b}" for a, b in sorted(up)),
        *(" ".join(sorted(group)) for group in circles(below) if len(group) > 1),
    ]


def importers_of_c():
    """Return the files outside of the C engine that import it."""
    return [
        name
        for name, imported in edges().items()
        if not name.startswith(C_ENGINE) and any(other.startswith(C_ENGINE) for other in imported)
    ]


def rows_by_hand():
    """Return the rows that no rendered method does on some architecture: a step of theirs is not one that is rendered."""
    made = (
        recipe(row, 0, LaunchPolicy(arch))
        for row in ISA.values()
        for arch in {b.arch for b in BOARDS.values()}
    )
    return sorted(
        {one.row.name for one in made if not one.actions or {type(s) for s in one.actions} - set(RENDERED)}
    )


def untyped():
    """Return the lines that call a type Any."""
    return [
        f"{path}:{number}"
        for path in modules().values()
        for number, line in enumerate(text_of(path).split("\n"), 1)
        for _ in re.findall(r": Any\b", line)
    ]


def lines_of_protocols():
    """Return the lines of classes that only say what others have."""
    return [
        f"{path}:{number}"
        for path, (_, tree) in trees().items()
        for n in ast.walk(tree)
        if isinstance(n, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in n.bases)
        for number in range(n.lineno, n.end_lineno + 1)
    ]


def bases_of(node):
    """Return the names of the bases of a class, without their room and their parameters."""
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2].strip("\"'") for base in node.bases}


@cache
def classes():
    """Return the classes of the product by name: the place, the names of the bases, and those of the members."""
    return {
        n.name: (f"{path}:{n.lineno}", bases_of(n), members_of(n))
        for path, n in nodes()
        if isinstance(n, ast.ClassDef)
    }


def members_of(node):
    """Return the names that a class gives its objects: methods, fields, slots, and what its methods set."""
    fields = (m.target for m in node.body if isinstance(m, ast.AnnAssign))
    fields = [*fields, *(target for m in node.body if isinstance(m, ast.Assign) for target in m.targets)]
    methods = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
    slots = (
        m.value for m in node.body if isinstance(m, ast.Assign) and ast.unparse(m.targets[0]) == "__slots__"
    )
    texts = {n.value for slot in slots for n in ast.walk(slot) if isinstance(n, ast.Constant)}
    stored = (n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return (
        methods
        | texts
        | {ast.unparse(field) for field in fields}
        | {n.attr for n in stored if ast.unparse(n.value) == "self"}
    )


def inherited(name):
    """Return the names of a class and of all that it stands on."""
    names, left = set(), [name]
    while left:
        below = left.pop()
        if below in classes() and below not in names:
            names.add(below)
            left += classes()[below][1]
    return names


def all_members(name):
    """Return the members of a class, inherited ones too."""
    return set().union(*(classes()[one][2] for one in inherited(name))) - {"__slots__"}


def lone_protocols():
    """Return the protocols that one class of the product keeps to, those apart that inherit from it."""
    every = {name: all_members(name) for name in classes()}
    protocols = {name for name in every if "Protocol" in classes()[name][1]}
    keep = {name: [c for c in every if not protocols & {c} and every[name] <= every[c]] for name in protocols}
    alone = {
        name: [c for c in found if not (inherited(c) - {c}) & set(found)] for name, found in keep.items()
    }
    return sorted(
        f"{classes()[name][0]} {name}: {', '.join(found)}" for name, found in alone.items() if len(found) < 2
    )


VAGUE = {"found", "one", "made", "given", "known", "own", "kept"}


def vague_names():
    """Return where a variable or a parameter has a name that does not say what it holds."""
    return [
        f"{path}:{n.lineno}"
        for path, n in nodes()
        if (isinstance(n, ast.Name) and n.id in VAGUE) or (isinstance(n, ast.arg) and n.arg in VAGUE)
    ]


def short_helpers():
    """Return the private functions of one use whose bodies have three lines or fewer, the docstring apart."""
    words = {path: Counter(re.findall(r"\b_[a-zA-Z]\w*", text_of(ROOT / path))) for path in trees()}
    found = []
    for path, n in functions():
        if n.name.startswith("_") and not n.name.startswith("__") and words[path][n.name] == 2:
            body = n.body[1:] if ast.get_docstring(n) else n.body
            if not body or body[-1].end_lineno - body[0].lineno < 3:
                found.append(f"{path}:{n.lineno} {n.name}")
    return found


def methods_without_docstring():
    """Return the public methods without a docstring; those of a protocol have theirs where they are implemented."""
    return [
        f"{path}:{m.lineno} {n.name}.{m.name}"
        for path, n in nodes()
        if isinstance(n, ast.ClassDef)
        and not n.name.startswith("_")
        and not any("Protocol" in ast.unparse(base) for base in n.bases)
        for m in n.body
        if isinstance(m, ast.FunctionDef) and not m.name.startswith("_") and not ast.get_docstring(m)
        if not {"overload", "override"} & {ast.unparse(d).rpartition(".")[2] for d in m.decorator_list}
        if not any("setter" in ast.unparse(d) for d in m.decorator_list)
    ]


@cache
def docstrings():
    """Return each docstring with its place."""
    return [
        (f"{path}:{getattr(n, 'lineno', 1)}", text)
        for path, n in nodes()
        if isinstance(n, ast.FunctionDef | ast.ClassDef | ast.Module) and (text := ast.get_docstring(n))
    ]


def questions():
    """Return the docstrings that begin with a question word."""
    words = ("What", "Whether", "Who", "Where")
    return [place for place, text in docstrings() if text.split()[0].strip(",") in words]


def short_docstrings():
    """Return the docstrings of three words or fewer."""
    return [place for place, text in docstrings() if len(text.split()) <= 3]


def few_comments():
    """Return the files of 100 lines of code or more without a comment for people, which gives a reason or a source."""
    return [f"{path}" for path, (lines, _) in trees().items() if lines >= 100 and not comments(ROOT / path)]


def quiet_rooms():
    """Return the rooms with fewer than three lines of comment to a hundred of code, docstrings and blank lines apart; so for the whole."""
    code, said = Counter(), Counter()
    for path in trees():
        for room in {path.parts[0], *path.parts[1:-1][:1]}:
            code[room] += len(lines_of_code(ROOT / path))
            said[room] += len(comments(ROOT / path))
    return sorted(
        f"{room} {100 * said[room] / code[room]:.1f} %" for room in code if 100 * said[room] < 3 * code[room]
    )


@cache
def test_nodes():
    """Return each node of the tests with its file."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    return [(f"{path.relative_to(ROOT)}", n) for path in files for n in nodes_of(path)]


def replaced_by_tests():
    """Return where tests put something of theirs in the place of an attribute."""
    return [
        f"{path}:{n.lineno}"
        for path, n in test_nodes()
        if isinstance(n, ast.Call) and ast.unparse(n.func) in ("monkeypatch.setattr", "patch.setattr")
    ]


def private_in_tests():
    """Return where tests use a private name of a module or an object of the product."""
    own = {n.name for _, n in nodes() if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    own |= {n.attr for _, n in nodes() if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    own |= {n.id for _, n in nodes() if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    private = {name for name in own if re.match(r"_[a-z]\w*[^_]$", name)} - {"_replace"}  # of a named tuple
    used = [
        f"{path}:{n.lineno} {n.attr}"
        for path, n in test_nodes()
        if isinstance(n, ast.Attribute)
        and n.attr in private
        and ast.unparse(n.value) not in ("self", "cls", "os", "sys")
    ]
    return used + [
        f"{path}:{n.lineno} {alias.name}"
        for path, n in test_nodes()
        if isinstance(n, ast.ImportFrom) and f"{n.module}".startswith("mlusim")
        for alias in n.names
        if alias.name in private
    ]


# A string or a comment of Python: Python's own tokenizer takes ten seconds for the product.
PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|' + r"'''(?:\\.|[^\\])*?'''|'(?:\\.|[^'\\\n])*'|#[^\n]*",
    re.DOTALL,
)


def lines_of_code(path):
    """Return the numbers of the lines of a file that are neither blank nor a comment nor a docstring."""
    # No line of a string is blank.
    full = PIECE.sub(lambda m: "" if m[0].startswith("#") else m[0].replace("\n", "\n_"), text_of(path))
    lines = {number for number, line in enumerate(full.split("\n"), 1) if line.strip()}
    texts = (n for n in nodes_of(path) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))
    return lines - {line for n in texts for line in range(n.lineno, n.end_lineno + 1)}


def comments(path):
    """Return the comments for people in a file."""
    tools = ("noqa", "type:", "fmt:", "pragma", "ruff:", "!")
    pieces = (m[0] for m in PIECE.finditer(text_of(path)) if m[0].startswith("#"))
    return [piece for piece in pieces if not piece.lstrip("# ").startswith(tools)]


FIGURES = {
    "files of the product": files_of_the_product,
    "files of at most 40 lines": small_files,
    "lines of 1,000 that import": import_lines,
    "circles of files": file_circles,
    "arrows between rooms that point up": upward_arrows,
    "files on the longest way down, with imports for types, a circle counted as one": lambda: depth(edges())[
        1
    ],
    "files outside of the C engine that import it": importers_of_c,
    "imports inside functions": late_imports,
    "functions of more than 40 lines": lambda: long_functions(40),
    "functions of more than 60 lines": lambda: long_functions(60),
    "rows outside of recipes": rows_by_hand,
    "lines with `: Any`": untyped,
    "lines of protocols": lines_of_protocols,
    "protocols that one class keeps to": lone_protocols,
    "private functions of one use with at most three lines": short_helpers,
    "variables named found, one, made, given, known, own or kept": vague_names,
    "public methods without a docstring, those of protocols apart": methods_without_docstring,
    "docstrings that begin with a question word": questions,
    "docstrings of three words or fewer": short_docstrings,
    "files of 100 lines or more without a comment": few_comments,
    "rooms with fewer than 3 lines of comment to 100 of code": quiet_rooms,
    "attributes that tests replace": replaced_by_tests,
    "private names of the product in tests": private_in_tests,
}
ROW = re.compile(r"^\| ([^|]+) \| (\d+) \| (\d+) \|$", re.MULTILINE)


def limits():
    """Return what the page allows, by figure."""
    return {
        name: int(most) for name, _, most in ROW.findall(PAGE.read_text(encoding="utf-8")) if name in FIGURES
    }


def renewed(found):
    """Return a row of the page, with what is measured now."""
    name, _, most = found.groups()
    return f"| {name} | {len(FIGURES[name]())} | {most} |" if name in FIGURES else found[0]


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(ROW.sub(renewed, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for name, places in FIGURES.items():
        listed = [f"       {one}\n" for one in places()]
        sys.stdout.writelines([f"{len(listed):4} {name}\n", *(listed if "--list" in sys.argv else ())])
