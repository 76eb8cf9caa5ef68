"""Files that others than the user can have written: named once, and not read."""

import os
import warnings

import pytest

from mlusim.files.user_cache import CacheWarning, make_own_folder, owned, read_own, user_cache

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_may_write_is_no_cache(tmp_path, mode):
    """The note names it, its mode and what to do; it is said once."""
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)

    with pytest.warns(
        CacheWarning, match=rf"{folder} is not read: it may be written by others \(mode {mode:o}\)"
    ):
        assert user_cache({"MLUSIM_CACHE": str(folder)}) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert user_cache({"MLUSIM_CACHE": str(folder)}) is None


def test_a_folder_of_another_user_is_no_cache(tmp_path, monkeypatch):
    """The user is another one than the owner."""
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)

    with pytest.warns(CacheWarning, match=f"belongs to another user .uid {owner}.*MLUSIM_CACHE"):
        assert user_cache({"MLUSIM_CACHE": str(tmp_path)}) is None


def test_a_file_is_as_safe_as_the_folders_above_it(tmp_path):
    """A file of mode 600 in a folder that all may write is not read; neither is a file that all may write."""
    base, inner, file = (
        tmp_path / "cache",
        tmp_path / "cache" / "bangc",
        tmp_path / "cache" / "bangc" / "x.ir",
    )
    make_own_folder(inner)
    file.write_bytes(b"kept")
    file.chmod(0o600)
    assert read_own(file, base) == b"kept"

    inner.chmod(0o777)
    with pytest.warns(CacheWarning, match=f"the cache folder {inner} is not read"):
        assert read_own(file, base) is None
    inner.chmod(0o700)
    file.chmod(0o666)
    with pytest.warns(CacheWarning, match=f"the cached file {file} is not read"):
        assert not owned(file, base)


def test_what_is_made_is_the_users_own_whatever_the_umask(tmp_path):
    """Under a umask of 0, and of 2 as systems with a group for each user have it."""
    before = os.umask(0)
    try:
        make_own_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)

    assert owned(tmp_path / "a" / "b", tmp_path)
