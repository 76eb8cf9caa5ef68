"""One drawn call: the choices that define it, drawn by its number, and converted to texts and arrays."""

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import DType, int32
from mlusim.counted import counted
from mlusim.errors import UsageError
from mlusim.fuzz.draws import ArgumentDraw, CallDraw, Landmarks, interesting
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.programs.argument_forms import DRAW, FILE, MEMBER, NUMBER
from mlusim.programs.argument_values import ArgumentScope

Array = np.ndarray[Any, Any]
Number = int | float
Choose = Callable[[str, int, int, Mapping[str, int]], int]
MOST_BYTES = 64 << 20
"""Bytes of all arrays of a call; a larger call is drawn again, since checkers follow each byte."""
TRIES = 200
LIMITS = 0.2  # share of the numbers limited by a plan that are the largest that fits, or one more
PLANS = 0.25  # share of the calls whose plan is inferred, which runs the kernel twice more


@frozen
class FillDraw:
    """The values of an array: the name of a pattern, and the seed of its random numbers."""

    pattern: str
    seed: int


@frozen
class Trial:
    """The choices of one call: the alternative of each argument, each drawn number, the values of each array.

    ``schedule`` is the seed of another legal schedule; with ``plans`` the plan of the kernel is inferred.
    """

    dim: tuple[int, int, int]
    board: str
    effects: str
    schedule: int | None
    plans: bool
    chosen: Mapping[str, int]
    numbers: Mapping[str, Number] = field(factory=dict)
    fills: Mapping[str, FillDraw] = field(factory=dict)


@frozen(eq=False)
class MadeCall:
    """A call as on the command line: texts by parameter, and the arrays that file names among them stand for."""

    texts: Mapping[str, str]
    arrays: Mapping[str, Array]


@define(eq=False)
class _Numbers(ArgumentScope):
    """The arguments of a call whose drawn numbers come from *choose*(name, lowest, highest, numbers so far).

    ``ranges`` keeps the lowest and the highest of each.
    """

    choose: Choose = field(kw_only=True)
    ranges: dict[str, tuple[int, int]] = field(factory=dict, kw_only=True)

    def drawn(self, name: str, low: int, high: int) -> int:
        """Return the drawn number, at least *low* and below *high*."""
        self.ranges[name] = low, high - 1
        return self.choose(name, low, high - 1, self._numbers)


