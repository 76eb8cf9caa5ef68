"""Plans for a terminal: box drawings, tables, memory maps. All functions return text instead of printing it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from string import ascii_lowercase

from attrs import frozen
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from mlusim.counted import plural
from mlusim.plan.check import PlanFinding
from mlusim.plan.claims import Comparison, Disagreement
from mlusim.plan.layout import BarSegment, Layout, PlacedRegion, StageLayout, lanes, ruler, segments
from mlusim.plan.plan import Plan
from mlusim.plan.solver import Frontier, Largest
from mlusim.text_grid import Column, Grid

MAP_COLUMNS = 76
_KEYS = ascii_lowercase + ascii_lowercase.upper()
_COLORS = ("blue", "green", "magenta", "cyan", "yellow", "red")
_EXAMPLES, _CORNERS = (
    40,
    24,
)  # limits of the counter-examples of a claim, and of the corners of a frontier, that are listed
_SEVERITIES: tuple[tuple[str, str], ...] = (("error", "red"), ("warning", "yellow"), ("note", "cyan"))


def key_of(number: int) -> str:
    """Return the letter that stands in a map for a region whose name does not fit."""
    return _KEYS[number % len(_KEYS)]


def _grid(*headings: tuple[str, str], fold: Sequence[str] = ()) -> Grid:
    columns = [Column(heading, justify == "right", heading in fold) for heading, justify in headings]
    return Grid(columns, None, gap=2, ruled=False)


@frozen
class _Fitted:
    """Lines that are rendered for the width of the terminal and never cropped."""

    drawn: Callable[[int], Sequence[Text]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the lines, one after the other."""
        del console
        for line in self.drawn(options.max_width):
            line.no_wrap, line.overflow = True, "ignore"
            yield line


# -- the plan itself --------------------------------------------------------------------------------


def box_drawing(plan: Plan, width: int = 80) -> str:
    """Return the plan in the style of design documents: a row of names and a row of sizes per stage."""
    lines = []
    for stage in plan.places:
        lines.append(f"stage {stage.name}")
        cells = [(p.region.name, str(p.region.size)) for p in stage.places]
        row: list[tuple[str, str]] = []
        for cell in cells:
            if row and sum(max(map(len, c)) + 3 for c in [*row, cell]) + 1 > width:
                lines += _boxes(row)
                row = []
            row.append(cell)
        lines += _boxes(row)
    return "\n".join(lines)


