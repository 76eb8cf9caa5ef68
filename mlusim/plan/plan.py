"""The plan: written once beside its kernel, asked by the kernel, its host code, checkers and people."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import DType, as_dtype, int8
from mlusim.errors import UsageError
from mlusim.plan.boards import board_constants
from mlusim.plan.check import PlanFinding, check_places
from mlusim.plan.claims import Claim, Comparison, compare
from mlusim.plan.compiled import Compiled, compile_exprs
from mlusim.plan.declare import Place, Region, Stage, StagePlaces, place_stages
from mlusim.plan.expr import NRAM, Constraint, ElementType, Expr, Var, symbol, walk
from mlusim.plan.frontier import Frontier, trace
from mlusim.plan.layout import Layout, PlacedRegion, StageLayout
from mlusim.plan.pointers import Pointer, Regions
from mlusim.plan.solve import Largest, Problem, largest_value
from mlusim.plan.totals import total

Grow = Callable[[Callable[[Mapping[str, int]], bool], Mapping[str, int]], Sequence[str]]
"""Given a test "do these tiles fit" and the values, the order in which to grow the tile variables."""


def _leaves(exprs: Sequence[Expr | None], kind: type) -> list[Any]:
    found = [leaf for e in exprs if e is not None for leaf in walk(e) if isinstance(leaf, kind)]
    return list(dict.fromkeys(found))


@frozen(slots=False)
class Plan:
    """The regions of a kernel in stages, and everything that can be asked about them.

    *capacity* is what all stages must fit into, in bytes.  *requires* are further limits of the
    operator; one that mentions a variable without a value is not applied.  *claims* are limits that
    documents state.  *example* are values to show the plan with when none are given.  *grow* orders
    the tile variables for `complete`; without it they grow in the order in which they appear.
    *notes* explain to a reader where the plan comes from.
    """

    name: str
    stages: tuple[Stage, ...] = field(converter=tuple)
    capacity: Expr = field(default=NRAM, kw_only=True)
    requires: tuple[Constraint, ...] = field(default=(), converter=tuple, kw_only=True)
    claims: tuple[Claim, ...] = field(default=(), converter=tuple, kw_only=True)
    example: Mapping[str, int] = field(factory=dict, kw_only=True)
    grow: Grow | None = field(default=None, kw_only=True)
    notes: str = field(default="", kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Reject a plan that cannot be laid out, where it is written and not where it is used."""
        if len(self._element_types) > 1:
            both = " and ".join(t.name for t in self._element_types)
            raise UsageError(f"plan {self.name} has the element types {both}; use one")
        unknown = set(self.example) - set(self.variables)
        if unknown:
            raise UsageError(f"the example of plan {self.name} sets {sorted(unknown)}, which it does not use")

    @cached_property
    def places(self) -> tuple[StagePlaces, ...]:
        """Where every region lies, as formulas."""
        return place_stages(self.stages)

    @cached_property
    def regions(self) -> Mapping[str, Place]:
        """Every region's place by name."""
        return {p.region.name: p for s in self.places for p in s.places}

    @cached_property
    def _sizes(self) -> list[Expr | None]:
        return [e for p in self.regions.values() for e in (p.offset, p.end, p.region.touches)]

    @cached_property
    def region_variables(self) -> Mapping[str, Var]:
        """The variables that sizes depend on, by name, in order of appearance."""
        return {v.name: v for v in _leaves(self._sizes, Var)}

    @cached_property
    def variables(self) -> Mapping[str, Var]:
        """Every variable by name: of sizes, of tiles' steps and ends, of requirements."""
        found = dict(self.region_variables)
        for var in list(found.values()):
            found |= {v.name: v for v in _leaves([var.multiple_of, var.enough], Var) if v.name not in found}
        limits = [e for c in self.requires for e in (c.left, c.right)]
        return found | {v.name: v for v in _leaves(limits, Var) if v.name not in found}

    @cached_property
    def _element_types(self) -> list[ElementType]:
        types = [p.region.dtype for p in self.regions.values()]
        return [t for t in dict.fromkeys(types) if isinstance(t, ElementType)]

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """What the element type may be, the default first; empty when the plan has no element type."""
        return self._element_types[0].choices if self._element_types else ()

    @cached_property
    def _code(self) -> Compiled:
        return compile_exprs([p.offset for p in self.regions.values()])

    # -- for the kernel ---------------------------------------------------------------------------

    def place(
        self, base: Pointer, /, *, dtype: Any = None, board: Board | str | None = None, **values: int
    ) -> Regions:
        """Pointers to every region of the buffer that begins at *base*.

        Raises `UsageError` for a missing, unknown or illegal value.
        """
        chosen = self._dtype(dtype)
        env = self._env(values, chosen, board)
        self._need(self.region_variables, env)
        start = base if base.dtype is int8 else base.cast(int8)
        pointers = {}
        for place, offset in zip(self.regions.values(), self._code(env), strict=True):
            type_ = place.region.dtype if isinstance(place.region.dtype, DType) else chosen
            pointers[place.region.name] = (start + offset).cast(type_)
        return Regions(self.name, pointers)

    # -- for host code and people -----------------------------------------------------------------

    def layout(
        self, board: Board | str, values: Mapping[str, int] | None = None, *, dtype: Any = None, **more: int
    ) -> Layout:
        """Offsets, bytes and slack of everything for given values on a board.

        Raises `UsageError` for a missing, unknown or illegal value, or a size that is negative.
        """
        chosen = self._dtype(dtype)
        given = {**(values or {}), **more}
        env = self._env(given, chosen, board)
        self._need(self.region_variables, env)
        stages = tuple(self._stage_layout(s, env, chosen) for s in self.places)
        unmet = tuple(str(c.name or c) for c in self._known(env) if not c.holds(env))
        return Layout(
            self.name,
            find_board(board).name,
            chosen.name if chosen else None,
            {n: env[n] for n in self.variables if n in env},
            self.capacity.evaluate(env),
            stages,
            unmet,
        )

    def describe(self, board: Board | str, *, dtype: Any = None, **values: int) -> Layout:
        """`layout`, with the tile variables that have no value chosen by `complete`."""
        return self.layout(board, self.complete(board, values, dtype=dtype), dtype=dtype)

    def complete(
        self, board: Board | str, values: Mapping[str, int], *, dtype: Any = None
    ) -> Mapping[str, int]:
        """*values* with every missing tile variable as large as fits, one after the other.

        A tile grows to its largest legal value that fits, but not beyond its *enough*.  When not even
        the smallest tiles fit they are returned, so that a layout can show what is missing.
        """
        chosen = self._dtype(dtype)
        env = self._env(values, chosen, board)
        open_ = [v for v in self.region_variables.values() if v.tile and v.name not in values]
        done = {**values, **{v.name: self._smallest(v, env) for v in open_}}
        self._need(self.region_variables, {**env, **done})
        problem = self.problem(board, dtype=chosen)

        def fits(tiles: Mapping[str, int]) -> bool:
            trial = {**env, **done, **tiles}
            return all(c.holds(trial) for c in problem.constraints if self._is_known(c, trial))

        order = [v.name for v in open_] if self.grow is None else list(self.grow(fits, done))
        for name in [n for n in order if any(v.name == n for v in open_)]:
            done[name] = self._grown(problem, self.region_variables[name], done)
        return done

    def _grown(self, problem: Problem, tile: Var, done: Mapping[str, int]) -> int:
        others = {k: v for k, v in done.items() if k != tile.name}
        known = Problem(
            problem.name,
            problem.variables,
            tuple(c for c in problem.constraints if self._is_known(c, {**problem.constants, **done})),
            problem.constants,
        )
        best, _, _ = largest_value(known, tile.name, others)
        enough = tile.enough
        if best is None or enough is None or not self._is_known(enough <= 0, {**problem.constants, **others}):
            return done[tile.name] if best is None else best
        return max(done[tile.name], min(best, enough.evaluate({**problem.constants, **others})))

    def largest(self, variable: str, *, board: Board | str, dtype: Any = None, **fixed: int) -> Largest:
        """The exact largest legal value of *variable* that fits, the others held.

        Tile variables that are not given stay at their smallest legal value.
        """
        chosen = self._dtype(dtype)
        env = self._env(fixed, chosen, board)
        problem = self.problem(board, dtype=chosen)
        asked = problem.variable(variable)
        fixed = {k: v for k, v in fixed.items() if k != variable}
        smallest = {v.name: self._smallest(v, env) for v in self.region_variables.values() if v.tile}
        held = {**{k: v for k, v in smallest.items() if k != variable}, **fixed}
        self._need([n for n in self.region_variables if n != variable], {**env, **held})
        known = tuple(c for c in problem.constraints if self._is_known(c, {**env, **held, variable: 0}))
        problem = Problem(problem.name, problem.variables, known, problem.constants)
        best, after, proof = largest_value(problem, variable, held)
        return self._answer(problem, asked, (best, after, proof), held, (board, chosen))

    def _answer(
        self,
        problem: Problem,
        asked: Var,
        found: tuple[int | None, int, str],
        held: Mapping[str, int],
        where: tuple[Board | str, DType | None],
    ) -> Largest:
        best, after, proof = found
        beyond = {**problem.constants, **held, asked.name: after}
        broken = problem.broken(beyond)
        binding, stage = f"{asked.name} <= {asked.high}", None
        constraint = binding
        if broken:
            worst = max(broken, key=lambda c: c.left.evaluate(beyond) - c.right.evaluate(beyond))
            stage = worst.name.removeprefix("stage ") if worst.name.startswith("stage ") else None
            constraint = self.constraint_text(stage) if stage else str(worst)
            binding = f"{worst.name}: {constraint}" if worst.name else constraint
        return Largest(
            board=find_board(where[0]).name,
            plan=self.name,
            dtype=where[1].name if where[1] else None,
            variable=asked.name,
            fixed=dict(held),
            capacity=self.capacity.evaluate(problem.constants),
            largest=best,
            next=after,
            used_at_largest=None if best is None else self._used({**beyond, asked.name: best}),
            used_at_next=self._used(beyond),
            binding=binding,
            stage=stage,
            constraint=constraint,
            proof=proof,
        )

    def frontier(self, x: str, y: str, *, board: Board | str, dtype: Any = None, **fixed: int) -> Frontier:
        """For every legal *x* that fits, the largest *y* that fits with it."""
        chosen = self._dtype(dtype)
        env = self._env(fixed, chosen, board)
        tiles = {v.name: self._smallest(v, env) for v in self.region_variables.values() if v.tile}
        held = {**{k: v for k, v in tiles.items() if k not in {x, y}}, **fixed}
        self._need([n for n in self.region_variables if n not in {x, y}], {**env, **held})
        problem = self.problem(board, dtype=chosen)
        known = tuple(c for c in problem.constraints if self._is_known(c, {**env, **held, x: 0, y: 0}))
        return trace(Problem(problem.name, problem.variables, known, problem.constants), x, y, held)

    def compare(self, claim: Claim, *, board: Board | str, dtype: Any = None, **fixed: int) -> Comparison:
        """How a stated limit relates to this plan on *board*: the same, stricter, too generous."""
        chosen = self._dtype(dtype)
        env = self._env(fixed, chosen, board)
        return compare(self.problem(board, dtype=chosen), claim, {**env, **fixed}, find_board(board).name)

    def check(self) -> tuple[PlanFinding, ...]:
        """What is wrong with the plan for some legal values: see `mlusim.plan.check`."""
        return check_places(self.places, self.variables, self.requires, self.dtypes)

    # -- the plan as a problem --------------------------------------------------------------------

    def problem(self, board: Board | str, *, dtype: Any = None) -> Problem:
        """The plan on a board as constraints for the solver."""
        stages = tuple(Constraint(s.used, self.capacity, f"stage {s.name}") for s in self.places)
        constants = self._env({}, self._dtype(dtype), board)
        return Problem(self.name, self.variables, stages + self.requires, constants)

    def constraint_text(self, stage: str) -> str:
        """What binds in *stage*, simplified: ``(3*S*T+...)*sizeof(float) <= NRAM``."""
        used = next(s for s in self.places if s.name == stage).used
        return f"{total(used)} <= {self.capacity}"

    def _used(self, env: Mapping[str, int]) -> int:
        return max(s.used.evaluate(env) for s in self.places)

    def _stage_layout(self, stage: StagePlaces, env: Mapping[str, int], chosen: DType | None) -> StageLayout:
        regions = []
        for place in stage.places:
            type_ = place.region.dtype if isinstance(place.region.dtype, DType) else chosen
            nbytes = place.region.bytes.evaluate(env)
            if nbytes < 0 or type_ is None:
                raise UsageError(
                    f"region {place.region.name} of plan {self.name} has {nbytes} bytes for these values; its"
                    f" size is {place.region.size}: give values for which it is 0 or more"
                )
            regions.append(
                PlacedRegion(
                    place.region.name,
                    type_.name,
                    nbytes // type_.size,
                    place.offset.evaluate(env),
                    nbytes,
                    place.kept,
                    place.region.reuses,
                )
            )
        return StageLayout(stage.name, stage.used.evaluate(env), tuple(regions))

    # -- values, checked --------------------------------------------------------------------------

    def _dtype(self, dtype: Any) -> DType | None:
        choices = self.dtypes
        if not choices:
            if dtype is not None:
                raise UsageError(f"plan {self.name} has no element type to choose; leave dtype out")
            return None
        names = " or ".join(c.name for c in choices)
        if dtype is None and len(choices) > 1:
            raise UsageError(f"plan {self.name} holds {self._element_types[0].name}; give dtype={names}")
        chosen = choices[0] if dtype is None else as_dtype(dtype)
        if chosen not in choices:
            raise UsageError(f"plan {self.name} holds {names}, not {chosen.name}")
        return chosen

    def _env(
        self, values: Mapping[str, int], dtype: DType | None, board: Board | str | None
    ) -> dict[str, int]:
        env = {} if board is None else dict(board_constants(board))
        if dtype is not None:
            env[f"sizeof_{self._element_types[0].name}"] = dtype.size
        for name, value in values.items():
            env[name] = self._legal(name, value)
        return env

    def _legal(self, name: str, value: Any) -> int:
        variable = self.variables.get(name)
        if variable is None:
            known = ", ".join(self.variables) or "none"
            raise UsageError(f"plan {self.name} has no variable {name!r}; its variables are {known}")
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise UsageError(f"{name} of plan {self.name} is {value!r}; give a whole number")
        if not variable.low <= value <= variable.high:
            raise UsageError(
                f"{name} of plan {self.name} is {value}; legal are {variable.low} to {variable.high}"
            )
        return int(value)

    def _need(self, names: Any, env: Mapping[str, int]) -> None:
        for name in names:
            if name not in env:
                meaning = self.variables[name].meaning
                told = f" ({meaning})" if meaning else ""
                raise UsageError(f"plan {self.name} needs a value for {name}{told}; give {name}=...")

    @staticmethod
    def _smallest(variable: Var, env: Mapping[str, int]) -> int:
        step = variable.multiple_of.evaluate(env)
        return -(-variable.low // step) * step

    @staticmethod
    def _is_known(constraint: Constraint, env: Mapping[str, int]) -> bool:
        leaves = _leaves([constraint.left, constraint.right], Var)
        return all(symbol(leaf) in env for leaf in leaves)

    def _known(self, env: Mapping[str, int]) -> list[Constraint]:
        return [c for c in self.requires if self._is_known(c, env)]


__all__ = ["Plan", "Region", "Stage"]
