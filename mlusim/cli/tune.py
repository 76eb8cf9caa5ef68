"""``mlusim tune``: a kernel with other macros, arguments, dims and kinds, ranked; ``mlusim sweep FILE.mlu``: the same, in order."""

import argparse
import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import mlusim
from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli import cases, entry, long_work, options, programs, show
from mlusim.counted import percent, precise
from mlusim.document import Document, Part, Unfolded
from mlusim.errors import UsageError
from mlusim.files.writing import check_writable, write_text
from mlusim.machine.kernel import ESTIMATE
from mlusim.operators.campaign import usual_workers
from mlusim.programs.kernel_call import named_values
from mlusim.programs.native_program import CommandProgram, HostProgram
from mlusim.text_grid import table
from mlusim.tune import ranking, tuning
from mlusim.tune.page import page_text
from mlusim.tune.programs import ProgramTask, program_task
from mlusim.tune.space import Settings, TriedTask, TuneParameter, grid, parameters_of, program_parameters

ParametersOf = Callable[[Sequence[str]], tuple[TuneParameter, ...]]
OF_OPERATORS = ("case", "group", "policy", "check")


def run(args: argparse.Namespace) -> int:
    """Try all candidates, rank and show them; returns 1 if no candidate fits and is right."""
    check_writable(args.html)
    if programs.is_cases(args.program):
        seeded = argparse.Namespace(**vars(args), seed=args.draws)
        if len(cases.chosen(args)) > 1:
            return _ranked(args, *_tried_cases(seeded))
        args = cases.applied(seeded, cases.one_case(args))
    elif args.case is not None:
        raise UsageError(
            "--case names a case of a file of cases, as in `mlusim tune cases.toml --case small`"
        )
    return _ranked(args, *_tried(args))


def _tried(args: argparse.Namespace) -> tuple[Sequence[str], TriedTask, list[dict[str, Any]]]:
    boards = options.boards_in(args.board, DEFAULT_BOARDS[:1])
    return boards, *tried(args, boards)


def _tried_cases(
    args: argparse.Namespace,
) -> tuple[Sequence[str], TriedTask, list[dict[str, Any]]]:
    """Try the candidates with each case of a file, and add up their times; a candidate that one case excludes is excluded."""
    if args.output or args.search not in (None, tuning.RANDOM):
        told, first = (
            ("-o kept.jsonl" if args.output else f"--search {args.search}"),
            cases.chosen(args)[0].name,
        )
        raise UsageError(
            f"{told.split(maxsplit=1)[0]} goes with one case, as in `mlusim tune {args.program} --case {first} ... {told}`; "
            "a grid or --search random tries all of them"
        )
    boards: Sequence[str] = ()
    task: TriedTask | None = None
    by_case: list[tuple[str, list[dict[str, Any]]]] = []
    for case in cases.chosen(args):
        boards, task, rows = _tried(cases.applied(args, case))
        by_case.append((case.name, rows))
    assert task is not None
    return boards, task, ranking.together(by_case)


def _ranked(
    args: argparse.Namespace,
    boards: Sequence[str],
    task: TriedTask,
    candidates: Sequence[Mapping[str, Any]],
) -> int:
    """Rank *candidates*, show and write the result; returns 1 if no candidate fits and is right."""
    documents = _documents(args, boards, task, candidates)
    _write(args, documents)
    every: Any = documents if len(documents) > 1 else documents[0]
    show.say(Document(lambda: every, lambda: _parts(documents)), json=args.json)
    return entry.CLEAN if any(document["best"] is not None for document in documents) else entry.FINDINGS


def _write(args: argparse.Namespace, documents: Sequence[Mapping[str, Any]]) -> None:
    """Write the page of *documents*, one for each board, if it is requested."""
    if args.html:
        write_text(args.html, page_text(documents, args.typed), keep=True)
        show.wrote("page", args.html)


