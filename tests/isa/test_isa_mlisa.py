"""Instructions of inline assembly: what each computes, and how the text of a statement is read."""

import numpy as np
import pytest
from isa_exact import exact, same, samples
from isa_rows import execute, on_core

from mlusim.errors import RuleFault, UsageError
from mlusim.isa.mlisa import MOST, OF_FLOATS, OF_INTEGERS, AssemblyCall, Reference, assembly_calls

COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
ARITHMETIC = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
BITS = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def fuse(src, *chain):
    """The destination of a fused instruction with (operation, value) pairs."""
    arguments = {
        f"{what}{n // 2}": value
        for n, (what, value) in enumerate(zip(["op", "value"] * len(chain), chain, strict=False))
    }
    count = len(src)
    return execute(
        f"mlisa_fuse_{len(chain) // 2}", dst=np.zeros_like(src), src=src, elem_count=count, **arguments
    )["dst"]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint32, np.int16, np.uint16])
@pytest.mark.parametrize("op", [*COMPARISONS, *ARITHMETIC])
def test_a_fused_instruction_of_one_step(op, dtype):
    """Each operation with a vector and with a scalar, rounded to or wrapped in the element type."""
    dtype = np.dtype(dtype)
    a, b = samples(dtype, 64, 1), samples(dtype, 64, 2)
    for value in (b, b[7]):
        after = fuse(a, op, value)
        for i in range(64):
            second = value[i] if isinstance(value, np.ndarray) else value
            if op in COMPARISONS:
                assert int(COMPARISONS[op](float(a[i]), float(second))) == after[i]
            else:
                assert same(exact(ARITHMETIC[op], dtype, a[i], second), after[i])


@pytest.mark.parametrize("op", BITS)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int16, np.uint16])
def test_bits_of_integers(op, dtype):
    """And, or, exclusive or."""
    a, b = samples(np.dtype(dtype), 32, 1), samples(np.dtype(dtype), 32, 2)

    assert [BITS[op](int(x), int(y)) for x, y in zip(a, b, strict=True)] == fuse(a, op, b).astype(
        int
    ).tolist()


def test_steps_of_floats_without_a_value():
    """Square root and its reciprocal, absolute value; division."""
    a = np.array([4, 9, 0.25], np.float32)

    assert [2, 3, 0.5] == fuse(a, "sqrt", 0).tolist()
    assert [0.5, np.float32(1 / 3), 2] == fuse(a, "rsqrt", 0).tolist()
    assert [4, 9, 0.25] == fuse(-a, "abs", 0).tolist()
    assert [2, 4.5, 0.125] == fuse(a, "div", 2).tolist()


def test_extremes_prefer_numbers():
    """A NaN loses against a number."""
    a, b = np.array([1, np.nan, 3], np.float32), np.array([2, 2, np.nan], np.float32)

    assert [2, 2, 3] == fuse(a, "max", b).tolist()
    assert [1, 2, 3] == fuse(a, "min", b).tolist()


def test_five_steps_one_after_the_other():
    """Vectors and scalars mixed: ((((a + 1) * b) - 3) max 0) min 20."""
    a, b = np.array([1, 2, 3], np.float32), np.array([2, 3, 10], np.float32)

    after = fuse(a, "add", 1, "mul", b, "sub", 3, "max", 0, "min", 20)

    assert [1, 6, 20] == after.tolist()
    assert [4, 9, 40] == fuse(a, "add", 1, "mul", b).tolist()
    assert [8, 18, 80] == fuse(a, "add", 1, "mul", b, "add", np.array([4, 9, 40], np.float32)).tolist()


def test_the_mask_of_what_is_no_number():
    """The idiom of the kernels: the bits of NaN are above those of infinity; -1 where one is, and 0 elsewhere."""
    a = np.array([1.5, np.nan, np.inf, -0.0, -np.nan], np.float32).view(np.int32)

    after = fuse(a, "and", 0x7FFFFFFF, "ge", 0x7F800001, "mul", -1, "and", a)

    assert [0, a[1], 0, 0, a[4]] == after.tolist()


