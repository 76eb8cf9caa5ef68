"""One process at a time changes a file."""

import threading

import pytest

from mlusim.errors import UsageError
from mlusim.files import writing
from mlusim.files.writing import changing


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


def test_a_change_without_end_is_a_sentence(tmp_path, monkeypatch):
    """A waiting process is told, instead of waiting for ever."""
    monkeypatch.setattr(writing, "PATIENCE", 0)

    with (
        changing(str(tmp_path / "x")),
        pytest.raises(UsageError, match="x is being changed by another process"),
        changing(str(tmp_path / "x")),
    ):
        pass
