"""Plans to look at: they fit a terminal, are true to scale, and say what they mean."""

import io
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings, strategies as st
from plan_strategies import plans
from rich.console import Console

from mlusim import plan as plan_room
from mlusim.plan import Plan, Region, ScaleLimit, Stage, Value, Var, float32, int8, nbytes
from mlusim.plan.layout import lanes, ruler, segments
from mlusim.plan.render import (
    MAP_COLUMNS,
    box_drawing,
    comparison_view,
    findings_view,
    frontier_view,
    largest_view,
    layout_view,
    map_text,
    plan_view,
)
from mlusim.plan.svg import (
    BoardColumn,
    boards_svg,
    frontier_svg,
    layout_svg,
    legend,
    memories_svg,
    plan_column,
)
from ops.mutual_information_backward.plan import PLAN
from ops.three_interpolate_backward.plan import PLAN as INTERPOLATE

BOARD = "MLU370-X4"
n = Var("n", low=1)


def text(view, width=80):
    """Return what a terminal of *width* columns shows."""
    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(view)
    return console.file.getvalue()


def test_box_drawing():
    """A stage reads like the comment in the document's pseudocode."""
    drawn = box_drawing(PLAN).splitlines()

    assert "stage terms" == drawn[0]
    assert "|  term1  |  term2  | cur_p | next_p | large_neg | mask |" == drawn[1]
    assert "| S*(T+1) | (S+1)*T |  T+1  |  T+1   |  2*(T+1)  | T+1  |" == drawn[2]


def test_layout_view():
    """Name, formula, elements, offset and bytes of a region stand in one line, the map below."""
    shown = text(layout_view(PLAN.layout(BOARD, S=15, T=104), PLAN))

    assert "stage p_grad: 19872 of 655360 bytes, 3.0 %" in shown
    assert "g  p_grad        (S+1)*(T+1)  float      1680   12956   6720\n" in shown
    assert "|       term1        |        term2        |c|d|e |f|\n" in shown
    assert "fits: 635488 bytes to spare" in shown


def test_layout_view_of_what_does_not_fit():
    """The missing bytes are said in the stage and in the verdict, and the gauge runs over."""
    shown = text(layout_view(PLAN.layout("MLU590-H8", S=4, T=7020), PLAN))

    assert "stage p_grad: 393220 of 393216 bytes, 4 too many" in shown
    assert "=!]\n" in shown
    assert "does not fit: 4 bytes too many on MLU590-H8" in shown


def test_everything_fits_eighty_columns():
    """No view of a plan is wider than a terminal of 80 columns."""
    layouts = [
        layout_view(PLAN.layout(BOARD, S=15, T=104), PLAN),
        layout_view(INTERPOLATE.describe(BOARD, dtype="half", **INTERPOLATE.example), INTERPOLATE),
        plan_view(INTERPOLATE, INTERPOLATE.check()),
        comparison_view(PLAN.compare(PLAN.claims[0], board=BOARD)),
        largest_view([PLAN.largest("T", board=BOARD, S=15)]),
        frontier_view(PLAN.frontier("S", "T", board=BOARD)),
    ]
    for view in layouts:
        assert 80 >= max(len(line) for line in text(view).splitlines())


def test_plan_view():
    """Before any numbers: totals, ranges, requirements and findings."""
    shown = text(plan_view(PLAN, PLAN.check()))

    assert "terms      (2*S*T+S+6*T+5)*sizeof(float) <= NRAM" in shown
    assert "requires large tensor px: S*(T+1) <= 2147483647" in shown
    assert "note: plan-empty-region (stage terms) term1 is empty at S=0" in shown
    assert "no finding" in text(findings_view(()))


def test_largest_view():
    """The value, its bytes, the bytes at one more, and the constraint that breaks."""
    shown = text(largest_view([PLAN.largest("T", board=BOARD, S=15)]), width=120)

    assert "MLU370-X4  T            3484  655312  3485  655500  655360" in shown
    assert "T=3485 breaks stage p_grad: (3*S*T+2*S+2*T+3*min(S,T)+5)*sizeof(float) <= NRAM" in shown


def test_comparison_view():
    """Counter-examples with what they need; long lists are cut and say so."""
    plan = Plan("p", [Stage("all", [Region("r", n, int8)])], capacity=nbytes(100))
    one = text(comparison_view(plan.compare(Value("one more", "n", nbytes(101)), board=BOARD)))
    many = Plan("q", [Stage("all", [Region("r", n * (Var("m", low=1)), int8)])], capacity=nbytes(100))
    cut = text(
        comparison_view(
            many.compare(ScaleLimit("too small", [n * Var("m", low=1) <= 10], over=("n", "m")), board=BOARD)
        )
    )

    assert "1 shape admitted beyond the 100 bytes that there are:\n    n=101: 101 bytes, 1 too many" in one
    assert "stricter than the plan" in cut
    assert "rows more; --json lists all" in cut


@given(plans(), st.integers(0, 24), st.integers(0, 24))
@settings(deadline=None)
def test_maps_are_true(plan, s, t):
    """Every region with bytes is there, in order, in the same columns in every stage, and to scale.

    Small pieces are widened to two columns, at the cost of the large ones.
    """
    layout = plan.layout(BOARD, S=s, T=t)
    at = ruler(layout, MAP_COLUMNS, 2)
    homes = {}
    for stage in layout.stages:
        (lane,) = lanes(stage) or [[]]
        row = segments(lane, at)

        assert [r.name for r in stage.regions if r.bytes] == [x.region.name for x in row]
        assert all(x.width >= 2 for x in row)
        assert all(a.right <= b.left for a, b in pairwise(row))
        assert all(0 <= x.left and x.right <= MAP_COLUMNS for x in row)
        for segment in row:
            place = (segment.left, segment.right)
            exact = segment.region.bytes * MAP_COLUMNS / max(at)

            assert place == homes.setdefault(segment.region.name, place)
            assert abs(segment.width - exact) <= 2 * len(at)


