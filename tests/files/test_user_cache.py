"""The user's cache directory, by the environment."""

from pathlib import Path

import pytest

from mlusim.files.user_cache import user_cache


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({"MLUSIM_CACHE": "/a b/c"}, "/a b/c"),
        ({"MLUSIM_CACHE": "made/here"}, "{here}/made/here"),
        ({"MLUSIM_CACHE": "~/made"}, "{home}/made"),
        ({"XDG_CACHE_HOME": "/all"}, "/all/mlusim"),
        ({"XDG_CACHE_HOME": "relative"}, "{home}/.cache/mlusim"),
        ({"XDG_CACHE_HOME": ""}, "{home}/.cache/mlusim"),
        ({}, "{home}/.cache/mlusim"),
    ],
)
def test_the_directory_is_absolute(monkeypatch, tmp_path, environ, wanted):
    """A relative path, a home, the directory of all programs, which counts where it is absolute."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/homes/me")

    assert Path(wanted.format(here=tmp_path, home="/homes/me")) == user_cache(environ)


def test_nothing_is_kept_where_it_is_off_or_nowhere(monkeypatch):
    """The word "off", and a user without a home."""

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)

    assert user_cache({"MLUSIM_CACHE": "off"}) is None
    assert user_cache({}) is None
