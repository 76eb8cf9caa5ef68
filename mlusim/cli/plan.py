"""``mlusim plan``: what fits on chip, how much of it, and why not one more."""

import argparse
import runpy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen
from rich.console import Group, RenderableType
from rich.text import Text

from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.arch.dtypes import DType, as_dtype
from mlusim.cli import cases, options, plan_answer, plan_source, programs, show
from mlusim.cli.arguments.shared import TEXT
from mlusim.counted import counted
from mlusim.document import BAD, GOOD, Card, json_text
from mlusim.errors import MlusimError, UsageError
from mlusim.files.reading import refuse_no_file
from mlusim.files.writing import check_writable
from mlusim.operators.registry import find_operator
from mlusim.plan import render
from mlusim.plan.claims import Claim, Verdict, parse_claim
from mlusim.plan.layout import Layout
from mlusim.plan.plan import Plan, check_names, choose, values_of
from mlusim.plan.solver import Frontier, Largest
from mlusim.plan.svg import frontier_svg, layout_svg, plan_column
from mlusim.text_grid import table

UNKNOWN = "?"  # the format of a file whose suffix is unknown
HELP = "validate a kernel's NRAM plan, or find the largest shape that fits"


@frozen
class PlanQuestion:
    """The parsed command line."""

    plans: tuple[Plan, ...]
    boards: tuple[str, ...]
    values: Mapping[str, int]
    dtypes: tuple[DType, ...]

    def dtypes_of(self, plan: Plan) -> list[DType | None]:
        """Return the requested dtypes for *plan*, or its default; None if it has only one anyway."""
        if plan.dtypes:
            return [*self.dtypes] or [plan.dtypes[0]]
        held = {place.region.dtype for place in plan.regions.values()}
        for asked in self.dtypes:
            if asked not in held:
                names = ", ".join(sorted(str(d) for d in held))
                raise UsageError(f"plan {plan.name} has no element type to choose; its regions are {names}")
        return [None]

    def places_of(self, plan: Plan) -> list[tuple[str, DType | None]]:
        """Return the requested boards, each with the requested dtypes of *plan*."""
        return [(board, dtype) for dtype in self.dtypes_of(plan) for board in self.boards]


def run(args: argparse.Namespace) -> int:
    """Answer the question; returns 0 if everything fits, otherwise 1.

    Raises `UsageError` for any error in the command line.
    """
    form = options.format_of(args, plan_answer.SUFFIXES, UNKNOWN if args.output else TEXT)
    if form == UNKNOWN:
        told = f"the suffix {Path(args.output).suffix!r}; use {', '.join(plan_answer.SUFFIXES)}"
        raise UsageError(f"{args.output} has {told}, or say with --format what it is")
    check_writable(args.output)
    if programs.is_cases(args.operator[0]):
        args.program, *args.arguments = args.operator
        if len(cases.chosen(args)) > 1:
            return _each_case(args, form)
        args = cases.applied(args, cases.one_case(args))
        args.operator = [args.program, *args.arguments]
    answers = plan_source.answers(args, form) if programs.is_source(args.operator[0]) else _of_operator(args)
    plan_answer.deliver(answers, form=form, file=args.output, title=f"The plan of {args.operator[0]}")
    return 0 if all(a.good for a in answers) else 1


def _each_case(args: argparse.Namespace, form: str) -> int:
    """Answer the question for all cases of a file, in one document; return the largest exit code. After an error the other cases are answered."""
    answers: list[plan_answer.PlanAnswer] = []
    codes = []
    for case in cases.chosen(args):

        def collect(case_args: argparse.Namespace, name: str = case.name) -> int:
            case_args.operator = [case_args.program, *case_args.arguments]
            of_case = plan_source.answers(case_args, form)
            answers.extend(_named(name, answer) for answer in of_case)
            return 0 if all(answer.good for answer in of_case) else 1

        codes.append(cases.ended(collect, args, case)[0])
    if form == "json":
        text = json_text({"cases": [answer.facts for answer in answers]})
        options.write_text(args.output, text)
    elif answers:
        plan_answer.deliver(answers, form=form, file=args.output, title=f"The plan of {args.program}")
    if form == TEXT and args.output is None:
        # At the end, where the user sees it: the result of each case.
        summary = table("case", "answer", fold=("answer",))
        for answer in answers:
            summary.add_row(*answer.told.split(": ", 1))
        show.put(("", summary))
    return max(codes)


