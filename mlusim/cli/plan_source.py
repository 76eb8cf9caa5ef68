"""``mlusim plan FILE.mlu``: how kernels of BANG C divide their on-chip arrays, inferred from one launch, or one call of a host function."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Group, RenderableType
from rich.text import Text

from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.cli import options, plan_answer, programs, show
from mlusim.counted import counted, plural
from mlusim.errors import Fault, MlusimError, StatusError, UsageError, said, shown_file
from mlusim.files.reading import shown
from mlusim.machine.kernel import estimate_in
from mlusim.plan.claims import Verdict
from mlusim.plan.layout import Layout, StageLayout
from mlusim.plan.render import frontier_view, memory_map, region_keys
from mlusim.plan.svg import BoardColumn, frontier_svg, memories_svg
from mlusim.programs.carving import ArrayPart, Carving, DeclaredArray, MemoryTotal, layouts_of, totals_of
from mlusim.programs.kernel_call import KernelCall
from mlusim.programs.largest import BRANCHES, Binding, LargestValue, Shapes, carvings_of, largest_value
from mlusim.programs.other_calls import HostFunctionCall
from mlusim.programs.shape_answers import SampledFrontier, TestedClaim, frontier_of, tested_claim
from mlusim.report.json_values import members
from mlusim.report.page.frame import BAD, GOOD, Card
from mlusim.text_grid import table

if TYPE_CHECKING:
    from mlusim.programs.largest import SearchedCall

T = TypeVar("T")
OF_PLANS = ("set", "dtype")
DRAWN = ("svg", "html")
NOTE = (
    "Inferred from this launch: a variable that holds one place throughout each task has a part of its array, and what "
    "moves belongs to the variable that it is computed from."
)
SAMPLED = (
    "Found by sampling: values are doubled, then the interval is bisected, and each runs once with the other arguments "
    "as they are given; some below the largest run as well, and values in between were not run."
)
TRACED = (
    "Found by sampling: for each value of the first variable the second is doubled, or searched for near the result of its "
    "neighbours, then the interval is bisected; each value runs once, with the other arguments as they are given, and values in "
    "between were not run."
)
UNWATCHED = "whether parts of arrays overlap there was not found out in the time of the search"
TESTED = (
    "Tested by sampling: with each value of the other variable, the largest that the claim admits is compared with the largest "
    "that runs without a fault and without an overlap; values in between were not run."
)


def answers(args: argparse.Namespace, form: str) -> list[plan_answer.PlanAnswer]:
    """Return how the kernel divides its arrays, on each board; it is not good where one part overwrites what another holds.

    In a *form* with pictures the largest value has one too, which the search alone does not need.
    """
    only = "goes with an operator's plan; of a BANG C file the plan is what one launch shows"
    options.refuse(args, OF_PLANS, only)
    args.program, *args.arguments = args.operator
    boards = options.boards_in(args.board, DEFAULT_BOARDS[:1])
    if args.max:
        name = args.max.removeprefix("-D")
        found = _on_each(args, boards, lambda call: largest_value(call, name, carved=form in DRAWN))
        return _told(found, lambda one, last: _largest(one, last=last, form=form))
    if args.frontier:
        x, y = (name.removeprefix("-D") for name in plan_answer.frontier_names(args.frontier))
        fronts = _on_each(args, boards, lambda call: frontier_of(Shapes(call), x, y))
        return _told(fronts, lambda one, last: _frontier(one, last=last))
    if args.claim is not None:
        if not args.claim:
            raise UsageError("a BANG C file states no limit; state one: --claim 'rows*cols*4 <= NRAM'")
        tested = _on_each(args, boards, lambda call: tested_claim(Shapes(call), args.claim))
        return _told(tested, lambda one, last: _claim(one, last=last))
    carved = _on_each(args, boards, carvings_of)
    launched = max(len(one) for one in carved if isinstance(one, list))
    if not launched:
        raise UsageError(
            f"no kernel is launched by {args.function} with these arguments, so there is no plan"
        )
    kernels = [
        [
            one if isinstance(one, dict) else one[number]
            for one in carved
            if isinstance(one, dict) or number < len(one)
        ]
        for number in range(launched)
    ]
    return [answer for found in kernels for answer in _carved(found)]


def _told(
    found: Sequence[T | dict[str, Any]], tell: Callable[[T, bool], plan_answer.PlanAnswer]
) -> list[plan_answer.PlanAnswer]:
    """Return what *tell* says of each board, given whether it is the last one; the answer of a board that refuses is only its refusal."""
    return [
        plan_answer.PlanAnswer(_refused(one), one, good=False, column=_column(one), told=_refused(one).plain)
        if isinstance(one, dict)
        else tell(one, one is found[-1])
        for one in found
    ]


def _note(text: str, *, last: bool) -> list[RenderableType]:
    # Once, after the last board: it is the same for all of them.
    return ["", Text(text, style="dim")] if last else []


def _carved(found: Sequence[Carving | dict[str, Any]]) -> list[plan_answer.PlanAnswer]:
    """Return an answer for each board; the first shows them all."""
    view = Group(*_views(found))
    return [
        plan_answer.PlanAnswer(
            None if number else view,
            one if isinstance(one, dict) else _document(one),
            isinstance(one, Carving) and not one.findings,
            "" if isinstance(one, dict) else memories_svg(layouts_of(one), told=_estimates([one])),
            column=_column(one),
            told=f"{one['board']}: {one['refused']}" if isinstance(one, dict) else _carved_told(one),
            cards=[] if isinstance(one, dict) else _carved_cards(one),
        )
        for number, one in enumerate(found)
    ]


def _carved_told(one: Carving) -> str:
    """Return in one line whether the arrays of a kernel and its stack fit."""
    where = f"{one.kernel} on {one.board}"
    if one.findings:
        return f"{where}: {one.findings[0].message}"
    told = [f"{space} {_left(total)}" for space, total in totals_of(one).items()]
    return f"{where}: {'; '.join(told) or 'it declares no on-chip memory'}"


def _left(total: MemoryTotal) -> str:
    if not total.fits:
        return f"does not fit: {counted(total.used - total.limit, 'byte')} too many"
    if total.slack < 0:
        return f"fits, with {show.kib(-total.slack)} KiB of what the compiler keeps for its stack"
    return f"fits, with {show.kib(total.slack)} KiB to spare"


def _carved_cards(one: Carving) -> list[Card]:
    """Return the figures of a kernel's memories: what is declared, the limit, and the stack of what is reserved for it."""
    cards: list[Card] = []
    for space, total in totals_of(one).items():
        tone = BAD if not total.fits or one.findings else GOOD if total.slack >= 0 else ""
        limit = f"of {show.kib(total.limit - total.reserve)} KiB, the limit, on {one.board}"
        cards.append(Card(f"{show.kib(total.declared)} KiB", f"of {space} declared", limit, tone))
        # The memory core's stack is in SRAM, and no kernel says how much of it is used.
        if total.reserve and space == "NRAM":
            cards.append(
                Card(
                    f"{show.kib(total.reserve)} KiB",
                    "reserved for the stack",
                    f"{counted(total.stack, 'byte')} used",
                )
            )
        cards.append(Card(f"{show.kib(total.slack)} KiB", f"of {space} to spare"))
    arrays = len(one.arrays)
    return [*cards[:4], Card(f"{arrays:,}", plural(arrays, "array"), counted(len(one.parts), "part"))]