def _documents(
    args: argparse.Namespace,
    boards: Sequence[str],
    task: TriedTask,
    candidates: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the document of each board."""
    return [_document(args, board, task, [c for c in candidates if c["board"] == board]) for board in boards]


def _document(
    args: argparse.Namespace, board: str, task: TriedTask, candidates: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    rows, criterion = ranking.ranked(candidates, args.objective), task.asked.criterion
    best = rows[0] if rows[0]["rank"] is not None else None
    return {
        "mlusim": mlusim.__version__,
        "program": args.program,
        "kernel": args.kernel,
        "board": board,
        "objective": args.objective,
        **({} if args.triton is None else {"estimate": ESTIMATE}),
        "reference": criterion.reference,
        "expect": [f"{name}={text}" for name, text in criterion.expect.items()],
        "judged_by": "exit code" if isinstance(task, ProgramTask) else "results",
        "compared_with": None if task.first is None else {s.name: s.value for s in task.first},
        "best": None if best is None else best["parameters"],
        "candidates": rows,
    }


def _parts(documents: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    for number, document in enumerate(documents):
        yield from [""] if number else []
        yield from _of_board(document)


def _of_board(document: Mapping[str, Any]) -> Iterator[Part]:
    rows: Sequence[Mapping[str, Any]] = document["candidates"]
    able = [candidate for candidate in rows if candidate["rank"] is not None]
    out = [candidate for candidate in rows if candidate["rank"] is None]
    if able:
        # The figure by which candidates are ranked is shown; the time is shown anyway.
        share = [] if document["objective"] == ranking.TIME else [document["objective"]]
        ranked = table(
            "rank", "candidate", *share, "time us", "band us", "cores", "bound by", "chiefly, against the best",
            right=("rank", *share, "time us", "cores"), fold=("candidate", "chiefly, against the best"),
            title=f"{document['kernel'] or document['program']} on {document['board']}, by {document['objective']}",
        )  # fmt: skip
        best = able[0]
        for candidate in able:
            chief = ranking.differences(candidate["mechanisms"], best["mechanisms"], best["time_us"])
            ranked.add_row(
                str(candidate["rank"]),
                ranking.settings_told(candidate),
                *(percent(candidate[ranking.OBJECTIVES[name]]) for name in share),
                precise(candidate["time_us"]),
                " to ".join(map(precise, candidate["time_band"])),
                f"{candidate['mechanisms']['cores']:.0f}",
                candidate["bound"],
                "the best" if candidate is best else chief[0] if chief else "the same",
            )
        yield ranked
    if out:
        dropped = table("out", "verdict", "reason", fold=("out", "reason"))
        for names, verdict, reason in ranking.alike(out):
            dropped.add_row(names, verdict, reason)
        yield from [""] if able else []
        yield dropped
    yield ""
    yield from (Unfolded(line, "dim") for line in ranking.notes(document))


def sweep(args: argparse.Namespace) -> int:
    """Try all candidates and show them; returns 1 if one does not fit or is wrong."""
    args.program, *args.arguments = args.operators
    if programs.is_cases(args.program):
        args = cases.applied(argparse.Namespace(**vars(args), seed=args.draws), cases.one_case(args))
    only = "goes with operators; a BANG C file takes --kernel, --arg and --param"
    options.refuse(args, OF_OPERATORS, only)
    boards = options.boards_in(args.board, DEFAULT_BOARDS)
    task, candidates = tried(args, boards)
    ranked_args = argparse.Namespace(**{**vars(args), "objective": ranking.TIME})
    _write(args, _documents(ranked_args, boards, task, candidates))
    about = {
        "mlusim": mlusim.__version__,
        "program": args.program,
        "kernel": args.kernel,
        **({} if args.triton is None else {"estimate": ESTIMATE}),
    }
    show.say(
        Document(lambda: about | {"candidates": candidates}, lambda: _in_order(args, candidates)),
        json=args.json,
    )
    return entry.CLEAN if all(map(ranking.able, candidates)) else entry.FINDINGS


def _in_order(args: argparse.Namespace, candidates: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    passed = table(
        "candidate", "board", "time us", "band us", "IO", "compute", "bound by",
        right=("time us", "IO", "compute"), fold=("candidate",), title=args.kernel or args.program,
    )  # fmt: skip
    for candidate in filter(ranking.able, candidates):
        passed.add_row(
            ranking.settings_told(candidate),
            candidate["board"],
            precise(candidate["time_us"]),
            " to ".join(map(precise, candidate["time_band"])),
            percent(candidate["io_efficiency"]),
            percent(candidate["compute_efficiency"]),
            candidate["bound"],
        )
    yield passed
    out = [candidate for candidate in candidates if not ranking.able(candidate)]
    if out:
        dropped = table("out", "board", "verdict", "reason", fold=("out", "reason"))
        for board in dict.fromkeys(candidate["board"] for candidate in out):
            for names, verdict, reason in ranking.alike(
                [candidate for candidate in out if candidate["board"] == board]
            ):
                dropped.add_row(names, board, verdict, reason)
        yield from ("", dropped)


def tried(args: argparse.Namespace, boards: Sequence[str]) -> tuple[TriedTask, list[dict[str, Any]]]:
    """Return the task, and the documents of its candidates: for each board, in the order of the grid.

    Raises `UsageError` if none of them can be called.
    """
    long_work.refuse_odd(args, args.output, "-o")
    kernel = not args.param or args.triton is not None
    program = None if kernel else programs.program_to_try(args, boards[0])
    task, candidates = (
        _tried_calls(args, boards) if program is None else _tried_programs(args, program, boards)
    )
    if all(candidate["verdict"] == ranking.REFUSED for candidate in candidates):
        raise UsageError(candidates[0]["why"])
    return task, candidates


def _drawn(args: argparse.Namespace, parameters: Sequence[TuneParameter]) -> list[Settings]:
    """Return the candidates that are known before any of them runs: the grid, or a sample of it."""
    if getattr(args, "search", None) is None:
        return grid(parameters)
    # Not by the case's own seed: all cases try the same candidates.
    return tuning.drawn(parameters, args.trials, getattr(args, "seed", args.draws) or 0)


def _subject(
    args: argparse.Namespace, board: str
) -> tuple[ParametersOf, Callable[..., tuning.TuneTask], list[Settings]]:
    """Return the parser of ``--param`` for the kernel, the constructor of its task, and the candidates that the kernel declares.

    Raises `UsageError` if there is nothing to try.
    """
    if args.triton is None:
        call = programs.kernel_call(args, board)
        of_call = functools.partial(parameters_of, call=call)
        return of_call, functools.partial(tuning.task_of, call), []
    around = {
        "draws": args.draws,
        "engine": args.engine or "auto",
        "criterion": programs.criterion_of(args),
    }
    # Imported by name: Triton is an extra, and takes seconds to load.
    triton = importlib.import_module("mlusim.triton.tuned")
    tuned = triton.TunedTriton(args.triton, named_values(args.arg, "--arg"), board, around)
    usual: list[Settings] = [] if args.param else tuned.configurations()
    if not usual and not args.param:
        raise UsageError(
            f"nothing is to be tried: {args.kernel} has no triton.autotune; name what, as in `mlusim {args.verb} softmax.py --param BLOCK=256,512`"
        )
    return tuned.parameters_of, tuned.task_of, usual


def _tried_calls(args: argparse.Namespace, boards: Sequence[str]) -> tuple[TriedTask, list[dict[str, Any]]]:
    of_words, task_of, usual = _subject(args, boards[0])
    # Called only to raise its errors, which name --reference and --expect; in each process the task finds the
    # functions again.
    programs.expectation_of(args)
    search = getattr(args, "search", None)
    parameters, rungs = _space(args, of_words, search)
    # Results decide what is tried next, so that a search would take different ways on different boards.
    if search in (tuning.HALVING, tuning.TPE) and len(boards) > 1:
        raise UsageError(
            f"--search {search} goes on from results, and takes one board; name one, or use random, or a grid"
        )
    wanted = _drawn(args, parameters) if args.param else usual
    task = task_of(wanted, args.limit)
    with long_work.machines(args) as executor, _search_file(args, task, search) as file:
        if search == tuning.HALVING and rungs is not None:

            def rung(batch: Sequence[Settings]) -> list[dict[str, Any]]:
                # Each rung compares with its own first candidate: other rungs have other shapes.
                rung_task = tuning.compared_to(task_of(batch, args.limit), batch)
                return _searched(args, file, rung_task, batch, executor)

            candidates = tuning.halved(wanted, rungs, args.objective, rung)
        elif search == tuning.TPE:
            task = tuning.compared_to(task, wanted)
            run = functools.partial(_searched, args, file, task, executor=executor)
            candidates = tuning.proposed(parameters, args.trials, args.draws or 0, args.objective, run)
        else:
            task = tuning.compared_to(task, wanted)
            candidates = _collected(args, task, wanted, boards, executor, args.output)
    return task, candidates


def _tried_programs(
    args: argparse.Namespace, program: HostProgram | CommandProgram, boards: Sequence[str]
) -> tuple[ProgramTask, list[dict[str, Any]]]:
    search = getattr(args, "search", None)
    only = "goes with a kernel; a program ends with exit code 0 where it is right"
    options.refuse(args, ("reference", "expect"), only)
    if search not in (None, tuning.RANDOM):
        raise UsageError(f"--search {search} goes with a kernel; a program takes a grid, or random")
    # One without the other would be ignored silently.
    if (search is None) != (getattr(args, "trials", None) is None):
        raise UsageError("--search and --trials go together, as in --search random --trials 50")
    parameters = program_parameters(args.param, program)
    wanted = _drawn(args, parameters)
    task = program_task(program, wanted, args.limit, boards[0])
    with long_work.machines(args) as executor:
        return task, _collected(args, task, wanted, boards, executor, args.output)


@contextlib.contextmanager
def _search_file(
    args: argparse.Namespace, task: tuning.TuneTask, search: str | None
) -> Iterator[tuning.SearchFile | None]:
    """Open the file of -o for a search that depends on results; None without one, or if the candidates are known beforehand."""
    if search not in (tuning.HALVING, tuning.TPE) or args.output is None:
        yield None
        return
    words = (search, args.param, args.trials, args.rungs, args.draws, args.objective)
    with contextlib.closing(tuning.SearchFile(task, words, args.output, restart=args.restart)) as file:
        if file.reused:
            show.remark(f"{args.output}: {file.reused} candidates are there already")
        try:
            yield file
        except KeyboardInterrupt:
            show.remark(f"{args.output} holds what has ended; the same command goes on")
            raise


def _searched(
    args: argparse.Namespace,
    file: tuning.SearchFile | None,
    task: tuning.TuneTask,
    wanted: Sequence[Settings],
    executor: Executor | None,
) -> list[dict[str, Any]]:
    """Return the documents of *wanted*: from the search's file, or by trying them now."""
    documents = {settings: file.find(settings) for settings in wanted} if file is not None else {}
    rest = [settings for settings in wanted if documents.get(settings) is None]
    # Documents arrive in any order, and contain their settings.
    by_name = {tuple((s.name, s.value) for s in settings): settings for settings in rest}

    def keep(candidate: Mapping[str, Any]) -> None:
        if file is not None:
            file.add(by_name[tuple(candidate["parameters"].items())], candidate)

    tried_now = _collected(args, task, rest, (task.asked.board,), executor, None, keep) if rest else []
    documents |= dict(zip(rest, tried_now, strict=True))
    return [document for settings in wanted if (document := documents[settings]) is not None]


def _space(
    args: argparse.Namespace, of_words: ParametersOf, search: str | None
) -> tuple[tuple[TuneParameter, ...], TuneParameter | None]:
    """Return the parameters, and the parameter of the rungs of successive halving."""
    trials, rungs = getattr(args, "trials", None), getattr(args, "rungs", None)
    if (search is None) != (trials is None):
        raise UsageError("--search and --trials go together, as in --search random --trials 50")
    if (search == tuning.HALVING) != (rungs is not None):
        raise UsageError("--search halving and --rungs go together, as in --rungs n=1024,4096,16384")
    if rungs is None:
        return of_words(args.param), None
    *others, last = of_words([*args.param, rungs])
    if len(last.values) < 2:
        raise UsageError(f"--rungs {rungs!r} has one value; give two or more, the cheapest first")
    return tuple(others), last


def _collected(
    args: argparse.Namespace,
    task: TriedTask,
    wanted: Sequence[Settings],
    boards: Sequence[str],
    executor: Executor | None,
    file: str | None,
    came: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Return the documents of *wanted* on *boards*, some from *file*; *came* is called with each as it comes."""
    total = len(wanted) * len(boards)
    with show.progress("candidates", total) as step:

        def tell(candidate: Mapping[str, Any]) -> None:
            came(candidate)
            step(f"{ranking.settings_told(candidate)} on {candidate['board']}")

        trying = tuning.tune(
            task,
            wanted,
            executor,
            boards=boards,
            keep=file,
            workers=None if args.jobs == 1 else args.jobs or usual_workers(range(total)),
            restart=args.restart,
            progress=tell,
        )
        return long_work.collected(trying, file, "candidates")
