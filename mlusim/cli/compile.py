"""``mlusim compile``: the contents of BANG C files, and the parts that do not translate."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from mlusim import bangc
from mlusim.arch.board import Arch, Board
from mlusim.bangc import cache
from mlusim.bangc.errors import ERROR, SourceError
from mlusim.bangc.survey import FileFacts, survey
from mlusim.cli import entry, programs, show
from mlusim.cli.options import refuse
from mlusim.counted import counted
from mlusim.document import Document, Part, Unfolded, members
from mlusim.errors import UsageError, shown_file
from mlusim.files.reading import lines_shown
from mlusim.machine.engine import Engine
from mlusim.programs.kernel_call import named_values

OF_TRITON = "goes with a Triton kernel, as in `mlusim compile softmax.py --kernel softmax`"


def run(args: argparse.Namespace) -> int:
    """Compile; returns 1 if something does not translate, 2 if a file does not parse."""
    if args.clean_cache:
        _clean(args)
        if not args.files:
            return entry.CLEAN
    if not args.files:
        raise UsageError("name a BANG C file, as in `mlusim compile scale.mlu`")
    board = programs.board_of(args.board)
    if args.triton is not None:
        return _shown_text(args, board)
    refuse(args, ("kernel", "arg"), OF_TRITON)
    odd = next((name for name in args.files if name.endswith(".py")), None)
    if odd is not None:
        raise UsageError(
            f"{odd} is not a BANG C file; of a Triton kernel in it name --kernel, --arg and --constexpr"
        )
    try:
        surveyed = survey(bangc.load(args.files, args.include, programs.defines(args.define), board))
    except SourceError as error:
        # A script always gets a document; errors are also printed on standard error.
        if args.json:
            show.emit({"board": board.name, "files": [_broken(name, error) for name in args.files]})
        raise
    told = Document(
        lambda: {"board": board.name, "files": [_facts(facts, board.arch) for facts in surveyed]},
        lambda: (part for facts in surveyed for part in _parts(facts, board.arch)),
    )
    show.say(told, json=args.json)
    kernels = [kernel for facts in surveyed for kernel in facts.kernels]
    large = any(True for kernel in kernels for _ in kernel.too_large(board.arch))
    return entry.FINDINGS if large or any(facts.untranslated for facts in surveyed) else entry.CLEAN


def _shown_text(args: argparse.Namespace, board: Board) -> int:
    """Show the BANG C translation of a Triton kernel."""
    translation = args.triton.translated(named_values(args.arg, "--arg"), board, advised=True)
    if args.json:
        show.emit(
            {
                **members(translation, "kernel", "dim", "nram", "estimate", "text"),
                "kind": translation.kind.name,
                "board": board.name,
            }
        )
    else:
        print(lines_shown(translation.text), end="")
    return entry.CLEAN


def _clean(args: argparse.Namespace) -> None:
    """Empty the cache, and report what it contained."""
    translations, kernels, folder = cache.clean(), Engine.clean_cache(), Engine.cache_folder()
    # With files, the single document on standard output is about the files.
    if args.json and not args.files:
        show.emit({"folder": str(folder), "kernels": kernels, "translations": translations})
    else:
        said = f"{folder}: {counted(kernels, 'compiled kernel')} and {counted(translations, 'translation')} removed"
        print(lines_shown(said), file=sys.stderr if args.json else sys.stdout)


def _broken(name: str, error: SourceError) -> dict[str, Any]:
    errors = [members(d, "file", "line", "column", "message") for d in error.diagnostics]
    return {
        "file": name,
        "parsed": False,
        "functions": [],
        "kernels": [],
        "untranslated": [],
        "errors": errors,
    }


def _facts(facts: FileFacts, arch: Arch) -> dict[str, Any]:
    return {
        "file": facts.file,
        "parsed": True,
        "functions": list(facts.functions),
        "templates": list(facts.templates),
        "kernels": [
            {
                **members(kernel, "name", "line"),
                "parameters": [{"name": name, "type": kind} for name, kind in kernel.parameters],
                **members(kernel, "translated", "interpreted"),
                "memory": kernel.declared.nbytes,
                "too_large": list(kernel.too_large(arch)),
                "intrinsics": list(kernel.intrinsics),
            }
            for kernel in facts.kernels
        ],
        "untranslated": [
            members(u, "function", "construct", "file", "line", "column", "message")
            for u in facts.untranslated
        ],
    }


def _parts(facts: FileFacts, arch: Arch) -> Iterator[Part]:
    limits = arch.limits(compiled=True)
    yield Text(shown_file(facts.file), style="bold")
    for kernel in facts.kernels:
        parameters = ", ".join(f"{kind} {name}" for name, kind in kernel.parameters)
        called = kernel.name.partition("(")[0]  # of several with one name, with their types
        mark = "" if kernel.translated else "   does not translate"
        yield Unfolded(f"  kernel {called}({parameters}), line {kernel.line}{mark}")
        used = [
            f"{n} {show.kib(b)} of {show.kib(limits[n])} KiB{arch.stack_taken(n, b)}"
            for n, b in kernel.declared.nbytes.items()
            if b
        ]
        if used:
            yield Unfolded(f"    memory: {', '.join(used)}")
        if kernel.interpreted:
            yield Unfolded(f"    runs in Python: {kernel.interpreted}")
        for problem in kernel.too_large(arch):
            yield Unfolded(f"{shown_file(kernel.file)}:{kernel.line}: error: {problem}", "red")
        if kernel.intrinsics:
            yield Unfolded(f"    intrinsics: {', '.join(kernel.intrinsics)}")
    for title, names in (("functions", facts.functions), ("templates", facts.templates)):
        if names:
            yield Unfolded(f"  {title}: {', '.join(names)}")
    for u in facts.untranslated:
        kind = "" if u.construct == ERROR else f" ({u.construct})"
        yield Unfolded(f"  {u.function} does not translate{kind}:", "red")
        yield Unfolded(f"{shown_file(u.file)}:{u.line}:{u.column}: {u.message}")
        if u.excerpt:
            yield Unfolded(u.excerpt)
