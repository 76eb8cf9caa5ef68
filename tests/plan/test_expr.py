"""Formulas: they evaluate, print as documents write them, and read back."""

import pytest
from hypothesis import given
from plan_strategies import ELEMENT, VARIABLES, environments, formulas

from mlusim.errors import UsageError
from mlusim.formula.parse import parse_formula
from mlusim.formula.render import compile_exprs
from mlusim.plan import PAD_DOWN, PAD_UP, Var, ceil_div, float32, half, maximum, minimum, nbytes, sizeof

S, T = Var("S"), Var("T")


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (S * (T + 1), "S*(T+1)"),
        ((S + 1) * T, "(S+1)*T"),
        (minimum(S, T) + 1, "min(S,T)+1"),
        (maximum(S * T, S, 2), "max(S*T,S,2)"),
        (S - (T - 1), "S-(T-1)"),
        (S - T - 1, "S-T-1"),
        (S + (T - 1), "S+T-1"),
        (S * (T // 2), "S*(T/2)"),
        (S * T // 2, "S*T/2"),
        (S // (T * 2), "S/(T*2)"),
        (PAD_UP(S * sizeof(float32), nbytes(128)), "PAD_UP(S*sizeof(float),128)"),
        (PAD_DOWN(S, nbytes(128) // sizeof(half)), "PAD_DOWN(S,128/sizeof(half))"),
        (ceil_div(S, 3), "CEIL_DIV(S,3)"),
        (-S, "0-S"),
        (S * -2, "S*(-2)"),
        (7 + 2 * S, "7+2*S"),
    ],
)
def test_prints_as_documents_do(formula, text):
    """Parentheses appear where they mean something, and nowhere else."""
    assert text == str(formula)


@given(formulas, environments)
def test_print_means_the_value(formula, env):
    """What is printed, read as arithmetic with integer division, is what evaluates."""
    read = parse_formula(str(formula), {v.name: v for v in VARIABLES}, ELEMENT)

    assert formula.evaluate(env) == read.evaluate(env)
    assert str(formula) == str(read)


@given(formulas, environments)
def test_compiled_code_agrees(formula, env):
    """The generated functions, for integers and for arrays, agree with evaluation."""
    expected = formula.evaluate(env)

    assert (expected,) == compile_exprs([formula])(env)
    assert (expected,) == compile_exprs([formula], vector=True)(env)


def test_common_parts_are_computed_once():
    """The code of two formulas that share a product holds that product once."""
    shared = S * (T + 1)
    source = compile_exprs([shared + 1, shared + 2]).source

    assert 1 == source.count("S * ")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: min(S, T), "use minimum and maximum"),
        (lambda: bool(S), "has no truth value"),
        (lambda: S / 2, "integer division"),
        (lambda: S + 1.5, "1.5 is not a size"),
        (lambda: S + True, "True is not a size"),
        (lambda: Var("NRAM"), "cannot name a variable"),
        (lambda: Var("two words"), "cannot name a variable"),
        (lambda: Var("x", multiple_of=S), "must not depend on S"),
        (lambda: minimum(S), "two sizes or more"),
        (lambda: (S + T).evaluate({"S": 1}), "give T="),
        (lambda: (S // T).evaluate({"S": 1, "T": 0}), "divides by zero"),
        (lambda: compile_exprs([S // T])({"S": 1, "T": 0}), "divides by zero"),
        (lambda: compile_exprs([S // T])({"S": 1}), "need a value for T"),
    ],
)
def test_misuse_gets_a_sentence(wrong, sentence):
    """What Python would misread is refused with a way out."""
    with pytest.raises(UsageError, match=sentence):
        wrong()


def test_comparisons_make_constraints():
    """All four comparisons mean left <= right."""
    assert "S <= T" == str(S <= T)
    assert "S <= T" == str(T >= S)
    assert "S <= 4" == str(S < 5)
    assert "S+1 <= T" == str(T > S)
    assert (S < 5).holds({"S": 4})
    assert not (S < 5).holds({"S": 5})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("S*(T+1", "do not match up"),
        ("S ** 2", "the operations are"),
        ("Q + 1", "it names 'Q'"),
        ("S.real", "use integers"),
        ("foo(S)", "foo is not a function"),
        ("sizeof(S, T)", "sizeof is not a function"),
        ("sizeof(quad)", "not an element type"),
        ("PAD_UP(S)", "take two arguments"),
        ("1.5*S", "use integers"),
        ("__import__('os')", "not a function"),
        ("True + S", "use integers"),
    ],
)
def test_unreadable_text_gets_a_sentence(text, sentence):
    """Text that is not a formula is refused, and never run."""
    with pytest.raises(UsageError, match=sentence):
        parse_formula(text, {"S": S, "T": T})