def _column(one: Carving | dict[str, Any]) -> BoardColumn:
    """Return the column of this board in a picture of several."""
    if isinstance(one, dict):
        return BoardColumn(one["board"], (), [one["refused"]])
    told = [*_memory(one), *(finding.message for finding in one.findings)]
    return BoardColumn(f"{one.kernel} on {one.board}", layouts_of(one), told)


def _on_each(
    args: argparse.Namespace, boards: Sequence[str], ask: Callable[["SearchedCall"], T]
) -> list[T | dict[str, Any]]:
    """Call *ask* for each board; if there are several, one may be refused or end in a fault, which is then its answer."""
    found: list[T | dict[str, Any]] = []
    failed: list[MlusimError] = []
    for board in boards:
        try:
            found.append(ask(_call(args, board)))
        except (UsageError, StatusError, Fault) as error:
            failed.append(error)
            found.append({"board": board, "refused": said(error)})
    # A refusal by one board is an answer; if all refuse, the command has failed.
    if len(failed) == len(boards):
        raise failed[0]
    return found


def _call(args: argparse.Namespace, board: str) -> "SearchedCall":
    around = argparse.Namespace(**{**vars(args), "board": board})
    if args.function is not None:
        function = programs.other_call(
            argparse.Namespace(**{**vars(around), "seed": args.draws, "effects": None})
        )
        assert isinstance(function, HostFunctionCall)
        return function
    call = programs.source_program(around, ())
    if not isinstance(call, KernelCall):
        raise UsageError(
            f"a plan is that of one kernel; name it, as in `mlusim plan {args.program} --kernel K`"
        )
    return call


