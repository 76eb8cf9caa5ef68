"""The HTML page as a team lead reads it: verdict first, calls, charts with their data, what failed once, runs side by side."""

import json
import re

from attrs import evolve

from mlusim.arch.dtypes import float32, int32
from mlusim.operators.campaign import Job, perform
from mlusim.plan.declare import Region, Stage
from mlusim.plan.plan import Plan
from mlusim.report.acceptance import Rule
from mlusim.report.baseline import Baseline, entry_of
from mlusim.report.compare import compare, measured_call
from mlusim.report.page.html import html_text
from mlusim.report.page.memory_map import legend
from tests.report.test_explanation import record

RECORD = perform(Job("tin_shift_forward", "golden_document", "MLU370-X4"))
HALF = Rule(0.5, 0.5, "design document, chapter 7")


def body(page):
    """What a reader sees of *page*, without the library of charts."""
    return page[page.index("<main>") : page.index("</main>")]


def test_the_verdict_comes_first_and_each_rule_has_its_operators():
    """One line for all, then a line for each rule, with where it is asked."""
    one = body(html_text([record()], "0"))
    two = body(html_text([record(), evolve(record(), operator="own_rule", rule=HALF)], "0"))

    assert re.match(
        r'<main>\s*<p class="verdict bad">0 of 1 calls meet the rule: at least one efficiency', one
    )
    assert re.match(r'<main>\s*<p class="verdict bad">0 of 2 calls meet the rule of their operator\.', two)
    assert "own_rule: 0 of 1, by at least one efficiency of 50% or more" in two
    assert "(design document, chapter 7)" in two


def test_contents_lead_to_parts_in_their_order():
    """Every link of the contents has its heading, calls before what explains them."""
    page = body(html_text([record()], "0", command="mlusim report op"))
    links = re.findall(r'<a href="#([\w-]+)">', page[: page.index("</nav>")])

    assert ["operators", "calls", "roofline", "bytes", "nram", "why"] == links
    assert sorted(links, key=lambda one: page.index(f'id="{one}"')) == links
    assert "<dd>mlusim report op</dd>" in page
    assert "<dd>mlusim 0</dd>" in page


def test_a_failure_that_repeats_is_said_once():
    """The sentence stands at the top with all the calls that it is of, whatever their boards."""
    bad = evolve(record(), passed=False, message="no room on MLU370-X4")
    other = evolve(bad, board="MLU590-H8", message="no room on MLU590-H8")
    page = body(html_text([bad, other], "0"))
    who = f"{bad.operator} {bad.title}"

    assert 1 == page.count("no room on")
    assert f"{who} on MLU370-X4; {who} on MLU590-H8" in page
    assert "no room" not in body(html_text([evolve(bad, passed=True)], "0")).partition('id="calls"')[0]


def test_charts_carry_their_data_and_a_picture_for_paper():
    """Each chart has numbers that the script draws, and the picture that stands in for it."""
    page = html_text([RECORD], "0")
    charts = [
        json.loads(text) for text in re.findall(r'<script type="application/json">(.*?)</script>', page)
    ]
    moved = next(chart for chart in charts if chart.get("axis") == "multiples of the theory's bytes")
    theory = RECORD.efficiency.theory_ios

    assert ["points", "boxes", "boxes", "boxes"] == sorted((c["kind"] for c in charts), reverse=True)
    assert len(charts) == body(page).count('<div class="still"><svg')
    assert RECORD.io_bytes / theory == max(box[2] for own in moved["boxes"].values() for box in own)
    assert "Bokeh.Plotting.figure" in page
    assert [] == re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", page)


def test_two_runs_and_two_policies_stand_side_by_side():
    """The time before and now with its band; the times by policy with the quickest."""
    before = evolve(entry_of(RECORD), hardware_time_us=2.9)
    found = compare(
        Baseline("0", {before.key: before}), [measured_call(RECORD)], "base.json", 0.01, lambda _: True
    )
    runs = body(html_text([RECORD], "0", found=found))
    slow = evolve(RECORD, policy="slow", efficiency=evolve(RECORD.efficiency, hardware_time_us=30.0))
    policies = body(html_text([evolve(RECORD, policy="quick"), slow], "0"))

    assert "Side by side: base.json and this run" in runs
    assert '<td class="n">2.9</td><td class="n">3.0</td>' in runs
    assert "<td>yes</td>" in runs
    assert '<th class="n">quick us</th><th class="n">slow us</th>' in policies
    assert "quick, 9.95 times as quick as the slowest" in policies


def test_small_regions_of_a_map_are_named_in_a_legend():
    """What the picture has no room for is told beside it; what it names is not told twice."""
    plan = Plan("p", [Stage("s", [Region("large", 100_000, float32), Region("tiny_region", 8, int32)])])
    layout = plan.layout("MLU370-X4")

    assert ["tiny_region: 8 int32 at byte 400,000, 32 bytes"] == [named.words for named in legend(layout)]
