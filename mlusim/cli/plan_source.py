"""``mlusim plan FILE.mlu``: how BANG C kernels divide their on-chip arrays, inferred from one launch, or from one call of a host function."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Group, RenderableType
from rich.text import Text

from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.cli import options, plan_answer, programs, show
from mlusim.counted import counted, plural
from mlusim.document import BAD, GOOD, Card, members
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
    """Return how the kernel divides its arrays, on each board; the answer is not good if one part overwrites another.

    If *form* has pictures, the largest value gets one too, which needs an additional run.
    """
    only = "goes with an operator's plan; of a BANG C file the plan is what one launch shows"
    options.refuse(args, OF_PLANS, only)
    args.program, *args.arguments = args.operator
    boards = options.boards_in(args.board, DEFAULT_BOARDS[:1])
    if args.max:
        name = args.max.removeprefix("-D")
        values = _on_each(args, boards, lambda call: largest_value(call, name, carved=form in DRAWN))
        return _told(values, lambda value, last: _largest(value, last=last, form=form))
    if args.frontier:
        x, y = (name.removeprefix("-D") for name in plan_answer.frontier_names(args.frontier))
        fronts = _on_each(args, boards, lambda call: frontier_of(Shapes(call), x, y))
        return _told(fronts, lambda front, last: _frontier(front, last=last))
    if args.claim is not None:
        if not args.claim:
            raise UsageError("a BANG C file states no limit; state one: --claim 'rows*cols*4 <= NRAM'")
        tested = _on_each(args, boards, lambda call: tested_claim(Shapes(call), args.claim))
        return _told(tested, lambda claim, last: _claim(claim, last=last))
    carved = _on_each(args, boards, carvings_of)
    # The document of a board that refuses is an object, those of the others are lists of kernels.
    launched = max(len(carvings) for carvings in carved if isinstance(carvings, list))
    if not launched:
        raise UsageError(
            f"no kernel is launched by {args.function} with these arguments, so there is no plan"
        )
    kernels = [
        [
            carvings if isinstance(carvings, dict) else carvings[number]
            for carvings in carved
            if isinstance(carvings, dict) or number < len(carvings)
        ]
        for number in range(launched)
    ]
    return [answer for kernel in kernels for answer in _carved(kernel)]


def _told(
    per_board: Sequence[T | dict[str, Any]], tell: Callable[[T, bool], plan_answer.PlanAnswer]
) -> list[plan_answer.PlanAnswer]:
    """Return the answer of *tell* for each board, with whether it is the last one; for a board that refuses only its refusal."""
    return [
        plan_answer.PlanAnswer(
            _refused(answer), answer, good=False, column=_column(answer), told=_refused(answer).plain
        )
        if isinstance(answer, dict)
        else tell(answer, answer is per_board[-1])
        for answer in per_board
    ]


def _note(text: str, *, last: bool) -> list[RenderableType]:
    # Once, after the last board, since it is the same for all.
    return ["", Text(text, style="dim")] if last else []


def _carved(carvings: Sequence[Carving | dict[str, Any]]) -> list[plan_answer.PlanAnswer]:
    """Return an answer for each board; the first one's view shows all."""
    view = Group(*_views(carvings))
    return [
        plan_answer.PlanAnswer(
            None if number else view,
            carving if isinstance(carving, dict) else _document(carving),
            isinstance(carving, Carving) and not carving.findings,
            ""
            if isinstance(carving, dict)
            else memories_svg(layouts_of(carving), told=_estimates([carving])),
            column=_column(carving),
            told=f"{carving['board']}: {carving['refused']}"
            if isinstance(carving, dict)
            else _carved_told(carving),
            cards=[] if isinstance(carving, dict) else _carved_cards(carving),
        )
        for number, carving in enumerate(carvings)
    ]


