"""The runner of the vendor's test suite, on a checkout whose build and test programs are scripts that are written here."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.vendor import checkout
from benchmarks.vendor.suite import judged

BUILD = """\
#!/bin/sh
test -x "$NEUWARE_HOME/bin/cncc" || exit 1
test "$MLUOP_MLU_ARCH_LIST" = "mtp_592;" || exit 1
echo "/there/twice.mlu:3:9: warning: __bang_twice is unknown"
mkdir -p build/test && cp mluop_gtest mluop_api_gtest build/test
"""
TESTS = """\
#!/bin/sh
case "$1" in
--gtest_list_tests)
  printf 'DISABLED_MLUOP.\\n  something\\ntwice/TestSuite.\\n  mluOp/0  # GetParam() = ("twice", 0)\\n'
  printf '  mluOp/1  # GetParam() = ("twice", 1)\\nthrice/TestSuite.\\n  mluOp/0\\n' ;;
*twice/*/0)
  echo '[MLU Hardware Time      ]: 2.5 (us)'
  echo '[MLU IO Efficiency      ]: 0.125'
  printf 'DIFF1: 1.5e-07\\nDIFF2: 2.000000e-06\\n'
  echo '[^      OK ] ../../zoo/twice/test_case/small.prototxt'
  echo '[  PASSED  ] 1 test case.' ;;
*twice/*/1)
  echo 'error: the copy reaches past its end (twice.mlu:7, task 0)' >&2
  echo '[^  FAILED ] ../../zoo/twice/test_case/large.prototxt'
  exit 1 ;;
*) kill -SEGV $$ ;;
esac
"""
ENTRIES = """\
#!/bin/sh
echo '[       OK ] twice/workspace.BAD_PARAM/0, where GetParam() = 8 (1 ms)'
echo '[  FAILED  ] twice/general.null, where GetParam() = 9 (1 ms)'
exit 1
"""


@pytest.fixture
def root(tmp_path):
    """A checkout of one header, a build and two test programs."""
    (tmp_path / "mlu_op.h").touch()
    for name, text in (("build.sh", BUILD), ("mluop_gtest", TESTS), ("mluop_api_gtest", ENTRIES)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_a_checkout_is_built_and_tested_case_by_case(root: Path, capsys: pytest.CaptureFixture) -> None:
    """A row a case, with what the test program prints of it; a failure, a crash and a refused entry point are the exit code."""
    kept, page = root / "results.json", root / "page.md"
    page.write_text("before\n<!-- begin: python -m benchmarks.vendor --page -->\nold\n<!-- end -->\nafter\n")

    code = main(["vendor", str(root), "--results", str(kept), "--page", str(page)])

    table = capsys.readouterr().out
    assert code == 1
    assert "| twice/small | passed | 2e-06 | 2.5 | 0.125 |  |  |" in table
    assert "| twice/large | failed |" in table
    assert "| thrice/0 | crashed |" in table
    assert (
        "The build for MLU590-H8 ends without an error; 1 sources have something that does not translate."
        in table
    )
    assert "1 of 3 cases pass; 1 crashed, 1 failed." in table
    assert "1 of 2 tests of the entry points pass." in table
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert table in text
    assert "| twice/large | the copy reaches past its end (twice.mlu:7, task 0) |" in text
    assert "| /there/twice.mlu | __bang_twice is unknown |" in text.replace(
        "| twice.mlu |", "| /there/twice.mlu |"
    )

    assert main(["vendor", str(root), "--no-build", "--missing", "--no-api", "--results", str(kept)]) == 1
    assert len(json.loads(kept.read_text())["cases"]) == 3


def test_what_is_no_checkout_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """One sentence, for the folder and for one that was not built."""
    assert main(["vendor", str(tmp_path)]) == 2
    assert "is not a checkout of the vendor's library" in capsys.readouterr().err
    for name in ("mlu_op.h", "build.sh"):
        (tmp_path / name).touch()
    assert main(["vendor", str(tmp_path), "--no-build"]) == 2
    assert "build the checkout first" in capsys.readouterr().err


def test_what_a_case_said_is_judged() -> None:
    """Its end counts: a case that passes and then crashes has not passed."""
    said = "[^      OK ] zoo/psroipool/testcase/a.prototxt\n[  PASSED  ] 1 test case."
    assert judged("psroipool", "psroipool/TestSuite.mluOp/0", 0, said).outcome == "passed"
    assert judged("psroipool", "psroipool/TestSuite.mluOp/0", 0, said).case == "psroipool/a"
    assert judged("psroipool", "psroipool/TestSuite.mluOp/0", -11, said).outcome == "crashed"
    assert judged("psroipool", "psroipool/TestSuite.mluOp/0", None, said).outcome == "timed out"
    assert judged("psroipool", "psroipool/TestSuite.mluOp/3", 1, "").case == "psroipool/3"


def test_the_first_thing_that_does_not_translate_is_kept() -> None:
    """Of each source one."""
    log = "a.mlu:1:2: warning: first\na.mlu:3:2: warning: second\n[ 3%] Building b.mlu\nb.mlu:4:1: error: third\n"
    assert checkout.untranslated(log) == {"a.mlu": "first", "b.mlu": "third"}