def _named(case: str, answer: plan_answer.PlanAnswer) -> plan_answer.PlanAnswer:
    """Return *answer* with the name of *case*."""
    view = None if answer.view is None else Group(Text(f"case {case}", style="bold"), Text(), answer.view)
    cards = [
        evolve(card, note=f"case {case}, {card.note}" if card.note else f"case {case}")
        for card in answer.cards
    ]
    column = None if answer.column is None else evolve(answer.column, head=f"{case}: {answer.column.head}")
    return evolve(
        answer,
        view=view,
        facts={"case": case, **answer.facts},
        told=f"{case}: {answer.told}",
        cards=cards,
        column=column,
    )


def _of_operator(args: argparse.Namespace) -> list[plan_answer.PlanAnswer]:
    """Return the answers for an operator, or for a Python file with plans."""
    if len(args.operator) > 1:
        raise UsageError(f"mlusim plan takes one operator, and no {args.operator[1]!r}")
    question = _understood(args)
    programs.refuse_call_arguments(args)
    if args.case is not None:
        raise UsageError("--case goes with cases.toml; an operator's plan takes values with --set")
    if args.max:
        return _largest(question, args.max)
    if args.frontier:
        return _frontiers(question, args.frontier)
    if args.claim is not None:
        return _claims(question, args.claim)
    return _layouts(question)


def _understood(args: argparse.Namespace) -> PlanQuestion:
    boards = tuple(options.boards_in(args.board, DEFAULT_BOARDS[:1]))
    (name,) = args.operator
    if name.endswith(".py"):
        plans = plans_in(Path(name))
    else:
        programs.refuse_file(
            name, "plans are those of operators, of BANG C files and of Python files that have some"
        )
        operator = find_operator(name)
        plans = tuple(operator.plans)
        if not plans:
            raise UsageError(f"{operator.name} has no NRAM plan")
    dtypes = tuple(dict.fromkeys(as_dtype(d) for d in args.dtype or ()))
    return PlanQuestion(plans, boards, _values(args.set), dtypes)


def _values(texts: Iterable[str]) -> dict[str, int]:
    values: dict[str, int] = {}
    for text in texts:
        for part in filter(None, (p.strip() for p in text.split(","))):
            name, equals, value = part.partition("=")
            if name.strip() in values:
                raise UsageError(f"--set gives {name.strip()} twice; give it once")
            try:
                values[name.strip()] = int(value, 0)
            except ValueError:
                equals = ""
            if not equals or not name.strip():
                raise UsageError(
                    f"--set {part!r} gives no value; write it as NAME=NUMBER, such as S=15,T=104"
                )
    return values


# -- the four questions -----------------------------------------------------------------------------


def _layouts(question: PlanQuestion) -> list[plan_answer.PlanAnswer]:
    if question.values:
        return _described(question, question.plans, question.values)
    answers = []
    for plan in question.plans:
        findings = plan.check()
        clean = not any(f.severity == "error" for f in findings)
        shown = _described(question, (plan,), plan.example)
        intro = Group(render.plan_view(plan, findings), Text(), Text("with example values:", style="italic"))
        for number, answer in enumerate(shown):
            view = Group(intro, answer.view or "") if number == 0 else answer.view
            facts = {**answer.facts, "findings": [f.to_json() for f in findings]}
            answers.append(evolve(answer, view=view, facts=facts, good=answer.good and clean))
    return answers


def _described(
    question: PlanQuestion, plans: Sequence[Plan], values: Mapping[str, int]
) -> list[plan_answer.PlanAnswer]:
    answers = []
    for board, dtype in question.places_of(plans[0]):
        plan, layout = choose(plans, board, values, dtype=dtype)
        answers.append(
            plan_answer.PlanAnswer(
                render.layout_view(layout, plan),
                layout.to_json(),
                layout.fits,
                layout_svg(layout),
                column=plan_column(layout),
                told=_told(layout),
                cards=_cards(layout),
            )
        )
    return answers