def _carved_told(carving: Carving) -> str:
    """Return one line about whether the arrays of a kernel and its stack fit."""
    where = f"{carving.kernel} on {carving.board}"
    if carving.findings:
        return f"{where}: {carving.findings[0].message}"
    told = [f"{space} {_left(total)}" for space, total in totals_of(carving).items()]
    return f"{where}: {'; '.join(told) or 'it declares no on-chip memory'}"


def _left(total: MemoryTotal) -> str:
    if not total.fits:
        return f"does not fit: {counted(total.used - total.limit, 'byte')} too many"
    if total.slack < 0:
        return f"fits, with {show.kib(-total.slack)} KiB of what the compiler keeps for its stack"
    return f"fits, with {show.kib(total.slack)} KiB to spare"


def _carved_cards(carving: Carving) -> list[Card]:
    """Return the figures of a kernel's memories: the declared bytes, the limit, and the used part of the stack's reserve."""
    cards: list[Card] = []
    for space, total in totals_of(carving).items():
        tone = BAD if not total.fits or carving.findings else GOOD if total.slack >= 0 else ""
        limit = f"of {show.kib(total.limit - total.reserve)} KiB, the limit, on {carving.board}"
        cards.append(Card(f"{show.kib(total.declared)} KiB", f"of {space} declared", limit, tone))
        # The memory core's stack is in SRAM, and its use is unknown.
        if total.reserve and space == "NRAM":
            cards.append(
                Card(
                    f"{show.kib(total.reserve)} KiB",
                    "reserved for the stack",
                    f"{counted(total.stack, 'byte')} used",
                )
            )
        cards.append(Card(f"{show.kib(total.slack)} KiB", f"of {space} to spare"))
    arrays = len(carving.arrays)
    return [*cards[:4], Card(f"{arrays:,}", plural(arrays, "array"), counted(len(carving.parts), "part"))]


def _column(carving: Carving | dict[str, Any]) -> BoardColumn:
    """Return the column of this board in a picture of several boards."""
    if isinstance(carving, dict):
        return BoardColumn(carving["board"], (), [carving["refused"]])
    told = [*_memory(carving), *(finding.message for finding in carving.findings)]
    return BoardColumn(f"{carving.kernel} on {carving.board}", layouts_of(carving), told)


def _on_each(
    args: argparse.Namespace, boards: Sequence[str], ask: Callable[["SearchedCall"], T]
) -> list[T | dict[str, Any]]:
    """Call *ask* for each board; with several boards, an error on one of them becomes its answer."""
    per_board: list[T | dict[str, Any]] = []
    failed: list[MlusimError] = []
    for board in boards:
        try:
            per_board.append(ask(_call(args, board)))
        except (UsageError, StatusError, Fault) as error:
            failed.append(error)
            per_board.append({"board": board, "refused": said(error)})
    # An error on some boards is their answer; if all fail, the command fails.
    if len(failed) == len(boards):
        raise failed[0]
    return per_board


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


def _estimate(carving: Carving) -> str:
    """Return the phrase that the use of memory is an estimate, for a kernel written in another language; otherwise ""."""
    return estimate_in(carving.arrays[0].file if carving.arrays else "")


def _estimates(plans: Iterable[Carving]) -> list[str]:
    """Return a sentence for each different estimate."""
    told = dict.fromkeys(map(_estimate, plans))
    return [f"The use of memory is {estimate}." for estimate in told if estimate]


def _document(carving: Carving) -> dict[str, Any]:
    totals = totals_of(carving)
    told = _estimate(carving)
    return {
        "kernel": carving.kernel,
        "board": carving.board,
        "inferred": True,
        **({"estimate": told} if told else {}),
        "fits": not carving.findings and all(total.fits for total in totals.values()),
        "memory": {
            name: {"capacity": usage.capacity, "high_water": usage.high_water}
            | (totals[name].to_json() if name in totals else {})
            for name, usage in carving.memory.items()
        },
        "stages": [_stage(layout) for layout in layouts_of(carving)],
        "arrays": [
            {
                **members(a, "name", "space", "bytes"),
                "touched": carving.touched(a),
                **members(a, "file", "line"),
                "parts": [_part(carving, part) for part in carving.parts_of(a)],
            }
            for a in carving.arrays
        ],
        "findings": [finding.to_json() for finding in carving.findings],
    }


