"""``mlusim judge``: many candidates against one reference, each in a confined process, with a verdict for each."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import mlusim
from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli import entry, long_work, options, programs, show
from mlusim.counted import percent
from mlusim.document import Document, Part, Unfolded
from mlusim.errors import UsageError
from mlusim.files.reading import refuse_no_file
from mlusim.judge.judging import Candidate, candidates, judge, kept_seed, prepare, task_of
from mlusim.judge.verdict import FAULT, LIMIT, RIGHT
from mlusim.programs.argument_forms import AskedCall
from mlusim.programs.kernel_call import dim_of, kind_of
from mlusim.text_grid import table

WANTED = "name a BANG C file, or a folder of them"


def run(args: argparse.Namespace) -> int:
    """Judge all candidates; returns 1 if one is not right or has findings."""
    long_work.refuse_odd(args, args.output, "-o")
    if args.reference is None:
        raise UsageError(
            "nothing says what is right; give a file with inputs and a reference, --reference FILE.py"
        )
    if args.kernel is not None and args.function is not None:
        raise UsageError("--kernel and --function exclude each other; one thing of each candidate is judged")
    paths = list(_files(args.candidates))
    wanted = _wanted(args, paths)
    for sentence in prepare(wanted[0].task):
        show.remark(f"note: {sentence}")
    with long_work.machines(args) as executor:
        verdicts = _judged(args, wanted, executor)
    told = Document(lambda: {"mlusim": mlusim.__version__, "verdicts": verdicts}, lambda: _parts(verdicts))
    show.say(told, json=args.json)
    return entry.CLEAN if all(verdict["verdict"] == RIGHT for verdict in verdicts) else entry.FINDINGS


def _files(words: Sequence[str]) -> Iterator[str]:
    """Yield the files to judge: the named ones, and those in named folders."""
    if not words:
        raise UsageError("no candidate was named; give BANG C files or folders of them")
    for word in words:
        if Path(word).is_dir():
            inside = sorted(str(path) for path in Path(word).iterdir() if path.suffix == ".mlu")
            if not inside:
                raise UsageError(f"the folder {word} has no .mlu file")
            yield from inside  # one that cannot be read must not keep the others from being judged
        elif not programs.is_source(word):
            raise UsageError(f"{word} is not a BANG C file; candidates end in .mlu")
        else:
            yield str(refuse_no_file(word, WANTED))


def _wanted(args: argparse.Namespace, paths: Sequence[str]) -> list[Candidate]:
    seed = args.seed
    if seed is None and args.output is not None and not args.restart:
        # Resumed with the seed of the verdicts in the file.
        seed = kept_seed(args.output)
    if seed is not None and seed < 0:
        raise UsageError(f"--seed {seed} is below 0; give 0 or more")
    if args.kind is not None:
        # Only to refuse an invalid reference before a process is started.
        kind_of(args.kind)
    (board,) = options.boards_in([args.board] if args.board is not None else [], DEFAULT_BOARDS[:1])
    asked = AskedCall(
        (),
        args.kernel,
        args.function,
        board=board,
        include=tuple(args.include),
        define=programs.defines(args.define),
        seed=seed,
    )
    task = task_of(
        args.reference,
        asked,
        cases=tuple(names_of_cases(args.cases)),
        draws=args.draws,
        dim=None if args.dim is None else dim_of(args.dim),
        kind=args.kind,
        seconds=args.seconds,
        memory=args.memory,
    )
    return candidates(task, paths)


def names_of_cases(words: Sequence[str]) -> list[str]:
    """Return the cases in *words*; a name may contain commas, as n=4,m=2."""
    return list(dict.fromkeys(word.strip() for word in words if word.strip()))


def _judged(args: argparse.Namespace, wanted: Sequence[Candidate], executor: Any) -> list[dict[str, Any]]:
    with show.progress("judging", len(wanted)) as step:
        judging = judge(
            wanted,
            executor,
            keep=args.output,
            workers=args.jobs,
            restart=args.restart,
            progress=lambda verdict: step(str(verdict["candidate"])),
        )
        return long_work.collected(judging, args.output, "verdicts")


def _parts(verdicts: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """Yield a table with a row for each candidate, then the errors, then the count."""
    shown = table("candidate", "verdict", "time us", "IO", "compute", "bound by", "findings", right=("time us", "IO", "compute", "findings"), fold=("candidate",))  # fmt: skip
    for verdict in verdicts:
        timed = verdict["time_us"] is not None
        shown.add_row(
            verdict["candidate"],
            verdict["verdict"],
            f"{verdict['time_us']:.2f}" if timed else "-",
            percent(verdict["io_efficiency"]) if timed else "-",
            percent(verdict["compute_efficiency"]) if timed else "-",
            verdict["bound"] or "-",
            str(len(verdict["findings"]) + verdict["more_findings"]),
        )
    yield shown
    for verdict in verdicts:
        yield from (Unfolded(f"{verdict['candidate']}: {line}") for line in _wrong(verdict))
    right = sum(verdict["verdict"] == RIGHT for verdict in verdicts)
    seed = verdicts[0]["seed"]
    yield (f"{right} of {len(verdicts)} are right; drawn with --seed {seed}.")


def _wrong(verdict: Mapping[str, Any]) -> Iterator[str]:
    if verdict["error"] is not None:
        yield verdict["error"]
    ended = verdict["verdict"] in (FAULT, LIMIT)  # its error is among the findings too
    for finding in () if ended else verdict["findings"][:3]:
        place = f" ({finding['file']}:{finding['line']})" if finding.get("file") else ""
        yield f"{finding['id']}: {finding['message']}{place}"
    if verdict["wrote_inputs"]:
        yield f"it writes to its input {', '.join(verdict['wrote_inputs'])}"
    yield from verdict["notes"]