def _estimate(found: Carving) -> str:
    """Return what the use of memory is of a kernel that was written in another language, else ""."""
    return estimate_in(found.arrays[0].file if found.arrays else "")


def _estimates(plans: Iterable[Carving]) -> list[str]:
    """Return a sentence for each that differs."""
    told = dict.fromkeys(map(_estimate, plans))
    return [f"The use of memory is {one}." for one in told if one]


def _document(found: Carving) -> dict[str, Any]:
    totals = totals_of(found)
    told = _estimate(found)
    return {
        "kernel": found.kernel,
        "board": found.board,
        "inferred": True,
        **({"estimate": told} if told else {}),
        "fits": not found.findings and all(total.fits for total in totals.values()),
        "memory": {
            name: {"capacity": usage.capacity, "high_water": usage.high_water}
            | (totals[name].to_json() if name in totals else {})
            for name, usage in found.memory.items()
        },
        "stages": [_stage(layout) for layout in layouts_of(found)],
        "arrays": [
            {
                **members(a, "name", "space", "bytes"),
                "touched": found.touched(a),
                **members(a, "file", "line"),
                "parts": [_part(found, part) for part in found.parts_of(a)],
            }
            for a in found.arrays
        ],
        "findings": [finding.to_json() for finding in found.findings],
    }


def _stage(layout: Layout) -> dict[str, Any]:
    """Return one memory, in the words of an operator's plan."""
    (stage,) = layout.stages
    return {
        "name": stage.name,
        "used": stage.used,
        "capacity": layout.capacity,
        "regions": [region.to_json() for region in stage.regions],
    }


def _part(found: Carving, part: ArrayPart) -> dict[str, Any]:
    return {
        "variable": part.text,
        "type": part.names[0].type if part.names else None,
        "offset": part.offset,
        "offsets": sorted(set(part.offsets.values())) or [0],
        "touched": None if part.low is None else [part.low, part.high],
        "declared": [members(n, "function", "file", "line") for n in part.names],
        "moving": list(part.moving),
        "shares": [other.text for other in found.parts if other is not part and part.meets(other)],
    }


def _views(carved: Sequence[Carving | dict[str, Any]]) -> Iterator[RenderableType]:
    """Yield one board with all that is known, several side by side."""
    plans = [one for one in carved if isinstance(one, Carving)]
    if len(carved) == 1:
        yield from _view(plans[0])
    else:
        yield Text(f"{plans[0].kernel} on {', '.join(p.board for p in plans)}", style="bold")
        for made in _side_by_side(plans):
            yield from ("", made)
        for plan in plans:
            yield ""
            yield from (_line(f"{plan.board}: {text}") for text in _memory(plan))
        for one in carved:
            if isinstance(one, dict):
                yield from ("", _refused(one))
        for plan in plans:
            for finding in plan.findings:
                yield from ("", Text(f"on {plan.board}:"), finding)
    yield from ("", Text(NOTE, style="dim"))
    yield from (Text(text, style="dim") for text in _estimates(plans))


def _line(text: str, style: str = "") -> Text:
    """Return a line that is not folded."""
    return Text(text, style=style, no_wrap=True, overflow="ignore")