def _stage(layout: Layout) -> dict[str, Any]:
    """Return the facts of one memory, with the keys of an operator's plan."""
    (stage,) = layout.stages
    return {
        "name": stage.name,
        "used": stage.used,
        "capacity": layout.capacity,
        "regions": [region.to_json() for region in stage.regions],
    }


def _part(carving: Carving, part: ArrayPart) -> dict[str, Any]:
    return {
        "variable": part.text,
        "type": part.names[0].type if part.names else None,
        "offset": part.offset,
        "offsets": sorted(set(part.offsets.values())) or [0],
        "touched": None if part.low is None else [part.low, part.high],
        "declared": [members(n, "function", "file", "line") for n in part.names],
        "moving": list(part.moving),
        "shares": [other.text for other in carving.parts if other is not part and part.meets(other)],
    }


def _views(carved: Sequence[Carving | dict[str, Any]]) -> Iterator[RenderableType]:
    """Yield the full view of a single board, or several boards side by side."""
    plans = [plan for plan in carved if isinstance(plan, Carving)]
    if len(carved) == 1:
        yield from _view(plans[0])
    else:
        yield Text(f"{plans[0].kernel} on {', '.join(p.board for p in plans)}", style="bold")
        for grid in _side_by_side(plans):
            yield from ("", grid)
        for plan in plans:
            yield ""
            yield from (_line(f"{plan.board}: {text}") for text in _memory(plan))
        for refusal in carved:
            if isinstance(refusal, dict):
                yield from ("", _refused(refusal))
        for plan in plans:
            for finding in plan.findings:
                yield from ("", Text(f"on {plan.board}:"), finding)
    yield from ("", Text(NOTE, style="dim"))
    yield from (Text(text, style="dim") for text in _estimates(plans))


def _line(text: str, style: str = "") -> Text:
    """Return a line that is not wrapped."""
    return Text(text, style=style, no_wrap=True, overflow="ignore")


def _largest(limit: LargestValue, *, last: bool, form: str) -> plan_answer.PlanAnswer:
    """Return the largest value on one board, and the failure above it; the *last* answer explains the search.

    If *form* has pictures, the answer has the division at the largest value.
    """
    begin, name, fails = f"{limit.kernel} on {limit.board}: ", limit.variable, limit.fails
    lines = [*_passed_lines(limit), *_stack_lines(limit, begin)]
    binds = None if limit.binding is None or fails is None or fails.kind == "limit" else limit.binding
    if binds is not None and fails is not None and binds.name != fails.sentence:
        lines.append(_line(f"  {_binds(binds, f'{name} = {fails.value:,}')}"))
    told_already = [] if limit.passed is None else [limit.passed.first.value, limit.passed.last.value]
    if fails is not None and fails.value not in told_already:
        lines.append(_line(f"  {name} = {fails.value:,} {fails.told}"))
    if limit.odd is not None:
        searched = f"{name} was searched in {limit.steps}"
        lines.append(_line(f"  {searched}: {name} = {limit.odd.value:,} {limit.odd.told}"))
    if fails is not None and fails.space == "GDRAM":
        told = (
            f"An array given with --arg is too small for {name}, so the chip sets no limit here; give its sizes as formulas, "
            f"as in --arg x=randn:float32:{name.removeprefix('dim.')}"
        )
        lines.append(_line(f"  {told}"))
    if limit.unwatched:
        lines.append(_line(f"  {UNWATCHED}"))
    for failure in limit.below:
        style = "" if failure.kind == "check" else "bold red"
        lines.append(_line(f"  below it, {name} = {failure.value:,} {failure.told}", style))
    if limit.uncarved:
        lines.append(_line(f"  the division there is not drawn: {limit.uncarved}"))
    sampling = f"{SAMPLED} {_branching(limit)}"
    words = [line.plain for line in lines]
    picture = _picture(limit, words, sampling, form)
    column = BoardColumn(f"{limit.kernel} on {limit.board}", _divided(limit), [_end(limit), *words[1:]])
    lines.append(_line(f"  tried: {', '.join(f'{v:,}' for v in sorted(limit.tried))}", "dim"))
    good = limit.largest is not None and limit.passed is None
    view = Group(*lines, *_note(sampling, last=last))
    cards = _value_cards(limit)
    return plan_answer.PlanAnswer(
        view, limit.to_json(), good, picture, column=column, told=words[0], cards=cards
    )


