"""The page shows the NRAM plan of each call as a map."""

from mlusim.operators.campaign import record_of
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import run_case
from mlusim.report.page.html import html_text


def test_the_page_shows_the_plan_in_use():
    """Every stage of the plan that the kernel was given is drawn, true to the layout's bytes."""
    spec = find_operator("mutual_information_backward")
    run = run_case(spec, find_case(spec, "network"))
    page = html_text([record_of(run)], "test")

    assert ["mutual_information_backward"] == [layout.plan for layout in run.layouts]
    for stage in run.layouts[0].stages:
        assert f"stage {stage.name}: {stage.used:,} of 655,360 bytes" in page