def _told(layout: Layout) -> str:
    """Return one line about whether *layout* fits."""
    where = f"{layout.plan} on {layout.board}{f', {layout.dtype}' if layout.dtype else ''}"
    if layout.overflow:
        return f"{where} does not fit: {counted(layout.overflow, 'byte')} too many"
    return (
        f"{where} fits, with {counted(layout.slack, 'byte')} to spare"
        if layout.fits
        else f"{where} breaks a limit"
    )


def _cards(layout: Layout) -> list[Card]:
    """Return the figures of *layout*: the bytes of the fullest stage, the limit, the stack's reserve, and the free bytes."""
    arch = find_board(layout.board).arch
    stage = max(layout.stages, key=lambda each: each.used)
    tone = GOOD if layout.fits else BAD
    return [
        Card(f"{show.kib(stage.used)} KiB", f"of NRAM in stage {stage.name}", f"on {layout.board}", tone),
        Card(f"{show.kib(layout.capacity)} KiB", "limit of a kernel", f"of {show.kib(arch.nram)} KiB that a core has"),
        Card(f"{show.kib(arch.nram - arch.max_nram)} KiB", "reserved", "for the compiler's stack"),
        Card(f"{layout.slack:,}", "bytes to spare", "in the fullest stage", tone),
    ]  # fmt: skip


def _fixed(question: PlanQuestion, plan: Plan, open_: Sequence[str]) -> dict[str, int]:
    """Return the given values for *plan*, or its example's if none are given, without the variables *open_*."""
    values = question.values or plan.example
    return {k: v for k, v in values_of(plan, values).items() if k not in open_}


def _concerned(question: PlanQuestion, names: Sequence[str]) -> list[Plan]:
    """Return the plans that have all variables of *names*."""
    check_names(question.plans, [*names, *question.values])
    plans = [p for p in question.plans if all(n in p.variables for n in names)]
    if not plans:
        raise UsageError(f"no plan has {' and '.join(names)} together; ask for one of them")
    return plans


def _largest(question: PlanQuestion, variable: str) -> list[plan_answer.PlanAnswer]:
    answers: list[plan_answer.PlanAnswer] = []
    for plan in _concerned(question, [variable]):
        fixed = _fixed(question, plan, [variable])
        bounds = [plan.largest(variable, board=b, dtype=d, **fixed) for b, d in question.places_of(plan)]
        # One view shows all boards; the other answers have only facts.
        views = [render.largest_view(bounds), *([None] * (len(bounds) - 1))]
        answers += map(_largest_answer, views, bounds)
    if variable in question.values:
        setting = f"{variable}={question.values[variable]}"
        show.remark(f"note: --max looks for {variable}; {setting} of --set is not used")
    return answers


def _largest_answer(view: RenderableType | None, bound: Largest) -> plan_answer.PlanAnswer:
    named = f"{bound.variable} of {bound.plan} on {bound.board}"
    told = f"no {named} fits" if bound.largest is None else f"the largest {named} is {bound.largest:,}"
    used = (
        ""
        if bound.used_at_largest is None
        else f"{bound.used_at_largest:,} of {bound.capacity:,} bytes there"
    )
    best = "none" if bound.largest is None else f"{bound.largest:,}"
    over = max(bound.used_at_next - bound.capacity, 0)
    cards = [
        Card(best, f"the largest {bound.variable} on {bound.board}", used),
        Card(
            f"{bound.next:,}",
            f"the next {bound.variable}",
            f"{counted(over, 'byte')} too many" if over else "",
        ),
        Card(bound.stage or bound.binding, "binds", bound.binding if bound.stage else ""),
    ]
    return plan_answer.PlanAnswer(view, bound.to_json(), bound.largest is not None, told=told, cards=cards)


