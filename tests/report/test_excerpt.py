"""The piece of a timeline on the page, and the source with the time of each line."""

import html
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from attrs import evolve

import mlusim
from mlusim.bang import GDRAM2NRAM, float32, kernel
from mlusim.machine.hub import EveryStep
from mlusim.machine.launch import QueuePlace
from mlusim.operators.campaign import Job, perform
from mlusim.report.explain import costliest_line
from mlusim.report.page.excerpt import OTHERS, WHOLE, excerpt_of
from mlusim.report.page.html import html_text
from mlusim.report.page.launches import page_text
from mlusim.report.page.parts import listings, worth_showing
from mlusim.report.page.pictures import queues
from mlusim.report.page.pipes import chart_html, legend, pipe_picture
from mlusim.report.record import LaunchRecord
from mlusim.report.tables import lines_table
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
    """Every span of the first union's IPU cores, from the launch's start to its end."""
    launch = launched(3, tasks=4)
    found = excerpt_of(launch)
    scene = next(launch.timeline.scenes())

    assert "4 cores, from beginning to end" == found.says
    assert (0.0, pytest.approx(launch.time_us)) == (found.start_us, found.end_us)
    assert not found.partial
    assert len(found.bars) == len(scene.spans)
    assert len(found.arrows) == len(scene.arrows) == 4 * 3
    assert [("cluster 0 core 0", place) for place in ("scalar", "vector", "IO-DMA", "wait")] == list(
        found.rows[:4]
    )


def test_of_a_long_launch_the_middle_is_shown():
    """A part that says which, with bars inside it and arrows between rows."""
    launch = launched(500)
    found = excerpt_of(launch)

    assert re.fullmatch(r"4 of the 8 cores that work: [\d.,]+ to [\d.,]+ us of [\d.,]+ us", found.says)
    assert found.partial
    assert found.start_us < launch.time_us / 2 < found.end_us
    assert 40 < len(found.bars) <= WHOLE
    assert all(found.start_us <= bar.start <= bar.end <= found.end_us for bar in found.bars)
    assert found.arrows
    assert all(arrow.start <= arrow.end for arrow in found.arrows)


def test_a_launch_without_work_has_no_piece():
    """Nothing happens, so nothing is shown."""
    assert excerpt_of(launched(0)) is None or not excerpt_of(launched(0)).bars


@kernel
def uneven(mlu, src):
    """The last task works longest; all meet at the end."""
    if not mlu.is_mpu():
        b = mlu.nram(float32, 1024)
        for _ in range(mlu.taskId + 1):
            mlu.memcpy(b, src, 4096, GDRAM2NRAM)
    mlu.sync_cluster()


def uneven_launch(tasks, kind):
    """A launch of `uneven`."""
    device = mlusim.Device()
    src = device.put(np.zeros(1024, np.float32))
    return device.launch(uneven, tasks, kind, (src,), observe=[EveryStep()])


def test_the_core_that_ends_last_is_shown():
    """Of many cores the first ones and the last to end; of Block tasks each core that has room."""
    found = excerpt_of(uneven_launch(9, mlusim.BLOCK))

    assert {"cluster 0 core 0", "cluster 0 core 1", "cluster 0 core 2", "cluster 2 core 0"} == {
        core for core, _ in found.rows
    }
    assert "4 of the 9 cores that work, from beginning to end" == found.says
    assert excerpt_of(uneven_launch(8, mlusim.UNION1)).rows[0][0] == "cluster 1 core 0"


