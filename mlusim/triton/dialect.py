"""The dialect of the card's Triton 3.2, parts of which later versions refuse: blocks of any size, parts of blocks, the element type of a block pointer.

TTIR allows only sizes that are powers of two, and its verifier is C++. While a kernel is compiled here, each
odd prime factor of a size is replaced by a power of two; the true sizes are restored in the TTIR text before
it is lowered.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import define, field
from triton._C.libtriton import ir
from triton._utils import TRITON_MAX_TENSOR_NUMEL
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.code_generator import CodeGenerator
from triton.language import core
from triton.language.semantic import TritonSemantic

from mlusim.errors import MlusimError
from mlusim.triton import parts
from mlusim.triton.ttir import count

EXPONENTS = ((2, 3), (3, 4), (3, 2), (5, 3), (4, 5), (7, 4), (1, 1))
"""The exponent for the first odd prime, and the increment for each further prime; tried in turn until all sizes have distinct powers."""


@define
class Sizes:
    """The sizes in one kernel during its compilation, and the power of two that replaces each odd prime."""

    first: int
    step: int
    primes: dict[int, int] = field(factory=dict)
    seen: set[int] = field(factory=set)
    beyond: bool = False
    """True if the powers of a block exceeded Triton's limit of elements although its sizes do not."""

    def powers_of(self, shape: Sequence[int]) -> list[int]:
        """Return the substitutes for the sizes of a block. Raises `ValueError` if Triton would refuse these but not the sizes."""
        self.seen.update(shape)
        powers = [self.power(size) for size in shape]
        if count(powers) > TRITON_MAX_TENSOR_NUMEL >= count(shape):
            self.beyond = True
            raise ValueError(f"the powers in place of {shape} are too large")
        return powers

    def power(self, size: int) -> int:
        """Return the substitute for *size*; products stay products, so that reshapes stay valid."""
        power = size & -size
        for prime in _odd_primes(size):
            power *= self.primes.setdefault(prime, 1 << self.first + self.step * len(self.primes))
        return power

    def powers(self) -> dict[int, int]:
        """Return the size behind each power; if two sizes share a power, the larger one."""
        return {self.power(size): size for size in sorted(self.seen)}

    def tell_apart(self) -> bool:
        """Return whether all sizes have distinct powers."""
        return len(self.powers()) == len(self.seen)


def _odd_primes(size: int) -> Iterator[int]:
    size //= size & -size
    prime = 3
    while size > 1:
        prime = prime if prime * prime <= size else size
        while size % prime == 0:
            yield prime
            size //= prime
        prime += 2


_COMPILED: list[Sizes] = []


@contextmanager
def _sizes(first: int, step: int) -> Iterator[Sizes]:
    _COMPILED.append(Sizes(first, step))
    try:
        yield _COMPILED[-1]
    finally:
        _COMPILED.pop()


def lend(backend: str) -> None:
    """Enable the dialect for kernels compiled for *backend*; all others are compiled as before."""
    if hasattr(core._aggregate_type, "element_ty"):  # noqa: SLF001 - already done
        return
    core._aggregate_type.element_ty = property(_element_type)  # noqa: SLF001 - what a block pointer is in later versions
    parts.lend(lambda: bool(_COMPILED))
    CodeGenerator.get_Attribute = _attribute(CodeGenerator.get_Attribute)
    core.validate_block_shape = _checked(core.validate_block_shape)
    TritonSemantic.arange = _arange(TritonSemantic.arange)
    ASTSource.make_ir = _compiled(ASTSource.make_ir, backend)
    ir.builder.get_block_ty = _shaped(ir.builder.get_block_ty)
    ir.builder.create_reshape = _shaped(ir.builder.create_reshape)
    ir.builder.create_broadcast = _shaped(ir.builder.create_broadcast)
    ir.builder.create_histogram = _binned(ir.builder.create_histogram)