def _frontiers(question: PlanQuestion, text: str) -> list[plan_answer.PlanAnswer]:
    names = plan_answer.frontier_names(text)
    answers: list[plan_answer.PlanAnswer] = []
    refusals: list[UsageError] = []
    for plan in _concerned(question, names):
        fixed = _fixed(question, plan, names)
        for board, dtype in question.places_of(plan):
            try:
                frontier = plan.frontier(names[0], names[1], board=board, dtype=dtype, **fixed)
            except UsageError as refusal:
                refusals.append(refusal)
                continue
            answers.append(_frontier_answer(frontier, plan.name, board, dtype))
    if refusals and not answers:
        raise refusals[0]
    for sentence in dict.fromkeys(str(refusal) for refusal in refusals):
        show.remark(f"left out: {sentence}")
    return answers


def _frontier_answer(
    frontier: Frontier, plan: str, board: str, dtype: DType | None
) -> plan_answer.PlanAnswer:
    held = ", ".join(f"{k}={v}" for k, v in frontier.fixed.items())
    title = f"{plan} on {board}{', ' + dtype.name if dtype else ''}{': ' + held if held else ''}"
    view = Group(Text(title, style="bold"), render.frontier_view(frontier))
    facts = {"plan": plan, "board": board, "dtype": dtype.name if dtype else None, **frontier.to_json()}
    good = bool(len(frontier) and (frontier.ys >= 0).any())
    return plan_answer.PlanAnswer(
        view,
        facts,
        good,
        frontier_svg(frontier, title),
        frontier.to_csv(),
        told=plan_answer.frontier_told(frontier, title),
        cards=plan_answer.frontier_cards(frontier),
    )


def _claims(question: PlanQuestion, text: str) -> list[plan_answer.PlanAnswer]:
    """Compare a given limit with the plans, or all limits stated by the plans and by the drawings of their documents."""
    check_names(question.plans, list(question.values))
    held: list[tuple[Plan, Sequence[Claim]]] = (
        [(plan, [parse_claim(text, plan.variables, plan.scope.element)]) for plan in question.plans]
        if text
        else [(p, p.claims) for plan in question.plans for p in (plan, *plan.drawings)]
    )
    answers = []
    for plan, claims in held:
        errors = [f for f in plan.check() if f.severity == "error"]
        if errors and not text:
            facts = {"plan": plan.name, "findings": [f.to_json() for f in errors]}
            answers.append(
                plan_answer.PlanAnswer(
                    Group(Text(plan.name, style="bold"), render.findings_view(errors)), facts, good=False
                )
            )
        for claim in claims:
            fixed = values_of(plan, question.values)
            for board, dtype in question.places_of(plan):
                comparison = plan.compare(claim, board=board, dtype=dtype, **fixed)
                good = comparison.verdict in {Verdict.SAME, Verdict.STRICTER}
                told = f"{comparison.claim} on {comparison.board}: {comparison.verdict.value}"
                view, facts = render.comparison_view(comparison), comparison.to_json()
                answers.append(plan_answer.PlanAnswer(view, facts, good, told=told))
    if not answers:
        raise UsageError(
            "no document states a limit for this plan; state one yourself: --claim 'S*T <= 50000'"
        )
    return answers


def plans_in(path: Path) -> tuple[Plan, ...]:
    """Return the plans that the Python file *path* defines at top level, in order.

    Raises `UsageError` if the file cannot be read, raises an exception, or defines none.
    """
    refuse_no_file(str(path), "give the name of an operator or of a Python file")
    try:
        # Not as __main__, so that code for a run as a script does not run.
        names = runpy.run_path(str(path), run_name="__mlusim_plan__")
    except MlusimError as error:
        raise UsageError(f"{path}: {error}") from error
    except RecursionError:
        raise UsageError(
            f"{path}: a formula is nested too deep, or the file calls itself; add up many terms by several regions"
        ) from None
    except Exception as error:
        raise UsageError(f"{path} fails with {type(error).__name__}: {error}") from error
    plans = {id(value): value for value in names.values() if isinstance(value, Plan)}
    # The drawings of documents are plans too; each belongs to the plan that names it.
    drawn = {id(drawing) for plan in plans.values() for drawing in plan.drawings}
    own_plans = [plan for key, plan in plans.items() if key not in drawn]
    if not own_plans:
        raise UsageError(f"{path} defines no Plan; see the tutorial 'plan your NRAM'")
    return tuple(own_plans)
