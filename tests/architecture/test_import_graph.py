"""The import graph stays within the figures of the architecture page: circles, depth and walks."""

import re

from import_graph import PAGE, circles, depth, floors, graph, modules, room_of
from walks import MANY, walks

KNOWN = modules()
SLACK = 4  # files or floors that a row of the page may lag behind; `import_graph.py --write` renews it


def limit(what):
    """The limit that the architecture page states: *what* has at most so many files."""
    return int(re.search(rf"{what} (?:\w+ )*?at most (\d+) files", PAGE.read_text(encoding="utf-8"))[1])


def test_no_large_circle():
    """With imports for type checking, no circle has more files than the page says, and none leaves its room."""
    found = [group for group in circles(graph(KNOWN, types=True)) if len(group) > 1]

    assert all(len(group) <= limit("a circle has") for group in found)
    assert [] == [sorted(group) for group in found if len({room_of(name) for name in group}) > 1]


def test_depth_does_not_grow():
    """The longest way down is as the page says, or shorter."""
    length, way = depth(graph(KNOWN, types=False))

    assert length <= limit("A chain of imports has"), way


def test_the_page_knows_every_room():
    """Its table has each room, with about as many files and floors as are measured."""
    rows = re.findall(r"^\| `(\w+)/` \| (\d+) \| (\d+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = {room: (int(files), int(height)) for room, files, height in rows}
    measured = {room: (files, height) for room, files, height in floors()}

    assert set(measured) == set(shown)
    assert [] == [
        (room, measured[room], shown[room])
        for room in shown
        if any(abs(a - b) > SLACK for a, b in zip(measured[room], shown[room], strict=True))
    ]


def test_walks_pass_the_files_of_the_page():
    """Each walk on the page passes about as many files as the page says, few others than it lists, and makes no more calls."""
    row = r"^\| (.*) \| (\d+) \| \d+ \| ([\d,]+) \| (.*) \|$"
    rows = re.findall(row, PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = {words: (int(files), int(calls.replace(",", "")), which) for words, files, calls, which in rows}
    measured = dict(walks())

    assert set(measured) == set(shown)
    for words, (files, calls, which) in shown.items():
        passed = measured[words]

        assert abs(files - len(passed.files)) <= SLACK, words
        assert files > MANY or len(set(passed.files) ^ set(re.findall(r"`([^`]+)`", which))) <= SLACK, words
        assert passed.calls <= 1.1 * calls + SLACK, (
            words
        )  # fewer in later Pythons, where comprehensions are no calls


def test_a_circle_and_a_depth_are_seen():
    """The measure itself: a circle of two below a chain of three."""
    edges = {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"c"}}

    assert [{"c", "d"}, {"b"}, {"a"}] == sorted(circles(edges), key=lambda g: (-len(g), -ord(min(g))))
    assert (3, ("a", "b", "c")) == depth(edges)
