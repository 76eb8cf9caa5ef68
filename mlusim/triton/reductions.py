"""Lowers reductions, scans and matrix products."""

from collections.abc import Sequence

from mlusim.triton.elementwise import FORMS, TURNED, TWO, binary, convert
from mlusim.triton.lowering import SCALAR_UNIT, KernelLowering, Lowered, Operations, c_type, result_of
from mlusim.triton.text import WRAM
from mlusim.triton.ttir import TtirOperation, count, is_tensor, shape_and_element
from mlusim.triton.values import BYTES, FLOATS, ScalarValue, Shape, Tile, Uniform, Value, dims_of, element

LINE = 128  # bytes that a vector instruction processes per cycle
POOLS = {
    "arith.addf": "sumpool",
    "arith.maxnumf": "maxpool",
    "arith.minnumf": "minpool",
}
"""Pooling instructions that reduce, by the operation that combines two elements."""


def reduce(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.reduce``: sums and extremes of floats by pooling, other vector operations by halving, all others by their own combination."""
    values = low.operands(op)
    axis = op.number("axis")
    sources = []
    for value in values:
        assert not isinstance(value, ScalarValue)
        sources.append(low.whole(value, value.shape))
    body = _combination(op)
    # Pooling adds a window in one instruction; its order of additions differs from a loop's, as a compiler's
    # may.
    pool = POOLS.get(body[0].name) if len(body) == 1 and len(sources) == 1 else None
    if pool is not None and low.has(f"bang_{pool}", sources[0].type):
        return _pooled(low, pool, sources[0], axis, op.results[0])
    instruction = _instruction(low, op, sources)
    if instruction:
        return _halved(low, instruction, sources[0], axis, op.results[0])
    return _folded(low, op, sources, axis)


def _pooled(low: KernelLowering, pool: str, source: Tile, axis: int, word: str) -> Value:
    """Reduce a matrix by windows over all its rows; a single row is first viewed as a matrix of lines."""
    shape, kind = source.shape, source.type
    if count(shape) == shape[axis]:
        return _pooled_row(low, pool, source, shape, word)
    high, wide = count(shape[:axis]), count(shape[axis + 1 :])
    length = shape[axis]
    out = low.text.block(kind, (*shape[:axis], *shape[axis + 1 :]), "reduce", word=word)
    if wide == 1 and high > 1:
        turned = low.text.block(kind, (length, high), "reduce, transposed")
        low.text.line(f"__bang_transpose({turned.name}, {source.name}, {high}, {length});", turned.name)
        low.text.line(
            f"__bang_{pool}({out.name}, {turned.name}, {high}, {length}, 1, {length}, 1);", out.name
        )
    elif high == 1:
        low.text.line(
            f"__bang_{pool}({out.name}, {source.name}, {wide}, {length}, 1, {length}, 1);", out.name
        )
    else:
        at = f"{out.name} + i * {wide}, {source.name} + i * {length * wide}"
        low.text.line(
            f"for (int i = 0; i < {high}; ++i) __bang_{pool}({at}, {wide}, {length}, 1, {length}, 1);"
        )
    return out


def _pooled_row(low: KernelLowering, pool: str, source: Tile, shape: Shape, word: str) -> Value:
    n, line = count(shape), LINE // BYTES[source.type]
    name = source.name
    if n > line and n % line == 0:
        rows = low.text.block(source.type, (line,), "reduce")
        low.text.line(
            f"__bang_{pool}({rows.name}, {name}, {line}, {n // line}, 1, {n // line}, 1);", rows.name
        )
        name, n = rows.name, line
    end = low.text.block(source.type, (line,), "reduce")
    low.text.line(f"__bang_{pool}({end.name}, {name}, 1, {n}, 1, {n}, 1);", end.name)
    scalar = low.number(f"{end.name}[0]", source.type, word)
    return scalar if len(shape) == 1 else Uniform(scalar.c, source.type, tuple(1 for _ in shape[1:]))


def _combination(op: TtirOperation) -> list[TtirOperation]:
    """Return the operations in the region of a reduction or a scan, which combine two elements."""
    return [operation for operation in op.regions[0] if not operation.name.endswith(".return")]


def _instruction(low: KernelLowering, op: TtirOperation, sources: Sequence[Tile]) -> str:
    """Return the vector instruction that does the same as the region of *op* (a commutative operation), or ""."""
    body = _combination(op)
    kind = op.types[-1]
    logic = kind in ("i1", "tensor") or kind.endswith("xi1>")
    if len(body) != 1 or len(sources) != 1 or logic:
        return ""
    name = TWO.get(body[0].name.partition(".")[2], "")
    instruction = FORMS[name][0] if name in TURNED else ""
    return instruction if low.has(instruction, sources[0].type) else ""


def _halved(low: KernelLowering, instruction: str, source: Tile, axis: int, word: str) -> Value:
    """Reduce by vectors: combine the second half along the axis with the first, until one element is left."""
    shape, kind = source.shape, source.type
    high, left, wide = count(shape[:axis]), shape[axis], count(shape[axis + 1 :])
    rest, row = (*shape[:axis], *shape[axis + 1 :]), high * wide
    name = _axis_first(low, source, high, left, wide).name
    out = low.text.block(kind, (-(-left // 2), row), "reduce", word=word).name if left > 1 else name
    while left > 1:
        half, more = left // 2, left - left // 2
        low.text.line(f"__{instruction}({out}, {name}, {name} + {more * row}, {half * row});")
        if name != out and more > half:  # for an odd number, the middle element waits
            low.text.line(f"__bang_move({out} + {half * row}, {name} + {half * row}, {row * BYTES[kind]});")
        name, left = out, more
    return Tile(out, kind, rest, rest) if rest else low.number(f"{out}[0]", kind, word)


def _axis_first(low: KernelLowering, source: Tile, high: int, length: int, wide: int) -> Tile:
    """Return *high* matrices of *length* rows of *wide* elements as one matrix of *length* rows of ``high * wide``."""
    if high == 1:
        return source
    out = low.text.block(source.type, (length, high * wide), "reduce, axis first")
    if wide == 1:
        low.text.line(f"__bang_transpose({out.name}, {source.name}, {high}, {length});", out.name)
        return out
    size = wide * BYTES[source.type]
    ends = f"{out.name} + k * {high * wide}, {source.name} + k * {wide}"
    move = f"__bang_move({ends}, {size}, {size}, {length * size}, {high - 1});"
    low.text.line(f"for (int k = 0; k < {length}; ++k) {move}", out.name)
    return out


def _folded(low: KernelLowering, op: TtirOperation, sources: Sequence[Tile], axis: int) -> Lowered:
    """Reduce one element after the other, with the operations of the region on the scalar unit."""
    low.text.remark("no instruction reduces so: one element after another on the scalar unit")
    shape = sources[0].shape
    kinds = [c_type(shape_and_element(k)[1] if is_tensor(k) else k) for k in op.types[-len(op.results) :]]
    rest = (*shape[:axis], *shape[axis + 1 :])
    outs = [
        low.text.block(kind, rest or (1,), "reduce", word=word)
        for kind, word in zip(kinds, op.results, strict=True)
    ]
    # The region becomes scalar code, so any combination works: argmax, Welford, products.
    indices = ["0"] * len(shape)
    index = _nested(low, shape, axis, indices)
    with index:
        so_far = _variables(low, sources, indices, axis, kinds)
        at = low.text.name("i")
        indices[axis] = at
        with low.text.inside(f"for (int {at} = 1; {at} < {shape[axis]}; ++{at})"):
            nexts = [element(block, indices) for block in sources]
            if _is_extreme(op, kinds):
                _pass_over_nan(low, so_far, nexts)
            _combine(low, op, so_far, nexts, kinds)
        outside = [place for d, place in enumerate(indices) if d != axis] or ["0"]
        for out, value in zip(outs, so_far, strict=True):
            low.text.line(f"{element(out, outside)} = {value};")
    if rest:
        return outs
    return [low.number(f"{out.name}[0]", out.type, word) for out, word in zip(outs, op.results, strict=True)]


EXTREME = {"arith.cmpf", "arith.cmpi", "arith.andi", "arith.ori", "arith.select"}
"""The operations in Triton's argmin and argmax of floats; the variants without tie break compare no indices."""


def _is_extreme(op: TtirOperation, kinds: Sequence[str]) -> bool:
    names = {operation.name for operation in _combination(op)}
    return (
        len(kinds) == 2
        and kinds[0] in FLOATS
        and kinds[1] not in FLOATS
        and {"arith.cmpf", "arith.select"} <= names <= EXTREME
    )


def _pass_over_nan(low: KernelLowering, so_far: Sequence[str], nexts: Sequence[str]) -> None:
    """Write code that skips NaN, whose comparison would depend on the order; Triton's interpreter skips it too."""
    low.text.line(f"if ({nexts[0]} != {nexts[0]}) continue;")
    taken = " ".join(f"{name} = {text};" for name, text in zip(so_far, nexts, strict=True))
    low.text.line(f"if ({so_far[0]} != {so_far[0]}) {{ {taken} continue; }}")


class _Nested:
    """Loops over some axes, opened and closed together."""

    def __init__(self, low: KernelLowering, heads: Sequence[str]) -> None:
        self._contexts = [low.text.inside(head, loop=True) for head in heads]

    def __enter__(self) -> None:
        """Open the loops, the outermost first."""
        for context in self._contexts:
            context.__enter__()

    def __exit__(self, *error: object) -> None:
        """Close them, the innermost first."""
        for context in reversed(self._contexts):
            context.__exit__(None, None, None)


def _nested(low: KernelLowering, shape: Shape, axis: int, indices: list[str]) -> _Nested:
    heads = []
    for d, size in enumerate(shape):
        if d != axis and size > 1:
            indices[d] = name = low.text.name("i")
            heads.append(f"for (int {name} = 0; {name} < {size}; ++{name})")
    return _Nested(low, heads or ["if (1)"])


def _variables(
    low: KernelLowering,
    sources: Sequence[Tile],
    indices: list[str],
    axis: int,
    kinds: Sequence[str],
    first: str = "0",
) -> list[str]:
    """Return a variable for each source, initialised with its *first* element along the axis."""
    indices[axis] = first
    names = []
    for block, kind in zip(sources, kinds, strict=True):
        name = low.text.name("so_far")
        low.text.line(f"{kind} {name} = {element(block, indices)};")
        names.append(name)
    return names


def _combine(
    low: KernelLowering, op: TtirOperation, so_far: Sequence[str], nexts: Sequence[str], kinds: Sequence[str]
) -> None:
    """Write the operations of the region, applied to the accumulated values *so_far* and the next elements."""
    arguments = op.arguments[0]
    values = [ScalarValue(name, kind) for name, kind in zip((*so_far, *nexts), (*kinds, *kinds), strict=True)]
    low.values.update(zip(arguments, values, strict=True))
    *body, end = op.regions[0]
    low.body(body)
    results = low.operands(end)
    ready = []
    for name, value, kind in zip(so_far, results, kinds, strict=True):
        assert isinstance(value, ScalarValue)
        ready.append((name, low.text.variable(f"({value.c})", kind, "next")))
    for name, text in ready:
        low.text.line(f"{name} = {text};")


def scan(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.scan``: by vectors in steps of 1, 2, 4, ... elements, or one element after the other on the scalar unit."""
    sources = []
    for value in low.operands(op):
        assert not isinstance(value, ScalarValue)
        sources.append(low.whole(value, value.shape))
    shape, axis = sources[0].shape, op.number("axis")
    # A reverse scan begins with the last element, as in Triton.
    backward = "reverse = true" in op.attributes
    instruction = _instruction(low, op, sources)
    if instruction:
        return [_stepped(low, instruction, sources[0], axis, op.results[0], backward=backward)]
    low.text.remark("no instruction scans: one element after another on the scalar unit")
    kinds = [block.type for block in sources]
    outs = [
        low.text.block(kind, shape, "scan", word=word) for kind, word in zip(kinds, op.results, strict=True)
    ]
    indices = ["0"] * len(shape)
    with _nested(low, shape, axis, indices):
        first = str(shape[axis] - 1) if backward else "0"
        so_far = _variables(low, sources, indices, axis, kinds, first)
        _keep(low, outs, indices, so_far)
        step = low.text.name("i")
        with low.text.inside(f"for (int {step} = 1; {step} < {shape[axis]}; ++{step})"):
            indices[axis] = f"({shape[axis] - 1} - {step})" if backward else step
            _combine(low, op, so_far, [element(block, indices) for block in sources], kinds)
            _keep(low, outs, indices, so_far)
    return outs


def _stepped(
    low: KernelLowering, instruction: str, source: Tile, axis: int, word: str, *, backward: bool
) -> Tile:
    """Scan by vectors: combine each element with the one 1, 2, 4, ... before it; every step doubles the span of a partial result."""
    shape, kind = source.shape, source.type
    length, wide, size = shape[axis], count(shape[axis + 1 :]), BYTES[kind]
    n = length * wide
    steps = (length - 1).bit_length()
    # Alternate between two blocks: an instruction must not read its own results.
    blocks = [low.text.block(kind, shape, "scan", word=word).name for _ in range(min(2, steps))]
    now, row = source.name, low.text.name("row")
    with low.text.inside(f"for (int {row} = 0; {row} < {count(shape[:axis])}; ++{row})", loop=True):
        for step in range(steps):
            to, by = f"{blocks[step % 2]} + {row} * {n}", wide << step
            of = f"{now} + {row} * {n}"
            at, alone = (0, n - by) if backward else (by, 0)
            low.text.line(f"__{instruction}({to} + {at}, {of}, {of} + {by}, {n - by});")
            low.text.line(f"__bang_move({to} + {alone}, {of} + {alone}, {by * size});")
            now = blocks[step % 2]
    return Tile(now, kind, shape, shape)


def _keep(low: KernelLowering, outs: Sequence[Tile], indices: Sequence[str], so_far: Sequence[str]) -> None:
    for out, name in zip(outs, so_far, strict=True):
        low.text.line(f"{element(out, indices)} = {name};")


def dot(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.dot``: the right matrix becomes filters in WRAM, and the accumulator is added."""
    left, right, before = low.operands(op)[:3]
    assert not isinstance(left, ScalarValue)
    assert not isinstance(right, ScalarValue)
    assert not isinstance(before, ScalarValue)
    a, b = low.whole(left, left.shape), low.whole(right, right.shape)
    kind, shape = b.type, (*a.shape[:-1], b.shape[-1])
    if kind not in FLOATS and kind not in ("int8_t", "int16_t"):
        raise low.refuse(f"a product of matrices of {kind} has no instruction")
    precision = op.word(r"inputPrecision = (\w+)") or "ieee"
    if kind == "float" and low.bang_arch >= ROUNDS_FLOATS and precision != "tf32":
        low.text.note(
            f"input_precision {precision} of a product changes nothing: this board multiplies floats as tf32, with 10 bits of fraction"
        )
    to = "float" if kind in FLOATS else "int"
    total = (_product if len(shape) == 2 else _stacked)(low, a, b, to, op.results[0])
    if not (isinstance(before, Uniform) and before.c.strip("()") in ("0.0f", "0", "-0.0f")):
        start = convert(low, low.whole(before, shape), to, shape, "start")
        added = binary(low, "add", start, total, shape, to, op.results[0])
        if added is None:
            raise low.refuse(f"sums of {to} have no vector instruction on this board")
        total = added
    return convert(low, total, result_of(op)[1], shape, op.results[0])


def _stacked(low: KernelLowering, a: Tile, b: Tile, to: str, word: str) -> Tile:
    """Return the products of two stacks of matrices, one after the other."""
    out = low.text.block(to, (*a.shape[:-1], b.shape[-1]), "dot", word=word)
    step = low.text.name("i")

    def matrix(block: Tile) -> Tile:
        shape = block.shape[-2:]
        at = low.text.name("matrix")
        low.text.line(f"{block.type} *{at} = {block.name} + {step} * {count(shape)};")
        return Tile(at, block.type, shape, shape)

    with low.text.inside(f"for (int {step} = 0; {step} < {count(a.shape[:-2])}; ++{step})", loop=True):
        target, product = matrix(out), _product(low, matrix(a), matrix(b), to, word)
        size = count(target.shape) * BYTES[to]
        # Name the blocks as well: the target of a pointer lives as long as the loop with the pointer.
        low.text.line(
            f"__bang_move({target.name}, {product.name}, {size});  // {out.name}, {a.name}, {b.name}"
        )
    return out


ROUNDS_FLOATS = 500
"""The first architecture whose tensor unit multiplies floats as tf32 (inferred, see `mlusim.isa.tensor`)."""
FILTERS, FILTER = 64, 64
"""A product takes multiples of 64 filters, each of a multiple of 64 bytes; blocks are padded with zeros."""


def _product(low: KernelLowering, a: Tile, b: Tile, to: str, word: str) -> Tile:
    """Return the product of two blocks, padded to the instruction's sizes."""
    # Zeros add nothing to a sum, so padding is right for all types.
    (m, k), n, kind, text = a.shape, b.shape[1], b.type, low.text
    size = BYTES[kind]
    filters, length = -(-n // FILTERS) * FILTERS, -(-k * size // FILTER) * FILTER // size
    right = _padded(low, b, (length, n))
    left = _padded(low, a, (m, length))
    turned = text.block(kind, (filters, length), "dot: columns of the right matrix")
    if filters > n:
        low.fill(turned, "0")
    text.line(
        f"__bang_transpose({turned.name}, {right.name}, {length}, {n});", turned.name if filters == n else ""
    )
    laid = text.block(kind, (filters, length), "dot: filters")
    text.line(f"__bang_reshape_filter({laid.name}, {turned.name}, {filters}, 1, 1, {length});", laid.name)
    weights = text.block(kind, (filters, length), "dot: filters", memory=WRAM)
    text.line(f"__memcpy({weights.name}, {laid.name}, {filters * length * size}, NRAM2WRAM);", weights.name)
    out = text.block(to, (m, filters), "dot", word=word)
    text.line(f"__bang_matmul({out.name}, {left.name}, {weights.name}, {m}, {length}, {filters});", out.name)
    # Filters of zeros give columns of zeros, which are cut off.
    if filters == n:
        return out
    cut = text.block(to, (m, n), "dot", word=word)
    row = n * BYTES[to]
    text.line(f"__bang_move({cut.name}, {out.name}, {row}, {row}, {filters * BYTES[to]}, {m - 1});", cut.name)
    return cut


def _padded(low: KernelLowering, block: Tile, shape: Shape) -> Tile:
    """Return *block* padded with zeros to the rows and columns of *shape*."""
    if block.shape == shape:
        return block
    out = low.text.block(block.type, shape, "dot: padded with zeros")
    low.fill(out, "0")
    row, wide = block.shape[1] * BYTES[block.type], shape[1] * BYTES[block.type]
    low.text.line(f"__bang_move({out.name}, {block.name}, {row}, {wide}, {row}, {block.shape[0] - 1});")
    return out


def each(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.map_elementwise``: its region for one element after the other."""
    if op.number("pack") != 1:
        raise low.refuse(
            "map_elementwise of several elements at once has no form in BANG C here; leave pack out"
        )
    low.text.remark(SCALAR_UNIT)
    sources = [
        low.whole(value, value.shape) for value in low.operands(op) if not isinstance(value, ScalarValue)
    ]
    outs = []
    for number, word in enumerate(op.results):
        shape, kind = result_of(op, number - len(op.results))
        outs.append(low.text.block(kind, shape, "map_elementwise", word=word))
    indices, loops = dims_of(outs[0].shape, lambda: low.text.name("i"))
    heads = " ".join(f"for (int {index} = 0; {index} < {size}; ++{index})" for index, size in loops)

    def leave(low: KernelLowering, end: TtirOperation) -> None:
        for out, value in zip(outs, low.operands(end), strict=True):
            low.text.line(f"{element(out, indices)} = {element(value, indices)};")

    around = low.operations
    with low.text.inside(heads or "if (1)", loop=True):
        for name, block in zip(op.arguments[0], sources, strict=True):
            low.values[name] = low.number(element(block, indices), block.type, name)
        # A region may return in several branches.
        low.operations = {**around, "tt.map_elementwise.return": leave}
        low.body(op.regions[0])
    low.operations = around
    return outs


OPERATIONS: Operations = {"tt.reduce": reduce, "tt.scan": scan, "tt.dot": dot, "tt.map_elementwise": each}
