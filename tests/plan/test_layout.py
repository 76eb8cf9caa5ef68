"""Layouts: where regions lie, what overlaps, what a stage keeps; held against a model of bytes."""

import pytest
from hypothesis import given, settings, strategies as st
from plan_strategies import plans

from mlusim.errors import UsageError
from mlusim.plan import (
    PAD_UP,
    ElementType,
    Plan,
    Region,
    Stage,
    Var,
    choose,
    float32,
    half,
    int8,
    int32,
    minimum,
    nbytes,
    sizeof,
)

BOARD = "MLU370-X4"
n = Var("n", "elements", low=1)
T = ElementType("T", (float32, half))
in_steps = Var("n", "elements", low=1, multiple_of=nbytes(128) // sizeof(T))
STEPS = Plan("steps", [Stage("all", [Region("r", in_steps, T)])])


@given(plans(), st.integers(0, 24), st.integers(0, 24))
@settings(deadline=None)
def test_regions_in_a_row_never_overlap(plan, s, t):
    """As a set of bytes: no two regions of a stage meet, the last byte is the used one, kept ones stay."""
    layout = plan.layout(BOARD, S=s, T=t)
    homes = {}
    for stage in layout.stages:
        bytes_ = [b for r in stage.regions for b in range(r.offset, r.end)]

        assert len(bytes_) == len(set(bytes_))
        assert max([0, *(r.end for r in stage.regions)]) == stage.used
        for region in stage.regions:
            assert homes.setdefault(region.name, (region.offset, region.end)) == (region.offset, region.end)
    assert () == layout.overlaps()


@given(plans(), st.integers(0, 24), st.integers(0, 24))
@settings(deadline=None)
def test_offsets_are_aligned_as_declared(plan, s, t):
    """Every region begins at a multiple of its own alignment."""
    for stage in plan.layout(BOARD, S=s, T=t).stages:
        for region in stage.regions:
            align = plan.regions[region.name].region.align.evaluate({})

            assert 0 == region.offset % align
            assert region.offset == 0 or region.alignment & -region.alignment == region.alignment


def two_stages():
    """Return a plan whose second stage keeps one region and reuses the space of the other."""
    return Plan(
        "two",
        [
            Stage("load", [Region("a", n, float32), Region("b", 2 * n, half)]),
            Stage("work", [Region("c", n, float32), Region("d", 1, int32)], keeps="a"),
        ],
    )


def test_a_later_stage_reuses_what_it_does_not_keep():
    """C begins where b began, a stays, and high water is the larger stage."""
    layout = two_stages().layout(BOARD, n=10)

    assert [("a", 0, 40), ("b", 40, 40)] == [(r.name, r.offset, r.bytes) for r in layout.stages[0].regions]
    assert [("a", 0), ("c", 40), ("d", 80)] == [(r.name, r.offset) for r in layout.stages[1].regions]
    assert (True, 84, 655360 - 84, 0) == (layout.fits, layout.high_water, layout.slack, layout.overflow)
    assert layout.stages[1].region("a").kept


def test_regions_are_found_by_byte():
    """What an observer needs: whose byte is this, in which stage."""
    layout = two_stages().layout(BOARD, n=10)

    assert [("load", "b"), ("work", "c")] == [(s, r.name) for s, r in layout.regions_at(79)]
    assert [("work", "d")] == [(s, r.name) for s, r in layout.regions_at(80, stage="work")]
    assert () == layout.regions_at(84)


def test_an_alias_is_said_openly():
    """A region that reuses another begins there, costs nothing more, and is not an overlap."""
    term1, cur = Region("term1", n, float32), Region("cur", 3, float32)
    alias = Region("cur_px", n, float32, reuses=term1)
    layout = Plan("alias", [Stage("all", [term1, alias, cur])]).layout(BOARD, n=5)
    regions = layout.stages[0].regions

    assert [0, 0, 20] == [r.offset for r in regions]
    assert () == layout.overlaps()
    assert ("term1",) == regions[1].reuses
    assert ["term1"] == regions[1].to_json()["reuses"]


def test_an_alias_that_is_too_long_overlaps_its_neighbour():
    """The declaration covers the region that it names, not the one behind."""
    plan = Plan(
        "long",
        [
            Stage(
                "all",
                [Region("a", n, float32), Region("x", n + 1, float32, reuses="a"), Region("b", 4, int8)],
            )
        ],
    )

    assert [("x", "b", 4)] == [(o.first, o.second, o.bytes) for o in plan.layout(BOARD, n=5).overlaps()]


def test_a_region_can_be_put_where_the_document_puts_it():
    """Offsets written by hand are taken as they are, in elements or in bytes, and overlaps show."""
    plan = Plan(
        "by hand",
        [
            Stage(
                "all",
                [
                    Region("a", n, float32),
                    Region("b", n, float32, at=n - 1),
                    Region("c", 1, half, at=nbytes(64)),
                ],
            )
        ],
    )
    layout = plan.layout(BOARD, n=10)

    assert [0, 36, 64] == [r.offset for r in layout.stages[0].regions]
    assert [("a", "b", 4), ("b", "c", 2)] == [(o.first, o.second, o.bytes) for o in layout.overlaps()]
    assert not [o for o in layout.overlaps() if o.second == "a"]


def test_sizes_in_bytes_and_in_elements():
    """A size whose unit is bytes is not multiplied again."""
    dtype = ElementType("T", (float32, half))
    plan = Plan(
        "units", [Stage("all", [Region("box", nbytes(128), dtype), Region("x", PAD_UP(n, 64), dtype)])]
    )

    assert 128 + 64 * 2 == plan.layout(BOARD, n=3, dtype=half).high_water
    assert 64 == plan.layout(BOARD, n=3, dtype="half").stages[0].region("box").elements
    assert 32 == plan.layout(BOARD, n=3, dtype="float32").stages[0].region("box").elements


def test_json_is_the_contract():
    """The public JSON has the agreed names, and describes every byte."""
    facts = two_stages().layout("MLU590-H8", n=10).to_json()

    assert {"board", "fits", "capacity", "stages", "slack"} <= set(facts)
    assert ("MLU590-H8", True, 393216, 393132) == tuple(
        facts[k] for k in ("board", "fits", "capacity", "slack")
    )
    assert {"name": "c", "dtype": "float", "elements": 10, "offset": 40, "bytes": 40} == facts["stages"][1][
        "regions"
    ][1]


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda p: p.layout(BOARD), r"needs a value for n \(elements\)"),
        (lambda p: p.layout(BOARD, m=1), "has no variable 'm'; its variables are n"),
        (lambda p: p.layout(BOARD, n=0), "n of plan two is 0; give 1 to"),
        (
            lambda _: STEPS.layout(BOARD, n=33, dtype="float"),
            "n of plan steps is 33; give .* 32 here, such as 32 or 64",
        ),
        (lambda _: STEPS.layout(BOARD, n=32, dtype="half"), r"a multiple of 128/sizeof\(T\), .* such as 64$"),
        (lambda p: p.layout(BOARD, n=1.5), "give a whole number"),
        (lambda p: p.layout(BOARD, n=True), "give a whole number"),
        (lambda p: p.layout("MLU999", n=1), "no board is called"),
        (lambda p: p.layout(BOARD, n=1, dtype=half), "leave dtype out"),
        (lambda p: p.largest("m", board=BOARD), "has no variable 'm'"),
        (lambda p: p.largest("n", board=BOARD, m=3), "has no variable 'm'"),
        (lambda p: p.frontier("n", "n", board=BOARD), "needs two variables"),
        (lambda p: p.layout(BOARD, n=1).stage("x"), "has no stage 'x'; it has load, work"),
        (lambda p: p.layout(BOARD, n=1).stages[0].region("x"), "has no region 'x'; it has a, b"),
    ],
)
def test_wrong_questions_get_a_sentence(ask, sentence):
    """A wrong variable, a missing one, an impossible value: one sentence each."""
    with pytest.raises(UsageError, match=sentence):
        ask(two_stages())