def _value_cards(limit: LargestValue) -> list[Card]:
    """Return the figures of the largest value: with the stack's reserve free, without that condition, and the number of values that ran."""
    name = limit.variable
    safe, largest = ("none" if value is None else f"{value:,}" for value in (limit.safe, limit.largest))
    declared = "; ".join(
        f"{space} {show.kib(nbytes)} KiB" for space, nbytes in limit.declared.items() if nbytes
    )
    return [
        Card(
            safe, f"the largest {name} with the stack kept", f"on {limit.board}", GOOD if limit.safe else BAD
        ),
        Card(largest, f"the largest {name} that runs", declared),
        *([Card(f"{limit.fails.value:,}", "the first that does not")] if limit.fails is not None else []),
        Card(f"{len(set(limit.tried)):,}", "values tried"),
    ]


def _picture(limit: LargestValue, lines: Sequence[str], sampling: str, form: str) -> str:
    """Return the picture of the division at the largest value below the *lines* of the answer, and a note on the sampling; "" if *form* has no pictures."""
    if form not in DRAWN:
        return ""
    layouts = _divided(limit)
    if form == "svg":
        return memories_svg(layouts, lines[0], [*lines[1:], sampling])
    # A page has the lines of the answer above the picture.
    return (
        memories_svg(layouts, f"{limit.kernel} on {limit.board}, {limit.variable} = {limit.largest:,}")
        if layouts
        else ""
    )


def _divided(limit: LargestValue) -> list[Layout]:
    return [layout for carving in limit.carved for layout in layouts_of(carving)]


def _end(limit: LargestValue) -> str:
    """Return a phrase for the largest value that runs."""
    name = limit.variable
    if limit.largest is None:
        return f"no {name} that was tried runs"
    if limit.fails is None:
        return f"every {name} that was tried runs, up to {limit.largest:,}, the largest of its type"
    if limit.fails.kind == "limit":
        return f"every {name} that was tried runs, up to {limit.largest:,}, and the search ends there"
    return f"the largest {name} that runs is {limit.largest:,}"


def _stack_lines(limit: LargestValue, begin: str) -> list[Text]:
    """Return lines about the largest value: first the one that leaves the stack's reserve free, if a larger one still runs."""
    if limit.largest is None or limit.safe == limit.largest:
        return [_line(begin + _end(limit), "bold")]
    arch, name = find_board(limit.board).arch, limit.variable
    safe = (
        "no {} that was tried leaves the compiler its stack"
        if limit.safe is None
        else "the largest {} that leaves the compiler its stack is {:,}"
    )
    limits = arch.limits(compiled=True)
    taken = [
        f"{space} {show.kib(nbytes)} of {show.kib(limits[space])} KiB{told}"
        for space, nbytes in limit.declared.items()
        if (told := arch.stack_taken(space, nbytes))
    ]
    return [
        _line(begin + safe.format(name, limit.safe), "bold"),
        _line(f"  {_end(limit)}, with {'; '.join(taken)}"),
    ]


