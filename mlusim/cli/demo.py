"""``mlusim demo``: every operator at network scale on two boards, judged, in one table and one page; then a bug, and advice on speed."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

import mlusim
from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.check.checking import report_of
from mlusim.check.formats import renderables
from mlusim.check.kernel_calls import check_call
from mlusim.cli import campaign, options, show
from mlusim.cli.arguments.shared import GROUP
from mlusim.document import Document, Unfolded
from mlusim.errors import UsageError, shown_file
from mlusim.files.writing import check_writable, write_text
from mlusim.installing import shipped
from mlusim.observe.names import checkers
from mlusim.operators.campaign import Job, matching_cases
from mlusim.operators.registry import operators
from mlusim.programs.argument_forms import AskedCall
from mlusim.programs.kernel_call import KernelCall
from mlusim.report.advice import advice
from mlusim.report.explain import because
from mlusim.report.page.html import html_text
from mlusim.report.profiled import profiled
from mlusim.report.record import document
from mlusim.report.tables import advice_table, problems, summary_table


def run(args: argparse.Namespace) -> int:
    """Run everything, print the results, write the page, and print its path."""
    check_writable(args.output)
    html_text([], mlusim.__version__)
    broken, mended = (_call(name) for name in (BROKEN, MENDED))
    boards = options.boards_in(args.board, DEFAULT_BOARDS)
    records = campaign.perform(demo_jobs(boards), args.jobs, lines=True)
    studies = campaign.studies_of(records, args.jobs, lines=True)
    page = html_text(records, mlusim.__version__, studies, command=args.typed)
    show.say(
        Document(
            lambda: document(records, mlusim.__version__),
            lambda: (summary_table(records), *problems(records)),
        ),
        json=args.json,
    )
    write_text(args.output, page, keep=True)
    if not args.json:
        show.put([Unfolded(f"report: {Path(args.output).resolve()}")])
        show.put(map(Unfolded, (*_bug(broken), *_help(mended))))
    return campaign.exit_code(records)


def demo_jobs(boards: Sequence[str]) -> list[Job]:
    """Return every case of the group "network" on *boards*."""
    return [
        Job(operator.name, case.name, board)
        for operator in operators().values()
        for board in boards
        for case in matching_cases(operator, board, group=GROUP)
    ]


# -- a bug, and advice on speed -------------------------------------------------------------------

BROKEN, MENDED = "gelu.mlu", "gelu_waits.mlu"
COUNT, TASKS = 100_000, 4
ARGUMENTS = {"out": f"out:float32:{COUNT}", "x": f"randn:float32:{COUNT}", "count": str(COUNT)}
"""The arguments of both kernels, as in the README."""


def _call(name: str) -> KernelCall:
    """Return the call of an example's kernel, with its sources loaded.  Raises `UsageError` if the parser for BANG C is not installed."""
    path = shipped(f"first_kernel/{name}", f"examples/first/{name}")
    if path is None:
        raise UsageError(f"{name} is not installed with mlusim; install mlusim from a checkout or a wheel")
    call = KernelCall(AskedCall((str(path),), dim=(TASKS, 1, 1), arguments=ARGUMENTS))
    call.loaded()
    return call


def _typed(verb: str, call: KernelCall) -> Text:
    """Return the command line that has the same effect on *call* as the demonstration."""
    arguments = " ".join(f"--arg {name}={text}" for name, text in call.arguments.items())
    return Text(f"$ mlusim {verb} {shown_file(call.asked.file)} --dim {TASKS} {arguments}", style="bold")


def _bug(call: KernelCall) -> Iterator[RenderableType]:
    """Yield a kernel's bug as `mlusim check` reports it."""
    yield "\nA bug that a card may not show, a copy that nothing waits for:"
    yield _typed("check", call)
    names = tuple(checkers())
    yield from renderables(report_of(names, [check_call(call, call.asked.file, names)]))


def _help(call: KernelCall) -> Iterator[RenderableType]:
    """Yield the advice of `mlusim profile` for the kernel without the bug."""
    with profiled() as profile:
        call.run(())
    (launch,) = profile.launches
    yield f"\nWith the wait it is right, and takes {launch.time_us:.2f} us:"
    yield _typed("profile", call)
    yield from (f"  because {words}" for words in because(launch))
    yield advice_table(advice(launch))