def test_a_bar_says_its_line_its_bytes_and_what_a_wait_is_for():
    """The call, where it stands, what it moves; a wait's cause, by name and in its colour; whose it is."""
    found = excerpt_of(uneven_launch(4, mlusim.UNION1))
    tips = [bar.tip for bar in found.bars]
    waits = [bar for bar in found.bars if bar.where == "wait" and bar.cause == OTHERS]
    waiting = excerpt_of(launched(3, tasks=4)).bars

    assert any(
        re.match(r"__memcpy, tests/report/test_excerpt.py:\d+; GDRAM2NRAM 4,096 bytes; .* us, which is", tip)
        for tip in tips
    )
    assert 4 == len(waits)  # three cores and the memory core
    assert all("for task 3 on cluster 0 core 3, the last to arrive" in wait.tip for wait in waits)
    assert all(tip.endswith(f"task {n}") for tip, n in zip(tips[:1], "0", strict=True))
    assert {"IO-DMA"} == {bar.cause for bar in waiting if bar.where == "wait"}
    assert any("for the IO-DMA: __memcpy_async, tests/report" in bar.tip for bar in waiting)


def test_the_picture_has_a_bar_for_everything_and_an_arrow_for_each_wait():
    """Pipes in their colours, waits hollow, rows named, the launch's start and end on the axis."""
    launch = launched(3, tasks=4)
    found = excerpt_of(launch)
    root = ET.fromstring(pipe_picture(found))  # noqa: S314 - made above
    shapes = [group for group in root.iter("g") if group.find("title") is not None]
    said = [element.text for element in root.iter("text")]

    assert len(found.bars) + 1 == len(shapes)
    assert "the launch starts: 1.2 us before the first task" == shapes[0].find("title").text
    assert len(found.arrows) == len(list(root.iter("polygon")))
    assert 4 == sum(text.startswith("cluster 0 core") for text in said)
    assert f"{launch.time_us:.2f} us" in said
    assert "0" in said
    assert all("id" not in element.attrib for element in root.iter())


def test_the_legend_names_what_there_is():
    """Tracks that are there, waits, arrows; of barriers only where cores meet."""
    plain, meeting = excerpt_of(launched(3, tasks=4)), excerpt_of(uneven_launch(4, mlusim.UNION1))

    assert ["scalar", "vector", "IO-DMA"] == [words for kind, _, words in legend(plain) if kind == "work"]
    assert ("arrow", "ink", "from what ended the wait") in legend(plain)
    assert "barrier" not in str(legend(plain))
    assert ("dashed", "ink", "from the last to arrive at a barrier") in legend(meeting)
    assert ("wait", "ink", "it waits for other cores") in legend(meeting)


def test_arrows_from_a_barrier_are_dashed():
    """One for each core that waits for the last to arrive."""
    root = ET.fromstring(pipe_picture(excerpt_of(uneven_launch(4, mlusim.UNION1))))  # noqa: S314 - made above

    assert 4 == sum("stroke-dasharray" in element.attrib for element in root.iter())


def test_what_sets_the_time_is_the_headline():
    """On the page, and above the chart; of a launch that does next to nothing it is the start."""
    launch = launched(500)
    page = page_text([launch])
    tiny = page_text([launched(1, tasks=4)])

    assert re.search(r'<p class="answer ">1 launch, [\d.]+ us. The IO-DMA sets the time: busy', page)
    assert excerpt_of(launch).headline.startswith("The IO-DMA sets the time: busy")
    assert re.search(r'<p class="answer ">.*(The IO-DMA sets the time: |Starting the launch sets)', tiny)
    assert 1 == page.count("<h4>Cores of looping")
    assert "<h4>Cores of" not in tiny


def test_a_chart_stands_alone_in_a_notebook():
    """Its colours and its font come with it; headline, legend and picture in one element."""
    shown = chart_html(excerpt_of(launched(3)))
    set_here, used = set(re.findall(r"--([a-z]\w*):", shown)), set(re.findall(r"var\(--(\w+)\)", shown))

    assert used <= set_here
    assert "sets the time" in shown
    assert shown in launched(3)._repr_html_()


def record_of(launch):
    """The record of *launch*, with lines."""
    about = (launch.kernel, launch.dim, launch.kind, launch.time_us, launch.bound, {})
    return LaunchRecord(*about, lines=launch.lines, excerpt=excerpt_of(launch))