def _boxes(row: Sequence[tuple[str, str]]) -> list[str]:
    widths = [max(map(len, cell)) for cell in row]
    return [
        "| " + " | ".join(cell[i].center(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for i in (0, 1)
    ]


def plan_view(plan: Plan, findings: Sequence[PlanFinding]) -> RenderableType:
    """Return the view of a plan without numbers: drawing, totals, variables, requirements, findings."""
    parts: list[RenderableType] = [Text(plan.name, style="bold"), Text(plan.notes), Text()]
    parts += [_Fitted(lambda width: [Text(box_drawing(plan, width))]), Text()]
    totals = _grid(("stage", "left"), ("needs", "left"), fold=("needs",))
    for stage in plan.places:
        totals.add_row(stage.name, plan.constraint_text(stage.name))
    variables = _grid(("variable", "left"), ("meaning", "left"), ("legal", "left"), fold=("meaning", "legal"))
    for name, var in plan.variables.items():
        step = "" if str(var.multiple_of) == "1" else f", multiples of {var.multiple_of}"
        tile = "tile: " if var.tile else ""
        variables.add_row(name, tile + var.meaning, f"{var.low} to {var.high}{step}")
    parts += [totals, Text(), variables]
    for limit in plan.requires:
        parts.append(Text(f"requires {limit.name + ': ' if limit.name else ''}{limit}"))
    parts.append(Text())
    return Group(*parts, findings_view(findings))


def findings_view(findings: Sequence[PlanFinding]) -> RenderableType:
    """Return the findings of a plan, one sentence each."""
    if not findings:
        return Text("checked for all legal values: no finding", style="green")
    colors = dict(_SEVERITIES)
    lines = [
        Text.assemble((f"{f.severity}: {f.rule}", colors[f.severity]), f" (stage {f.stage}) ", f.message)
        for f in findings
    ]
    return Group(*lines)


# -- with numbers -----------------------------------------------------------------------------------


def layout_view(layout: Layout, plan: Plan) -> RenderableType:
    """Return the table and the proportional memory map of every stage, then the verdict."""
    values = ", ".join(f"{k}={v}" for k, v in layout.values.items())
    dtype = f", {layout.dtype}" if layout.dtype else ""
    title = Text.assemble((layout.plan, "bold"), f" on {layout.board}{dtype}: {values}")
    parts: list[RenderableType] = [title]
    keys = {name: key_of(i) for i, name in enumerate(plan.regions)}
    for stage in layout.stages:
        parts += [
            Text(),
            _stage_title(stage, layout),
            _stage_table(stage, plan, keys),
            _Fitted(partial(_maps, stage, layout, keys)),
        ]
    return Group(*parts, Text(), _verdict(layout))


def _stage_title(stage: StageLayout, layout: Layout) -> Text:
    share = 100 * stage.used / layout.capacity
    over = stage.used - layout.capacity
    style = "red" if over > 0 else ""
    told = f"{over} too many" if over > 0 else f"{share:.1f} %"
    return Text.assemble(
        "stage ", (stage.name, "bold"), (f": {stage.used} of {layout.capacity} bytes, {told}", style)
    )


def _stage_table(stage: StageLayout, plan: Plan, keys: Mapping[str, str]) -> Grid:
    right = "right"
    table = _grid(
        ("", "left"), ("region", "left"), ("size", "left"), ("dtype", "left"),
        ("elements", right), ("offset", right), ("bytes", right), fold=("region", "size"),
    )  # fmt: skip
    for region in stage.regions:
        name = region.name + (" (kept)" if region.kept else "")
        name += f" = {'+'.join(region.reuses)}" if region.reuses else ""
        size = str(plan.regions[region.name].region.size)
        table.add_row(
            keys[region.name], name, size, region.dtype,
            str(region.elements), str(region.offset), str(region.bytes),
            style="dim" if region.kept else "",
        )  # fmt: skip
    return table


def memory_map(layout: Layout) -> RenderableType:
    """Return the proportional map of each stage of *layout*; `region_keys` has the letters of regions."""
    keys = region_keys(layout)
    return Group(*(_Fitted(partial(_maps, stage, layout, keys)) for stage in layout.stages))


def map_text(layout: Layout, columns: int) -> list[str]:
    """Return the lines of `memory_map` without colours, in *columns* columns."""
    keys = region_keys(layout)
    return [row.plain for stage in layout.stages for row in _maps(stage, layout, keys, columns)]


def region_keys(layout: Layout) -> dict[str, str]:
    """Return the letters that stand in the map of *layout* for regions whose names do not fit."""
    names = dict.fromkeys(region.name for stage in layout.stages for region in stage.regions)
    return {name: key_of(number) for number, name in enumerate(names)}


def _maps(stage: StageLayout, layout: Layout, keys: Mapping[str, str], room: int) -> list[Text]:
    width = min(room, MAP_COLUMNS)
    at = ruler(layout, width - 1, 2)
    return [*(_map_row(segments(lane, at), keys) for lane in lanes(stage)), _gauge(stage, layout, width)]


def _map_row(row: Sequence[BarSegment], keys: Mapping[str, str]) -> Text:
    text = Text(no_wrap=True)
    for segment in row:
        if segment.left > len(text) > 0:  # the part before a gap ends there
            text.append("|", style="bold")
        text.append(" " * (segment.left - len(text)))
        text.append("|", style="bold")
        text.append(_label(segment, keys), style=_style(segment.region, keys))
    return text.append("|", style="bold")


def _label(segment: BarSegment, keys: Mapping[str, str]) -> str:
    room = segment.width - 1
    name = segment.region.name
    # A name of one letter could be mistaken for the key of another region.
    label = name if len(name) <= room and name not in keys.values() else keys[name]
    if segment.region.rest and room >= len(label) + 2:
        return f" {label} ".center(room, ".")
    return label.center(room)[:room]


def _style(region: PlacedRegion, keys: Mapping[str, str]) -> str:
    if region.rest:
        return "dim"
    color = _COLORS[list(keys).index(region.name) % len(_COLORS)]
    return f"dim {color} reverse" if region.kept else f"{color} reverse"


def _gauge(stage: StageLayout, layout: Layout, width: int) -> Text:
    """Return the bar below a map: the used part of the capacity, and the excess."""
    columns = width - 2
    whole = max(layout.capacity, stage.used, 1)
    used = min(columns, -(-stage.used * columns // whole))
    inside = min(used, layout.capacity * columns // whole)
    text = Text("[", no_wrap=True)
    text.append("=" * inside, style="green").append("!" * (used - inside), style="red")
    return text.append("." * (columns - used), style="dim").append("]")


def _verdict(layout: Layout) -> Text:
    text = Text()
    if layout.slack >= 0:
        text.append(f"fits: {layout.slack} {plural(layout.slack, 'byte')} to spare", style="green")
    else:
        text.append(
            f"does not fit: {layout.overflow} {plural(layout.overflow, 'byte')} too many on {layout.board}",
            style="red",
        )
    for name in layout.unmet:
        text.append(f"\nbreaks the operator's limit: {name}", style="red")
    for overlap in layout.overlaps():
        text.append(f"\n{overlap}", style="red")
    return text


# -- answers ----------------------------------------------------------------------------------------


def largest_view(answers: Sequence[Largest]) -> RenderableType:
    """Return the largest value per board, the bytes used there and one step further, and the binding constraint."""
    parts: list[RenderableType] = []
    for plan in dict.fromkeys(a.plan for a in answers):
        rows = [a for a in answers if a.plan == plan]
        parts += [Text(plan, style="bold"), _largest_table(rows)]
        for a in rows:
            fixed = (f"{k}={v}" for k, v in a.fixed.items())
            where = ", ".join([a.board, *([a.dtype] if a.dtype else []), *fixed])
            parts.append(Text.assemble((f"{where}: ", "bold"), f"{a.variable}={a.next} breaks {a.binding}"))
    return Group(*parts)


def _largest_table(answers: Sequence[Largest]) -> Grid:
    right = "right"
    table = _grid(
        ("board", "left"), ("variable", "left"), ("largest", right), ("bytes", right),
        ("next", right), ("bytes", right), ("of", right),
    )  # fmt: skip
    for a in answers:
        name = a.variable if a.dtype is None else f"{a.variable} ({a.dtype})"
        best = "none fits" if a.largest is None else str(a.largest)
        used = "" if a.used_at_largest is None else str(a.used_at_largest)
        table.add_row(a.board, name, best, used, str(a.next), str(a.used_at_next), str(a.capacity))
    return table


def comparison_view(comparison: Comparison) -> RenderableType:
    """Return the verdict on a claim, its relations to the plan, and its counter-examples."""
    style = {"the same as the plan": "green", "stricter than the plan": "yellow"}.get(
        comparison.verdict.value, "red"
    )
    head = Text.assemble(
        (comparison.claim, "bold"), f" on {comparison.board}: ", (comparison.verdict.value, style)
    )
    parts: list[RenderableType] = [head]
    parts += [Text(f"  {comparison.source}")] if comparison.source else []
    parts += [Text(f"  {r}") for r in comparison.relations]
    generous = f"admitted beyond the {comparison.capacity} bytes that there are"
    parts += _examples(comparison.generous, generous, comparison.capacity)
    parts += _examples(comparison.strict, "refused although there is room", comparison.capacity)
    return Group(*parts)


def _examples(runs: Sequence[Disagreement], what: str, capacity: int) -> list[RenderableType]:
    if not runs:
        return []
    shapes = sum(r.count for r in runs)
    lines: list[RenderableType] = [Text(f"  {shapes} {'shape' if shapes == 1 else 'shapes'} {what}:")]
    for run in runs[:_EXAMPLES]:
        over = run.used - capacity
        told = f"{over} too many" if over > 0 else f"{-over} to spare"
        lines.append(Text(f"    {run}: {run.used} {plural(run.used, 'byte')}, {told}"))
    more = len(runs) - _EXAMPLES
    if more > 0:
        lines.append(Text(f"    and {more} {plural(more, 'row')} more; --json lists all"))
    return lines


def frontier_view(frontier: Frontier, *, every: bool = False) -> RenderableType:
    """Return the points of a frontier: *every* point, or both ends and every power of two between."""
    if not len(frontier):
        return Text(f"no {frontier.x} leaves room for any {frontier.y}")
    table = _grid(
        (frontier.x, "right"), (f"largest {frontier.y}", "right"), ("binds", "left"), fold=("binds",)
    )
    last = len(frontier) - 1
    picked = (
        set(range(last + 1))
        if every
        else {0, last, *(2**k for k in range(40) if 2**k <= last), *frontier.corners()[:_CORNERS]}
    )
    for i in sorted(p for p in picked if p >= 0):
        y = int(frontier.ys[i])
        table.add_row(str(int(frontier.xs[i])), "none" if y < 0 else str(y), frontier.binding_at(i))
    return Group(
        table,
        Text(
            f"{len(frontier)} {plural(len(frontier), 'point')}; -o FILE.csv writes all, -o FILE.svg draws them"
        ),
    )
