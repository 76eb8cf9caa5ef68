"""The operators' plans against the numbers of their design documents."""

import pytest

from mlusim.arch.catalog import find_board
from mlusim.plan import choose
from mlusim.plan.claims import Verdict
from ops.border_align_backward.plan import FIGURE, PLAN as BORDER_ALIGN
from ops.dynamic_scatter_backward.plan import PLAN as DYNAMIC_SCATTER
from ops.mutual_information_backward.plan import DRAWING as MUTUAL_DRAWING, PLAN as MUTUAL
from ops.three_interpolate_backward.plan import DRAWING as INTERPOLATE_DRAWING, PLAN as INTERPOLATE
from ops.three_interpolate_backward.tiles import Tiles, document_tiles, shipped_tiles
from ops.tin_shift.plan import FRAMES, PIXELS, PLANS, WHOLE_CHANNEL

EVERY = (MUTUAL, INTERPOLATE, BORDER_ALIGN, DYNAMIC_SCATTER, *PLANS)

# -- mutual_information_backward


def floats(s, t):
    """Return what the two large stages need, in floats."""
    terms = s * (t + 1) + (s + 1) * t + 5 * (t + 1)
    p_grad = s * (t + 1) + (s + 1) * t + (s + 1) * (t + 1) + 3 * min(s, t) + 4
    return terms, p_grad


@pytest.mark.parametrize(
    ("s", "t"), [(0, 0), (0, 7), (7, 0), (1, 1), (3, 13652), (15, 104), (104, 15), (232, 233)]
)
def test_mutual_information_high_water(s, t):
    """The plan's high water is the larger of its two large stages, to the byte."""
    layout = MUTUAL.layout("MLU370-X4", S=s, T=t)

    assert 4 * max(floats(s, t)) == layout.high_water
    assert [4 * f for f in floats(s, t)] == [stage.used for stage in layout.stages[:2]]


@pytest.mark.parametrize(
    ("board", "largest"),
    [
        (
            "MLU370-X4",
            {0: 27305, 1: 20479, 3: 13652, 4: 11701, 9: 5647, 15: 3484, 100: 540, 232: 233, 233: 232},
        ),
        (
            "MLU590-H8",
            {0: 16383, 1: 12287, 3: 8191, 4: 7019, 9: 3388, 15: 2089, 100: 323, 179: 180, 180: 179},
        ),
    ],
)
def test_mutual_information_largest(board, largest):
    """The largest T for each S, and that terms binds up to S = 3 and p_grad from there on."""
    for s, t in largest.items():
        found = MUTUAL.largest("T", board=board, S=s)

        assert t == found.largest
        assert 4 * max(floats(s, t)) == found.used_at_largest <= found.capacity < found.used_at_next
        assert ("terms" if s <= 3 else "p_grad") == found.stage


ADMITTED = {
    "MLU370-X4": [
        *((0, 27306), (3, 13653), (5, 9636), (9, 5648), (14, 3722), (3722, 14), (5648, 9), (9636, 5)),
        *((14893, 3), (81918, 0), (81919, 0)),
    ],
    "MLU590-H8": [
        *(
            (0, 16384),
            (2, 9830),
            (4, 7020),
            (5, 5781),
            (11, 2807),
            (13, 2396),
            (22, 1444),
            (25, 1275),
            (36, 892),
        ),
        *(
            (127, 255),
            (255, 127),
            (892, 36),
            (1275, 25),
            (1444, 22),
            (2396, 13),
            (2807, 11),
            (5781, 5),
            (7020, 4),
        ),
        *((8935, 3), (19659, 1), (49150, 0), (49151, 0)),
    ],
}


@pytest.mark.parametrize("board", ADMITTED)
def test_mutual_information_document_limit(board):
    """The document's limit admits exactly these shapes that do not fit, and refuses none that does."""
    found = MUTUAL.compare(MUTUAL.claims[0], board=board)

    assert ADMITTED[board] == [(run.at["S"], run.first) for run in found.generous]
    assert len(ADMITTED[board]) == found.counter_examples
    assert () == found.strict
    assert all(run.used == 4 * max(floats(run.at["S"], run.last)) > found.capacity for run in found.generous)
    assert (
        "I1 is 20 bytes short of stage terms, for all values",
        "I2 is 12 bytes short of stage p_grad, for all values",
    ) == found.relations


