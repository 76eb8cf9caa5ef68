"""Translations that are kept: used again where nothing has changed, made again where a header has."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.files import ownership
from mlusim.files.ownership import CacheWarning
from mlusim.frontend.bangc import cache, making
from mlusim.frontend.bangc.cache import MOST_FOLDERS
from mlusim.frontend.bangc.parse import precompiled

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


def test_a_kept_translation_is_used_until_a_header_changes(result, monkeypatch):
    """The second load parses nothing; another value in the header is seen."""
    first = result(7)
    parsed = making.parsed
    monkeypatch.setattr(making, "parsed", None)
    second = result(7)
    monkeypatch.setattr(making, "parsed", parsed)

    assert (first, second, result(8)) == (7, 7, 8)


def test_a_broken_cache_is_made_again(result, tmp_path):
    """A file of the cache that holds something else is no error."""
    result(7)
    for path in (tmp_path / "cache").rglob("*.ir"):
        path.write_bytes(b"broken")

    assert result(7) == 7


def test_what_others_may_write_is_made_again(result, tmp_path, monkeypatch):
    """A translation in such a file, and a compiled header in such a folder: the file is said, and the source parsed."""
    monkeypatch.setattr(ownership, "_said", set())
    result(7)
    precompiled._headers.cache_clear()
    (kept,) = (tmp_path / "cache").rglob("*.ir")
    (header,) = (tmp_path / "cache").rglob("*.pch")
    kept.chmod(0o666)
    header.parent.chmod(0o777)
    parsed, files = making.parsed, []
    monkeypatch.setattr(
        making, "parsed", lambda *given, **named: files.append(given) or parsed(*given, **named)
    )

    with pytest.warns(CacheWarning) as said:
        assert result(7) == 7
    assert len(files) == 1
    assert [str(w.message).split(" is not read")[0] for w in said] == [
        f"the cached file {kept}",
        f"the cache folder {header.parent}",
    ]


def test_translations_are_bounded(result, tmp_path, monkeypatch):
    """Those that were not used for longest go, and what a process that was killed has left."""
    folder = tmp_path / "cache" / "bangc"
    for n in range(MOST_FOLDERS + 2):
        (folder / f"{n:032}").mkdir(parents=True)
    result(1)
    (size,) = (p.stat().st_size for p in folder.glob("*.ir"))
    (folder / "tmphalf").write_bytes(b"half" * size)
    monkeypatch.setattr(cache, "MOST_BYTES", 5 * size // 2)
    looked, listed = [], cache._bound
    monkeypatch.setattr(cache, "_bound", lambda kept: looked.append(kept.name) or listed(kept))
    for n in range(2 * cache.SELDOM):
        cache.write(f"bangc/{n}.other", b"")
    assert 0 < len(looked) < 10
    monkeypatch.setattr(cache, "SELDOM", 1)
    for n in range(3):
        (tmp_path / f"k{n}.mlu").write_text(SOURCE)
        bangc.load(tmp_path / f"k{n}.mlu")

    assert MOST_FOLDERS == sum(p.is_dir() for p in folder.iterdir())
    assert 2 == len(list(folder.glob("*.ir")))
    assert not (folder / "tmphalf").exists()