def test_a_listing_shows_the_lines_with_their_share():
    """Line numbers and text are the file's; shares add up to all; the dearest is the hottest."""
    found = listings(record_of(launched(50)))
    heated = [line for run in found[0].runs for line in run if line.share]
    texts = {line.number: line.text.strip() for run in found[0].runs for line in run}

    assert ["tests/report/test_excerpt.py"] == [listing.file for listing in found]
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

    assert ["/nowhere/gone.py"] == [listing.file]
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


def test_the_page_begins_with_what_hurts():
    """Title, answer, figures, the place in the source and what would help; the table sorts, and equal launches show once, the dearest open."""
    launches = [launched(2), launched(500), launched(2)]
    page = page_text(launches, command="mlusim profile x")
    head, rest = page.split('<h2 id="launches">')
    place = costliest_line(launches[1])
    numbers = re.findall(r'<details class="part"( open)?><summary><h2 id="launch(\d)">', rest)

    assert place.where.startswith("tests/report/test_excerpt.py:")
    assert f"<b>{place.where}</b> keeps the IO-DMA busy for" in head
    assert place.text in html.unescape(head)
    assert "What would help" in head
    assert "mlusim profile x" not in head
    assert head.index("<h1>") < head.index('<p class="answer') < head.index('<div class="figures">')
    assert 5 == head.count('<div class="figure ">')
    assert [(" open", "2"), ("", "1")] == numbers
    assert 3 == len(re.findall(r"<tr><td class=\"n\">(?:<a href=\"#launch\d\">)?\d", rest))
    assert '<table class="sorts">' in rest


def rows_of(picture):
    """Return the names of the rows of the SVG *picture*, and where the bars of each begin."""
    root = ET.fromstring(picture)  # noqa: S314 - made above
    bars = [group.find("path").get("d") for group in root.iter("g") if group.find("title") is not None]
    places = [tuple(map(float, re.match(r"M\s?([\d.]+)\s([\d.]+)", bar).groups())) for bar in bars]
    heights = sorted({y for _, y in places})
    names = [element.text for element in root.iter("text") if re.match("launches|queue|MLU", element.text)]
    return names, [sorted(x for x, y in places if y == height) for height in heights]


def test_times_of_several_boards_are_not_added_up():
    """Each board has a row of its own from 0 on, a share of its own, and its name beside each launch."""
    launch = launched(2)
    faster = evolve(launch, board="MLU590-H8")
    page, (names, starts) = page_text([launch, faster]), rows_of(queues([launch, faster, faster]))

    assert (
        f"1 launch on each of 2 boards: {launch.time_us:,.2f} us on MLU370-X4, {launch.time_us:,.2f} us on MLU590-H8. "
        in page
    )
    assert page.count(">100%<") >= 2
    assert '<td class="name">MLU590-H8</td>' in page
    assert ["MLU370-X4", "MLU590-H8"] == names
    assert [1, 2] == [len(row) for row in starts]
    assert starts[0][0] == starts[1][0]
    assert "3 launches on 2 boards: " in page_text([launch, faster, faster])


def test_queues_are_rows():
    """Where a program has queues; without queues, launches follow each other in one row."""
    launch = launched(2)
    apart = [
        evolve(launch, queue=QueuePlace(number, lambda start=start: start))
        for number, start in ((256, 0.0), (257, 5.0), (256, 30.0))
    ]
    end = 30 + launch.time_us
    (one, _), (several, starts) = rows_of(queues([launch, launch])), rows_of(queues(apart))
    unit = (starts[0][1] - starts[0][0]) / 30  # of the picture, for each us

    assert ["launches"] == one
    assert f"{2 * launch.time_us:,.2f} us" in queues([launch, launch])
    assert ["queue 1", "queue 2"] == several
    assert [2, 1] == [len(row) for row in starts]
    assert pytest.approx(starts[0][0] + 5 * unit, abs=0.01) == starts[1][0]
    assert f"{end:,.1f} us" in queues(apart)
    page, total = page_text(apart), 3 * launch.time_us
    assert f"3 launches, {total:,.2f} us together, {end:,.2f} us in 2 queues" in page
    assert f"{launch.kernel} takes 100% in 3 launches. " in page
