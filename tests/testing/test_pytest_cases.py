"""Files of cases as tests of pytest."""

import mlusim.testing.pytest_plugin

pytest_plugins = ["pytester"]

SOURCE = """\
__nram__ float buffer[64];
__mlu_entry__ void Twice(float *dst, const float *src, int n) {
  __memcpy(buffer, src, n * sizeof(float), GDRAM2NRAM);
  __bang_add(buffer, buffer, buffer, n);
  __memcpy(dst, buffer, n * sizeof(float), NRAM2GDRAM);
}
"""
CASES = """\
program = "twice.mlu"
args = { dst = "out:float32:n", src = "ones:float32:n", n = 64 }
reference = "ref:twice"

[case.right]
[case.wrong]
expect = { dst = "ones:float32:n" }
reference = "ref:nothing"
[case.far]
args = { n = 65 }
"""


def test_each_case_is_a_test(pytester, monkeypatch):
    """Where the file is named, or the configuration names it; another file of this kind is left alone."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.path.joinpath("twice.mlu").write_text(SOURCE)
    pytester.path.joinpath("cases.toml").write_text(CASES)
    pytester.path.joinpath("broken.toml").write_text("[case.a]\nkernl = 'K'\n")
    pytester.path.joinpath("ref.py").write_text(
        "def twice(src, n):\n    return 2 * src\ndef nothing(src, n):\n    return {}\n"
    )
    plugin = ("-p", mlusim.testing.pytest_plugin.__name__, "-p", "no:cacheprovider")

    named = pytester.runpytest_inprocess(
        *plugin, "cases.toml", "broken.toml", "-v", "--continue-on-collection-errors"
    )
    named.assert_outcomes(passed=1, failed=2, errors=1)
    named.stdout.fnmatch_lines(
        ["*cases.toml::right PASSED*", "*dst: diff1 1, diff2 1, FAILED*", "*OutOfBounds: *"]
    )
    named.stdout.fnmatch_lines(["*broken.toml:2 has the unknown key 'kernl' (meant: kernel)*"])
    pytester.runpytest_inprocess(*plugin).assert_outcomes()
    configured = pytester.runpytest_inprocess(*plugin, "-o", "mlusim_cases=*/cases.toml", "-k", "right")
    configured.assert_outcomes(passed=1, deselected=2)