# -- three_interpolate_backward


@pytest.mark.parametrize(
    ("board", "dtype", "No", "Mo"),
    [
        ("MLU370-X4", "float", (1440, 643584, 657792), (2496, 649216, 657408)),
        ("MLU370-X4", "half", (1472, 644224, 671872), (2432, 642176, 658560)),
        ("MLU590-H8", "float", (864, 387840, 402048), (1472, 387072, 395264)),
        ("MLU590-H8", "half", (832, 367744, 395392), (1408, 380032, 396416)),
    ],
)
def test_three_interpolate_limits(board, dtype, No, Mo):
    """The largest N and M tiles with the others at one alignment, and the bytes there and one further."""
    for name, expected in (("No", No), ("Mo", Mo)):
        found = INTERPOLATE.largest(name, board=board, dtype=dtype)

        assert expected == (found.largest, found.used_at_largest, found.used_at_next)


@pytest.mark.parametrize(
    ("board", "dtype", "cube", "used"),
    [
        ("MLU370-X4", "float", 192, 602112),
        ("MLU370-X4", "half", 256, 537088),
        ("MLU590-H8", "float", 128, 270336),
        ("MLU590-H8", "half", 192, 304512),
    ],
)
def test_three_interpolate_cubes(board, dtype, cube, used):
    """Equal tiles: the largest cube fits and the next does not."""
    step = 32 if dtype == "float" else 64
    layouts = [
        INTERPOLATE.layout(board, {"Co": c, "No": c, "Mo": c}, dtype=dtype) for c in (cube, cube + step)
    ]

    assert (used, True, False) == (layouts[0].high_water, layouts[0].fits, layouts[1].fits)


@pytest.mark.parametrize(
    ("shape", "tiles"),
    [
        ((16, 512, 64, 16), [(512, 64, 32), (512, 64, 32), (416, 64, 32), (512, 32, 32)]),
        ((16, 256, 256, 64), [(192, 256, 64), (256, 160, 64), (96, 256, 64), (256, 96, 32)]),
        ((16, 256, 1024, 256), [(32, 1024, 256), (256, 32, 256), (32, 864, 64), (256, 64, 96)]),
        ((16, 128, 4096, 1024), [(32, 1440, 96), (64, 32, 1024), (32, 864, 64), (64, 32, 480)]),
        ((16, 16, 64, 512), [(32, 64, 512), (32, 64, 512), (32, 64, 512), (32, 64, 224)]),
        ((16, 1024, 4096, 128), [(32, 1440, 96), (480, 32, 128), (32, 864, 64), (352, 32, 96)]),
        ((7, 63, 129, 127), [(64, 160, 128), (64, 160, 96), (64, 160, 128), (64, 160, 32)]),
        ((29, 2047, 999, 2033), [(32, 1024, 1280), (32, 32, 2048), (32, 864, 64), (32, 32, 992)]),
    ],
)
def test_three_interpolate_tiles(shape, tiles):
    """Both policies on both boards for the document's cases (MLU370-X8 and MLU590-H8, float)."""
    b, c, n, m = shape
    found = []
    for board in ("MLU370-X8", "MLU590-H8"):
        found.append(document_tiles(board, "float", C=c, N=n, M=m))
        found.append(shipped_tiles(board, "float", B=b, C=c, N=n, M=m))

    assert [Tiles(*t) for t in tiles] == found


def test_three_interpolate_spare_row():
    """As drawn, the spare row falls onto grad_features_transpose; where the plan puts it, nothing spills."""
    drawn = {f.rule: f for f in INTERPOLATE_DRAWING.check()}
    same = [
        p.layout("MLU370-X4", {"Co": 64, "No": 96, "Mo": 32}, dtype="float")
        for p in (INTERPOLATE, INTERPOLATE_DRAWING)
    ]

    assert "fall on grad_features_transpose" in drawn["plan-spill"].message
    assert (
        "grad_output_transpose holds No*Co+Co elements but only No*Co are touched"
        in drawn["plan-untouched"].message
    )
    assert () == INTERPOLATE.check()
    assert same[0].high_water == same[1].high_water


# -- tin_shift


