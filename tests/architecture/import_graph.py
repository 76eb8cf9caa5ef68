"""The import graph: circles, depth and rooms; ``python tests/architecture/import_graph.py`` prints them, ``--write`` renews the page."""

import ast
import functools
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/architecture.md"


def modules():
    """Every module of the product, by name: its file."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted((ROOT / "mlusim").rglob("*.py"))
    }


def graph(known, *, types):
    """The modules that each imports, inside functions too; with *types* also those for type checking only."""
    return {name: _imported(name, path, known, types=types) for name, path in known.items()}


@functools.cache
def tree_of(path):
    """The syntax tree of a file; each is parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes_of(path):
    """Every node of a file, the module first; each file is walked once for all rules."""
    return list(ast.walk(tree_of(path)))


@functools.cache
def _imports(path):
    """The imports of a file, and whether each is for type checking alone."""
    found = {}
    for node in nodes_of(path):  # a guard comes before what it holds
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            found.update(
                (child, True) for child in ast.walk(node) if isinstance(child, ast.Import | ast.ImportFrom)
            )
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.setdefault(node, False)
    return found


def _imported(name, path, known, *, types):
    found = set()
    for node in (node for node, guarded in _imports(path).items() if types or not guarded):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found.update(_module(target, known) for target in names)
    found.update(_module(target, known) for target in later(nodes_of(path)))
    return found - {"", "mlusim", name}


def later(nodes):
    """Yield the modules that a file loads when it asks for them (`mlusim.lazy`)."""
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazy":
            yield from (argument.value for argument in node.args if isinstance(argument, ast.Constant))


def _module(target, known):
    """The module that *target* is, or is in; empty where it is none of the product's."""
    while target and target not in known:
        target = target.rpartition(".")[0]
    return target


def circles(edges):
    """The sets of modules that import each other in a circle, the largest first (Kosaraju's algorithm)."""
    order, seen = [], set()
    for start in edges:
        stack = [(start, iter(sorted(edges[start])))] if start not in seen else []
        seen.add(start)
        while stack:
            name, rest = stack[-1]
            following = next((n for n in rest if n not in seen), None)
            if following is None:
                order.append(name)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(sorted(edges[following]))))
    back = {name: {n for n in edges if name in edges[n]} for name in edges}
    found, taken = [], set()
    for start in reversed(order):
        group, stack = set(), [start]
        while stack:
            name = stack.pop()
            if name not in taken:
                taken.add(name)
                group.add(name)
                stack.extend(back[name])
        if group:
            found.append(group)
    return sorted(found, key=len, reverse=True)


def depth(edges):
    """The longest way down from any module, a circle counted as one step: its length, and the modules on it."""
    groups = circles(edges)
    of = {name: n for n, group in enumerate(groups) for name in group}
    below = {n: {of[m] for name in group for m in edges[name]} - {n} for n, group in enumerate(groups)}
    ways = {}

    def way(n):
        if n not in ways:
            longest = max((way(m) for m in below[n]), key=len, default=())
            ways[n] = (min(groups[n]), *longest)
        return ways[n]

    longest = max((way(n) for n in below), key=len)
    return len(longest), longest


def room_of(name):
    """The room of a module: the folder below mlusim."""
    return name.split(".")[1]


def floors():
    """Each room below mlusim: how many files it holds in all, and how many floors they stand on."""
    known = modules()
    edges = graph(known, types=False)
    inside = {name: name.split(".")[1] for name, path in known.items() if (path.parent != ROOT / "mlusim")}
    for room in sorted(set(inside.values())):
        own = {name for name in edges if inside.get(name) == room}
        files = sum(known[name].stem != "__init__" for name in own)
        yield room, files, depth({name: edges[name] & own for name in own})[0]


def table():
    """The rooms as the architecture page shows them."""
    yield "| room | files | floors |"
    yield "| --- | --- | --- |"
    yield from (f"| `{room}/` | {files} | {height} |" for room, files, height in floors())


def write():
    """Renew the table in the architecture page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition("| room | files | floors |")
    after = rest.partition("\n\n")[2]
    PAGE.write_text(before + "\n".join(table()) + "\n\n" + after, encoding="utf-8")


def told():
    """The figures of the architecture page, as text."""
    known = modules()
    found = [sorted(group) for group in circles(graph(known, types=True)) if len(group) > 1]
    length, way = depth(graph(known, types=False))
    yield f"circles of {', '.join(str(len(group)) for group in found)} files; the largest: {' '.join(found[0])}"
    yield f"depth {length}: {' > '.join(way)}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    sys.stdout.writelines(f"{line}\n" for line in told())
