"""``%load_ext mlusim``: the cell magics ``%%mlu``, ``%%mlusim_profile`` and ``%%mlusim_check``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.bangc import load
from mlusim.check.checking import report_of
from mlusim.check.findings import checked
from mlusim.check.formats import renderables
from mlusim.errors import UsageError, show_as_cells
from mlusim.machine.launch import Launch
from mlusim.observe.collect import collecting
from mlusim.observe.names import checkers, observers_of
from mlusim.report.profiled import profiled


def register(shell: Any) -> None:
    """Register the magics with *shell*, an IPython shell."""
    magics: dict[str, Callable[[Any, str, str], None]] = {
        "mlusim_profile": profile_cell,
        "mlusim_check": check_cell,
        "mlu": source_cell,
    }
    for name, magic in magics.items():
        shell.register_magic_function(partial(magic, shell), "cell", name)


def profile_cell(shell: Any, line: str, cell: str) -> None:
    """Run *cell* and show every launch that it makes; *line* names checkers to run as well."""
    with profiled(check=_names(line)) as profile, _launches_unshown(shell):
        shell.run_cell(cell)
    shell.display_pub.publish(profile._repr_mimebundle_())


def check_cell(shell: Any, line: str, cell: str) -> None:
    """Run *cell* under the checkers that *line* names, or all, and show their findings."""
    names = _names(line) or tuple(checkers())
    observers_of(names)
    with collecting(names) as collector, _launches_unshown(shell):
        shell.run_cell(cell)
    console = Console(highlight=False, emoji=False, markup=False)
    for part in renderables(report_of(names, [checked(collector, "the cell", "")])):
        console.print(part, soft_wrap=True)


def source_cell(shell: Any, line: str, cell: str) -> None:
    """Load *cell*, BANG C, as the module that *line* names, or its kernels under their own names, for the board named in *line*.

    Raises `UsageError` for another line, and `SourceError` for a cell that does not parse.
    """
    words = line.split()
    name = words.pop(0) if words and words[0].isidentifier() else None
    if len(words) > 1 or any(word.startswith("-") for word in words):
        raise UsageError(
            f"%%mlu {line} is not a call of this magic; write %%mlu, %%mlu NAME, %%mlu BOARD or %%mlu NAME BOARD: the kernels have "
            "their own names, or are NAME['Kernel']"
        )
    # The file has the cell's number in the notebook, so that kernels of an earlier cell keep their source
    # lines.
    path = Path(_cells().name).resolve() / f"In [{shell.execution_count}].mlu"
    # With the magic's own line, since the notebook counts it.
    path.write_text(f"// %%mlu {line}\n{cell}", encoding="utf-8")
    module = load(path, board=words[0] if words else DEFAULT_BOARDS[0])
    # A template has no kernel under its own name; module["K<float>"] instantiates it.
    shell.push(
        {name: module}
        if name
        else {called: kernel for called, kernel in module.kernels.items() if called.isidentifier()}
    )


@cache
def _cells() -> "TemporaryDirectory[str]":
    """Make the folder for the cells of this process; messages name a file in it as its cell."""
    folder = TemporaryDirectory(prefix="mlusim-cells-")
    show_as_cells(str(Path(folder.name).resolve()))
    return folder


@contextmanager
def _launches_unshown(shell: Any) -> Iterator[None]:
    """Keep a launch that is the value of a cell from showing itself, since the magic shows it."""
    formatter = shell.display_formatter.ipython_display_formatter
    before = formatter.type_printers.get(Launch)
    formatter.for_type(Launch, lambda _: None)
    try:
        yield
    finally:
        formatter.type_printers.pop(Launch, None)
        if before is not None:
            formatter.for_type(Launch, before)


def _names(line: str) -> tuple[str, ...]:
    return tuple(name for name in line.replace(",", " ").split() if name)