def test_a_negative_size_gets_a_sentence():
    """A size that is negative for the given values is named, with its formula."""
    plan = Plan("negative", [Stage("all", [Region("r", n - 5, float32)])])
    with pytest.raises(UsageError, match="region r of plan negative would be -8 bytes .* its size is n-5"):
        plan.layout(BOARD, n=3)


@pytest.mark.parametrize(
    ("stages", "sentence"),
    [
        ([Stage("a", [Region("x", 1, int8)], keeps="y")], "keeps 'y', which no earlier stage has"),
        ([Stage("a", [Region("x", 1, int8), Region("x", 2, int8)])], "two regions called 'x'"),
        ([Stage("a", [Region("x", 1, int8, reuses="y")])], "reuses 'y', which is not alive"),
        ([Stage("a", [])], "has no region"),
        ([Stage("a", [Region("x", 1, int8)]), Stage("b", [Region("x", 2, int8)])], "lies elsewhere"),
        ([Stage("a", [Region("x", 1, int8)]), Stage("a", [Region("y", 2, int8)])], "its own name"),
        ([], "one stage or more"),
    ],
)
def test_a_wrong_plan_is_refused_where_it_is_written(stages, sentence):
    """A plan that contradicts itself never comes to be."""
    with pytest.raises(UsageError, match=sentence):
        Plan("wrong", stages)


