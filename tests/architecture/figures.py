"""The figures of the code's structure; ``python tests/architecture/figures.py`` prints them, ``--list`` also the places behind them."""

import ast
import re
import sys
from functools import cache

from import_graph import PAGE, ROOT, circles, depth, graph, modules

SMALL = 40  # lines of a file without a subject of its own, as a rule


@cache
def trees():
    """Return each module of the product by its path: its number of lines and its tree."""
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in modules().values()}
    return {path: (text.count("\n"), ast.parse(text)) for path, text in texts.items()}


def functions():
    """Yield each function with the path of its file."""
    for path, (_, tree) in trees().items():
        yield from (
            (path, n) for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        )


def small_files():
    """Return the files of few lines."""
    return [f"{path}" for path, (lines, _) in trees().items() if lines <= SMALL and path.stem != "__init__"]


def long_functions(most):
    """Return the functions of more than *most* lines."""
    return [f"{path}:{n.lineno} {n.name}" for path, n in functions() if n.end_lineno - n.lineno + 1 > most]


def late_imports():
    """Return the imports inside functions."""
    inside = ((path, node) for path, n in functions() for node in ast.walk(n))
    return sorted({f"{path}:{n.lineno}" for path, n in inside if isinstance(n, ast.Import | ast.ImportFrom)})


@cache
def edges():
    """Return the import graph, with imports for type checking."""
    return graph(modules(), types=True)


def file_circles():
    """Return the circles of files."""
    return [" ".join(sorted(group)) for group in circles(edges()) if len(group) > 1]


FIGURES = {
    "files of at most 40 lines": small_files,
    "circles of files": file_circles,
    "files on the longest way down, with imports for types": lambda: depth(edges())[1],
    "imports inside functions": late_imports,
    "functions of more than 40 lines": lambda: long_functions(40),
    "functions of more than 60 lines": lambda: long_functions(60),
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