def _element_type(kind: core._aggregate_type) -> core.dtype:
    pointer = dict(kind.fields).get("base")
    if pointer is None:
        raise AttributeError(f"{kind} has no attribute 'element_ty'")
    return pointer.element_ty


def _attribute(plain: Callable[..., Any]) -> Callable[..., Any]:
    def get_attribute(generator: CodeGenerator, value: object, name: str) -> object:
        # In that version a call on constants gives a constant: a parameter that is 1 is a constant, and so is
        # tl.cdiv of it.
        if (
            _COMPILED
            and name == "to"
            and isinstance(value, core.constexpr)
            and isinstance(value.value, int | float)
        ):
            value = generator.semantic.to_tensor(value)
        return plain(generator, value, name)

    return get_attribute


def _compiled(plain: Callable[..., Any], backend: str) -> Callable[..., Any]:
    def make_ir(source: ASTSource, target: GPUTarget, *rest: object) -> object:
        if target.backend != backend:
            return plain(source, target, *rest)
        for first, step in EXPONENTS:
            with _sizes(first, step) as sizes:
                try:
                    module = plain(source, target, *rest)
                except Exception:
                    # If two sizes share a power, blocks may wrongly match or mismatch.
                    if sizes.tell_apart() and not sizes.beyond:
                        raise
                    continue
            if sizes.tell_apart():
                module.mlu_sizes = {power: size for power, size in sizes.powers().items() if power != size}
                return module
        raise MlusimError(
            f"{source.fn.__name__} has blocks of too many odd sizes for Triton's first form; round some up to powers of two, and mask"
        )

    return make_ir


def _checked(plain: Callable[..., int]) -> Callable[..., int]:
    def validate_block_shape(shape: Sequence[int]) -> int:
        if not _COMPILED or not all(isinstance(size, int) and size > 0 for size in shape):
            return plain(shape)
        _COMPILED[-1].seen.update(shape)
        plain([1 << (size - 1).bit_length() for size in shape])
        return count(shape)

    return validate_block_shape


def _arange(plain: Callable[..., Any]) -> Callable[..., Any]:
    def arange(semantic: TritonSemantic, start: int, end: int, *, ret_ty: core.dtype = None) -> core.tensor:
        odd = isinstance(start, int) and isinstance(end, int) and 0 < end - start < 1 << 31
        if not _COMPILED or not odd or (end - start) & (end - start - 1) == 0:
            return plain(semantic, start, end, ret_ty=ret_ty)
        kind = ret_ty or core.block_type(core.int32, [end - start])
        last = start + _COMPILED[-1].power(end - start)
        return semantic.tensor(
            semantic.builder.create_make_range(kind.to_ir(semantic.builder), start, last), kind
        )

    return arange


def _shaped(plain: Callable[..., Any]) -> Callable[..., Any]:
    def call(builder: ir.builder, first: object, shape: Sequence[int], *rest: object) -> object:
        if _COMPILED:
            shape = _COMPILED[-1].powers_of(shape)
        return plain(builder, first, shape, *rest)

    return call


def _binned(plain: Callable[..., Any]) -> Callable[..., Any]:
    def call(builder: ir.builder, numbers: object, bins: int, mask: object) -> object:
        return plain(builder, numbers, _COMPILED[-1].power(bins) if _COMPILED else bins, mask)

    return call


def true_sizes(module: ir.module) -> str:
    """Return the text of *module* with the true sizes."""
    sizes: dict[int, int] = getattr(module, "mlu_sizes", {})
    text = str(module)
    if not sizes:
        return text

    def shape(match: re.Match[str]) -> str:
        return "".join(f"{sizes.get(int(word), int(word))}x" for word in match[0].split("x")[:-1])

    def ends(match: re.Match[str]) -> str:
        first, end = int(match[2]), int(match[1])
        return f"end = {first + sizes.get(end - first, end - first)} : i32, start = {first} : i32"

    text = re.sub(r"(?<=tensor<)(?:\d+x)+", shape, text)
    return re.sub(r"end = (-?\d+) : i32, start = (-?\d+) : i32", ends, text)
