"""Static checks: each rule with a plan that breaks it and one that does not."""

import pytest

from mlusim.errors import UsageError
from mlusim.plan import (
    PAD_UP,
    ElementType,
    Plan,
    Region,
    Stage,
    Var,
    float32,
    half,
    int8,
    int32,
    maximum,
    nbytes,
    sizeof,
)
from mlusim.plan.check import RULES
from mlusim.plan.formulas import unit_faults

T = ElementType("T", (float32, half))
n, m = Var("n", "rows", low=1, high=1000), Var("m", "columns", low=1, high=1000)
k = Var("k", low=0, high=1000)


def found(*regions, requires=()):
    """Return {rule: finding} of a plan of one stage."""
    return {f.rule: f for f in Plan("p", [Stage("all", regions)], requires=requires).check()}


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        (n * sizeof(float32) + m, "m .elements. is added to n\\*sizeof.float. .bytes.: a sizeof is missing"),
        (n * sizeof(float32) + 36, "write nbytes.36."),
        (nbytes(655360) - 4 * m, "are subtracted: a sizeof is missing"),
        (PAD_UP(n, nbytes(128)), "is padded to a multiple of 128 .bytes."),
        (PAD_UP(n * sizeof(T), 128), "is padded to a multiple of 128 .elements."),
        (maximum(n, m * sizeof(T)), "is compared with"),
        (n * sizeof(T) * sizeof(T), "a sizeof is there twice"),
        (n // sizeof(T), "is divided by"),
    ],
)
def test_a_missing_sizeof_is_found(formula, sentence):
    """Elements that meet bytes are an error, named by the smallest formula that mixes them."""
    finding = found(Region("r", formula, int8))["plan-units"]

    assert "error" == finding.severity
    with pytest.raises(UsageError, match=sentence):
        raise UsageError(finding.message)


@pytest.mark.parametrize(
    "formula",
    [
        n * sizeof(float32) + m * sizeof(T),
        n * sizeof(float32) + nbytes(36),
        (nbytes(655360) - 4 * m * sizeof(T)) // sizeof(T) + m,
        PAD_UP(n * sizeof(T), nbytes(128)),
        PAD_UP(n, nbytes(128) // sizeof(T)),
        maximum(n * sizeof(T), 0),
    ],
)
def test_sound_units_are_left_alone(formula):
    """Bytes with bytes, elements with elements, and 0 with both."""
    assert () == unit_faults(formula)


def test_negative_and_empty_sizes():
    """A size below 0 is an error with values that show it; an empty region is a note with its cause."""
    negative = found(Region("r", n - 3, float32))["plan-negative-size"]
    empty = found(Region("r", k * (m + 1), float32))["plan-empty-region"]

    assert ("error", {"n": 1}) == (negative.severity, negative.witness)
    assert "n-3 = -2 at n=1" in negative.message
    assert ("note", {"k": 0}) == (empty.severity, empty.witness)


def test_a_size_that_is_never_negative_is_not_reported():
    """n*m-n is proven to stay at 0 or above although its parts could say otherwise."""
    assert "plan-negative-size" not in found(Region("r", n * m - n, float32))


def test_what_is_not_proven_is_said():
    """Neither proven nor refuted is a note, never silence and never an error."""
    hidden = found(Region("r", (n * 7919 + m * 104729) // 3 - (n * 7919 + m * 104729) // 4, float32))

    assert "not proven" in hidden["plan-negative-size"].message


def test_int32():
    """A size in bytes that an operator's own limits let overflow is a warning with a shape inside them."""
    rows, columns = Var("rows", low=1), Var("columns", low=1)
    region = Region("r", rows * columns, float32)
    warned = found(region, requires=[rows * columns < 2**31])["plan-int32"]
    shape = warned.witness

    assert shape["rows"] * shape["columns"] < 2**31 <= 4 * shape["rows"] * shape["columns"]
    assert "plan-int32" not in found(region, requires=[rows * columns < 2**29])


def test_tiles_do_not_overflow():
    """Tiles are chosen to fit, so that only shapes are suspected."""
    tile = Var("tile", low=1, tile=True)

    assert {} == found(Region("r", tile * 1000, float32))


def test_regions_that_overlap_are_an_error():
    """A region put onto another is an error with values; put behind it, it is proven to be clear."""
    a = Region("a", n * m, float32)
    onto = found(a, Region("b", 8, float32, at=n * m - 1))
    behind = found(a, Region("b", 8, float32, at=n * m))
    alias = found(a, Region("b", n, float32, at=0, reuses="a"))

    assert "share 4 bytes" in onto["plan-overlap"].message
    assert "plan-overlap" not in behind
    assert "plan-overlap" not in alias


def test_spill_and_untouched():
    """A kernel that touches more than a region holds spills into the next; less is a note."""
    spill = found(Region("a", n * m, T, touches=(n + 1) * m), Region("b", n, T))["plan-spill"]
    spare = found(Region("a", n * m + m, T, touches=n * m))["plan-untouched"]

    assert ("error", "a") == (spill.severity, spill.region)
    assert "bytes fall on b" in spill.message
    assert "n*m+m elements but only n*m are touched" in spare.message
    assert {} == found(Region("a", n * m, T, touches=m * n))


def test_unaligned():
    """An int32 region behind an odd number of halves is noted, and an alignment cures it."""
    first = Region("a", n, half)

    assert "begins at byte 2" in found(first, Region("b", n, int32))["plan-unaligned"].message
    assert "plan-unaligned" not in found(first, Region("b", n, int32, align=4))


def test_errors_come_first_and_every_rule_is_known():
    """Findings are sorted by severity, and each belongs to the list of rules."""
    plan = Plan("p", [Stage("all", [Region("a", k, half), Region("b", n - 3, int32), Region("c", 1, int32)])])
    findings = plan.check()

    assert ["error", "note"] == list(dict.fromkeys(f.severity for f in findings))
    assert {f.rule for f in findings} <= set(RULES)
    assert {"rule", "severity", "stage", "region", "message", "witness"} == set(findings[0].to_json())