def test_aliases_have_their_own_lane():
    """A region that shares space is drawn below the one that it shares it with."""
    plan = Plan("alias", [Stage("all", [Region("a", n, float32), Region("x", n, float32, reuses="a")])])
    layout = plan.layout(BOARD, n=5)

    assert [["a"], ["x"]] == [[r.name for r in lane] for lane in lanes(layout.stages[0])]
    assert "x = a" in text(layout_view(layout, plan))


def test_a_name_that_is_the_key_of_another_region_has_its_own_key():
    """Else `a` in the map could be either."""
    plan = Plan("letters", [Stage("all", [Region("x", 4 * n, float32), Region("a", 4 * n, float32)])])
    row, *_ = map_text(plan.layout(BOARD, n=5), 40)

    assert ["x", "b"] == [cell.strip() for cell in row.split("|") if cell.strip()]


@pytest.mark.parametrize(
    ("board", "told"), [("MLU370-X4", "fits: "), ("MLU590-H8", "does not fit: 4 bytes too many")]
)
def test_layout_svg(board, told):
    """The picture is well formed, has every region of every stage, and says whether it fits."""
    layout = PLAN.layout(board, S=4, T=7020)
    tree = ET.fromstring(layout_svg(layout))  # noqa: S314 - written a line above
    titles = [e.text for e in tree.iter("{http://www.w3.org/2000/svg}title")][1:]
    words = [e.text for e in tree.iter("{http://www.w3.org/2000/svg}text")]

    assert [r.name for s in layout.stages for r in s.regions] == [t.split(":")[0] for t in titles]
    assert words[-1].startswith(told)
    # What is too small for its name has it below the map, or beside the picture in a page.
    small = [one.words for one in legend(layout)]
    plain = ET.fromstring(layout_svg(layout, named=False))  # noqa: S314 - written here
    beside = [e.text for e in plain.iter("{http://www.w3.org/2000/svg}text")]
    assert small
    assert set(small) <= set(words)
    assert set(small).isdisjoint(beside)


def test_maps_of_several_kernels_have_their_names():
    """Those of one kernel do not need them; what is told is folded to the width of the picture."""
    layout = PLAN.layout(BOARD, S=15, T=104)
    other = INTERPOLATE.layout(BOARD, {"Co": 32, "No": 32, "Mo": 32}, dtype="float")
    drawn, alone = (memories_svg(some, "Title", ["word " * 60]) for some in ([layout, other], [layout]))
    lines = [e.text for e in ET.fromstring(drawn).iter() if e.tag.endswith("}text")]  # noqa: S314 - written above

    assert "Title" == lines[0]
    assert [26, 26, 8] == [line.split().count("word") for line in lines[1:4]]
    assert all(any(line.startswith(f"{one.plan}, ") for line in lines) for one in (layout, other))
    assert f"{layout.plan}, " not in alone


def test_boards_stand_beside_each_other_on_one_scale():
    """Two in a row, each kernel on a row of its own; a board that refuses has its sentence."""
    layouts = [PLAN.layout(board, S=15, T=104) for board in (BOARD, "MLU590-H8")]
    larger = PLAN.layout(BOARD, S=15, T=208)
    other = INTERPOLATE.layout(BOARD, {"Co": 32, "No": 32, "Mo": 32}, dtype="float")
    columns = [plan_column(one) for one in (*layouts, larger, other)]
    drawn = ET.fromstring(boards_svg([*columns, BoardColumn("MLU220-M2", (), ["it is refused"])], "Title"))  # noqa: S314 - made here
    groups = [e for e in drawn if e.tag.endswith("}g")]
    words = [[e.text for e in group if e.tag.endswith("}text")] for group in groups]
    places = [group.get("transform").partition("(")[2].rstrip(")").split() for group in groups]
    widths = [
        next(float(box[1].get("width")) for box in group if box.tag.endswith("}g")) for group in groups[:4]
    ]

    assert [f"{PLAN.name} on {BOARD}", f"{PLAN.name} on MLU590-H8"] == [told[0] for told in words[:2]]
    assert ["MLU220-M2", "it is refused"] == words[4]
    assert [places[0][1] == places[1][1], places[2][1] == places[3][1]] == [True, False]
    assert ["0", "0", "0"] == [places[number][0] for number in (0, 2, 3)]
    assert widths[0] == widths[1]
    assert 2 == pytest.approx(widths[2] / widths[0], rel=0.1)


def test_frontier_svg():
    """The picture is well formed and names what binds along the way."""
    found = PLAN.frontier("S", "T", board=BOARD)
    tree = ET.fromstring(frontier_svg(found, "title"))  # noqa: S314
    words = [e.text for e in tree.iter("{http://www.w3.org/2000/svg}text")]

    assert {"stage terms binds", "stage p_grad binds", "largest T", "S"} <= set(words)
    assert {str(found.xs.max()), str(found.ys.max())} <= set(words)


def test_a_name_of_before_warns():
    """What was called `Limit` is called `ScaleLimit`, and still found."""
    with pytest.warns(DeprecationWarning, match="mlusim.plan.Limit is called ScaleLimit"):
        found = plan_room.Limit

    assert ScaleLimit is found
