"""``mlusim plan FILE.mlu``: how a kernel of BANG C divides its on-chip arrays, inferred from one launch."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from attrs import frozen
from rich.text import Text

from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.cli.exits import CLEAN, FINDINGS
from mlusim.cli.files import write_text
from mlusim.cli.programs import source_program
from mlusim.cli.settings import boards_in
from mlusim.cli.show import emit, kib, output
from mlusim.counted import plural
from mlusim.errors import Fault, MlusimError, UsageError, said
from mlusim.files.paths import shown
from mlusim.files.writing import check_writable
from mlusim.programs.carving import ArrayPart, Carving, DeclaredArray, carve
from mlusim.programs.kernel_call import KernelCall
from mlusim.programs.largest import LargestValue, largest_value
from mlusim.report.json_values import json_text
from mlusim.text_grid import table

T = TypeVar("T")
OF_PLANS = ("set", "dtype", "frontier", "claim")
NOTE = (
    "Inferred from this launch: a variable that holds one place throughout each task has a part of its array, and what "
    "moves belongs to the variable that it is computed from."
)
SAMPLED = (
    "Found by sampling: values are doubled, then the interval is bisected, and each runs once with the other arguments "
    "as they are given; values in between were not run."
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
    if args.max:
        return _answer(args, _largest(args, boards, args.max))
    return _answer(args, _carved(args, boards))


@frozen
class _Answer:
    """The answer to a question: a document for each board, how it is shown, and whether all is well."""

    documents: Sequence[Mapping[str, Any]]
    show: Callable[[], None]
    good: bool


def _answer(args: argparse.Namespace, answer: _Answer) -> int:
    """Write and show it."""
    document: Any = answer.documents if len(answer.documents) > 1 else answer.documents[0]
    if args.output:
        write_text(args.output, json_text(document))
    if args.json:
        emit(document)
    elif not args.output:
        answer.show()
    return CLEAN if answer.good else FINDINGS


def _carved(args: argparse.Namespace, boards: Sequence[str]) -> _Answer:
    """How the kernel divides its arrays."""
    found = _on_each(args, boards, carve)
    return _Answer(
        [one if isinstance(one, dict) else _document(one) for one in found],
        lambda: _show_all(found),
        all(isinstance(one, Carving) and not one.findings for one in found),
    )


def _largest(args: argparse.Namespace, boards: Sequence[str], variable: str) -> _Answer:
    """The largest value of an argument with which the kernel runs."""
    found = _on_each(args, boards, lambda call: largest_value(call, variable))
    return _Answer(
        [one if isinstance(one, dict) else one.to_json() for one in found],
        lambda: _show_largest(found),
        all(isinstance(one, LargestValue) and one.largest is not None for one in found),
    )


def _on_each(
    args: argparse.Namespace, boards: Sequence[str], ask: Callable[[KernelCall], T]
) -> list[T | dict[str, Any]]:
    """Call *ask* for each board; of several one may be refused or end in a fault, which its answer then tells."""
    found: list[T | dict[str, Any]] = []
    failed: list[MlusimError] = []
    for board in boards:
        try:
            found.append(ask(_call(args, board)))
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
                console.print("", _refused(one), sep="\n", soft_wrap=True)
        for plan in plans:
            for finding in plan.findings:
                console.print("", Text(f"on {plan.board}:"), finding, sep="\n")
    console.print("", Text(NOTE, style="dim"), sep="\n")


def _show_largest(found: Sequence[LargestValue | dict[str, Any]]) -> None:
    """A line for each board, and what fails above it."""
    console = output()
    for one in found:
        if isinstance(one, dict):
            console.print(_refused(one), soft_wrap=True)
            continue
        begin, name, fails = f"{one.kernel} on {one.board}: ", one.variable, one.fails
        if one.largest is None:
            told = f"no {name} that was tried runs"
        elif fails is None:
            told = f"every {name} that was tried runs, up to {one.largest:,}, the largest of its type"
        else:
            told = f"the largest {name} that runs is {one.largest:,}"
        console.print(Text(begin + told, style="bold"), soft_wrap=True)
        if fails is not None:
            what = {"fault": "fails", "overlap": "overlaps", "limit": "takes more than the search waits for"}
            where = f" ({shown(fails.file)}:{fails.line})" if fails.kind == "overlap" and fails.file else ""
            line = f"  {name} = {fails.value:,} {what[fails.kind]}: {fails.sentence}{where}"
            console.print(Text(line), soft_wrap=True)
            if fails.space == "GDRAM":
                line = f"  An array given with --arg is too small for {name}, so the chip sets no limit here; give larger ones."
                console.print(Text(line), soft_wrap=True)
        console.print(Text(f"  tried: {', '.join(f'{v:,}' for v in sorted(one.tried))}", style="dim"))
    console.print("", Text(SAMPLED, style="dim"), sep="\n")


def _refused(one: Mapping[str, Any]) -> Text:
    return Text(f"{one['board']}: {one['refused']}", style="bold red")


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
    used = f"{found.touched(array):,} of {array.bytes:,} {plural(array.bytes, 'byte')} touched"
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