@pytest.mark.parametrize(
    ("dtype", "op"), [(np.float32, name) for name in OF_INTEGERS] + [(np.int32, name) for name in OF_FLOATS]
)
def test_an_operation_that_the_type_does_not_have(dtype, op):
    """Bits of floats, square roots of integers; a name that is none."""
    for name in (op, "frobnicate"):
        with pytest.raises(RuleFault, match=f"op0 = '{name}' is not an operation on"):
            fuse(np.ones(4, dtype), name, 1)


def test_division_by_a_scalar():
    """On MLU370 too, which has no division of vectors."""
    for dtype in (np.float16, np.float32):
        a = samples(np.dtype(dtype), 64, 3)
        after = execute("mlisa_div_scalar", "MLU370-X4", dst=np.zeros_like(a), src=a, value=3, elem_count=64)[
            "dst"
        ]

        assert np.array_equal(a / dtype(3), after, equal_nan=True)


def test_the_highest_bit():
    """The logarithm to the base 2, rounded down; all ones for 0."""

    def run(mlu, _):
        return [mlu.mlisa_findlast1(value) for value in (0, 1, 2, 3, 4, 1 << 31, -1)]

    assert [0xFFFFFFFF, 0, 1, 1, 2, 31, 31] == on_core(run)
    with pytest.raises(RuleFault, match="value is 'x'"):
        on_core(lambda mlu, _: mlu.mlisa_findlast1("x"))


# -- the text --------------------------------------------------------------------------------------


def memory(name, dtype):
    """A reference to memory, as the reader makes it."""
    return Reference(name, dtype, memory=True)


def test_a_fused_statement_is_read():
    """Brackets are memory of the mnemonic's type; numbers, registers and vectors as values; a line break inside."""
    from mlusim.bang import int32  # noqa: PLC0415 - the type that the mnemonic names

    text = (
        "fuse.nram.s32 [%[dst]], %[size], [%[src0]],.and(%[src1]), .ge(0x10), .mul(-1),\n\t.and([%[src4]]);\n"
    )
    expected = AssemblyCall(
        "mlisa_fuse_4",
        (
            memory("dst", int32),
            memory("src0", int32),
            Reference("size"),
            *("and", Reference("src1"), "ge", 16, "mul", -1),
            *("and", memory("src4", int32)),
        ),
    )

    assert (expected,) == assembly_calls(text)


def test_other_statements_are_read():
    """A result, operands by number, several instructions in one text."""
    assert (AssemblyCall("sync"), AssemblyCall("sync")) == assembly_calls("sync;\n\tsync;")
    assert (AssemblyCall("mlisa_findlast1", (Reference("1"),), Reference("0")),) == assembly_calls(
        "findlast1.gpr.b32 %0, %1;\n\t"
    )
    [index] = assembly_calls("index.vvr.f32 %[dst], %[base], 1;")

    assert AssemblyCall("vv_index", (Reference("dst"), Reference("base"), 1)) == index
    [gather] = assembly_calls("gather.vector.nram.nram.nram.u32 [%[d]], [%[s]], [%[o]], %[size], %[n], 4;")

    assert "mlisa_gather_vector" == gather.row
    assert ["None", "None", "uint32"] == [str(a.dtype) for a in gather.arguments[:3]]
    [divide] = assembly_calls("div.scalar.nram.f16 [%[d]], [%[s]], %[v], %[n];")

    assert "mlisa_div_scalar" == divide.row


@pytest.mark.parametrize(
    "text",
    [
        "halt;",
        "sync now;",
        "fuse.nram.f64 [%0], %1, [%2], .add(%3);",
        "fuse.nram.f32 [%0], %1, [%2];",
        "fuse.nram.f32 [%0], %1, [%2], add;",
        "fuse.nram.f32 [%0], %1, [%2], " + ", ".join([".add(1)"] * (MOST + 1)) + ";",
        "gather.vector.nram.nram.nram.u16 [%0], [%1], [%2], 4, 5, 6;",
        "findlast1.gpr.b64 %0, %1;",
        "findlast1.gpr.b32 7, %1;",
        "div.scalar.nram.f32 [%0], [%1], %2;",
        "index.vvr.b7 %0, %1, 1;",
    ],
)
def test_an_instruction_that_is_not_known_is_said(text):
    """Another mnemonic, type, or number of operands: a sentence with what is known."""
    with pytest.raises(UsageError, match="that is known|that are known"):
        assembly_calls(text)
