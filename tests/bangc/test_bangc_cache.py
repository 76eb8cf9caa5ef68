"""Translations that are kept: used again where nothing has changed, made again where a header has."""

import os

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.bangc import cache
from mlusim.bangc.cache import MOST_BYTES, MOST_FOLDERS
from mlusim.bangc.making import made
from mlusim.bangc.parse import precompiled
from mlusim.files.user_cache import CacheWarning

SOURCE = '#include "value.h"\n__mlu_global__ void K(double *unused, int *out) { out[0] = VALUE; }\n'


@pytest.fixture
def result(tmp_path, monkeypatch):
    """A function that loads the source and gives what its kernel stores; the cache is the test's own."""
    precompiled._headers.cache_clear()  # which folder it is
    monkeypatch.setenv("MLUSIM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "k.mlu").write_text(SOURCE)

    def stored(value):
        (tmp_path / "value.h").write_text(f"#define VALUE {value}\n")
        device = mlusim.Device()
        out = device.empty(1, np.int32)
        device.launch(bangc.load(tmp_path / "k.mlu")["K"], args=(None, out))
        return int(device.get(out)[0])

    return stored


def test_a_kept_translation_is_used_until_a_header_changes(result, calls_of):
    """The second load parses nothing; another value in the header is seen."""
    parses = []
    for value in (7, 7, 8):
        with calls_of(made) as calls:
            assert result(value) == value
        parses.append(len(calls))

    assert parses == [1, 0, 1]


def test_a_broken_cache_is_made_again(result, tmp_path):
    """A file of the cache that holds something else is not an error."""
    result(7)
    for path in (tmp_path / "cache").rglob("*.ir"):
        path.write_bytes(b"broken")

    assert result(7) == 7


def test_what_others_may_write_is_made_again(result, tmp_path, calls_of):
    """A translation in such a file, and a compiled header in such a folder: the file is said, and the source parsed."""
    result(7)
    precompiled._headers.cache_clear()
    (kept,) = (tmp_path / "cache").rglob("*.ir")
    (header,) = (tmp_path / "cache").rglob("*.pch")
    kept.chmod(0o666)
    header.parent.chmod(0o777)

    with pytest.warns(CacheWarning) as said, calls_of(made) as parses:
        assert result(7) == 7
    assert len(parses) == 1
    assert [str(w.message).split(" is not read")[0] for w in said] == [
        f"the cached file {kept}",
        f"the cache folder {header.parent}",
    ]


def test_translations_are_bounded(result, tmp_path):
    """Those that were not used for longest go, and what a process that was killed has left."""
    folder = tmp_path / "cache" / "bangc"
    for n in range(MOST_FOLDERS + 2):
        (folder / f"{n:032}").mkdir(parents=True)
    result(1)
    (kept,) = folder.glob("*.ir")
    old = [folder / name for name in ("tmphalf", "first.ir", "second.ir", "third.ir")]
    looked = 0
    for n in range(2 * cache.SELDOM):
        for age, path in enumerate(old):
            path.touch()
            os.truncate(path, MOST_BYTES // 3)  # a hole, which takes no room on the disk
            os.utime(path, (age, age))
        cache.write(f"bangc/{n}.other", b"")
        left = [path.name for path in old if path.exists()]
        looked += len(left) < len(old)
        assert left in ([path.name for path in old], ["second.ir", "third.ir"])

    assert 0 < looked < 10  # not with each that is written
    assert MOST_FOLDERS == sum(p.is_dir() for p in folder.iterdir())
    assert kept.exists()