def _largest(one: LargestValue, *, last: bool, form: str) -> plan_answer.PlanAnswer:
    """Return the largest value on one board, and what fails above it; the *last* says how it was found.

    In a *form* with pictures it has the division at the largest value.
    """
    begin, name, fails = f"{one.kernel} on {one.board}: ", one.variable, one.fails
    lines = [*_passed_lines(one), *_stack_lines(one, begin)]
    binds = None if one.binding is None or fails is None or fails.kind == "limit" else one.binding
    if binds is not None and fails is not None and binds.name != fails.sentence:
        lines.append(_line(f"  {_binds(binds, f'{name} = {fails.value:,}')}"))
    told_already = [] if one.passed is None else [one.passed.first.value, one.passed.last.value]
    if fails is not None and fails.value not in told_already:
        lines.append(_line(f"  {name} = {fails.value:,} {fails.told}"))
    if one.odd is not None:
        searched = f"{name} was searched in {one.steps}"
        lines.append(_line(f"  {searched}: {name} = {one.odd.value:,} {one.odd.told}"))
    if fails is not None and fails.space == "GDRAM":
        told = (
            f"An array given with --arg is too small for {name}, so the chip sets no limit here; give its sizes as formulas, "
            f"as in --arg x=randn:float32:{name.removeprefix('dim.')}"
        )
        lines.append(_line(f"  {told}"))
    if one.unwatched:
        lines.append(_line(f"  {UNWATCHED}"))
    for failure in one.below:
        style = "" if failure.kind == "check" else "bold red"
        lines.append(_line(f"  below it, {name} = {failure.value:,} {failure.told}", style))
    if one.uncarved:
        lines.append(_line(f"  the division there is not drawn: {one.uncarved}"))
    found = f"{SAMPLED} {_branching(one)}"
    words = [line.plain for line in lines]
    picture = _picture(one, words, found, form)
    column = BoardColumn(f"{one.kernel} on {one.board}", _divided(one), [_end(one), *words[1:]])
    lines.append(_line(f"  tried: {', '.join(f'{v:,}' for v in sorted(one.tried))}", "dim"))
    good = one.largest is not None and one.passed is None
    view = Group(*lines, *_note(found, last=last))
    cards = _value_cards(one)
    return plan_answer.PlanAnswer(
        view, one.to_json(), good, picture, column=column, told=words[0], cards=cards
    )


def _value_cards(one: LargestValue) -> list[Card]:
    """Return the figures of the largest value: with the stack kept, at all, and how many values ran."""
    name = one.variable
    safe, largest = ("none" if value is None else f"{value:,}" for value in (one.safe, one.largest))
    declared = "; ".join(
        f"{space} {show.kib(nbytes)} KiB" for space, nbytes in one.declared.items() if nbytes
    )
    return [
        Card(safe, f"the largest {name} with the stack kept", f"on {one.board}", GOOD if one.safe else BAD),
        Card(largest, f"the largest {name} that runs", declared),
        *([Card(f"{one.fails.value:,}", "the first that does not")] if one.fails is not None else []),
        Card(f"{len(set(one.tried)):,}", "values tried"),
    ]


def _picture(one: LargestValue, lines: Sequence[str], found: str, form: str) -> str:
    """Return the division at the largest value below the *lines* of the answer, and how it was *found*; empty in a *form* of text."""
    if form not in DRAWN:
        return ""
    layouts = _divided(one)
    if form == "svg":
        return memories_svg(layouts, lines[0], [*lines[1:], found])
    # A page has the words of the answer above the picture.
    return (
        memories_svg(layouts, f"{one.kernel} on {one.board}, {one.variable} = {one.largest:,}")
        if layouts
        else ""
    )


def _divided(one: LargestValue) -> list[Layout]:
    return [layout for carving in one.carved for layout in layouts_of(carving)]


def _end(one: LargestValue) -> str:
    """Return the words for where the values end that run."""
    name = one.variable
    if one.largest is None:
        return f"no {name} that was tried runs"
    if one.fails is None:
        return f"every {name} that was tried runs, up to {one.largest:,}, the largest of its type"
    if one.fails.kind == "limit":
        return f"every {name} that was tried runs, up to {one.largest:,}, and the search ends there"
    return f"the largest {name} that runs is {one.largest:,}"


