"""A Triton kernel of a Python file on the command line, which every verb takes as the BANG C text that it becomes."""

import argparse
import importlib.util
from typing import TYPE_CHECKING

from mlusim.cli import plain_text, programs
from mlusim.errors import UsageError
from mlusim.files.reading import read_text
from mlusim.installing import missing_packages
from mlusim.lazy import lazy
from mlusim.programs.kernel_call import dim_of, named_values

if TYPE_CHECKING:
    from mlusim.triton import calls
else:
    (calls,) = lazy("mlusim.triton.calls")

OPTIONS = ("grid", "constexpr", "num_warps", "num_stages")


def is_triton(args: argparse.Namespace) -> bool:
    """Return whether *args* name a Triton kernel of a Python file."""
    word = _named(args)
    if not hasattr(args, "constexpr") or not word.endswith(".py"):
        return False
    if any(getattr(args, name) for name in OPTIONS):
        return True
    return bool(args.kernel) and "@triton.jit" in read_text(word, hint="name a Python file")


def _named(args: argparse.Namespace) -> str:
    """Return the file or the operator that *args* name first; `mlusim plan` has a list of them."""
    found = getattr(args, "program", None) or getattr(args, "operator", None) or ""
    return str(found[0] if isinstance(found, list) else found)


def as_bang(args: argparse.Namespace) -> argparse.Namespace:
    """Return *args* with the BANG C file that their Triton kernel becomes in its place.

    Raises `UsageError` for options of Triton without one.
    """
    if not is_triton(args):
        given = next((name for name in OPTIONS if getattr(args, name, None)), None)
        if given is not None:
            option = "--" + given.replace("_", "-")
            raise UsageError(
                f"{option} goes with a Triton kernel, as in `mlusim {args.verb} softmax.py --kernel softmax`"
            )
        return args
    if not importlib.util.find_spec("triton"):
        raise missing_packages("a Triton kernel", "triton", "triton")
    if args.dim or args.kind:
        raise UsageError("--dim and --kind go with BANG C; a Triton kernel takes --grid")
    boards = args.board if isinstance(args.board, list) else [args.board]
    call = calls.translated(
        _named(args),
        args.kernel,
        named_values(args.arg, "--arg"),
        named_values(args.constexpr, "--constexpr"),
        programs.board_of(boards[0] if boards else None),
        dim_of(args.grid),
        **{name: getattr(args, name) for name in ("num_warps", "num_stages") if getattr(args, name)},
    )
    plain_text.remark(
        f"{call.kernel}: {call.nram:,} bytes of NRAM and all times are an estimate of this lowering, not of the vendor's compiler"
    )
    plain = dict.fromkeys(OPTIONS) | {"constexpr": []}
    found = {
        **({"program": call.path} if hasattr(args, "program") else {"operator": [call.path]}),
        "kernel": call.kernel,
        "dim": ",".join(map(str, call.dim)),
        "kind": call.kind.name,
    }
    return argparse.Namespace(
        **{**vars(args), **plain, **found, "arg": [f"{n}={v}" for n, v in call.arguments.items()]}
    )