@frozen(eq=False)
class TrialDraws:
    """The source of calls: the specification, the macros of the sources, and facts about the kernel.

    ``usual`` are the element types of its pointers, ``marks`` numbers that are significant for it; ``limit`` returns
    the largest value of a variable that fits a plan on a board, given the other numbers, or None.
    """

    draw: CallDraw
    macros: Mapping[str, str | None]
    usual: Mapping[str, DType]
    marks: Landmarks
    limit: Callable[[Random, str, str, Mapping[str, int]], int | None] = lambda *_: None

    def option(self, trial: Trial, name: str) -> ArgumentDraw:
        """Return the alternative of argument *name* in *trial*, with a drawn element type put in."""
        chosen = self.draw.argument(name).options[trial.chosen[name]]
        dtype = chosen.value.dtype
        if dtype is None or dtype not in trial.chosen:
            return chosen
        meant = self.draw.argument(dtype).options[trial.chosen[dtype]].value.text
        text = chosen.value.text.replace(f":{dtype}:", f":{meant}:")
        return evolve(chosen, value=evolve(chosen.value, text=text, dtype=meant))

    def options(self, trial: Trial) -> dict[str, ArgumentDraw]:
        """Return the alternative of each argument."""
        return {argument.name: self.option(trial, argument.name) for argument in self.draw.arguments}

    def range(self, trial: Trial, name: str) -> tuple[int, int]:
        """Return the lowest and the highest value of the drawn integer *name*, given the other numbers of *trial*."""
        scope = self._kept(trial)
        scope.whole(name)
        return scope.ranges[name]

    def names(self, here: ArgumentDraw, name: str) -> tuple[str, ...]:
        """Return the patterns of the array *here*, argument *name*, the simplest first."""
        return patterns(self._dtype(here, name).dtype, here.is_bounded, whole=here.reals is None)

    def fitted(self, trial: Trial) -> Trial | None:
        """Return *trial* with every number in its range, which other numbers may bound; None if that is not a legal call.

        A number outside of its range becomes the nearest one in it.
        """
        try:
            fills = dict(trial.fills)
            for name, here in self.options(trial).items():
                if here.is_filled:
                    names, fill = self.names(here, name), fills.get(name)
                    # The values may belong to another alternative, or to another type.
                    if fill is None or fill.pattern not in names:
                        fills[name] = FillDraw(names[0], 0)
            trial = evolve(trial, fills=fills)
            return self._with_numbers(trial, self._kept(trial))
        except UsageError:
            return None

    def drawn(self, seed: int, number: int) -> Trial:
        """Return draw *number* of *seed*.

        Raises `UsageError` if no try gives legal arrays: sizes of 0 or more, at most `MOST_BYTES` in all, and
        non-empty ranges.
        """
        # By its number, independent of earlier draws, so that any process can repeat it alone.
        random = Random(f"{seed}/{number}")  # noqa: S311 - repeatable
        for attempt in range(TRIES):
            try:
                return self._attempt(random)
            except UsageError:
                if attempt == TRIES - 1:
                    raise
        raise AssertionError

    def _attempt(self, random: Random) -> Trial:
        dim = random.choice(self.draw.dims)
        trial = Trial(
            dim,
            random.choice(self.draw.boards),
            random.choice(EFFECTS),
            random.choice((None, random.randrange(1 << 16))),
            random.random() < PLANS,
            {argument.name: random.randrange(len(argument.options)) for argument in self.draw.arguments},
        )
        options = self.options(trial)
        reals = {}
        for name, here in options.items():
            if here.reals and here.is_number:
                low, high = here.reals
                ends = [end for end in (low, high, 0.0, 1.0, 0.5) if low <= end <= high]
                reals[name] = random.choice((random.choice(ends), random.uniform(low, high)))
        fills = {
            name: FillDraw(random.choice(self.names(here, name)), random.randrange(1 << 32))
            for name, here in options.items()
            if here.is_filled
        }
        trial = evolve(trial, numbers=reals, fills=fills)
        tasks = dim[0] * dim[1] * dim[2]

        def choose(name: str, low: int, high: int, numbers: Mapping[str, int]) -> int:
            most = self.limit(random, trial.board, name, numbers)
            if most is not None and random.random() < LIMITS:
                return min(max(most + random.choice((0, 1)), low), high)
            return interesting(random, low, high, self.marks, tasks)

        return self._with_numbers(trial, self._scope(trial, choose))

    def _kept(self, trial: Trial) -> _Numbers:
        """Return the arguments of *trial* with its own numbers, moved into their ranges."""
        return self._scope(
            trial, lambda name, low, high, _: min(max(int(trial.numbers.get(name, low)), low), high)
        )

    def _scope(self, trial: Trial, choose: Choose) -> _Numbers:
        texts = {}
        for name, here in self.options(trial).items():
            value = here.value
            texts[name] = value.text
            if here.reals is not None:
                array = f"in:{value.dtype}:{value.sizes}"
                texts[name] = array if value.is_array else repr(trial.numbers.get(name, here.reals[0]))
        return _Numbers(texts, self.macros, find_board(trial.board), choose=choose)

    def _with_numbers(self, trial: Trial, scope: _Numbers) -> Trial:
        """Return *trial* with the integers of *scope*.  Raises `UsageError` if its arrays become illegal."""
        numbers: dict[str, Number] = {}
        nbytes = 0
        options = self.options(trial)
        for name, here in options.items():
            if here.value.form == DRAW:
                numbers[name] = scope.whole(name)
            elif here.is_number:
                numbers[name] = trial.numbers.get(name, here.reals[0] if here.reals else 0.0)
        for name, here in options.items():
            if here.value.is_array and here.value.sizes is not None:
                count = math.prod(scope.sizes(here.value, f"--arg {name}"))
                nbytes += count * self._dtype(here, name).size
                if here.is_filled and count:
                    self._bounds(scope, here, name)
        if nbytes > MOST_BYTES:
            raise UsageError(
                f"the arrays of a call take {counted(nbytes, 'byte')}; `mlusim fuzz` draws up to {MOST_BYTES:,}, for each is watched; "
                "give smaller ranges"
            )
        return evolve(trial, numbers=numbers)

    def _dtype(self, here: ArgumentDraw, name: str) -> DType:
        if here.value.dtype is None:
            return self.usual.get(name, int32)
        return ArgumentScope.dtype_of(here.value, f"--arg {name}")

    def _bounds(self, scope: _Numbers, here: ArgumentDraw, name: str) -> tuple[float, float] | None:
        if here.reals is not None or not here.is_bounded:
            return here.reals
        low, high = scope.range_of(here.value, f"--arg {name}")
        return low, high - 1

    def made(self, trial: Trial, parameters: tuple[str, ...]) -> MadeCall:
        """Return the texts and arrays of *trial* for the *parameters* of a kernel; its other names serve formulas only."""
        scope = self._kept(trial)
        texts: dict[str, str] = {}
        arrays: dict[str, Array] = {}
        for name, here in self.options(trial).items():
            value = here.value
            prefix = value.prefix
            if here.is_number:
                texts[name] = repr(trial.numbers[name])
            # A formula is replaced by its value: it may use names that are no parameters, which the command
            # lacks.
            elif name in parameters and value.form == NUMBER and not _is_written(value.text):
                texts[name] = str(scope.whole(name))
            elif here.is_filled:
                arrays[name] = self._filled(scope, trial, here, name)
                texts[name] = f"{prefix}{name}.npy"
            elif value.is_array and value.form not in (FILE, MEMBER):
                shape = scope.sizes(value, f"--arg {name}")
                texts[name] = f"{prefix}{value.form.word}:{value.dtype}:{','.join(map(str, shape))}"
            else:
                texts[name] = value.text
        return MadeCall({name: text for name, text in texts.items() if name in parameters}, arrays)

    def _filled(self, scope: _Numbers, trial: Trial, here: ArgumentDraw, name: str) -> Array:
        shape, dtype = scope.sizes(here.value, f"--arg {name}"), self._dtype(here, name).dtype
        if 0 in shape:
            return np.zeros(shape, dtype)
        fill = trial.fills[name]
        return filled(fill.pattern, fill.seed, shape, dtype, self._bounds(scope, here, name))


