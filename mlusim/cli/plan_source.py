"""``mlusim plan FILE.mlu``: how a kernel of BANG C divides its on-chip arrays, inferred from one launch."""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.cli.exits import CLEAN, FINDINGS
from mlusim.cli.files import write_text
from mlusim.cli.programs import source_program
from mlusim.cli.settings import boards_in
from mlusim.cli.show import emit, kib, output
from mlusim.errors import Fault, MlusimError, UsageError, said
from mlusim.files.paths import shown
from mlusim.files.writing import check_writable
from mlusim.programs.carving import ArrayPart, Carving, DeclaredArray, carve
from mlusim.programs.kernel_call import KernelCall
from mlusim.report.json_values import json_text
from mlusim.text_grid import table

OF_PLANS = ("set", "dtype", "max", "frontier", "claim")
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
    check_writable(args.output)
    if args.output and not args.output.endswith(".json"):
        raise UsageError(f"{args.output} cannot hold the plan of a BANG C file; write it to a .json")
    args.program, *args.arguments = args.operator
    boards = boards_in(args.board or [], DEFAULT_BOARDS[:1])
    carved = _carved(args, boards)
    facts = [one if isinstance(one, dict) else _document(one) for one in carved]
    document: Any = facts if len(facts) > 1 else facts[0]
    if args.output:
        write_text(args.output, json_text(document))
    if args.json:
        emit(document)
    elif not args.output:
        _show_all(carved)
    return CLEAN if all(isinstance(one, Carving) and not one.findings for one in carved) else FINDINGS


def _carved(args: argparse.Namespace, boards: Sequence[str]) -> list[Carving | dict[str, Any]]:
    """The plan on each board; of several one may be refused or end in a fault, which is then told in its place."""
    found: list[Carving | dict[str, Any]] = []
    failed: list[MlusimError] = []
    for board in boards:
        try:
            found.append(carve(_call(args, board)))
        except (UsageError, Fault) as error:
            failed.append(error)
            found.append({"board": board, "refused": said(error)})
    if len(failed) == len(boards):
        raise failed[0]
    return found


def _call(args: argparse.Namespace, board: str) -> KernelCall:
    call = source_program(argparse.Namespace(**{**vars(args), "board": board}), ())
    if not isinstance(call, KernelCall):
        raise UsageError(
            f"a plan is that of one kernel; name it, as in `mlusim plan {args.program} --kernel K`"
        )
    return call


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


def _show_all(carved: Sequence[Carving | dict[str, Any]]) -> None:
    """One board with all that is known, several side by side."""
    console = output()
    plans = [one for one in carved if isinstance(one, Carving)]
    if len(carved) == 1:
        _show(plans[0])
    else:
        console.print(Text(f"{plans[0].kernel} on {', '.join(p.board for p in plans)}", style="bold"))
        for made in _side_by_side(plans):
            console.print("", made, sep="\n")
        for plan in plans:
            console.print(
                "", *(Text(f"{plan.board}: {text}") for text in _memory(plan)), sep="\n", soft_wrap=True
            )
        for one in carved:
            if isinstance(one, dict):
                console.print(
                    "", Text(f"{one['board']}: {one['refused']}", style="bold red"), sep="\n", soft_wrap=True
                )
        for plan in plans:
            for finding in plan.findings:
                console.print("", Text(f"on {plan.board}:"), finding, sep="\n")
    console.print("", Text(NOTE, style="dim"), sep="\n")


def _side_by_side(plans: Sequence[Carving]) -> Iterator[Any]:
    """A table of each array: its parts, and where each board has them."""
    keys = dict.fromkeys((a.name, a.space, a.file, a.line) for plan in plans for a in plan.arrays)
    for key in keys:
        name, space, file, line = key
        boards = tuple(plan.board for plan in plans)
        made = table("variable", *boards, right=boards, title=f"{name}, {space}, {shown(file)}:{line}")
        rows: dict[tuple[str, int], dict[str, str]] = {}
        for plan in plans:
            array = next((a for a in plan.arrays if (a.name, a.space, a.file, a.line) == key), None)
            seen: Counter[str] = Counter()
            for part in [] if array is None else plan.parts_of(array):
                offset, touched, *_, variable, _, _ = _row(plan, part)
                rows.setdefault((variable, seen[variable]), {})[plan.board] = f"{offset}: {touched}"
                seen[variable] += 1
            if array is not None:
                used = f"{plan.touched(array):,} of {array.bytes:,}"
                rows.setdefault(("bytes touched", -1), {})[plan.board] = used
        for (variable, _), cells in sorted(rows.items(), key=lambda row: row[0][1] < 0):
            made.add_row(variable, *(cells.get(board, "-") for board in boards))
        yield made


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
