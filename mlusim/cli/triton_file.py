"""A Triton kernel of a Python file on the command line, which verbs accept in the form of its BANG C translation."""

import argparse
import importlib.util
from typing import TYPE_CHECKING

from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.cli import show
from mlusim.cli.options import boards_in, refuse
from mlusim.errors import UsageError
from mlusim.files.reading import read_text, refuse_no_file
from mlusim.installing import missing_packages
from mlusim.lazy import lazy
from mlusim.machine.kernel import ESTIMATE
from mlusim.programs.kernel_call import named_values

if TYPE_CHECKING:
    from mlusim.triton import calls
else:
    (calls,) = lazy("mlusim.triton.calls")

OPTIONS = ("grid", "constexpr", "num_warps", "num_stages")
NAMED = ("program", "operator", "operators", "files")
OF_BANG_C = ("dim", "kind", "include", "define", "function")


LATER = ("compile", "tune", "sweep", "fuzz")
"""Verbs that translate a kernel themselves: once for each of several calls, or to show the text."""


def is_triton(args: argparse.Namespace) -> bool:
    """Return whether *args* name a Triton kernel of a Python file."""
    word = _named(args)
    if not hasattr(args, "constexpr") or not word.endswith(".py"):
        return False
    if any(getattr(args, name) for name in OPTIONS):
        return True
    return bool(args.kernel) and "@triton.jit" in read_text(word, hint="name a Python file")


def _named(args: argparse.Namespace) -> str:
    """Return the first file or operator that *args* name; some verbs have a list."""
    named = next((word for name in NAMED if (word := getattr(args, name, None))), "")
    return str(named[0] if isinstance(named, list) else named)


def as_bang(args: argparse.Namespace) -> argparse.Namespace:
    """Return *args* with the BANG C translation of their Triton kernel in place of its file, and the kernel itself as ``triton``.

    For verbs in `LATER` the Python file stays.  Raises `UsageError` for Triton options without a Triton kernel.
    """
    if not is_triton(args):
        misplaced = next((name for name in OPTIONS if getattr(args, name, None)), None)
        if misplaced is not None:
            option = "--" + misplaced.replace("_", "-")
            raise UsageError(
                f"{option} goes with a Triton kernel, as in `mlusim {args.verb} softmax.py --kernel softmax`"
            )
        return args
    if not importlib.util.find_spec("triton"):
        raise missing_packages("a Triton kernel", "triton", "triton")
    refuse(args, OF_BANG_C, "goes with BANG C; a Triton kernel takes --grid and --constexpr")
    refuse_no_file(_named(args), "name a Python file")
    constants = named_values(args.constexpr, "--constexpr")
    several = next((name for name, value in constants.items() if "," in value), None)
    if several is not None:
        raise UsageError(
            f"--constexpr {several}={constants[several]} gives several values; `mlusim tune --param {several}={constants[several]}` tries them"
        )
    options = {name: value for name in ("num_warps", "num_stages") if (value := getattr(args, name))}
    kernel = calls.TritonKernel(_named(args), args.kernel, constants, args.grid or "1", options)
    replaced: dict[str, object] = {
        "triton": kernel,
        "kernel": kernel.called,
        **dict.fromkeys(OPTIONS),
        "constexpr": [],
    }
    if args.verb not in LATER:
        replaced |= _translated(args, kernel)
    else:
        show.remark(f"{kernel.called}: the use of NRAM and all times are {ESTIMATE}")
    return argparse.Namespace(**{**vars(args), **replaced})


def _translated(args: argparse.Namespace, kernel: "calls.TritonKernel") -> dict[str, object]:
    """Return the changes of *args* for the BANG C text of *kernel*; say on standard error that its figures are estimates."""
    named = getattr(args, "base", None) or getattr(args, "board", None) or ()
    boards = boards_in([named] if isinstance(named, str) else named, DEFAULT_BOARDS[:1])
    call = kernel.translated(named_values(args.arg, "--arg"), find_board(boards[0]), advised=True)
    show.remark(f"{call.kernel}: {call.estimate}")
    name = next(name for name in NAMED if getattr(args, name, None))
    files = getattr(args, name)
    return {name: [call.path, *files[1:]] if isinstance(files, list) else call.path}