def _stack_lines(one: LargestValue, begin: str) -> list[Text]:
    """Return where the values end: first the largest that leaves the compiler its stack, where a larger one runs here."""
    if one.largest is None or one.safe == one.largest:
        return [_line(begin + _end(one), "bold")]
    arch, name = find_board(one.board).arch, one.variable
    safe = (
        "no {} that was tried leaves the compiler its stack"
        if one.safe is None
        else "the largest {} that leaves the compiler its stack is {:,}"
    )
    limits = arch.limits(compiled=True)
    taken = [
        f"{space} {show.kib(nbytes)} of {show.kib(limits[space])} KiB{told}"
        for space, nbytes in one.declared.items()
        if (told := arch.stack_taken(space, nbytes))
    ]
    return [
        _line(begin + safe.format(name, one.safe), "bold"),
        _line(f"  {_end(one)}, with {'; '.join(taken)}"),
    ]


def _passed_lines(one: LargestValue) -> list[Text]:
    """Return what the checks of a host function let pass though it fails."""
    passed, name = one.passed, one.variable
    if passed is None:
        return []
    first, last = passed.first, passed.last
    begin = f"{one.kernel} on {one.board}: it accepts {name} = {last.value:,}, which fails"
    lines = [_line(begin, "bold red"), _line(f"  {name} = {last.value:,} {last.told}")]
    if first.value != last.value:
        lines.append(_line(f"  the smallest that was seen to: {name} = {first.value:,} {first.told}"))
    if passed.refused is not None:
        lines.append(_line(f"  {name} = {passed.refused.value:,} {passed.refused.told}"))
    return lines


def _binds(binding: Binding, following: str) -> str:
    """Return the words for what binds, with its place and its bytes at the largest value and at the *following*."""
    where = "" if binding.file is None else f" ({shown_file(binding.file)}:{binding.line})"
    told = f"{binding.name} binds{where}"
    if binding.used is None or binding.capacity is None:
        return told
    beyond = "" if binding.next is None else f", and up to byte {binding.next:,} with {following}"
    return f"{told}: up to byte {binding.used:,} of {binding.capacity:,}{beyond}"


def _branching(one: LargestValue) -> str:
    """Return the sentence that says whether the kernel branches, as values in between may take other branches."""
    if one.function:
        return f"{one.kernel} and its kernels may branch by shape, so that values that were not run may behave in another way."
    if not one.branches:
        return f"{one.kernel} has no if, switch or conditional."
    places = ", ".join(one.branches[:BRANCHES]) + (", ..." if len(one.branches) > BRANCHES else "")
    return f"{one.kernel} branches ({places}), so that values that were not run may behave in another way."


def _frontier(one: SampledFrontier, *, last: bool) -> plan_answer.PlanAnswer:
    """Return the frontier on one board; the *last* says how it was found."""
    found = one.frontier
    title = Text(one.title, style="bold")
    good = bool(len(found) and (found.ys >= 0).any()) or any(point.runs for point in one.open)
    why = [] if one.refusal is None else [_line(f"  {found.y} = {one.refusal.value:,} {one.refusal.told}")]
    why += [_line(f"  {told}") for told in one.unknown]
    if one.cut:
        why.append(_line(f"  {one.cut}", "bold red"))
    # If time ran out nothing is known; that is no limit of the kernel.
    late = bool(one.cut or one.open) or (one.refusal is not None and one.refusal.kind == "limit")
    shown = [frontier_view(found, every=True)] if len(found) or not late else []
    view = Group(title, *shown, *why, *_note(TRACED, last=last))
    drawn = frontier_svg(found, one.title) if len(found) else ""
    told, cards = plan_answer.frontier_told(found, one.title), plan_answer.frontier_cards(found)
    return plan_answer.PlanAnswer(view, one.to_json(), good, drawn, found.to_csv(), told=told, cards=cards)


def _claim(one: TestedClaim, *, last: bool) -> plan_answer.PlanAnswer:
    """Return the verdict on one board, and the first shapes where claim and runs differ; the *last* says how it was tested."""
    style = "green" if one.verdict is Verdict.SAME else "yellow" if one.holds else "red"
    verdict = one.verdict.value.replace("the plan", "what runs")
    lines = [Text.assemble((one.claim, "bold"), f", {one.kernel} on {one.board}: ", (verdict, style))]
    generous = [s for s in one.samples if s.generous]
    unknown = [s for s in one.samples if s.open]
    strict = [s for s in one.samples if s.admits < s.runs]
    for some in (generous, unknown, strict):
        lines += [_line(f"  {sample.told}") for sample in some[:3] if sample.told]
        if len(some) > 3:
            lines.append(_line(f"  and {len(some) - 3} more such; --json has all", "dim"))
    if one.unwatched:
        lines.append(_line(f"  {UNWATCHED}", "bold red"))
    if one.cut:
        lines.append(_line(f"  {one.cut}", "bold red"))
    view = Group(*lines, *_note(TESTED, last=last))
    return plan_answer.PlanAnswer(view, one.to_json(), one.holds, told=lines[0].plain)


