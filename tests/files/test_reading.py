"""Files of the user as they are read: what is asked for, bounded, by a schema, or a sentence."""

import io
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from attrs import frozen

from mlusim.errors import UsageError
from mlusim.files.arrays import LARGEST, open_arrays, read_array, read_arrays
from mlusim.files.reading import read_json, read_text, read_toml, shown, typed


def head(shape, dtype="<f4"):
    """The head of an ``.npy`` file whose elements are missing."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def archive(path, members):
    """An ``.npz`` file of these bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, raw in members.items():
            file.writestr(name, raw)
    return str(path)


def npy(array):
    """The bytes of an ``.npy`` file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_only_what_is_asked_for_is_unpacked(tmp_path, calls_of):
    """The other member is not touched, whatever it holds."""
    name = archive(tmp_path / "a.npz", {"a.npy": npy(np.arange(3)), "bomb.npy": b"\0" * 10_000_000})
    with calls_of(zipfile.ZipFile.open) as opened, open_arrays(name, "x") as stored:
        found = stored.read("a")

    assert [0, 1, 2] == found.tolist()
    assert ["a.npy"] == [call["name"].filename for call in opened]


def test_no_more_is_unpacked_than_the_shape_says(tmp_path):
    """Ten megabytes behind a head of three elements are three elements; a head of more than is there is refused."""
    name = archive(
        tmp_path / "a.npz",
        {
            "few.npy": npy(np.arange(3)) + b"\0" * 10_000_000,
            "many.npy": head((1 << 20,)) + b"\0" * 8,
            "huge.npy": head((LARGEST,)),
        },
    )
    with open_arrays(name, "x") as stored:
        assert [0, 1, 2] == stored.read("few").tolist()
        with pytest.raises(
            UsageError, match=r"many in .* is truncated: its shape \[1048576\] needs 4,194,304"
        ):
            stored.read("many")
        with pytest.raises(UsageError, match=r"huge in .* has 17,179,869,184 bytes by its shape; at most"):
            stored.read("huge")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3), np.zeros((0, 4), np.int8), np.float32(3)])
def test_arrays_come_back_as_they_were(tmp_path, array, order):
    """Any order of elements, no elements, no dimensions; the bytes of another machine too."""
    array = np.asarray(array, order=order)
    np.savez(tmp_path / "a.npz", a=array, b=array.astype(array.dtype.newbyteorder(">")))
    np.save(tmp_path / "a.npy", array)
    found = read_arrays(str(tmp_path / "a.npz"), "x")
    found["c"] = read_array(str(tmp_path / "a.npy"), "x")

    for one in found.values():
        assert (array.shape, array.dtype) == (one.shape, one.dtype)
        assert np.array_equal(array, one)
        assert one.flags.writeable


@pytest.mark.parametrize("name", ["none", ".", "a\0b", "x" * 300, "/dev/zero", ""])
@pytest.mark.parametrize("read", [read_arrays, read_array])
def test_what_is_no_file_is_a_sentence(name, read):
    """A missing file, a folder, a device without end, a name that no file has."""
    with pytest.raises(UsageError) as caught:
        read(name, "name one")
    assert caught.value.args[0].isprintable()


@pytest.mark.parametrize("read", [lambda name: read_json(name, "one"), read_toml], ids=["json", "toml"])
@pytest.mark.parametrize(
    "content",
    [b"\xff", b"[" * 100_000, b"a" + b".a" * 20_000 + b" = 1", b'{"a": ' * 100_000, b"[x", None],
)  # fmt: skip
def test_what_is_not_a_document_is_a_sentence(tmp_path, read, content):
    """Other bytes, what is nested without end, a key of thousands of parts, and a FIFO, which is not waited for."""
    path = tmp_path / "odd"
    if content is None:
        os.mkfifo(path)
    else:
        path.write_bytes(content)

    with pytest.raises(UsageError, match="odd") as told:
        read(str(path))
    assert str(told.value).isprintable()
    assert "recursion" not in str(told.value)


def test_text_is_bounded_and_utf_8(tmp_path):
    """A device, too many bytes, bytes that are not text; a byte-order mark is not part of the text."""
    (tmp_path / "long").write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(UsageError, match="/dev/zero is not a regular file"):
        read_text("/dev/zero", largest=1 << 20)
    with pytest.raises(UsageError, match="long has more than 1 MiB"):
        read_text(str(tmp_path / "long"), largest=1 << 20)
    with pytest.raises(UsageError, match="long has more than 1 MiB"):
        read_toml(str(tmp_path / "long"))  # whose reader takes seconds for each MiB
    (tmp_path / "bad").write_bytes(b"ab\xff")
    (tmp_path / "mark").write_bytes(b"\xef\xbb\xbfhello")
    with pytest.raises(UsageError, match="bad is not text: byte 2 is not UTF-8"):
        read_text(str(tmp_path / "bad"))

    assert "hello" == read_text(str(tmp_path / "mark"))


def test_escapes_of_a_terminal_are_shown():
    """Nothing moves the cursor, and letters of any language stay."""
    assert r"a\x1b[2Jé\n\u202e中" == shown("a\x1b[2Jé\n\u202e中")


@frozen
class Inner:
    """A part."""

    pair: tuple[int, str]


@frozen
class Outer:
    """A whole."""

    name: str
    share: float
    parts: tuple[Inner, ...]
    facts: Mapping[str, int]
    seed: int | None
    extra: Any = None


GOOD = {"name": "n", "share": 1, "parts": [{"pair": [1, "a"]}], "facts": {"k": 2}, "seed": None, "extra": [1]}


def test_a_class_is_the_schema():
    """What fits comes back as the class has it; what it does not know is left out."""
    expected = Outer("n", 1.0, (Inner((1, "a")),), {"k": 2}, None, [1])

    assert expected == typed(Outer, GOOD | {"more": 1})
    assert float("inf") == typed(float, "inf")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 1}, "it.name is 1, no text"),
        ({"share": "much"}, "it.share is much, no number"),
        ({"share": True}, "it.share is True, no number"),
        ({"parts": [{"pair": [1]}]}, r"it.parts\[0\].pair has 1 parts, not 2"),
        ({"parts": [{"pair": [1, None]}]}, r"it.parts\[0\].pair\[1\] is None, no text"),
        ({"parts": [{}]}, r"it.parts\[0\] lacks 'pair'"),
        ({"facts": {"k\x1b": 1.5}}, r"it.facts..k.x1b.* is 1.5, no whole number"),
        ({"seed": "x"}, "it.seed is x, no whole number"),
        ({"facts": []}, "it.facts is a list, no "),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(change, said):
    """Where, what is there, and what should be."""
    with pytest.raises(TypeError, match=said):
        typed(Outer, GOOD | change)


def test_a_text_is_no_fifo(tmp_path):
    """It would be waited for."""
    os.mkfifo(tmp_path / "text.json")

    with pytest.raises(UsageError, match=r"text\.json is not a regular file"):
        read_text(str(tmp_path / "text.json"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", r"a\.npy is empty"),
        (head((1 << 40,)), r"a\.npy has 4,398,046,511,104 bytes by its shape; at most 4,294,967,296 are"),
    ],
    ids=["nothing", "four TiB"],
)
def test_an_array_file_that_says_nothing_or_too_much_is_named(tmp_path, content, said):
    """An empty file, and one whose head declares 4 TiB; nothing is allocated."""
    (tmp_path / "a.npy").write_bytes(content)

    with pytest.raises(UsageError, match=said):
        read_array(str(tmp_path / "a.npy"), "give an array")
