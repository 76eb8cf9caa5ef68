"""The harness of the vendor's tests of PyTorch's device, on a checkout that is written here."""

import argparse

import pytest

from benchmarks.torch_tests.__main__ import FileOutcome, run_file, share, table, test_files as files_of
from mlusim.errors import UsageError

TESTS = """
import os, signal, subprocess, sys, unittest
class TestOne(unittest.TestCase):
    def test_second_in_the_alphabet(self):
        pass
    def test_first(self):
        self.assertEqual(1, 2)
    @unittest.skip("large")
    def test_large(self):
        pass
    def test_private(self):
        raise AttributeError("module 'torch_mlu' has no attribute '_MLUC'")
    def test_hangs(self):
        while True:
            pass
    def test_hangs_in_another_process(self):
        subprocess.run(["sh", "-c", f"{sys.executable} -Sc 'while True: pass' & read line"], stdin=os.pipe()[0])
    def test_hangs_where_no_signal_is_heard(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        while True:
            pass
    def test_dies(self):
        os._exit(9)
    def test_after_it(self):
        pass
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout with one file of tests."""
    folder = tmp_path / "test" / "ops"
    folder.mkdir(parents=True)
    (folder / "test_one.py").write_text(TESTS)
    return tmp_path


def test_functions_run_in_the_order_of_the_file_and_a_death_is_told(checkout):
    """Each says its outcome as it ends; those after one that ends its process, or with which it is ended, run in another."""
    (path,) = files_of(checkout, [], 1)

    outcome = run_file(path, checkout, argparse.Namespace(functions=9, timeout=0.2, board="MLU590-H8"))

    assert ["passed", "failed", "skipped", "private", "late", "late", "late", "died", "passed"] == [
        r for r, _ in outcome.functions.values()
    ]
    assert "AssertionError: 1 != 2" == outcome.functions["TestOne.test_first"][1]
    assert outcome.functions["TestOne.test_dies"][1].startswith("exit 9")
    assert not outcome.died


def test_what_needs_the_private_interface_cannot_pass():
    """Nor can what is skipped; reasons are counted, and a file that died has a row of its own."""
    functions = {"a": ("passed", ""), "b": ("failed", "x|y"), "c": ("private", "z"), "d": ("skipped", "")}
    outcomes = [FileOutcome("ops/test_one", functions, "exit 9: gone")]

    assert (1, 2) == share(outcomes)
    assert "| failed | 1 | x/y |\n" in table(outcomes)
    assert "| ops/test_one | b | failed | x/y |\n" in table(outcomes)
    assert "| ops/test_one | the file | died | exit 9: gone |" in table(outcomes)


def test_files_are_named_or_drawn(checkout):
    """Unknown names, and a folder that is another project's, are refused."""
    assert ["test_one"] == [path.stem for path in files_of(checkout, ["test_one"], 8)]
    for words in ((checkout, ["test_two"]), (checkout / "test", [])):
        with pytest.raises(UsageError):
            files_of(*words, 8)
