"""The plan: declared once beside its kernel, used by the kernel, its host code, checkers and people."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from attrs import field, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import board_constants, find_board
from mlusim.arch.dtypes import DType, as_dtype, int8
from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.formula.expr import NRAM, Constraint, ElementType, Expr, SizeOf, Var, walk
from mlusim.formula.render import Compiled, compile_exprs
from mlusim.memory.regions import PlacedPlan
from mlusim.plan.check import PlanFinding, check_places
from mlusim.plan.claims import Claim, Comparison, compare
from mlusim.plan.declare import RegionBounds, Stage, StagePlaces, place_stages
from mlusim.plan.formulas import total
from mlusim.plan.layout import Layout, PlacedRegion, StageLayout
from mlusim.plan.solver import Frontier, Largest, Problem, largest_value, trace
from mlusim.presenting import Presented

if TYPE_CHECKING:
    from mlusim.memory.pointer import Ptr

A = TypeVar("A")

MOST_ANSWERS = 64  # that a plan keeps

# -- the names of a plan and their legal values --------------------------------------------------------


@frozen
class PlanScope:
    """The variables of a plan by name, and its element type if it has one."""

    plan: str
    variables: Mapping[str, Var]
    element: ElementType | None

    def dtype(self, dtype: object) -> DType | None:
        """Return the dtype that *dtype* names, or the only one; None when the plan has no element type."""
        if self.element is None:
            if dtype is not None:
                raise UsageError(f"plan {self.plan} has no element type to choose; leave dtype out")
            return None
        choices = self.element.choices
        chosen = choices[0] if dtype is None else as_dtype(dtype)
        if chosen in choices and (dtype is not None or len(choices) == 1):
            return chosen
        names = " or ".join(c.name for c in choices)
        if dtype is None:
            raise UsageError(f"plan {self.plan} holds elements of type {self.element}; give dtype={names}")
        raise UsageError(f"plan {self.plan} holds {names}, not {chosen.name}")

    def env(
        self, values: Mapping[str, int], dtype: DType | None, board: Board | str | None
    ) -> dict[str, int]:
        """Return the values of board constants, sizeof and *values*, after checks."""
        env = {} if board is None else dict(board_constants(board))
        if dtype is not None and self.element is not None:
            env[f"sizeof_{self.element.name}"] = dtype.size
        for name, value in values.items():
            env[name] = self.legal(name, value)
        if board is not None:  # a step may depend on the board's constants
            for name in values:
                self._stepped(self.variables[name], env)
        return env

    def _stepped(self, variable: Var, env: Mapping[str, int]) -> None:
        """Raise `UsageError` if the value is not a multiple of the variable's step."""
        step = variable.multiple_of
        width, value = step.evaluate(env), env[variable.name]
        if value % width:
            below, above = value // width * width, -(-value // width) * width
            near = f"{below} or {above}" if below >= variable.low else str(above)
            raise UsageError(
                f"{variable.name} of plan {self.plan} is {value}; "
                f"give a multiple of {step}, which is {width} here, such as {near}"
            )

    def variable(self, name: str) -> Var:
        """Return the variable called *name*; raises `UsageError` that lists the variables."""
        if name not in self.variables:
            legal = ", ".join(self.variables) or "none"
            raise UsageError(f"plan {self.plan} has no variable {name!r}; its variables are {legal}")
        return self.variables[name]

    def legal(self, name: str, value: object) -> int:
        """Return *value* as an integer; raises `UsageError` if it is not legal for *name*."""
        variable = self.variable(name)
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise UsageError(f"{name} of plan {self.plan} is {value!r}; give a whole number")
        if not variable.low <= value <= variable.high:
            raise UsageError(f"{name} of plan {self.plan} is {value}; give {variable.low} to {variable.high}")
        return int(value)

    def need(self, names: Iterable[str], env: Mapping[str, int]) -> None:
        """Raise `UsageError` for the first of *names* that is missing in *env*."""
        for name in names:
            if name not in env:
                meaning = self.variables[name].meaning
                told = f" ({meaning})" if meaning else ""
                raise UsageError(f"plan {self.plan} needs a value for {name}{told}; give {name}=...")