def _is_written(text: str) -> bool:
    """Return whether *text* is a literal number, or the literal members of a structure, not a formula."""
    try:
        return all(part in ("true", "false") or float(int(part, 0)) is not None for part in text.split(","))
    except ValueError:
        pass
    try:
        return all(float(part) is not None for part in text.split(","))
    except ValueError:
        return False


# -- values of arrays by pattern: ordinary ones, and ones that kernels forget to handle ----------------

Generator = np.random.Generator


def _sprinkled(random: Generator, count: int, _: np.dtype[Any]) -> Array:
    """Draw ordinary values, about one in five replaced by a special one."""
    values = random.standard_normal(count)
    # Denormals and very large floats too: the latter overflow when a kernel squares or adds them.
    specials = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40, 1e38])
    return np.where(random.random(count) < 0.2, random.choice(specials, count), values)


FLOATS: Mapping[str, Callable[[Generator, int, np.dtype[Any]], Array]] = {
    "zeros": lambda _, n, __: np.zeros(n),
    "ones": lambda _, n, __: np.ones(n),
    "counted": lambda _, n, __: np.arange(n) % 1000,
    "whole": lambda r, n, _: r.integers(-8, 9, n),
    "normal": lambda r, n, _: r.standard_normal(n),
    "constant": lambda r, n, _: np.full(n, r.standard_normal()),
    "halves": lambda r, n, _: r.integers(-8, 9, n) + 0.5,
    "sorted": lambda r, n, _: np.sort(r.standard_normal(n)),
    "reversed": lambda r, n, _: np.sort(r.standard_normal(n))[::-1],
    "large": lambda r, n, _: r.standard_normal(n) * 1e4,
    "tiny": lambda r, n, d: r.standard_normal(n) * (1e-7 if d.itemsize < 4 else 1e-39),
    "specials": _sprinkled,
}
"""Patterns of floating-point values, the simplest first."""