def _refused(one: Mapping[str, Any]) -> Text:
    return _line(f"{one['board']}: {one['refused']}", "bold red")


def _side_by_side(plans: Sequence[Carving]) -> Iterator[Any]:
    """Yield a table of each array: its parts, and where each board has them."""
    keys = dict.fromkeys((a.name, a.space, a.file, a.line) for plan in plans for a in plan.arrays)
    for key in keys:
        name, space, file, line = key
        boards = tuple(plan.board for plan in plans)
        made = table(
            "variable", *boards, right=boards, title=f"{name}, {space}, {shown(shown_file(file))}:{line}"
        )
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


def _view(found: Carving) -> Iterator[RenderableType]:
    yield Text(f"{found.kernel} on {found.board}", style="bold")
    for layout in layouts_of(found):
        keys = region_keys(layout)
        for array in found.arrays:
            if array.space == layout.stages[0].name:
                yield from ("", _table(found, array, layout.stages[0], keys))
        yield from ("", memory_map(layout))
    yield ""
    yield from (_line(text) for text in _memory(found))
    if not found.arrays:
        yield "it declares no on-chip memory"
    for finding in found.findings:
        yield from ("", finding)


def _memory(found: Carving) -> Iterator[str]:
    """Yield how much of each memory the arrays and the stack take, of what there is."""
    arch = find_board(found.board).arch
    for space, total in totals_of(found).items():
        share = f"{show.kib(total.declared)} of {show.kib(total.limit)} KiB"
        taken = arch.stack_taken(space, total.declared)
        told = [f"{space} {share}{taken}"]
        if total.reserve and space == "NRAM":
            left = min(total.reserve, total.limit - total.declared)
            told.append(f"stack {show.kib(total.stack)} of the {show.kib(left)} KiB that are left to it")
        if total.slack >= 0:
            # Not counting the stack's reserve: a declaration could take it, and the compiler would then lack it.
            told.append(f"{show.kib(total.slack)} KiB more may be declared")
        yield "; ".join(told)


def _table(found: Carving, array: DeclaredArray, stage: StageLayout, keys: Mapping[str, str]) -> Any:
    used = f"{found.touched(array):,} of {array.bytes:,} {plural(array.bytes, 'byte')} touched"
    made = table(
        "", "offset", "touched", "bytes", "variable", "declared", "shares bytes with",
        right=("offset", "touched", "bytes"), fold=("declared", "shares bytes with"),
        title=f"{array.name}, {array.space}, {shown(shown_file(array.file))}:{array.line}: {used}",
    )  # fmt: skip
    for part in found.parts_of(array):
        made.add_row(keys.get(part.text, ""), *_row(found, part))
    rest = next(
        (one for one in stage.regions if one.rest and array.start < one.end <= array.start + array.bytes),
        None,
    )
    if rest is not None:
        made.add_row(
            keys[rest.name], f"{rest.offset - array.start:,}", "-", f"{rest.bytes:,}", "untouched", "", ""
        )
    return made


def _row(found: Carving, part: ArrayPart) -> Iterator[str]:
    yield f"{part.offset:,}" + (" ..." if len(set(part.offsets.values())) > 1 else "")
    low, high = part.low, part.high
    yield "-" if low is None or high is None else f"[{low:,}, {high:,})"
    yield "-" if low is None or high is None else f"{high - low:,}"
    yield f"{part.names[0].type} {part.text}".strip() if part.names else part.text
    yield ", ".join(dict.fromkeys(f"{n.function}:{n.line}" for n in part.names)) or "the array itself"
    yield ", ".join(dict.fromkeys(o.text for o in found.parts if o is not part and part.meets(o)))
