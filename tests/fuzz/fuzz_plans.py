"""Random plans over two variables, with lower bounds, steps and conditions, and their frontier by looking at every shape."""

import random

from mlusim.errors import UsageError
from mlusim.plan import (
    PAD_DOWN,
    PAD_UP,
    Plan,
    Region,
    Stage,
    Var,
    ceil_div,
    float32,
    int8,
    maximum,
    minimum,
    nbytes,
)

BOARD = "MLU370-X4"


def _formula(draw, leaves, depth):
    """A formula of at most *depth* operations over *leaves* and small numbers."""
    if depth == 0 or draw.random() < 0.25:
        return draw.choice([*leaves, draw.randint(0, 9)])
    a, b = _formula(draw, leaves, depth - 1), _formula(draw, leaves, depth - 1)
    k, held = draw.choice([1, 2, 3, 4, 7]), leaves[0] * 0 + a
    makers = (
        lambda: a + b,
        lambda: a - b,
        lambda: a * b,
        lambda: held // k,
        lambda: ceil_div(held, k),
        lambda: PAD_UP(held, k),
        lambda: PAD_DOWN(held, k),
        lambda: minimum(held, b),
        lambda: maximum(held, b),
    )
    return draw.choice(makers)()


def plan_of(seed):
    """The plan with that number: regions that grow and shrink, conditions that bound from either side."""
    draw = random.Random(seed)
    x = Var("x", low=draw.choice([0, 1, 3]), high=draw.randint(8, 30), multiple_of=draw.choice([1, 1, 2, 4]))
    y = Var("y", low=draw.choice([0, 1, 5]), high=draw.randint(8, 30), multiple_of=draw.choice([1, 1, 3, 4]))
    zero = x * 0
    regions = [
        Region(f"r{i}", maximum(_formula(draw, (x, y), 3) + zero, 0), draw.choice([int8, float32]))
        for i in range(draw.randint(1, 3))
    ]
    conditions = []
    for _ in range(draw.choice([0, 0, 1, 2])):
        a, b = (_formula(draw, (x, y), 2) + zero for _ in range(2))
        conditions.append(draw.choice([a <= b, a >= b, a < b, y >= draw.randint(0, 9), x >= y]))
    stages = [Stage("s", [*regions, Region("tail", x + y, int8)])]
    return Plan("random", stages, requires=conditions, capacity=nbytes(draw.randint(0, 400)))


def _is_legal(plan, **values):
    """Whether the shape may be asked for, and fits."""
    try:
        return plan.fits(BOARD, values)
    except UsageError:  # no multiple of its step
        return False


def by_looking(plan):
    """The largest y of each x that has one."""
    x, y = plan.variables["x"], plan.variables["y"]
    found = {}
    for at in range(x.low, x.high + 1):
        for value in range(y.low, y.high + 1):
            if _is_legal(plan, x=at, y=value):
                found[at] = value
    return found


def by_frontier(plan):
    """The same, by the frontier."""
    frontier = plan.frontier("x", "y", board=BOARD)
    return {x: y for x, y in zip(frontier.xs.tolist(), frontier.ys.tolist(), strict=True) if y >= 0}
