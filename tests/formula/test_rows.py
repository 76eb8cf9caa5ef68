"""The formulas of rows: read from their text, evaluated, written as Python and as C."""

import pytest
from hypothesis import given, strategies as st

from mlusim.errors import UsageError
from mlusim.formula.parse import names_in, row_formula
from mlusim.formula.render import to_c, to_python
from mlusim.isa.table import ISA

FORMULAS = tuple(
    dict.fromkeys(
        formula
        for row in ISA.values()
        for formula in (
            *(o.extent for o in row.operands.values()),
            *(o.step for o in row.operands.values()),
            *(part for o in row.operands.values() for pair in o.strides for part in pair),
            *(rule.fails for rule in row.rules),
            *(() if row.cost is None else (row.cost.extent,)),
        )
    )
)
ATOMS = st.sampled_from(["a", "b", "c", "1", "2", "7", "128"])


def _joined(parts):
    signs = st.sampled_from(["+", "-", "*", "//", "%"])
    return st.one_of(
        st.tuples(parts, signs, parts).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        st.tuples(parts, parts).map(lambda t: f"min({t[0]}, {t[1]})"),
        st.tuples(parts, parts).map(lambda t: f"-(-({t[0]}) // ({t[1]}))"),
        st.tuples(parts, parts).map(lambda t: f"({t[0]}) or ({t[1]})"),
        st.tuples(parts, parts, parts).map(lambda t: f"({t[0]}) if ({t[1]}) <= ({t[2]}) else ({t[1]})"),
        st.tuples(parts, parts, parts).map(lambda t: f"not ({t[0]}) < ({t[1]}) <= ({t[2]}) and ({t[0]})"),
    )


TEXTS = st.recursive(ATOMS, _joined, max_leaves=8)


@pytest.mark.parametrize("formula", FORMULAS, ids=to_python)
def test_a_formula_of_a_row_reads_what_it_writes(formula):
    """Written as Python and read again it is the same formula."""
    assert formula == row_formula(to_python(formula))


@given(TEXTS, st.integers(-9, 99), st.integers(-9, 99), st.integers(1, 9))
def test_a_formula_means_what_python_means(text, a, b, c):
    """Its value, and that of the source that it writes, is Python's value of the text."""
    values = {"a": a, "b": b, "c": c}
    try:
        expected = eval(text, {"min": min}, values)  # noqa: S307 - texts made above
    except ZeroDivisionError:
        with pytest.raises(UsageError, match="divides by zero"):
            row_formula(text).evaluate(values)
        return

    assert expected == row_formula(text).evaluate(values)
    assert expected == eval(to_python(row_formula(text)), {"min": min}, values)  # noqa: S307 - as above


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("(n + 7) // 8", "floor_div((n + INT64_C(7)), INT64_C(8))"),
        ("1 + 8 // sizeof(T)", "(INT64_C(1) + floor_div(INT64_C(8), sizeof_T))"),
        ("-(-n * sizeof(T) // 128) * 128", "(ceil_div((n * sizeof_T), INT64_C(128)) * INT64_C(128))"),
        ("stride or width", "either(stride, width)"),
        ("s is not None and s < 1", "(s_given && ((s < INT64_C(1))))"),
        ("not 1 <= n <= 512", "(!((INT64_C(1) <= n) && (n <= INT64_C(512))))"),
        ("kind(dst) == 'int' or pointer(src)", "(((kind_dst == KIND_INT)) || pointer_src)"),
        ("2 * p if q is None else p % q", "((!q_given) ? (INT64_C(2) * p) : floor_mod(p, q))"),
    ],
)
def test_a_formula_in_c(text, source):
    """Every operation in parentheses; division rounds towards minus infinity, as the rows mean it."""
    assert source == to_c(row_formula(text))


def test_names_of_a_formula():
    """Parameters in order, those that are only asked for among them; operands are none."""
    assert ("stride", "n", "m") == names_in(row_formula("n % sizeof(src) if stride is None else m + n"))


@pytest.mark.parametrize(
    "text", ["n ++", "n ** 2", "n is 3", "n in (1, 2)", "f(n)", "phase(n, m)", "n.size", "[n]"]
)
def test_what_is_no_formula(text):
    """A row that says something else is refused where it is declared."""
    with pytest.raises(UsageError, match="is not a formula"):
        row_formula(text)
