"""Every name of the vendor is here, and its test executes it and notices where it does nothing."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from executed_names import EXECUTED, listed_tests

from manual.coverage_page import LANGUAGE, OUR_FORMS, coverage_page
from mlusim.cli.isa_coverage import VendorName, row_of, vendor_names
from mlusim.errors import UsageError
from mlusim.isa.table import ISA

ROOT = Path(__file__).parents[2]
NAMES = vendor_names()


@pytest.fixture(scope="module")
def seen():
    """What the listed tests executed and noticed, in a process of their own."""
    command = [sys.executable, str(Path(__file__).with_name("coverage_recorder.py"))]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert 0 == run.returncode, run.stderr
    return json.loads(run.stdout)


def test_the_listed_tests_pass(seen):
    """Nothing fails, and nothing that is listed was left out."""
    assert [] == seen["failed"]
    assert 0 == seen["status"]


def test_every_name_is_executed_by_its_test_which_fails_without_it(seen):
    """The intrinsic or helper was seen in a case of its test; that case fails where it does nothing."""
    rows = {name.spelling: row_of(name) or name for name in NAMES}
    bare = {spelling: row.bare if isinstance(row, VendorName) else row.name for spelling, row in rows.items()}

    assert [] == [spelling for spelling, name in bare.items() if name not in seen["executed"]]
    assert [] == [spelling for spelling, name in bare.items() if name not in seen["noticed"]]


def test_there_are_176_names_that_kernels_use():
    """All different; the helper library among them."""
    used = [name for name in NAMES if name.uses]

    assert 176 == len(used)
    assert len(NAMES) == len({name.spelling for name in NAMES})
    assert 17 == sum(name.bare.startswith("mluop_") for name in used)
    assert all(name.uses == "?" or int(name.uses) > 0 for name in used)


def test_the_list_has_every_row_but_our_names_for_longer_forms():
    """A new intrinsic goes on the list with its test."""
    listed = {row.name for row in map(row_of, NAMES) if row is not None}

    assert set(ISA) - set(OUR_FORMS) == listed
    assert set(OUR_FORMS) == {row.overload[0] for row in ISA.values() if row.overload is not None}


def test_a_name_that_is_nowhere_is_refused():
    """The page cannot list what does not exist."""
    with pytest.raises(UsageError, match="__bang_nowhere is listed as covered"):
        row_of(VendorName("__bang_nowhere", "3"))


def test_the_listed_tests_exist():
    """Each is a function of a file below the tests, and each name has one."""
    assert sorted(name.spelling for name in NAMES) == sorted(
        word for line in EXECUTED.splitlines() if line.startswith(" ") for word in line.split()
    )
    for test in set(listed_tests().values()):
        path, _, function = test.partition("::")

        assert re.search(rf"^def {function}\(", (ROOT / "tests" / path).read_text(), re.MULTILINE), test


def test_the_page_has_a_row_for_each_name():
    """Name, uses, spelling here, certainty and page; the words of the language at the end."""
    page = coverage_page()
    for name in NAMES:
        (line,) = re.findall(rf"^\| `{name.spelling}` \| .*$", page, re.MULTILINE)
        row = row_of(name)

        assert f"| {name.uses} |" in line
        assert (f"`mlu.{row.name}` | {row.certainty} |" if row else f"`{name.bare}(mlu, ...)` | - |") in line
    for word in LANGUAGE:
        assert f"| `{word}` |" in page
