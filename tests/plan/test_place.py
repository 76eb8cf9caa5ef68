"""What a kernel gets: pointers at the offsets of the layout."""

import pytest
from attrs import frozen
from hypothesis import given, settings, strategies as st
from plan_strategies import plans

from mlusim.arch.dtypes import DType
from mlusim.errors import UsageError
from mlusim.plan import NRAM, ElementType, Plan, Region, Stage, Var, float32, half, int8, sizeof

BOARD = "MLU590-H8"
n = Var("n", low=1)


@frozen
class Address:
    """A pointer that knows nothing but its byte and its dtype."""

    byte: int
    dtype: DType

    def __add__(self, count):
        return Address(self.byte + count * self.dtype.size, self.dtype)

    def cast(self, dtype):
        """Return the same byte under another dtype."""
        return Address(self.byte, dtype)

    def placed(self, plan):
        """There is no machine to tell."""


@given(plans(), st.integers(0, 24), st.integers(0, 24), st.sampled_from([int8, float32]))
@settings(deadline=None)
def test_pointers_are_the_layout(plan, s, t, dtype):
    """Every region's pointer is its offset in the layout, whatever the buffer is declared as."""
    regions = plan.place(Address(4096, dtype), S=s, T=t)
    for stage in plan.layout(BOARD, S=s, T=t).stages:
        for region in stage.regions:
            assert 4096 + region.offset == regions[region.name].byte
            assert region.dtype == regions[region.name].dtype.name


def test_element_types_and_board_constants():
    """A plan with a type parameter is told the type; one that asks for the board is told the board."""
    dtype = ElementType("T", (float32, half))
    halves = Plan(
        "halves", [Stage("all", [Region("a", NRAM // sizeof(dtype) // 2, dtype), Region("b", n, dtype)])]
    )
    regions = halves.place(Address(0, int8), dtype=half, board=BOARD, n=1)

    assert (196608, half) == (regions.b.byte, regions.b.dtype)
    with pytest.raises(UsageError, match="give dtype=float or half"):
        halves.place(Address(0, int8), board=BOARD, n=1)
    with pytest.raises(UsageError, match="holds float or half, not int8"):
        halves.place(Address(0, int8), dtype=int8, board=BOARD, n=1)
    with pytest.raises(UsageError, match="need a value for NRAM"):
        halves.place(Address(0, int8), dtype=half, n=1)


def test_regions_by_name():
    """Attribute and key find the same pointer; a name that is not a region says which there are."""
    regions = Plan("p", [Stage("all", [Region("a", n, float32), Region("b", n, half)])]).place(
        Address(0, int8), n=3
    )

    assert regions.b is regions["b"]
    assert (["a", "b"], 2, True, False) == (list(regions), len(regions), "a" in regions, "c" in regions)
    assert "Regions(p: a, b)" == repr(regions)
    with pytest.raises(AttributeError, match="plan p has no region 'c'; it has a, b"):
        regions.c  # noqa: B018 - reading it is the test
    with pytest.raises(UsageError, match="plan p has no region 'c'"):
        regions["c"]
