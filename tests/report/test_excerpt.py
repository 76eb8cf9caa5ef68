"""The piece of a timeline on the page, and the source with the time of each line."""

import re

import numpy as np
import pytest
from attrs import evolve

import mlusim
from mlusim.bang import GDRAM2NRAM, float32, kernel
from mlusim.observe.every_step import EveryStep
from mlusim.operators.campaign import Job, perform
from mlusim.report.page.excerpt import WHOLE, excerpt_of, pipe_picture
from mlusim.report.page.html import html_text
from mlusim.report.page.source_heat import listings, worth_showing
from mlusim.report.record import LaunchRecord
from mlusim.report.tables.lines import lines_table
from mlusim.time.timing import PIPES


@kernel
def looping(mlu, src, times):
    """Load beside the vector unit, *times* times."""
    if mlu.is_mpu():
        return
    buffers = [mlu.nram(float32, 1024, [0.0]), mlu.nram(float32, 1024, [0.0])]
    for n in range(times):
        mlu.memcpy_async(buffers[n % 2], src, 4096, GDRAM2NRAM)
        mlu.bang_add(buffers[1 - n % 2], buffers[1 - n % 2], buffers[1 - n % 2], 1024)
        mlu.sync()


def launched(times, tasks=8, **options):
    """A launch of `looping`."""
    device = mlusim.Device()
    src = device.put(np.zeros(1024, np.float32))
    return device.launch(looping, tasks, mlusim.UNION1, (src, times), observe=[EveryStep()], **options)


def test_a_short_launch_is_shown_whole():
    """Every span of the first union's IPU cores, from beginning to end."""
    launch = launched(3)
    found = excerpt_of(launch)
    scene = next(launch.timeline.scenes())

    assert "4 of the 5 cores of the first union, from beginning to end" == found.says
    assert (0.0, pytest.approx(launch.time_us - 1.5)) == (found.start_us, found.end_us)
    assert len(found.bars) == len(scene.spans)
    assert len(found.arrows) == len(scene.arrows) == 4 * 3
    assert [("cluster 0 core 0", place) for place in ("scalar", "vector", "IO-DMA", "wait")] == list(
        found.rows[:4]
    )


def test_of_a_long_launch_the_middle_is_shown():
    """A part that says which, with bars inside it and arrows between rows."""
    launch = launched(500)
    found = excerpt_of(launch)
    middle = (launch.time_us - 1.5) / 2

    assert re.fullmatch(
        r"4 of the 5 cores of the first union: [\d.,]+ to [\d.,]+ us of its [\d.,]+ us", found.says
    )
    assert found.start_us < middle < found.end_us
    assert 40 < len(found.bars) <= WHOLE
    assert all(found.start_us <= start <= end <= found.end_us for _, start, end in found.bars)
    assert found.arrows
    assert all(left <= right for (_, left), (_, right) in found.arrows)


def test_a_launch_without_work_has_no_piece():
    """Nothing happens, so nothing is shown."""
    assert excerpt_of(launched(0)) is None or not excerpt_of(launched(0)).bars


def test_the_picture_has_a_shape_for_each_pipe_and_an_arrow_for_each_wait():
    """Pipes in their colours, waits pale, rows named."""
    found = excerpt_of(launched(3))
    picture = pipe_picture(found)

    assert ["scalar", "vector", "IO-DMA", "wait"] == re.findall("<title>([^<]*)</title>", picture)
    assert 4 == picture.count(">cluster 0 core")
    assert "us</text>" in picture


def record_of(launch):
    """The record of *launch*, with lines."""
    about = (launch.kernel, launch.dim, launch.kind, launch.time_us, launch.bound, {})
    return LaunchRecord(*about, lines=launch.lines, excerpt=excerpt_of(launch))


def test_a_listing_shows_the_lines_with_their_share():
    """Line numbers and text are the file's; shares add up to all; the dearest is the hottest."""
    found = listings(record_of(launched(50)))
    heated = [line for run in found[0].runs for line in run if line.share]
    texts = {line.number: line.text.strip() for run in found[0].runs for line in run}

    assert ["report/test_excerpt.py"] == [listing.file for listing in found]
    assert 1.0 == max(line.heat for line in heated)
    assert sum(float(line.share.rstrip("%")) for line in heated) == pytest.approx(100, abs=0.2)
    assert "mlu.sync()" in texts.values()
    assert all(0 <= width <= 100 for line in heated for _, width in line.parts)
    assert any("__memcpy_async" in line.tip and "IO-DMA" in line.tip for line in heated)


def test_lines_far_apart_are_not_shown_together():
    """What lies between is left out; no line is shown twice."""
    launch = record_of(launched(5))
    first = launch.lines[0]
    far = evolve(launch, lines=(evolve(first, line=5), evolve(first, line=60), evolve(first, line=62)))
    runs = listings(far)[0].runs

    assert [[3, 4, 5, 6, 7], [58, 59, 60, 61, 62, 63, 64]] == [[line.number for line in run] for run in runs]


def test_a_file_that_is_gone_still_has_its_lines():
    """Numbers and times without text."""
    launch = record_of(launched(5))
    dear = max(launch.lines, key=lambda line: line.time_us)
    gone = evolve(launch, lines=(evolve(dear, file="/nowhere/gone.py", line=7),))
    (listing,) = listings(gone)

    assert ["nowhere/gone.py"] == [listing.file]
    assert 7 in [line.number for run in listing.runs for line in run if line.share]


def test_the_page_shows_pipes_and_lines_of_launches_that_matter():
    """Those that take a tenth of the call, where instructions were kept."""
    kept = perform(Job("dynamic_scatter_backward", "vendor_34x34x5", "MLU370-X4", lines=True))
    plain = perform(Job("dynamic_scatter_backward", "vendor_34x34x5", "MLU370-X4"))
    total = sum(launch.time_us for launch in kept.launches)
    page = html_text([kept], "0")

    assert () == worth_showing(plain)
    assert all(launch.time_us >= 0.1 * total for launch in worth_showing(kept))
    assert len(worth_showing(kept)) == page.count("Time of each line of")
    assert "Time of each line of" not in html_text([plain], "0")
    assert 'class="code"' in page


def test_a_terminal_has_no_table_of_lines_without_launches():
    """A call that launched nothing says so."""
    kept = perform(Job("dynamic_scatter_backward", "vendor_34x34x5", "MLU370-X4", lines=True))

    assert "no launch" in str(lines_table(evolve(kept, launches=())))
    assert set(PIPES) == set(kept.launches[0].lines[0].busy_us)
