"""What the C of a launch does that C++ does not, in ms: ``python -m benchmarks costs [--page FILE]``.

The four works of the table run with one thing after the other left out of the C of their kernels: a compiler that takes it out
of the text stands in for the usual one.  All run in turn, and the least CPU time of each counts, as in the table.
"""

import functools
import os
import resource
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import table
from benchmarks.pages import put_between
from mlusim.machine.native.build import CHOICE, available

BEGIN, END = "<!-- python -m benchmarks costs -->", "<!-- end of costs -->"
ROUNDS = 25
WITHOUT: Mapping[str, Sequence[tuple[str, str]]] = {
    "poison of declared memory": (
        (r"^  memset\(a->raw, POISON, .*$", ""),
        (r"^  memset\(\(uint8_t \*\)a->raw \+ before, POISON, .*$", ""),
    ),
    "checks of operands and of scalars' addresses": (
        (r"^  if \(UNLIKELY\(.*\)\) (?:goto slow|return 0);$", ""),
        (r"^  if \(UNLIKELY\(.*\)\) \{\n(?=    if \(deepen_)", "  if (0) {\n"),
        (r"^(ALWAYS int out\(At p, int64_t bytes\) \{)$", r"\1 return 0;"),
    ),
    "counts of instructions, lanes, bytes and cycles": (
        (
            r"^(ALWAYS void (?:vectors?_|passes_|transpose_|lines_|io_line|move_line)\(.*\) \{)$",
            r"\1 return;",
        ),
        (r"m->counts\[\w+\]\+\+;", ";"),
        (r"m->(?:loads|stores)\[[^]]*\]\+\+;", ";"),
        (r"^  (?:m->traffic\[d\]|src\.a->read) \+= .*;$", ""),
        (r"^(ALWAYS void rows_load_\(.*\) \{)$", r"\1 l[0] = l[1] = l[2] = l[3] = l[4] = 0; return;"),
    ),
    "rows of the log, from which the time is predicted": ((r"^  if \(!m->timing\) return;$", "  return;"),),
    "the kernel itself: its copies, passes and arithmetic": (
        (r"^(static __attribute__\(\(noinline\)\) void begun_\(.*\) \{)$", r"\1 return;"),
    ),
}
"""What is left out, each in addition to those before it, as patterns and what stands in their place."""
REST = "Python: the host function, and the launches"
APART = (r"^#define AT_ONCE_\(joined\) \(joined\)$", "#define AT_ONCE_(joined) 0")
"""What lets each instruction run by itself."""
COMPILER = """\
import re, subprocess, sys
from benchmarks.costs import APART, WITHOUT
many, source, *rest = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    text = file.read()
for changes in [*WITHOUT.values()][: int(many)] if int(many) >= 0 else [[APART]]:
    for pattern, instead in changes:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
with open(source, "w", encoding="utf-8") as file:
    file.write(text)
sys.exit(subprocess.call([*COMMAND, source, *rest]))
"""


def measured(make: Callable[..., Any], library: Any, kernels: Any, compilers: Sequence[str]) -> list[float]:
    """Return the least ms of a work: in plain loops of C++, and by its first launch with each of *compilers*; and the pages that one touches."""
    works = [make(library, kernels) for _ in compilers]

    def launch(compiler: str, work: Any) -> None:
        os.environ[CHOICE] = compiler
        next(iter(work.launches.values()))()

    runs = [functools.partial(launch, *pair) for pair in zip(compilers, works, strict=True)]
    for run in 3 * runs:  # the third launch is prepared
        run()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    runs[0]()
    pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return [*(1e3 * s for s in table.least([works[0].loops, *runs], ROUNDS)), pages]


def main(arguments: list[str]) -> int:
    """Print the costs, or write them to the page that *arguments* name."""
    command = available()
    if command is None:
        print("there is no C compiler", file=sys.stderr)
        return 2
    usual = os.environ.get(CHOICE)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "compiler.py"
        script.write_text(f"COMMAND = {[*command]!r}\n{COMPILER}", encoding="utf-8")
        os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
        compilers = [
            shlex.join([sys.executable, str(script), str(n)]) for n in (*range(len(WITHOUT) + 1), -1)
        ]
        try:
            columns = [measured(*work, compilers) for work in table.works(Path(folder))]
        finally:
            os.environ.pop(CHOICE)
            if usual is not None:
                os.environ[CHOICE] = usual
    page = _page(columns)
    print(page)
    if "--page" in arguments[:-1]:
        put_between(Path(arguments[arguments.index("--page") + 1]), page, BEGIN, END)
    return 0


def _page(columns: Sequence[Sequence[float]]) -> str:
    parts = [("g++ -O2, plain loops", [c[0] for c in columns]), ("native", [c[1] for c in columns])]
    for n, name in enumerate(WITHOUT, 1):
        parts.append((name, [max(c[n] - c[n + 1], 0.0) for c in columns]))
    parts.append((REST, [c[len(WITHOUT) + 1] for c in columns]))
    parts.append(("native, if each instruction ran by itself", [c[-2] for c in columns]))
    lines = ["| ms | A | B | C | D |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [f"| {name} | {' | '.join(f'{ms:.2f}' for ms in times)} |" for name, times in parts]
    lines.append(f"| pages touched for the first time | {' | '.join(f'{c[-1]:.0f}' for c in columns)} |")
    return "\n".join(lines)