def _passed_lines(limit: LargestValue) -> list[Text]:
    """Return lines about values that the checks of a host function accept although they fail."""
    passed, name = limit.passed, limit.variable
    if passed is None:
        return []
    first, last = passed.first, passed.last
    begin = f"{limit.kernel} on {limit.board}: it accepts {name} = {last.value:,}, which fails"
    lines = [_line(begin, "bold red"), _line(f"  {name} = {last.value:,} {last.told}")]
    if first.value != last.value:
        lines.append(_line(f"  the smallest that was seen to: {name} = {first.value:,} {first.told}"))
    if passed.refused is not None:
        lines.append(_line(f"  {name} = {passed.refused.value:,} {passed.refused.told}"))
    return lines


def _binds(binding: Binding, following: str) -> str:
    """Return a phrase for the binding limit, with its place and its bytes at the largest value and at the *following* one."""
    where = "" if binding.file is None else f" ({shown_file(binding.file)}:{binding.line})"
    told = f"{binding.name} binds{where}"
    if binding.used is None or binding.capacity is None:
        return told
    beyond = "" if binding.next is None else f", and up to byte {binding.next:,} with {following}"
    return f"{told}: up to byte {binding.used:,} of {binding.capacity:,}{beyond}"


def _branching(limit: LargestValue) -> str:
    """Return a sentence about the kernel's branches, since values in between may take other branches."""
    if limit.function:
        return f"{limit.kernel} and its kernels may branch by shape, so that values that were not run may behave in another way."
    if not limit.branches:
        return f"{limit.kernel} has no if, switch or conditional."
    places = ", ".join(limit.branches[:BRANCHES]) + (", ..." if len(limit.branches) > BRANCHES else "")
    return f"{limit.kernel} branches ({places}), so that values that were not run may behave in another way."


def _frontier(sampled: SampledFrontier, *, last: bool) -> plan_answer.PlanAnswer:
    """Return the frontier on one board; the *last* answer explains the search."""
    frontier = sampled.frontier
    title = Text(sampled.title, style="bold")
    good = bool(len(frontier) and (frontier.ys >= 0).any()) or any(point.runs for point in sampled.open)
    why = (
        []
        if sampled.refusal is None
        else [_line(f"  {frontier.y} = {sampled.refusal.value:,} {sampled.refusal.told}")]
    )
    why += [_line(f"  {told}") for told in sampled.unknown]
    if sampled.cut:
        why.append(_line(f"  {sampled.cut}", "bold red"))
    # If time ran out, the limit of the kernel is unknown.
    late = bool(sampled.cut or sampled.open) or (
        sampled.refusal is not None and sampled.refusal.kind == "limit"
    )
    shown = [frontier_view(frontier, every=True)] if len(frontier) or not late else []
    view = Group(title, *shown, *why, *_note(TRACED, last=last))
    drawn = frontier_svg(frontier, sampled.title) if len(frontier) else ""
    told, cards = plan_answer.frontier_told(frontier, sampled.title), plan_answer.frontier_cards(frontier)
    return plan_answer.PlanAnswer(
        view, sampled.to_json(), good, drawn, frontier.to_csv(), told=told, cards=cards
    )


def _claim(claim: TestedClaim, *, last: bool) -> plan_answer.PlanAnswer:
    """Return the verdict on one board, and the first differences between claim and runs; the *last* answer explains the test."""
    style = "green" if claim.verdict is Verdict.SAME else "yellow" if claim.holds else "red"
    verdict = claim.verdict.value.replace("the plan", "what runs")
    lines = [Text.assemble((claim.claim, "bold"), f", {claim.kernel} on {claim.board}: ", (verdict, style))]
    generous = [s for s in claim.samples if s.generous]
    unknown = [s for s in claim.samples if s.open]
    strict = [s for s in claim.samples if s.admits < s.runs]
    for some in (generous, unknown, strict):
        lines += [_line(f"  {sample.told}") for sample in some[:3] if sample.told]
        if len(some) > 3:
            lines.append(_line(f"  and {len(some) - 3} more such; --json has all", "dim"))
    if claim.unwatched:
        lines.append(_line(f"  {UNWATCHED}", "bold red"))
    if claim.cut:
        lines.append(_line(f"  {claim.cut}", "bold red"))
    view = Group(*lines, *_note(TESTED, last=last))
    return plan_answer.PlanAnswer(view, claim.to_json(), claim.holds, told=lines[0].plain)


