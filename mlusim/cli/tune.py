"""``mlusim tune``: a kernel with other macros, arguments, dims and kinds, ranked by predicted time."""

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from rich.text import Text

import mlusim
from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.collected import collected
from mlusim.cli.dask import cluster
from mlusim.cli.exits import CLEAN, FINDINGS
from mlusim.cli.plain_text import wrote
from mlusim.cli.programs import source_program
from mlusim.cli.reference import expectation_of
from mlusim.cli.settings import boards_in
from mlusim.cli.show import emit, output, progress
from mlusim.cli.sources import is_source
from mlusim.errors import UsageError
from mlusim.files.writing import check_writable, write_text
from mlusim.operators.campaign import usual_workers
from mlusim.programs.kernel_call import KernelCall
from mlusim.text_grid import table
from mlusim.tune.mechanisms import differences
from mlusim.tune.page import page_text
from mlusim.tune.ranking import alike, notes, ranked, settings_told
from mlusim.tune.space import grid, parameters_of
from mlusim.tune.tuning import REFUSED, TuneTask, compared_to, task_of, tune


def run(args: argparse.Namespace) -> int:
    """Try all, rank and show; returns 1 where no candidate fits and is right."""
    if args.restart and args.output is None:
        raise UsageError("--restart starts a file over; name it with -o")
    if args.dask is not None and args.jobs is not None:
        raise UsageError("--dask and --jobs exclude each other; the cluster has its own processes")
    check_writable(args.html)
    boards = boards_in(args.board, DEFAULT_BOARDS[:1])
    if len(boards) > 1 and args.output is not None:
        raise UsageError(
            f"-o keeps the candidates of one board, and --board names {len(boards)}; name one, or leave -o out"
        )
    with cluster(args.dask) if args.dask is not None else contextlib.nullcontext() as executor:
        documents = [_document(args, board, executor) for board in boards]
    if args.html:
        write_text(args.html, page_text(documents, args.typed), keep=True)
        wrote("page", args.html)
    if args.json:
        document: Any = documents if len(documents) > 1 else documents[0]
        emit(document)
    else:
        for number, document in enumerate(documents):
            _show(document, first=not number)
    return CLEAN if any(one["best"] is not None for one in documents) else FINDINGS


def kernel_call(args: argparse.Namespace, board: str) -> KernelCall:
    """The call that *args* describe for *board*.  Raises `UsageError` where they name no kernel of BANG C."""
    if not args.param:
        raise UsageError(
            f"nothing is to be tried; name what, as in `mlusim {args.verb} scale.mlu --param TILE=64,128,256`"
        )
    if not is_source(args.program):
        what = (
            f"takes BANG C files, and no {args.program!r}" if args.program else "takes BANG C files; name one"
        )
        raise UsageError(f"mlusim {args.verb} with --param {what}")
    call = source_program(argparse.Namespace(**{**vars(args), "board": board, "jobs": None}), ())
    if not isinstance(call, KernelCall):
        raise UsageError(f"{args.program} has main(), and what is tried is one kernel; name it with --kernel")
    return call


def tried(
    args: argparse.Namespace, board: str, executor: Executor | None
) -> tuple[TuneTask, list[dict[str, Any]]]:
    """The task, and the documents of its candidates in the order of the grid.

    Raises `UsageError` where none of them can be called.
    """
    call = kernel_call(args, board)
    wanted = grid(parameters_of(args.param, call))
    expected = expectation_of(args)
    arrays = {} if expected is None else expected.arrays
    task = compared_to(task_of(call, wanted, args.limit, args.reference, arrays), wanted)
    with progress(board, len(wanted)) as step:
        number = None if args.jobs == 1 else args.jobs or usual_workers(wanted)
        trying = tune(
            task,
            wanted,
            executor,
            keep=args.output,
            workers=number,
            restart=args.restart,
            progress=lambda one: step(settings_told(one)),
        )
        found = collected(trying, args.output, "candidates")
    if all(one["verdict"] == REFUSED for one in found):
        raise UsageError(found[0]["why"])
    return task, found


def _document(args: argparse.Namespace, board: str, executor: Executor | None) -> dict[str, Any]:
    task, found = tried(args, board, executor)
    rows = ranked(found, args.objective)
    best = rows[0] if rows[0]["rank"] is not None else None
    return {
        "mlusim": mlusim.__version__,
        "program": args.program,
        "kernel": args.kernel,
        "board": board,
        "objective": args.objective,
        "reference": args.reference,
        "expect": list(args.expect),
        "compared_with": None if task.first is None else {s.name: s.value for s in task.first},
        "best": None if best is None else best["parameters"],
        "candidates": rows,
    }


def _show(document: Mapping[str, Any], *, first: bool) -> None:
    rows: Sequence[Mapping[str, Any]] = document["candidates"]
    able = [one for one in rows if one["rank"] is not None]
    out = [one for one in rows if one["rank"] is None]
    console = output()
    if not first:
        console.print("")
    if able:
        made = table(
            "rank", "candidate", "time us", "band us", "cores", "bound by", "chiefly, against the best",
            right=("rank", "time us", "cores"), fold=("candidate", "chiefly, against the best"),
            title=f"{document['kernel'] or document['program']} on {document['board']}, by {document['objective']}",
        )  # fmt: skip
        best = able[0]
        for one in able:
            chief = differences(one["mechanisms"], best["mechanisms"], best["time_us"])
            made.add_row(
                str(one["rank"]),
                settings_told(one),
                f"{one['time_us']:,.2f}",
                "{:,.2f} to {:,.2f}".format(*one["time_band"]),
                f"{one['mechanisms']['cores']:.0f}",
                one["bound"],
                "the best" if one is best else chief[0] if chief else "the same",
            )
        console.print(made)
    if out:
        made = table("out", "verdict", "reason", fold=("out", "reason"))
        for names, verdict, reason in alike(out):
            made.add_row(names, verdict, reason)
        console.print(*([""] if able else []), made, sep="\n")
    console.print("", *(Text(line, style="dim") for line in notes(document)), sep="\n", soft_wrap=True)
