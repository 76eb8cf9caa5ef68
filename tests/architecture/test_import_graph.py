"""How the files hang together, held where it is: circles, depth, files in a room."""

from import_graph import CATALOGUES, circles, depth, graph, modules, room_of, rooms

KNOWN = modules()


def test_no_large_circle():
    """With imports for type checking, no circle has more than eight files, and none leaves its room."""
    found = [group for group in circles(graph(KNOWN, types=True)) if len(group) > 1]

    assert all(len(group) <= 8 for group in found)
    assert [] == [sorted(group) for group in found if len({room_of(name) for name in group}) > 1]


def test_depth_does_not_grow():
    """The longest way down is 20 files."""
    length, way = depth(graph(KNOWN, types=False))

    assert length <= 20, way


def test_rooms_stay_small():
    """A folder that is no catalogue holds 20 files at most."""
    large = {room: count for room, count in rooms(KNOWN).items() if count > 20 and room not in CATALOGUES}

    assert {} == large


def test_a_circle_and_a_depth_are_seen():
    """The measure itself: a circle of two below a chain of three."""
    edges = {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"c"}}

    assert [{"c", "d"}, {"b"}, {"a"}] == sorted(circles(edges), key=lambda g: (-len(g), -ord(min(g))))
    assert (3, ("a", "b", "c")) == depth(edges)