def smallest(variable: Var, env: Mapping[str, int]) -> int:
    """Return the smallest legal value of *variable*: its lower bound, rounded up to its step."""
    step = variable.multiple_of.evaluate(env)
    return -(-variable.low // step) * step


def is_known(constraint: Constraint, names: Iterable[str]) -> bool:
    """Return whether every variable of *constraint* is among *names*."""
    legal = set(names)
    sides = (constraint.left, constraint.right)
    return all(e.name in legal for side in sides for e in walk(side) if isinstance(e, Var))


# -- regions as pointers, which a plan gives to a kernel -----------------------------------------------


class Regions:
    """The pointers of a plan, by attribute (``regions.term1``) or key (``regions["term1"]``)."""

    def __init__(self, plan: str, pointers: Mapping[str, Any]) -> None:
        self.__dict__.update(pointers)
        self.__dict__["_plan"] = plan

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"plan {self._plan} has no region {name!r}; it has {', '.join(self)}")

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise UsageError(f"plan {self._plan} has no region {name!r}; it has {', '.join(self)}")
        return self.__dict__[name]

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__ and name != "_plan"

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.__dict__ if name != "_plan")

    def __len__(self) -> int:
        return len(self.__dict__) - 1

    def __repr__(self) -> str:
        return f"Regions({self._plan}: {', '.join(self)})"


Fits = Callable[[Mapping[str, int]], bool]
"""Returns whether everything fits with these tiles, all other tiles at their smallest."""

Grow = Callable[[Fits, Mapping[str, int]], Sequence[str]]
"""Returns the order in which to grow the tiles, from a test and the values (tiles at their smallest)."""


def _variables(exprs: Iterable[Expr | None]) -> dict[str, Var]:
    leaves = [e for expr in exprs if expr is not None for e in walk(expr)]
    return {e.name: e for e in leaves if isinstance(e, Var)}


