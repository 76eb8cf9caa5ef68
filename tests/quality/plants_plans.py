"""Planted faults against a plan: what plancheck must find."""

from quality_plants import floats, plant

from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, half, int8
from mlusim.plan import Plan, Region, Stage, Var

n = Var("n")
PLAN = Plan(
    "ping and pong",
    [
        Stage(
            "work",
            [
                Region("ping", n, float32),
                Region("pong", n, float32),
                Region("total", n, float32),
                Region("narrow", n, half),
            ],
        )
    ],
    example={"n": 64},
)
SPARE = Plan(
    "with a spare", [Stage("work", [*PLAN.stages[0].regions, Region("spare", n, float32)])], example={"n": 64}
)
N = 64


def layout(board):
    """The plan for 64 elements: four regions, 896 bytes."""
    return PLAN.layout(board.name, n=N)


def spare(board):
    """The plan with a region that the kernels below do not use."""
    return SPARE.layout(board.name, n=N)


def regions(mlu, slack=0):
    """The buffer of the plan, with *slack* bytes behind it."""
    return PLAN.place(mlu.nram(int8, 896 + slack), n=N)


@plant("plancheck-crosses-regions", layout, floats(256), floats(256))
def a_row_too_many_is_loaded(mlu, wrong, _, dst, src):
    r = regions(mlu)
    mlu.memcpy(r.ping, src, 64, GDRAM2NRAM, 64, 64, 4 if wrong else 3)  # fault
    mlu.memcpy(dst, r.ping, 256, NRAM2GDRAM)


@plant("plancheck-crosses-regions", layout, floats(256), floats(256))
def the_padded_count_leaves_the_region(mlu, wrong, _, dst, src):
    r = regions(mlu)
    mlu.memcpy(r.ping, src, 256, GDRAM2NRAM)
    mlu.memcpy(r.pong, src, 256, GDRAM2NRAM)
    mlu.bang_add(r.ping, r.ping, r.ping, 96 if wrong else N)  # fault
    mlu.memcpy(dst, r.ping, 256, NRAM2GDRAM)


@plant("plancheck-crosses-regions", layout, floats(256))
def the_fill_counts_bytes(mlu, wrong, _, dst):
    r = regions(mlu)
    mlu.bang_write_zero(r.ping, N * 2 + 16 if wrong else N)  # fault
    mlu.memcpy(dst, r.ping, 256, NRAM2GDRAM)


@plant("plancheck-crosses-regions", layout, floats(256), floats(256))
def pong_begins_behind_the_tail_of_ping(mlu, wrong, _, dst, src):
    r = regions(mlu)
    tail = 40
    pong = r.ping + (tail if wrong else N)
    mlu.memcpy(pong, src, 256, GDRAM2NRAM)  # fault
    mlu.memcpy(dst, pong, 256, NRAM2GDRAM)


@plant("plancheck-slack", layout, floats(256), floats(256))
def a_temporary_lies_behind_the_plan(mlu, wrong, _, dst, src):
    r = regions(mlu, 256)
    temporary = r.ping + 224 if wrong else r.total
    mlu.memcpy(temporary, src, 128, GDRAM2NRAM)  # fault
    mlu.memcpy(dst, temporary, 128, NRAM2GDRAM)


@plant("plancheck-crosses-regions", layout, floats(256), floats(256))
def halves_are_widened_in_a_region_for_halves(mlu, wrong, _, dst, src):
    r = regions(mlu, 256)
    mlu.bang_write_zero(r.narrow, N)
    wide = (r.narrow if wrong else r.total).cast(float32)
    mlu.memcpy(wide, src, 4 * N, GDRAM2NRAM)  # fault
    mlu.memcpy(dst, wide, 256, NRAM2GDRAM)


@plant("plancheck-crosses-regions", layout, floats(256), floats(256))
def the_rows_are_further_apart_than_planned(mlu, wrong, _, dst, src):
    r = regions(mlu)
    mlu.memcpy(r.pong, src, 32, GDRAM2NRAM, 40 if wrong else 32, 32, 7)  # fault
    mlu.memcpy(dst, r.pong, 256, NRAM2GDRAM)


@plant("plancheck-crosses-regions", layout, floats(256), floats(256))
def the_window_is_shifted_by_one(mlu, wrong, _, dst, src):
    r = regions(mlu)
    mlu.memcpy(r.ping, src, 256, GDRAM2NRAM)
    mlu.memcpy(r.pong, src, 256, GDRAM2NRAM)
    mlu.bang_add(r.total, r.pong, r.pong - 1 if wrong else r.pong, N)  # fault
    mlu.memcpy(dst, r.total, 256, NRAM2GDRAM)


@plant("plancheck-slack", layout, floats(256))
def a_scalar_is_stored_behind_the_last_region(mlu, wrong, _, dst):
    r = regions(mlu, 64)
    last = r.narrow + (N if wrong else N - 1)
    last[0] = half(1.0)  # fault
    dst[0] = float(last[0])  # fault


@plant("plancheck-high-water", layout, floats(256), floats(256))
def something_is_declared_beside_the_plan(mlu, wrong, _, dst, src):
    r = regions(mlu)
    extra = mlu.nram(float32, 32) if wrong else r.total
    mlu.memcpy(extra, src, 128, GDRAM2NRAM)
    mlu.memcpy(dst, extra, 128, NRAM2GDRAM)


@plant("plancheck-unused-region", spare, floats(256), floats(256), notes=True)
def a_region_is_planned_for_nothing(mlu, wrong, _, dst, src):
    r = SPARE.place(mlu.nram(int8, 1152), n=N)
    mlu.bang_write_zero(r.ping, 3 * N)
    mlu.bang_write_zero(r.narrow, N)
    if not wrong:
        mlu.memcpy(r.spare, src, 256, GDRAM2NRAM)
    mlu.memcpy(dst, r.total, 256, NRAM2GDRAM)


@plant("plancheck-crosses-regions", layout, floats(256), floats(256), dim=(3, 1, 1))
def the_last_tile_is_stored_in_full(mlu, wrong, _, dst, src):
    r = regions(mlu)
    count = min(N, 150 - mlu.taskId * N)
    at = r.ping + (N - count)
    mlu.memcpy(at, src + mlu.taskId * N, 4 * count, GDRAM2NRAM)
    mlu.memcpy(r.pong, src, 256, GDRAM2NRAM)
    mlu.bang_add(at, at, at, N if wrong else count)  # fault
    mlu.memcpy(dst + mlu.taskId * N, at, 4 * count, NRAM2GDRAM)
