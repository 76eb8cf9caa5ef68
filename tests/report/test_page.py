"""The HTML page as a team lead reads it: verdict first, calls, charts, what failed once, runs side by side."""

import re
from itertools import combinations

import numpy as np
from attrs import evolve

from mlusim.arch.dtypes import float32, int32
from mlusim.operators.campaign import Job, perform
from mlusim.plan.declare import Region, Stage
from mlusim.plan.plan import Plan
from mlusim.plan.svg import legend
from mlusim.report.compare import Baseline, compare, entry_of, measured_call
from mlusim.report.efficiency import Rule
from mlusim.report.page.html import html_text
from tests.report.test_explanation import record

RECORD = perform(Job("tin_shift_forward", "golden_document", "MLU370-X4"))
HALF = Rule(0.5, 0.5, "design document, chapter 7")


def body(page):
    """What a reader sees of *page*, without its style and its script."""
    return page[page.index("<main>") : page.index("</main>")]


def test_title_and_answer_come_first_and_each_rule_has_its_operators():
    """One line for all, with figures; a line for each rule, with where it is asked; what sets the time is what the launches say."""
    one = body(html_text([record()], "0"))
    two = body(html_text([record(), evolve(record(), operator="own_rule", rule=HALF)], "0"))

    head = r'<main>\s*<h1>Efficiency of {} on MLU370-X4</h1>\s*<p class="answer ">{} of {} calls as expected; 0 of {}'
    assert re.match(head.format("1 operator", 1, 1, "1 calls meet the rule: at least one efficiency"), one)
    assert re.match(head.format("2 operators", 2, 2, r"2 calls meet the rule of their operator\."), two)
    assert '<div class="figure good"><b>1 of 1</b><span>calls as expected</span></div>' in one
    assert "<td>IO-DMA</td>" in one
    assert "own_rule: 0 of 1, by at least one efficiency of 50% or more" in two
    assert "(design document, chapter 7)" in two


def test_contents_lead_to_parts_in_their_order():
    """Every link of the contents has its heading, calls before what explains them; the calls of each operator are folded."""
    page = body(html_text([record()], "0", command="mlusim report op"))
    links = re.findall(r'<a href="#([\w-]+)">', page[: page.index("</nav>")])

    assert ["operators", "roofline", "calls", "bytes", "nram", "why"] == links
    assert sorted(links, key=lambda one: page.index(f'id="{one}"')) == links
    assert "<dd>mlusim report op</dd>" in page
    assert "<dd>mlusim 0</dd>" in page
    two = body(html_text([record(), evolve(record(), operator="other")], "0"))
    assert 2 == two.count('</span></summary>\n<details class="part"><summary>a on MLU370-X4: 100.0 us')
    assert ' open><summary>op <span class="soft">1 call, 100.0 us, 1 as expected</span>' in page


def test_a_failure_that_repeats_is_said_once():
    """The sentence stands at the top with all the calls that it is of, whatever their boards."""
    bad = evolve(record(), passed=False, message="no room on MLU370-X4")
    other = evolve(bad, board="MLU590-H8", message="no room on MLU590-H8")
    page = body(html_text([bad, other], "0"))
    who = f"{bad.operator} {bad.title}"

    assert 1 == page.count("no room on")
    assert f"{who} on MLU370-X4; {who} on MLU590-H8" in page
    assert "no room" not in body(html_text([evolve(bad, passed=True)], "0")).partition('id="calls"')[0]


def test_charts_are_pictures_in_the_page_that_say_what_they_show():
    """Roofline, bytes, NRAM and tasks: each mark has words for the pointer; the page refers to nothing and is small."""
    page = html_text([RECORD], "0")
    charts = re.findall(r'<div class="chart">(<svg.*?</svg>)</div>', body(page), re.DOTALL)
    (moved,) = [chart for chart in charts if 'aria-label="Bytes moved, relative to theory"' in chart]

    assert len(charts) == 4
    assert all("<title>" in chart for chart in charts)
    assert [
        f"{RECORD.operator} {RECORD.case}: {name} {nbytes:,} bytes"
        for name, nbytes in RECORD.off_chip.items()
    ] == re.findall("<title>(.*?)</title>", moved)
    assert len(page.encode()) <= 400 << 10
    assert [] == re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", page)


