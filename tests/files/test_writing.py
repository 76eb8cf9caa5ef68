"""Files are written whole or not at all: nothing is followed, foreseen, lost, or left half-way."""

import os
import stat
import tempfile
from pathlib import Path

import numpy as np
import pytest

from mlusim.errors import UsageError
from mlusim.files import writing
from mlusim.files.writing import Unwritten, check_writable, write, write_arrays, write_text


def full(file):
    """Half a file, and then the disk is full."""
    file.write(b"half")
    raise OSError(28, "No space left on device")


def test_what_is_there_stays_until_the_whole_is_there(tmp_path):
    """A failed write leaves the old file, and nothing beside it."""
    write_text(str(tmp_path / "a"), "old")

    with pytest.raises(Unwritten, match=r"a cannot be written: No space left on device$"):
        write(str(tmp_path / "a"), full)
    assert [tmp_path / "a"] == list(tmp_path.iterdir())
    assert "old" == (tmp_path / "a").read_text()


def test_a_link_that_waits_beside_is_not_followed(tmp_path, monkeypatch):
    """Even one at the very name that is drawn: the file is created, or there is none."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f".mlusim-{'7' * 24}.part").symlink_to(victim)
    monkeypatch.setattr(writing.os, "urandom", lambda n: b"w" * n)  # 0x77

    with pytest.raises(UsageError, match="cannot be written: File exists"):
        write_text(str(tmp_path / "out" / "x"), "new")
    assert "precious" == victim.read_text()


def test_no_two_names_are_alike(tmp_path):
    """The name beside cannot be foreseen, and has the length of no other."""
    drawn = set()
    long = "x" * 255
    for _ in range(2):
        write(str(tmp_path / long), lambda _: drawn.update(path.name for path in tmp_path.iterdir()))
    drawn.remove(long)

    assert 2 == len(drawn)
    assert all(name.endswith(".part") for name in drawn)
    assert not any("x" * 8 in name for name in drawn)
    assert [tmp_path / long] == list(tmp_path.iterdir())


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path, calls_of):
    """The bytes are flushed first, then the file is renamed."""
    with calls_of(os.fsync, os.replace) as order:
        write_text(str(tmp_path / "a"), "text")

    assert [os.fsync, os.replace, os.fsync] == order


def test_modes_links_and_protection_are_kept(tmp_path):
    """The mode of the file that was there stays, a link still leads to it, a protected file is not replaced."""
    target = tmp_path / "target"
    write_text(str(target), "old")
    target.chmod(0o640)
    (tmp_path / "link").symlink_to(target)
    write_text(str(tmp_path / "link"), "new")

    assert "new" == target.read_text()
    assert 0o640 == stat.S_IMODE(target.stat().st_mode)
    target.chmod(0o444)
    for refusing in (check_writable, lambda name: write_text(name, "no")):
        with pytest.raises(UsageError, match="target cannot be written: it is write-protected"):
            refusing(str(target))
    assert "new" == target.read_text()


def test_what_was_computed_goes_elsewhere():
    """The sentence names the file that holds it."""
    array = np.arange(3.0)
    with pytest.raises(Unwritten, match="what was computed is in ") as caught:
        write_arrays("/dev/full", {"a": array})

    assert array.tolist() == np.load(caught.value.kept)["a"].tolist()
    assert Path(tempfile.gettempdir()) == caught.value.kept.parent
    caught.value.kept.unlink()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a\0b", "holds a NUL"),
        ("", "is empty"),
        ("x" * 256, "File name too long"),
        ("/proc/none/x", "there is no directory"),
        ("loop/x", "ymbolic link|ymlink|there is no directory"),
        (".", "is a directory"),
    ],
)
def test_what_is_no_name_is_a_sentence(tmp_path, monkeypatch, name, said):
    """A process that writes, and one that only asks."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    for refusing in (check_writable, lambda text: write_text(text, "no")):
        with pytest.raises(UsageError, match=said) as caught:
            refusing(name)
        assert "\0" not in str(caught.value)
