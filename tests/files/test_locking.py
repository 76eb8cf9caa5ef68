"""One process at a time changes a file."""

import threading
from contextlib import ExitStack

import pytest

from mlusim.errors import UsageError
from mlusim.files import writing
from mlusim.files.user_cache import make_own_folder, user_cache
from mlusim.files.writing import changing
from mlusim.toolkit import folder


def test_changes_come_one_after_the_other(tmp_path):
    """No addition is lost among four that read, add and write at once."""
    file = tmp_path / "count"
    file.write_text("0")

    def add():
        for _ in range(25):
            with changing(str(file)):
                before = int(file.read_text())
                beside = tmp_path / f"{threading.get_ident()}"
                beside.write_text(str(before + 1))
                beside.replace(file)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert "100" == file.read_text()


def test_a_change_without_end_is_a_sentence(tmp_path):
    """A waiting process is told, instead of waiting for ever."""
    with (
        changing(str(tmp_path / "x")),
        pytest.raises(UsageError, match="x is being changed by another process"),
        changing(str(tmp_path / "x"), patience=0),
    ):
        pass


def test_libraries_of_the_toolkit_are_waited_for_as_long_as_their_builder_lives(tmp_path, monkeypatch):
    """No clock ends the wait: an hour later what the builder leaves is used, and nothing is compiled twice."""
    monkeypatch.setenv("MLUSIM_CACHE", str(tmp_path))
    place = user_cache() / "toolkit" / folder.digest_of_libraries(("g++",))
    make_own_folder(place)
    builder = ExitStack()
    builder.enter_context(changing(str(place / "lib")))

    class Clock:
        """A clock that goes by hours, and whose first pause is the end of the builder."""

        now = 0

        def monotonic(self):
            self.now += 3600
            return self.now

        def sleep(self, _):
            for library in folder.LIBRARIES:
                (place / f"lib{library}.so").touch()
            builder.close()

    monkeypatch.setattr(writing, "time", Clock())

    assert place == folder.kept_libraries()
    assert {f"lib{library}.so" for library in folder.LIBRARIES} == {one.name for one in place.iterdir()}