@frozen(slots=False)
class Plan(Presented):
    """The regions of a kernel in stages, and the methods that evaluate them.

    *capacity* is the memory, in bytes, into which all stages must fit. *requires* are further limits of the
    operator; a limit with a variable that has no value is not applied. *claims* are limits that documents
    state. *example* has values for displaying the plan without others. *grow* orders the tile variables for
    `complete`; without it they grow in the order in which they appear. *drawings* are partitions in documents
    that differ from this one; the kernel does not use them, they only illustrate the difference. *notes*
    describe the origin of the plan.
    """

    name: str
    stages: tuple[Stage, ...] = field(converter=tuple[Stage, ...])
    capacity: Expr = field(default=NRAM, kw_only=True)
    requires: tuple[Constraint, ...] = field(default=(), converter=tuple[Constraint, ...], kw_only=True)
    claims: tuple[Claim, ...] = field(default=(), converter=tuple[Claim, ...], kw_only=True)
    example: Mapping[str, int] = field(factory=dict, kw_only=True)
    grow: Grow | None = field(default=None, kw_only=True)
    drawings: "tuple[Plan, ...]" = field(default=(), converter=tuple["Plan", ...], kw_only=True)
    notes: str = field(default="", kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Reject an invalid plan at its declaration, instead of at its first use."""
        types = self._element_types
        if len(types) > 1:
            names = " and ".join(t.name for t in types)
            raise UsageError(f"plan {self.name} has the element types {names}; use one")
        for name in self.example:
            self.scope.variable(name)

    @cached_property
    def places(self) -> tuple[StagePlaces, ...]:
        """The bounds of every region in every stage, as formulas."""
        return place_stages(self.stages)

    @cached_property
    def regions(self) -> Mapping[str, RegionBounds]:
        """The bounds of each region, by name."""
        return {p.region.name: p for s in self.places for p in s.places}

    @cached_property
    def region_variables(self) -> Mapping[str, Var]:
        """The variables on which sizes depend, by name, in order of appearance."""
        return _variables(e for p in self.regions.values() for e in (p.offset, p.end, p.region.touches))

    @cached_property
    def variables(self) -> Mapping[str, Var]:
        """All variables by name: those of sizes, of steps and limits of tiles, and of requirements."""
        sizes = self.region_variables
        steps = _variables(e for v in sizes.values() for e in (v.multiple_of, v.enough))
        limits = _variables(e for c in self.requires for e in (c.left, c.right))
        return {**sizes, **steps, **limits, **steps, **sizes}

    @cached_property
    def scope(self) -> PlanScope:
        """The names of the plan and their legal values."""
        types = self._element_types
        return PlanScope(self.name, self.variables, types[0] if types else None)

    @cached_property
    def _element_types(self) -> tuple[ElementType, ...]:
        """All type parameters in regions and sizes."""
        places = self.regions.values()
        sizes = [e for p in places for expr in (p.offset, p.end) for e in walk(expr)]
        types = [p.region.dtype for p in places] + [e.type for e in sizes if isinstance(e, SizeOf)]
        return tuple(dict.fromkeys(t for t in types if isinstance(t, ElementType)))

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The element types that the plan allows, the default first; empty without a type parameter."""
        return self.scope.element.choices if self.scope.element else ()

    @cached_property
    def _code(self) -> Compiled:
        return compile_exprs([p.offset for p in self.regions.values()])

    @cached_property
    def _needs(self) -> Compiled:
        return compile_exprs([s.used for s in self.places])

    # -- for the kernel ---------------------------------------------------------------------------

    def place(
        self, base: "Ptr", /, *, dtype: object = None, board: Board | str | None = None, **values: int
    ) -> Regions:
        """Return pointers to all regions of the buffer that begins at *base*.

        The placement is recorded in the launch, so that plancheck, faults and the debugger know the regions.
        *board* is needed only by plans whose offsets use a board constant.  Raises `UsageError` for
        a missing, unknown or illegal value.
        """
        chosen = self.scope.dtype(dtype)
        env = self.scope.env(values, chosen, board)
        self.scope.need(self.region_variables, env)
        start = base if base.dtype is int8 else base.cast(int8)
        key = id(self), chosen, *sorted(values.items())
        start.placed(PlacedPlan(self.name, key, lambda board: self.layout(board, values, dtype=chosen)))
        pointers = {}
        for place, offset in zip(self.regions.values(), self._code(env), strict=True):
            type_ = place.region.dtype if isinstance(place.region.dtype, DType) else chosen
            pointers[place.region.name] = (start + offset).cast(type_)
        return Regions(self.name, pointers)

    # -- for host code and people -----------------------------------------------------------------

    def layout(
        self,
        board: Board | str,
        values: Mapping[str, int] | None = None,
        *,
        dtype: object = None,
        **more: int,
    ) -> Layout:
        """Return the offsets, bytes and slack of all regions for given values on a board.

        Raises `UsageError` for a missing, unknown or illegal value, or if a size is negative.
        """
        return self._once(self._layout, board, {**(values or {}), **more}, dtype)

    def _layout(self, board: Board | str, values: Mapping[str, int], dtype: object) -> Layout:
        chosen = self.scope.dtype(dtype)
        env = self.scope.env(values, chosen, board)
        self.scope.need(self.region_variables, env)
        limits = [c for c in self.requires if is_known(c, env)]
        return Layout(
            self.name,
            find_board(board).name,
            chosen.name if chosen else None,
            {n: env[n] for n in self.variables if n in env},
            self.capacity.evaluate(env),
            tuple(
                StageLayout(
                    stage.name,
                    stage.used.evaluate(env),
                    tuple(self._placed(place, env, chosen) for place in stage.places),
                )
                for stage in self.places
            ),
            tuple(c.name or str(c) for c in limits if not c.holds(env)),
        )

    def fits(self, board: Board | str, values: Mapping[str, int], *, dtype: object = None) -> bool:
        """Return whether the layout fits, for host code that needs no details."""
        env = self.scope.env(values, self.scope.dtype(dtype), board)
        self.scope.need(self.region_variables, env)
        room = self._used(env) <= self.capacity.evaluate(env)
        return room and all(c.holds(env) for c in self.requires if is_known(c, env))

    def describe(self, board: Board | str, *, dtype: object = None, **values: int) -> Layout:
        """Return the `layout`, with tile variables without a value chosen by `complete`."""
        return self._once(self._describe, board, values, dtype)

    def _describe(self, board: Board | str, values: Mapping[str, int], dtype: object) -> Layout:
        return self._layout(board, self._complete(board, values, dtype), dtype)

    def complete(
        self, board: Board | str, values: Mapping[str, int], *, dtype: object = None
    ) -> Mapping[str, int]:
        """Return *values* with each missing tile variable set to the largest value that fits, one after the other.

        A tile does not grow beyond its *enough*. If not even the smallest tiles fit, they are returned, so
        that a layout can show how many bytes are missing.
        """
        return dict(self._once(self._complete, board, values, dtype))

    def _once(
        self,
        answer: Callable[[Board | str, Mapping[str, int], object], A],
        board: Board | str,
        values: Mapping[str, int],
        dtype: object,
    ) -> A:
        """Return the result of *answer*, cached because host functions repeat a query before each launch."""
        if not _plain(board, values, dtype):
            return answer(board, values, dtype)
        asked = answer.__name__, board, dtype, tuple(values.items())
        if asked not in self._answers:
            if len(self._answers) == MOST_ANSWERS:
                self._answers.clear()
            self._answers[asked] = answer(board, values, dtype)
        return self._answers[asked]  # type: ignore[no-any-return]

    @cached_property
    def _answers(self) -> dict[object, Any]:
        return {}

    def _complete(self, board: Board | str, values: Mapping[str, int], dtype: object) -> Mapping[str, int]:
        problem, done = self._question(board, dtype, values)
        tiles = [n for n, v in self.region_variables.items() if v.tile and n not in values]

        def fits(sizes: Mapping[str, int]) -> bool:
            return not problem.broken({**problem.constants, **done, **sizes})

        order = tiles if self.grow is None else [n for n in self.grow(fits, done) if n in tiles]
        for name in order:
            others = {k: v for k, v in done.items() if k != name}
            best, _, _ = largest_value(problem, name, others)
            if best is not None:
                enough, env = self.region_variables[name].enough, {**problem.constants, **others}
                if enough is not None and is_known(enough <= 0, env):
                    best = max(done[name], min(best, enough.evaluate(env)))
                done[name] = best
        return done

    def largest(self, variable: str, *, board: Board | str, dtype: object = None, **fixed: int) -> Largest:
        """Return the largest legal value of *variable* that fits, with the others fixed; the result is exact.

        Tile variables without a value have their smallest legal value.
        """
        asked = self.scope.variable(variable)
        held = {k: v for k, v in fixed.items() if k != variable}
        problem, held = self._question(board, dtype, held, variable)
        best, after, proof = largest_value(problem, variable, held)
        beyond = {**problem.constants, **held, variable: after}
        stage, constraint, binding = self._binding(problem, asked, beyond)
        chosen = self.scope.dtype(dtype)
        mentioned = _variables(side for c in problem.constraints for side in (c.left, c.right))
        return Largest(
            board=find_board(board).name,
            plan=self.name,
            dtype=chosen.name if chosen else None,
            variable=variable,
            fixed={n: v for n, v in held.items() if n in mentioned},
            capacity=self.capacity.evaluate(problem.constants),
            largest=best,
            next=after,
            used_at_largest=None if best is None else self._used({**beyond, variable: best}),
            used_at_next=self._used(beyond),
            binding=binding,
            stage=stage,
            constraint=constraint,
            proof=proof,
        )

    def frontier(self, x: str, y: str, *, board: Board | str, dtype: object = None, **fixed: int) -> Frontier:
        """Return, for every legal *x* that fits, the largest *y* that fits with it."""
        held = {k: v for k, v in fixed.items() if k not in {x, y}}
        problem, held = self._question(board, dtype, held, x, y)
        return trace(problem, x, y, held)

    def compare(self, claim: Claim, *, board: Board | str, dtype: object = None, **fixed: int) -> Comparison:
        """Return how a stated limit relates to this plan on *board*: equal, stricter or too generous."""
        open_ = [n for n in claim.named if n not in fixed]
        problem, held = self._question(board, dtype, fixed, *open_)
        return compare(problem, claim, held, find_board(board).name)

    def check(self) -> tuple[PlanFinding, ...]:
        """Return the faults of the plan for any legal values: see `mlusim.plan.check`."""
        return check_places(self.places, self.variables, self.requires, self.scope.element)

    # -- the plan as a problem --------------------------------------------------------------------

    def problem(self, board: Board | str, *, dtype: object = None) -> Problem:
        """Return the plan on a board as constraints for the solver."""
        stages = tuple(Constraint(s.used, self.capacity, f"stage {s.name}") for s in self.places)
        constants = self.scope.env({}, self.scope.dtype(dtype), board)
        return Problem(self.name, self.variables, stages + self.requires, constants)

    def constraint_text(self, stage: str) -> str:
        """Return the binding constraint of *stage*, simplified: ``(3*S*T+...)*sizeof(float) <= NRAM``."""
        used = next(s for s in self.places if s.name == stage).used
        return f"{total(used)} <= {self.capacity}"

    def _question(
        self, board: Board | str, dtype: object, values: Mapping[str, int], *open_: str
    ) -> tuple[Problem, dict[str, int]]:
        """Return the problem in the variables *open_*, and the values of all other variables.

        Tiles without a value are at their smallest; requirements on variables without a value are left out.
        """
        problem = self.problem(board, dtype=dtype)
        env = self.scope.env(values, self.scope.dtype(dtype), board)
        held = {n: env[n] for n in values}
        for name, variable in self.region_variables.items():
            if variable.tile and name not in values and name not in open_:
                held[name] = smallest(variable, env)
        for name in open_:
            self.scope.variable(name)
        self.scope.need([n for n in self.region_variables if n not in open_], held)
        settled = tuple(c for c in problem.constraints if is_known(c, {*held, *open_}))
        return Problem(problem.name, problem.variables, settled, problem.constants), held

    def _binding(
        self, problem: Problem, asked: Var, beyond: Mapping[str, int]
    ) -> tuple[str | None, str, str]:
        """Return (stage or None, constraint, both in words) of the most violated constraint at *beyond*."""
        broken = problem.broken(beyond)
        if not broken:
            bound = f"{asked.name} <= {asked.high}"
            return None, bound, f"the range of {asked.name}: {bound}"
        worst = max(broken, key=lambda c: c.left.evaluate(beyond) - c.right.evaluate(beyond))
        stage = worst.name.removeprefix("stage ") if worst.name.startswith("stage ") else None
        constraint = self.constraint_text(stage) if stage else str(worst)
        return stage, constraint, f"{worst.name}: {constraint}" if worst.name else constraint

    def _used(self, env: Mapping[str, int]) -> int:
        return int(max(self._needs(env)))

    def _placed(self, place: RegionBounds, env: Mapping[str, int], chosen: DType | None) -> PlacedRegion:
        region = place.region
        type_ = region.dtype if isinstance(region.dtype, DType) else chosen
        nbytes, offset = region.bytes.evaluate(env), place.offset.evaluate(env)
        if nbytes < 0 or offset < 0 or type_ is None:
            raise UsageError(
                f"region {region.name} of plan {self.name} would be {nbytes} {plural(nbytes, 'byte')} at offset {offset}; its size"
                f" is {region.size}: give values for which neither is negative"
            )
        elements = nbytes // type_.size
        return PlacedRegion(region.name, type_.name, elements, offset, nbytes, place.kept, region.reuses)


# -- several plans for one kernel: the first plan that fits is used ------------------------------------


def values_of(plan: Plan, values: Mapping[str, int]) -> dict[str, int]:
    """Return those of *values* that are variables of *plan*."""
    return {name: value for name, value in values.items() if name in plan.variables}


def check_names(plans: Sequence[Plan], names: Sequence[str]) -> None:
    """Raise `UsageError` for a name that is not a variable of any of *plans*."""
    variables = {name: None for plan in plans for name in plan.variables}
    for name in names:
        if name not in variables:
            raise UsageError(
                f"{plans[0].name} has no variable {name!r}; its variables are {', '.join(variables) or 'none'}"
            )


def choose(
    plans: Sequence[Plan], board: Board | str, values: Mapping[str, int], *, dtype: object = None
) -> tuple[Plan, Layout]:
    """Return the first of *plans* that fits, with tiles chosen, and its layout; the last plan if none fits.

    Raises `UsageError` for a value that is not a variable of any plan, and if a plan that is tried lacks a
    value.
    """
    if not _plain(board, values, dtype):
        return _chosen(plans, board, values, dtype)
    asked = tuple(map(id, plans)), board, dtype, tuple(values.items())
    choice = _CHOICES.get(asked)
    if choice is None:
        if len(_CHOICES) == MOST_ANSWERS:
            _CHOICES.clear()
        choice = _CHOICES[asked] = _chosen(plans, board, values, dtype), tuple(plans)
    return choice[0]


_CHOICES: dict[object, tuple[tuple[Plan, Layout], tuple[Plan, ...]]] = {}
"""Choices, because host functions repeat them before each launch; each holds its plans, so that no others take their place."""


def _chosen(
    plans: Sequence[Plan], board: Board | str, values: Mapping[str, int], dtype: object
) -> tuple[Plan, Layout]:
    check_names(plans, list(values))
    for plan in plans:
        layout = plan.describe(board, dtype=dtype, **values_of(plan, values))
        if layout.fits:
            break
    return plan, layout


def _plain(board: object, values: Mapping[str, int], dtype: object) -> bool:
    """Return whether these are keys without confusion: 1.0 equals 1 in a dictionary, but is refused."""
    plain = isinstance(dtype, str | DType | None) and {n.__class__ for n in values.values()} <= {int}
    return plain and isinstance(board, str | Board)