@pytest.mark.parametrize(
    ("board", "dtype", "elements"),
    [
        ("MLU370-X4", "float", 163840),
        ("MLU370-X4", "half", 327680),
        ("MLU590-H8", "float", 98304),
        ("MLU590-H8", "half", 196608),
    ],
)
def test_tin_shift_thresholds(board, dtype, elements):
    """Equality still belongs to the smaller regime; one element more does not."""
    assert elements == WHOLE_CHANNEL.largest("HW", board=board, dtype=dtype, T=1).largest
    assert elements == FRAMES.largest("HW", board=board, dtype=dtype).largest
    assert elements == PIXELS.largest("chunk", board=board, dtype=dtype).largest


def test_tin_shift_zoo():
    """The network shapes: 7 frames per pass on one board, 4 on the other; and one frame or two chunks."""
    assert 7 == FRAMES.complete("MLU370", {"T": 15, "HW": 45435}, dtype="half")["G"]
    assert 4 == FRAMES.complete("MLU590", {"T": 15, "HW": 45435}, dtype="half")["G"]
    assert 1 == FRAMES.complete("MLU370", {"T": 16, "HW": 262144}, dtype="half")["G"]
    assert 196608 == PIXELS.complete("MLU590", {"T": 16, "HW": 262144}, dtype="half")["chunk"]


# -- border_align_backward


@pytest.mark.parametrize(
    ("board", "dtype", "deal_num", "used"),
    [
        ("MLU370-X4", "float", 32736, 654848),
        ("MLU370-X4", "half", 54592, 655232),
        ("MLU590-H8", "float", 19648, 393088),
        ("MLU590-H8", "half", 32704, 392576),
    ],
)
def test_border_align_deal_num(board, dtype, deal_num, used):
    """The document's PAD_DOWN is the exact largest, on every board."""
    found = BORDER_ALIGN.largest("deal_num", board=board, dtype=dtype)

    assert (deal_num, used) == (found.largest, found.used_at_largest)
    assert Verdict.SAME is BORDER_ALIGN.compare(BORDER_ALIGN.claims[0], board=board, dtype=dtype).verdict


def test_border_align_figure():
    """PAD_UP in the figure's formula needs 655488 of 655360 bytes."""
    found = FIGURE.compare(FIGURE.claims[0], board="MLU370-X4", dtype="float")

    assert Verdict.GENEROUS is found.verdict
    assert [(40960, 655488)] == [(run.last, run.used) for run in found.generous]
    assert 655360 == found.capacity


# -- dynamic_scatter_backward


def test_dynamic_scatter_chunks():
    """Points per pass, the largest C, and that the document's formula is exact for every C."""
    for board, big, small, most in (("MLU370", 255, 6301, 27306), ("MLU590", 153, 3780, 16383)):
        assert big == DYNAMIC_SCATTER.complete(board, {"C": 128})["n"]
        assert small == DYNAMIC_SCATTER.complete(board, {"C": 5})["n"]
        assert 34 == DYNAMIC_SCATTER.complete(board, {"C": 5, "N": 34})["n"]
        assert most == DYNAMIC_SCATTER.largest("C", board=board).largest
        assert Verdict.SAME is DYNAMIC_SCATTER.compare(DYNAMIC_SCATTER.claims[0], board=board).verdict


# -- all of them


@pytest.mark.parametrize("plan", EVERY, ids=lambda plan: plan.name)
def test_no_plan_has_an_error(plan):
    """No region can be negative, spill, overlap, or mix units, for any legal value."""
    assert [] == [f for f in plan.check() if f.severity == "error"]


@pytest.mark.parametrize("plans", [(p,) for p in EVERY[:4]] + [PLANS], ids=lambda plans: plans[-1].name)
@pytest.mark.parametrize("board", ["MLU220-M2", "MLU290-M5", "MLU370-X4", "MLU590-H8"])
def test_examples_fit(plans, board):
    """What a plan shows of itself is legal and fits, on every generation; regimes take over in turn."""
    for dtype in plans[0].dtypes or (None,):
        for plan in plans:
            layout = choose(plans, board, plan.example, dtype=dtype)[1]

            assert layout.fits
            assert find_board(board).arch.max_nram == layout.capacity


def test_the_diagonal_of_the_drawing_is_short():
    """The document's second drawing sets more of cur_p_grad than it holds."""
    spill = next(f for f in MUTUAL_DRAWING.check() if f.rule == "plan-spill")

    assert "touches min(S,T)+2 elements of cur_p_grad, which holds min(S,T): 8 bytes" in spill.message