def _refused(refusal: Mapping[str, Any]) -> Text:
    return _line(f"{refusal['board']}: {refusal['refused']}", "bold red")


def _side_by_side(plans: Sequence[Carving]) -> Iterator[Any]:
    """Yield a table of each array with its parts and their offsets on each board."""
    keys = dict.fromkeys((a.name, a.space, a.file, a.line) for plan in plans for a in plan.arrays)
    for key in keys:
        name, space, file, line = key
        boards = tuple(plan.board for plan in plans)
        grid = table(
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
            grid.add_row(variable, *(cells.get(board, "-") for board in boards))
        yield grid


def _view(carving: Carving) -> Iterator[RenderableType]:
    yield Text(f"{carving.kernel} on {carving.board}", style="bold")
    for layout in layouts_of(carving):
        keys = region_keys(layout)
        for array in carving.arrays:
            if array.space == layout.stages[0].name:
                yield from ("", _table(carving, array, layout.stages[0], keys))
        yield from ("", memory_map(layout))
    yield ""
    yield from (_line(text) for text in _memory(carving))
    if not carving.arrays:
        yield "it declares no on-chip memory"
    for finding in carving.findings:
        yield from ("", finding)


def _memory(carving: Carving) -> Iterator[str]:
    """Yield for each memory how much of it the arrays and the stack take."""
    arch = find_board(carving.board).arch
    for space, total in totals_of(carving).items():
        share = f"{show.kib(total.declared)} of {show.kib(total.limit)} KiB"
        taken = arch.stack_taken(space, total.declared)
        told = [f"{space} {share}{taken}"]
        if total.reserve and space == "NRAM":
            left = min(total.reserve, total.limit - total.declared)
            told.append(f"stack {show.kib(total.stack)} of the {show.kib(left)} KiB that are left to it")
        if total.slack >= 0:
            # Without the stack's reserve: a declaration could use it, but the compiler would lack it.
            told.append(f"{show.kib(total.slack)} KiB more may be declared")
        yield "; ".join(told)


def _table(carving: Carving, array: DeclaredArray, stage: StageLayout, keys: Mapping[str, str]) -> Any:
    used = f"{carving.touched(array):,} of {array.bytes:,} {plural(array.bytes, 'byte')} touched"
    grid = table(
        "", "offset", "touched", "bytes", "variable", "declared", "shares bytes with",
        right=("offset", "touched", "bytes"), fold=("declared", "shares bytes with"),
        title=f"{array.name}, {array.space}, {shown(shown_file(array.file))}:{array.line}: {used}",
    )  # fmt: skip
    for part in carving.parts_of(array):
        grid.add_row(keys.get(part.text, ""), *_row(carving, part))
    rest = next(
        (
            region
            for region in stage.regions
            if region.rest and array.start < region.end <= array.start + array.bytes
        ),
        None,
    )
    if rest is not None:
        grid.add_row(
            keys[rest.name], f"{rest.offset - array.start:,}", "-", f"{rest.bytes:,}", "untouched", "", ""
        )
    return grid


def _row(carving: Carving, part: ArrayPart) -> Iterator[str]:
    yield f"{part.offset:,}" + (" ..." if len(set(part.offsets.values())) > 1 else "")
    low, high = part.low, part.high
    yield "-" if low is None or high is None else f"[{low:,}, {high:,})"
    yield "-" if low is None or high is None else f"{high - low:,}"
    yield f"{part.names[0].type} {part.text}".strip() if part.names else part.text
    yield ", ".join(dict.fromkeys(f"{n.function}:{n.line}" for n in part.names)) or "the array itself"
    yield ", ".join(dict.fromkeys(o.text for o in carving.parts if o is not part and part.meets(o)))
