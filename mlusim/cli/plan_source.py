"""``mlusim plan FILE.mlu``: how a kernel of BANG C divides its on-chip arrays, inferred from one launch."""

import argparse
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from mlusim.arch.catalog import find_board
from mlusim.cli.exits import CLEAN, FINDINGS
from mlusim.cli.programs import source_program
from mlusim.cli.show import emit, kib, output
from mlusim.errors import UsageError
from mlusim.files.paths import shown
from mlusim.programs.carving import ArrayPart, Carving, DeclaredArray, carve
from mlusim.programs.kernel_call import KernelCall
from mlusim.text_grid import table

OF_PLANS = ("set", "dtype", "max", "frontier", "claim", "output")
NOTE = (
    "Inferred from this launch: a variable that holds one place throughout each task has a part of its array, and what "
    "moves belongs to the variable that it is computed from."
)


def run(args: argparse.Namespace) -> int:
    """Show how the kernel divides its arrays; returns 1 where one part overwrites what another still holds."""
    unfit = next((o for o in OF_PLANS if getattr(args, o) not in (None, [])), None)
    if unfit is not None:
        raise UsageError(
            f"--{unfit} goes with an operator's plan; of a BANG C file the plan is what one launch shows"
        )
    boards = args.board or []
    if len(boards) > 1:
        raise UsageError("name one board; the sizes of a kernel of BANG C are compiled for it")
    args.board = boards[0] if boards else None
    args.program, *args.arguments = args.operator
    call = source_program(args, ())
    if not isinstance(call, KernelCall):
        raise UsageError(
            f"a plan is that of one kernel; name it, as in `mlusim plan {args.program} --kernel K`"
        )
    found = carve(call)
    if args.json:
        emit(_document(found))
    else:
        _show(found)
    return FINDINGS if found.findings else CLEAN


def _document(found: Carving) -> dict[str, Any]:
    return {
        "kernel": found.kernel,
        "board": found.board,
        "inferred": True,
        "memory": {n: {"capacity": u.capacity, "high_water": u.high_water} for n, u in found.memory.items()},
        "arrays": [
            {
                "name": a.name,
                "space": a.space,
                "bytes": a.bytes,
                "touched": found.touched(a),
                "file": a.file,
                "line": a.line,
                "parts": [_part(found, part) for part in found.parts_of(a)],
            }
            for a in found.arrays
        ],
        "findings": [finding.to_json() for finding in found.findings],
    }


def _part(found: Carving, part: ArrayPart) -> dict[str, Any]:
    return {
        "variable": part.text,
        "type": part.names[0].type if part.names else None,
        "offset": part.offset,
        "offsets": sorted(set(part.offsets.values())) or [0],
        "touched": None if part.low is None else [part.low, part.high],
        "declared": [{"function": n.function, "file": n.file, "line": n.line} for n in part.names],
        "moving": list(part.moving),
        "shares": [other.text for other in found.parts if other is not part and part.meets(other)],
    }


def _show(found: Carving) -> None:
    console = output()
    console.print(Text(f"{found.kernel} on {found.board}", style="bold"))
    for array in found.arrays:
        console.print("", _table(found, array), sep="\n")
    console.print(*(Text(text) for text in ("", *_memory(found))), sep="\n", soft_wrap=True)
    if not found.arrays:
        console.print("it declares no on-chip memory")
    for finding in found.findings:
        console.print("", finding, sep="\n")
    console.print("", Text(NOTE, style="dim"), sep="\n")


def _memory(found: Carving) -> Iterator[str]:
    """How much of each memory the arrays take, of what a kernel may declare."""
    arch = find_board(found.board).arch
    for space, usage in found.memory.items():
        if usage.high_water:
            share = f"{kib(usage.high_water)} of {kib(usage.capacity)} KiB"
            yield f"{space} {share}{arch.stack_taken(space, usage.high_water)}"


def _table(found: Carving, array: DeclaredArray) -> Any:
    used = f"{found.touched(array):,} of {array.bytes:,} bytes touched"
    made = table(
        "offset", "touched", "bytes", "variable", "declared", "shares bytes with",
        right=("offset", "touched", "bytes"), fold=("declared", "shares bytes with"),
        title=f"{array.name}, {array.space}, {shown(array.file)}:{array.line}: {used}",
    )  # fmt: skip
    for part in found.parts_of(array):
        made.add_row(*_row(found, part))
    return made


def _row(found: Carving, part: ArrayPart) -> Iterator[str]:
    yield f"{part.offset:,}" + (" ..." if len(set(part.offsets.values())) > 1 else "")
    low, high = part.low, part.high
    yield "-" if low is None or high is None else f"[{low:,}, {high:,})"
    yield "-" if low is None or high is None else f"{high - low:,}"
    yield f"{part.names[0].type} {part.text}".strip() if part.names else part.text
    yield ", ".join(dict.fromkeys(f"{n.function}:{n.line}" for n in part.names)) or "the array itself"
    yield ", ".join(dict.fromkeys(o.text for o in found.parts if o is not part and part.meets(o)))