def test_region_names_are_pointer_names():
    """A region's name must do as an attribute."""
    with pytest.raises(UsageError, match="cannot name a region"):
        Region("two words", 1, int8)


def test_requirements_apply_when_they_can():
    """A limit on a variable without a value is left out; a broken one makes the layout not fit."""
    b = Var("B", "batches", low=1)
    plan = Plan("limits", [Stage("all", [Region("r", n, int8)])], requires=[(b * n < 100).called("small")])

    assert plan.layout(BOARD, n=1000).fits
    assert ("small",) == plan.layout(BOARD, n=50, B=2).unmet
    assert not plan.fits(BOARD, {"n": 50, "B": 2})
    assert 49 == plan.largest("n", board=BOARD, B=2).largest
    assert "small: " in plan.largest("n", board=BOARD, B=2).binding


def test_tiles_grow_to_what_is_enough():
    """A missing tile is the largest that fits, but not beyond the dimension that it tiles."""
    rows, whole = Var("rows", low=1, tile=True, enough=Var("N", low=1)), 64
    plan = Plan("tiles", [Stage("all", [Region("r", rows * whole, int8)])], capacity=nbytes(1000))

    assert 15 == plan.complete(BOARD, {})["rows"]
    assert 7 == plan.complete(BOARD, {"N": 7})["rows"]
    assert 15 == plan.complete(BOARD, {"N": 70})["rows"]
    assert 3 == plan.complete(BOARD, {"N": 70, "rows": 3})["rows"]


def test_the_first_regime_that_fits_is_chosen():
    """Regimes are tried in order; values that a regime does not know are not an error unless none does."""
    whole = Plan("whole", [Stage("all", [Region("r", n, int8)])], capacity=nbytes(100))
    part = Var("part", low=1, tile=True, enough=n)
    parts = Plan("parts", [Stage("all", [Region("r", part, int8)])], capacity=nbytes(100))

    assert "whole" == choose((whole, parts), BOARD, {"n": 100})[0].name
    plan, layout = choose((whole, parts), BOARD, {"n": 101})

    assert ("parts", 100) == (plan.name, layout.values["part"])
    with pytest.raises(UsageError, match="whole has no variable 'm'; its variables are n, part"):
        choose((whole, parts), BOARD, {"m": 1})


def test_when_no_regime_fits_the_last_says_why():
    """The layout that comes back then does not fit."""
    plan = Plan("only", [Stage("all", [Region("r", minimum(n, 200), int8)])], capacity=nbytes(100))

    assert 50 == choose((plan,), BOARD, {"n": 150})[1].overflow
