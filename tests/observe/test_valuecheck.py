"""valuecheck: numbers of BANG C that change without a word, and those that are meant to."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.bang import float32, kernel
from mlusim.check.checking import report_of
from mlusim.check.findings import checked
from mlusim.check.formats import summary
from mlusim.check.kernel_calls import check_program
from mlusim.observe.collect import collecting
from mlusim.observe.valuecheck import ValueCheck

KERNEL = """#include <bang.h>
{functions}
__mlu_entry__ void K(long *out, int n, long wide, float f, double d) {{
  {body}
}}
"""
BIG = 2**31 - 1


@pytest.fixture
def run(tmp_path):
    """``run(body, n, wide, f, d)``: the findings as (rule, message), and what ``out`` holds."""

    def launched(body, n=0, wide=0, f=0.0, d=0.0, functions="", observe=("valuecheck",)):
        path = tmp_path / "k.mlu"
        path.write_text(KERNEL.format(body=body, functions=functions))
        device = mlusim.Device("MLU370-X4")
        out = device.put(np.zeros(1, np.int64))
        made = device.launch(
            bangc.load(path)["K"], args=(out, n, wide, f, d), observe=observe, engine="python"
        )
        told = [(found.id.removeprefix("valuecheck-"), found.message, found.line) for found in made.findings]
        return told, int(device.get(out)[0])

    return launched


FAULTY = [
    (
        "int c = wide; out[0] = c;",
        {"wide": 2**32 + 100},
        "narrowed",
        "4294967396 of long becomes 100 as int",
        100,
    ),
    ("out[0] = Take(wide);", {"wide": 2**32 + 100}, "narrowed", "4294967396 of long becomes 100 as int", 100),
    (
        "short s = n; s += 1; out[0] = s;",
        {"n": 32767},
        "narrowed",
        "32768 of int becomes -32768 as short",
        -32768,
    ),
    (
        "unsigned char c = n; out[0] = c;",
        {"n": -1},
        "narrowed",
        "-1 of int becomes 255 as unsigned char",
        255,
    ),
    ("out[0] = n + 1;", {"n": BIG}, "overflow", "the result 2147483648 does not fit into int", -(2**31)),
    ("out[0] = n * n;", {"n": 65536}, "overflow", "the result 4294967296 does not fit into int", 0),
    ("n -= 2; out[0] = n;", {"n": -BIG}, "overflow", "the result -2147483649 does not fit into int", BIG),
    ("out[0] = -n;", {"n": -(2**31)}, "overflow", "the result 2147483648 does not fit into int", -(2**31)),
    ("out[0] = n / (int)wide;", {"n": -(2**31), "wide": -1}, "overflow", "the result 2147483648", -(2**31)),
    ("out[0] = n % (int)wide;", {"n": -(2**31), "wide": -1}, "overflow", "the result 2147483648", 0),
    (
        "out[0] = wide * 2;",
        {"wide": 2**62},
        "overflow",
        "9223372036854775808 does not fit into long",
        -(2**63),
    ),
    ("out[0] = 1 << n;", {"n": 32}, "shift", "int of 32 bits is shifted by 32; that is by 0 here", 1),
    ("out[0] = 256l >> n;", {"n": -60}, "shift", "long of 64 bits is shifted by -60; that is by 4 here", 16),
    ("out[0] = (int)f;", {"f": 3e10}, "float-to-integer", "3e+10 of float does not fit into int", BIG),
    ("out[0] = (long)d;", {"d": 2.0**63}, "float-to-integer", "of double does not fit into long", 2**63 - 1),
    ("out[0] = (unsigned)f;", {"f": -1.0}, "float-to-integer", "-1 of float does not fit into unsigned", 0),
    ("out[0] = (int)d;", {"d": float("nan")}, "float-to-integer", "nan of double does not fit into int", 0),
    (
        "for (unsigned char i = 250; i >= 250; ++i) out[0] = i;",
        {},
        "counter-wraps",
        "the counter would be 256 and becomes 0 as unsigned char",
        255,
    ),
    (
        "for (unsigned i = 1; i < 2; i--) { if (n) continue; out[0] = i; }",
        {},
        "counter-wraps",
        "the counter would be -1 and becomes 4294967295 as unsigned int",
        0,
    ),
]
TAKE = "__mlu_func__ int Take(int n) { return n; }"


@pytest.mark.parametrize(("body", "given", "rule", "said", "out"), FAULTY, ids=[row[0] for row in FAULTY])
def test_a_changed_number_is_told(run, body, given, rule, said, out):
    """The finding has the number before and after; the result is that of a run without the checker."""
    found, got = run(body, **given, functions=TAKE)

    assert [(rule, 4)] == [(told, line) for told, _, line in found]
    assert said in found[0][1]
    assert ([], out) == ([], got)
    assert ([], out) == run(body, **given, functions=TAKE, observe=())


@pytest.mark.parametrize(
    ("body", "given", "out"),
    [
        ("int c = (int)wide; out[0] = c;", {"wide": 2**32 + 100}, 100),
        ("out[0] = int(wide) + static_cast<short>(wide);", {"wide": 2**32 + 65636}, 65736),
        ("unsigned u = n; u *= 3u; u = u + 7u; out[0] = u;", {"n": BIG}, 2**31 + 4),
        ("out[0] = 1u << n; out[0] = 2u << n;", {"n": 31}, 0),
        ("out[0] = n / 2 + (n - 1) % 7;", {"n": -BIG}, -(2**30) + 1 - 2),
        ("unsigned n2 = n; int turns = 0; while (n2-- > 0) ++turns; out[0] = turns;", {"n": 3}, 3),
        ("for (unsigned char i = 0; i < 255; ++i) out[0] = i;", {}, 254),
        ("for (short i = 32767; i > 32765; --i) out[0] = i;", {}, 32766),
        ("out[0] = (int)d;", {"d": -2147483648.9}, -(2**31)),
        ("out[0] = (int)d;", {"d": 2147483647.9}, BIG),
        ("out[0] = (unsigned char)f;", {"f": -0.9}, 0),
        ("out[0] = (long)d;", {"d": -(2.0**63)}, -(2**63)),
        ("out[0] = -n;", {"n": -BIG}, BIG),
        ("out[0] = n + 1 > n;  // mlusim: allow valuecheck-overflow: it may wrap here", {"n": BIG}, 0),
    ],
)
def test_what_is_meant_or_fits_is_clean(run, body, given, out):
    """Casts, unsigned arithmetic, the last numbers of a type, and what a comment allows."""
    assert ([], out) == run(body, **given)


def test_each_line_is_told_once_with_its_count(run, tmp_path):
    """A loop that overflows a thousand times has one finding."""
    del run
    path = tmp_path / "k.mlu"
    path.write_text(KERNEL.format(functions="", body="for (int i = 0; i < 1000; ++i) out[0] = n + i;"))
    device = mlusim.Device("MLU370-X4")
    out = device.put(np.zeros(1, np.int64))
    made = device.launch(bangc.load(path)["K"], args=(out, BIG, 0, 0.0, 0.0), observe=["valuecheck"])

    assert [999] == [found.count for found in made.findings]


def test_a_kernel_of_python_is_nothing_for_it():
    """Its integers have no end; the report says that valuecheck saw nothing, unless it looks at vectors."""

    @kernel
    def fill(mlu, x):
        if mlu.taskId == 0:
            b = mlu.nram(float32, 64)
            mlu.bang_write_value(b, 64, 1 << 0)
            mlu.memcpy(x, b, 256, mlusim.bang.NRAM2GDRAM)

    class Launches:
        """A program with one launch."""

        def run(self, observe):
            """Launch it."""
            device = mlusim.Device("MLU370-X4")
            device.launch(fill, args=(device.empty(64, np.float32),), observe=observe)

    names = ("memcheck", "valuecheck")
    with collecting(names) as collector:
        Launches().run(())
    plain = report_of(names, [checked(collector, "x.py", "")])
    looking = report_of(names, [check_program(Launches(), "x.py", names)])

    assert summary(plain).endswith("checked by memcheck; valuecheck saw no BANG C.")
    assert summary(looking).endswith("checked by memcheck, valuecheck.")


def test_only_those_who_ask_get_the_checked_code(tmp_path):
    """The code of launches without the checker is the usual one; that of others is made once."""
    path = tmp_path / "k.mlu"
    path.write_text(KERNEL.format(functions=TAKE, body="out[0] = Take(n + 1);"))
    plan = bangc.load(path)["K"].plan

    def names(linked):
        return {name for part in linked.parts for code in part.code.values() for name in code.co_names}

    assert "_c_changed" not in names(plan)
    checked = plan.watched(checked=True, covered=False)
    assert "_c_changed" in names(checked)
    assert plan.watched(checked=True, covered=False) is checked
    assert "value" in vars(ValueCheck)
