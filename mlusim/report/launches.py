"""Launches of any origin for a terminal; `mlusim.report.launch_files` has them for programs."""

import math
from collections.abc import Container, Iterator, Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.text import Text

from mlusim.counted import count, counted, percent, precise, size
from mlusim.machine.launch import Launch
from mlusim.report.advice import advice
from mlusim.report.explain import because
from mlusim.report.figures import figures, reached
from mlusim.report.tables import LINES_NOTE, advice_table, launch_lines
from mlusim.text_grid import Grid, facts, table

DEAREST = 8  # lines that are shown unless all are requested
MOST = 4  # launches that are shown individually; if there are more, the most expensive ones


def title(launch: Launch) -> str:
    """Return the kernel, the board, and the grid."""
    return f"{launch.kernel} on {launch.board}, {','.join(map(str, launch.dim))} {launch.kind}"


def time(launch: Launch) -> str:
    """Return the predicted time with the band of the model."""
    if math.isnan(launch.time_us):
        return "not timed"
    band = launch.time_band
    return f"{precise(launch.time_us)} us ({precise(band[0])} to {precise(band[1])})"


def launch_view(launch: Launch, most: int | None = DEAREST) -> RenderableType:
    """Return all facts about one launch for a terminal, with at most *most* lines, the most expensive ones."""
    head = Text.assemble((title(launch), "bold"), f": {time(launch)}, bound by {launch.bound or 'nothing'}")
    parts: list[RenderableType] = [head, *(Text(f"  because {words}") for words in because(launch))]
    parts.append(facts([(f"  {name}", value) for name, value in _facts(launch)]))
    helps = advice(launch)
    if helps:
        parts += [Text(), advice_table(helps)]
    if launch.timeline.named and launch.tasks:
        parts += [Text(), launch_lines(launch, most)]
    for finding in launch.findings:
        parts += [Text(), finding if hasattr(finding, "__rich_console__") else Text(str(finding))]
    return Group(*parts)


def _facts(launch: Launch) -> Iterator[tuple[str, str]]:
    if launch.tasks:
        if launch.unsure:
            yield "wide band", "; ".join(map(str, launch.unsure))
        yield "achieved", reached(launch)
        about = figures(launch)
        busy = [f"{pipe} {percent(part)}" for pipe, part in about.busy.items() if part]
        yield "pipes busy", ", ".join(busy) or "none"
        waits = [f"{who} {percent(part)}" for who, part in about.waits.items() if part]
        yield "tasks wait for", ", ".join(waits) or "nothing"
        yield (
            "cores",
            f"{about.working} of {about.cores} work; the slowest takes {about.balance:.2f} times the mean",
        )
    moved = [f"{name} {size(nbytes)}" for name, nbytes in launch.traffic.items()]
    yield "traffic", ", ".join(moved) or "none"
    arch = launch.forecast.board.arch
    used = [
        f"{name} {size(u.high_water)} of {size(u.capacity)}{arch.stack_taken(name, u.high_water)}"
        for name, u in launch.memory.items()
        if u.high_water
    ]
    yield "memory", ", ".join(used) or "none"
    often = sorted(launch.instructions.items(), key=lambda item: -item[1])
    yield "instructions", ", ".join(f"{name} {count(n)}" for name, n in often[:5]) or "none"
    yield "engine", launch.engine
    if launch.estimate:
        yield "time and NRAM", launch.estimate


def launches_view(
    numbered: Sequence[tuple[int, Launch]], *, lines: bool = False, every: bool = False
) -> RenderableType:
    """Return a table of the launches if there are several, then individual views: of all with *every*, else of the slowest few."""
    parts: list[RenderableType] = []
    shown = list(numbered)
    if len(numbered) > 1:
        total = sum(launch.time_us for _, launch in numbered)
        overview = launches_table(numbered, {launch.board: total for _, launch in numbered})
        overview.title = f"{counted(len(numbered), 'launch', 'launches')}, {precise(total)} us"
        parts.append(overview)
    if len(numbered) > MOST and not every:
        dearest = sorted(numbered, key=lambda one: -one[1].time_us)[:MOST]
        shown = sorted(dearest, key=lambda one: one[0])
        parts.append(Text(f"The {MOST} dearest follow; --launch N shows another.", style="dim"))
    for number, launch in shown:
        if len(numbered) > 1:
            parts += [Text(), Text(f"launch {number}", style="dim")]
        parts.append(launch_view(launch, None if lines else DEAREST))
    if any(launch.timeline.named for _, launch in shown):
        parts.append(Text(LINES_NOTE, style="dim"))
    return Group(*parts)


def launches_table(
    numbered: Sequence[tuple[int, Launch]], totals: Mapping[str, float], *, links: Container[int] = ()
) -> Grid:
    """Return a row for each launch with its share of the time of its board, *totals*; on a page *links* lead to parts about launches."""
    boards = ("board",) if len(totals) > 1 else ()
    findings = ("findings",) if links and any(launch.findings for _, launch in numbered) else ()
    shown = table(
        "launch", "kernel", *boards, "dim", "kind", "time us", "share", "bound", *findings,
        right=("launch", "time us", "share", *findings), fold=("kernel",),
    )  # fmt: skip
    for number, launch in numbered:
        total = totals[launch.board]
        shown.add_row(
            Text(str(number), f"link #launch{number}" if number in links else ""),
            launch.kernel,
            *((launch.board,) if boards else ()),
            ",".join(map(str, launch.dim)),
            launch.kind,
            precise(launch.time_us),
            percent(launch.time_us / total) if total > 0 else "-",
            launch.bound,
            *((str(len(launch.findings) or ""),) if findings else ()),
        )
    return shown


def show(launches: Sequence[Launch]) -> None:
    """Print `launches_view` of *launches*."""
    console = Console(highlight=False, emoji=False, markup=False)
    if launches:
        console.print(launches_view(list(enumerate(launches, 1)), every=True))
    else:
        console.print("nothing was launched")