def test_of_many_calls_those_that_take_longest_are_drawn():
    """The others say what draws them, so that a page of many calls stays small."""
    records = [
        evolve(RECORD, case=f"case_{n}", efficiency=evolve(RECORD.efficiency, hardware_time_us=1.0 + n))
        for n in range(20)
    ]
    page = html_text(records, "0")
    pictures = set(re.findall(r'aria-label="Tasks of \w+ (case_\d+)"', page))

    assert {f"case_{n}" for n in range(8, 20)} == pictures
    assert [f"case_{n}" for n in range(8)] == re.findall(
        r"tasks, pipes and lines: <code>mlusim profile \w+ --case (\w+)", page
    )


def test_two_runs_and_two_policies_stand_side_by_side():
    """The time before and now with its band; the times by policy with the quickest."""
    before = evolve(entry_of(RECORD), hardware_time_us=5.9)
    found = compare(
        Baseline("0", {before.key: before}), [measured_call(RECORD)], "base.json", 0.01, lambda _: True
    )
    runs = body(html_text([RECORD], "0", comparison=found))
    slow = evolve(RECORD, policy="slow", efficiency=evolve(RECORD.efficiency, hardware_time_us=30.0))
    policies = body(html_text([evolve(RECORD, policy="quick"), slow], "0"))

    assert "Side by side: base.json and this run" in runs
    assert '<td class="n">5.9</td><td class="n">6.5</td>' in runs
    assert '<td class="name">yes</td>' in runs
    assert '<th class="n">quick us</th><th class="n">slow us</th>' in policies
    assert f"quick, {30 / RECORD.efficiency.hardware_time_us:.2f} times as quick as the slowest" in policies


def test_small_regions_of_a_map_are_named_in_a_legend():
    """What the picture has no room for is told beside it; what it names is not told twice."""
    plan = Plan("p", [Stage("s", [Region("large", 100_000, float32), Region("tiny_region", 8, int32)])])
    layout = plan.layout("MLU370-X4")

    assert ["tiny_region: 8 int32 at byte 400,000, 32 bytes"] == [named.words for named in legend(layout)]


# What eyes see of linear RGB: all colours, without red, without green, without blue (Machado, Oliveira and Fernandes 2009).
EYES = (
    np.eye(3),
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
)
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
OKLAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def linear(color):
    """Linear RGB of "#rrggbb"."""
    rgb = np.array([int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def seen(color, eye):
    """The colour as *eye* sees it, where equal distances look equally far apart (Oklab)."""
    return np.array(OKLAB) @ np.cbrt(np.array(CONES) @ np.clip(np.array(eye) @ linear(color), 0, 1))


def contrast(one, other):
    """The contrast of two colours as the web's guidelines define it."""
    low, high = sorted(linear(color) @ [0.2126, 0.7152, 0.0722] for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def test_the_colours_of_pipes_are_told_apart_by_everybody():
    """In light, dark and print: far apart for four kinds of eyes, and with enough contrast to the card."""
    style = html_text([record()], "0").partition("</style>")[0]
    modes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)

    assert 3 == len(modes)
    for mode in modes:
        named = dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})", mode))
        card = named["card"] if len(named["card"]) == 7 else "#ffffff"
        pipes = [named[f"c{n}"] for n in range(6)]
        assert min(contrast(color, card) for color in pipes) >= 3
        for eye in EYES:
            places = [seen(color, eye) for color in pipes]
            assert min(np.linalg.norm(a - b) for a, b in combinations(places, 2)) > 0.1