WHOLES: Mapping[str, Callable[[Generator, int, int, int], Array]] = {
    "lowest": lambda _, n, low, __: np.full(n, low),
    "counted": lambda _, n, low, high: low + np.arange(n) % (high - low + 1),
    "highest": lambda _, n, __, high: np.full(n, high),
    "few": lambda r, n, low, high: r.integers(low, min(low + 3, high), n, endpoint=True),
    "even": lambda r, n, low, high: r.integers(low, high, n, endpoint=True),
    "sorted": lambda r, n, low, high: np.sort(r.integers(low, high, n, endpoint=True)),
    "reversed": lambda r, n, low, high: np.sort(r.integers(low, high, n, endpoint=True))[::-1],
    "ends": lambda r, n, low, high: r.choice(np.array([low, high]), n),
}
"""Patterns of integers between a lowest and a highest value, the simplest first."""

REALS: Mapping[str, Callable[[Generator, int, float, float], Array]] = {
    "lowest": lambda _, n, low, __: np.full(n, low),
    "highest": lambda _, n, __, high: np.full(n, high),
    "whole": lambda r, n, low, high: np.rint(r.uniform(low, high, n)),
    "halves": lambda r, n, low, high: np.floor(r.uniform(low, high, n)) + 0.5,
    "even": lambda r, n, low, high: r.uniform(low, high, n),
    "few": lambda r, n, low, high: r.choice(r.uniform(low, high, 3), n),
    "sorted": lambda r, n, low, high: np.sort(r.uniform(low, high, n)),
    "reversed": lambda r, n, low, high: np.sort(r.uniform(low, high, n))[::-1],
    "ends": lambda r, n, low, high: r.choice(np.array([low, high]), n),
}
"""Patterns of floating-point values between a lowest and a highest value, the simplest first."""


def patterns(dtype: np.dtype[Any], bounded: bool, *, whole: bool) -> tuple[str, ...]:
    """Return the names of the patterns of arrays of *dtype*, the simplest first.

    Those of *bounded* arrays stay in a range, of integers if *whole*.
    """
    if not _is_float(dtype) or (bounded and whole):
        return tuple(WHOLES)
    return tuple(REALS if bounded else FLOATS)


def filled(
    pattern: str,
    seed: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    bounds: tuple[int, int] | tuple[float, float] | None,
) -> Array:
    """Return the array of *pattern* and *seed*, with values within *bounds* (lowest, highest), if not None."""
    random, count = np.random.default_rng(seed), int(np.prod(shape, dtype=np.int64))
    low, high = bounds or _usual(dtype)
    # Values beyond the type's range become infinite, which is worth trying too.
    with np.errstate(all="ignore"):
        if bounds is None and _is_float(dtype):
            values = FLOATS[pattern](random, count, dtype)
        elif isinstance(low, float):
            values = np.clip(REALS[pattern](random, count, low, high), low, high)
        else:
            values = WHOLES[pattern](random, count, low, int(high))
        return np.asarray(values).astype(dtype).reshape(shape)


def _usual(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the usual range of integers without bounds: so small that sums of many values fit 32 bits."""
    if dtype.kind == "b" or _is_float(dtype):
        return 0, 1
    info = np.iinfo(dtype)
    return max(int(info.min), -(1 << 15)), min(int(info.max), 1 << 15)


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind not in "biu"
