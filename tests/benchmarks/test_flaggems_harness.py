"""The harness of the public Triton library, on a checkout that is written here."""

import pytest

from benchmarks.flaggems.__main__ import BACK_END, Found, files_of_tests, share, source_files, state, table
from mlusim.errors import UsageError

DONE = {"called": "", "translated": "", "loaded": "", "ran": ""}
REFUSED = {"called": "", "refused": "Unsupported: no form | here"}


@pytest.fixture
def checkout(tmp_path):
    """A checkout with three files of kernels and their tests."""
    for name in ("fused/outer.py", "ops/exp.py", "ops/where.py", "ops/__init__.py"):
        (tmp_path / BACK_END / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / BACK_END / name).touch()
    (tmp_path / "tests").mkdir()
    for name in ("exp", "exp_", "where_self", "expand"):
        (tmp_path / "tests" / f"test_{name}.py").touch()
    return tmp_path


def test_files_come_in_the_order_of_the_alphabet_with_the_tests_of_their_name(checkout):
    """Those in place, too; a file without tests of its name has those that are named for it."""
    assert ["fused/outer.py", "ops/exp.py", "ops/where.py"] == source_files(checkout)
    assert ["tests/test_exp.py", "tests/test_exp_.py"] == files_of_tests(checkout, "ops/exp.py")
    assert ["tests/test_where_self.py"] == files_of_tests(checkout, "ops/where.py")
    with pytest.raises(UsageError, match="has no kernels; give a checkout of FlagGems"):
        source_files(checkout / "tests")


def test_a_file_has_come_as_far_as_all_its_kernels():
    """One that is not translated keeps it back."""
    assert "ran" == state({"a": DONE, "b": DONE})
    assert "called" == state({"a": DONE, "b": REFUSED})
    assert "ran" == state({"kept": {"called": "", "loaded": "", "ran": ""}})


def test_what_is_not_translated_or_not_right_has_a_row():
    """With its reason; files that no test reaches count as not translated, and have rows of their own."""
    found = Found(
        kernels={"ops/exp.py": {"k": DONE}, "ops/where.py": {"w": REFUSED}, "ops/log.py": {"l": DONE}},
        tests={
            "tests/test_exp.py": {
                "test_exp[0]": ["passed", ""],
                "test_exp[1]": ["failed", "Mismatched /tmp/x/y.py"],
            },
            "tests/test_log.py": {"test_log": ["late", "more than 60 s"]},
        },
    )
    shown = table(
        found,
        {"fused/outer.py": [], "ops/exp.py": ["tests/test_exp.py"], "ops/where.py": []},
        {"ops/where.py"},
        {"ops/exp.py", "ops/where.py"},
    )
    unreached = table(
        found,
        {"ops/zero.py": [], "ops/zeros.py": ["tests/test_exp.py"]},
        {"ops/zero.py", "ops/zeros.py"},
        {"ops/zeros.py"},
    )
    late = table(found, {"ops/log.py": ["tests/test_log.py"]}, set(), {"ops/log.py"})

    assert (1, 3) == share(found, ["fused/outer.py", "ops/exp.py", "ops/where.py"])
    assert "| first half | 2 | 1 | 1 | 1 | 1 | 1 | 0 | 0 |" in shown
    assert "| all | 1 | 1 | 1 | 1 | 1 | 1 | 0 | 1 |" in late
    assert "| second half | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 |" in shown
    assert "| ops/zero.py | it has no kernel |" in unreached
    assert "| ops/zeros.py | its tests call none of its kernels: 1 failed, 1 passed |" in unreached
    assert "| ops/where.py | w | called | Unsupported: no form / here |" in shown
    assert "| test_exp: test_exp[1] | failed | Mismatched y.py |" in shown
