"""The same call of a row on both engines: random bits, specials, tails, in place; what each left behind."""

import functools

import numpy as np
from isa_rows import SCALARS, board_of, counts_of, dtype_cases

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import float32, half, int32, uint8, uint32
from mlusim.bangc.native.form import fault, nowhere
from mlusim.errors import Fault
from mlusim.isa.table import FAMILIES, ISA, NUMBERS
from mlusim.machine.kernel import Kernel
from mlusim.machine.native.run import Loaded, NativeProgram, assemble
from mlusim.machine.native.text.door import NativeArgument, Use, door
from mlusim.memory.space import GDRAM, LDRAM, NRAM, SRAM, WRAM

BYTES = 1 << 14  # of each operand's memory
SPECIALS = (
    *(0.0, -0.0) * 3,  # often, so that both meet
    1,
    -1,
    np.inf,
    -np.inf,
    np.nan,
    0.5,
    -0.5,
    2.5,
    -2.5,
    65504,
    6e-8,
    -6e-8,
    1e-7,
    3e38,
    1e-40,
    0.49999997,
)


def cases(row):
    """How a row is called: the types of its operands, and which of those that may be either are numbers."""
    either = [p.name for p in row.given if p.kind == "either"]
    for types in dtype_cases(row) if row.operands else [{}]:
        for scalars in (frozenset(), frozenset(either)) if either else (frozenset(),):
            yield types, scalars


def some_cases(row, generation=3):
    """One type of those that the row takes on boards of a generation, with each choice of numbers."""
    found = [
        (types, scalars)
        for types, scalars in cases(row)
        if all(dtype in row.operands[name].dtypes_on(generation) for name, dtype in types.items())
    ]
    chosen = found[NUMBERS[row.name] % len(found)][0] if found else {}
    return [(types, scalars) for types, scalars in found if types == chosen]


def given_of(row, types, scalars, counts):
    """What is given for each parameter, and its value where it is a number."""
    lead = types[row.same[0]] if row.same else next(iter(types.values()), None)
    for p in row.given:
        if p.name in types and p.name not in scalars:
            yield p.name, NativeArgument(True, types[p.name]), None
        elif p.kind == "count":
            if p.name in counts:
                yield p.name, NativeArgument(False, int32), counts[p.name]
            elif p.default is None or isinstance(p.default, int):
                return
        elif p.kind in ("value", "either"):
            yield p.name, NativeArgument(False, lead), SCALARS.get(p.name, 2)
        elif row.name.startswith("is_") or p.name == "register":
            return
        elif row.operands:
            typed = p.name in row.void.values()
            yield p.name, NativeArgument(False, lead if typed else int32), SCALARS[p.name]
        else:
            whole = p.c == ("unsigned int",)
            number = uint32 if whole else half if "half2" in row.name or "f16" in row.name else float32
            yield p.name, NativeArgument(False, number), 37 if whole else 2.5


def use_of(row, types, scalars):
    """The use of a call with all counts."""
    return Use(row.name, tuple(g for _, g, _ in given_of(row, types, scalars, counts_of(row))))


def board_with(row):
    """A board that has the row and a native engine."""
    return find_board(board_of(row)) if isinstance(board_of(row), str) else board_of(row)


@functools.cache
def program_of(family, board, every):
    """All rows of a family as one library; word 0 says which use is called."""
    rows = next(f for f in FAMILIES if f.name == family).rows
    uses = {}
    for row in rows:
        if row.name in ISA and not row.control:
            for types, scalars in cases(row) if every else some_cases(row, board.arch.generation):
                use = use_of(row, types, scalars)
                if door(use, board.arch) is not None:
                    uses.setdefault(use, len(uses))
    switch = "\n".join(f"case {n}: {_call(use)} break;" for use, n in uses.items())
    text = (
        "VISIBLE int64_t enter(Core *m, const uint64_t *w) {\n  if (setjmp(*(jmp_buf *)m->jump)) return 1;\n"
        f"  if (m->taskId || m->memory_core) return 0;\n  switch (w[0]) {{\n{switch}\n}}\n  return 0;\n}}\n"
    )
    return uses, NativeProgram(
        assemble(board.arch, uses, text), "enter", (("rows.mlu", 1),), fault=fault, nowhere=nowhere
    )


def _call(use):
    words = []
    row = ISA[use.row]
    for k, (given, p) in enumerate(zip(use.arguments, row.given, strict=False), 1):
        word = f"w[{k}]"
        if given.pointer or p.kind == "count":
            words.append(word if given.pointer else f"(int64_t){word}")
        elif given.dtype.kind == "float" and not (
            p.kind == "any" and row.operands and p.name not in row.void.values()
        ):
            suffix = {"half": "f16", "bfloat16": "b16", "float": "f32"}[given.dtype.name]
            words.append(f"(*(const T_{suffix} *)&w[{k}])")
        else:
            words.append(f"(int64_t){word}")
    call = f"{use.name}(m, {', '.join([*words, '0'])});"
    if row.returns == "None":
        return call
    return f"{{ double r_ = (double){call} memcpy(((Alloc *)m->allocs)[1].raw, &r_, 8); }}"


def random_bits(dtype, count, rng):
    """Random patterns, a quarter specials, a quarter ordinary numbers."""
    bits = rng.integers(0, 256, count * dtype.size, dtype=np.uint8).view(dtype.dtype).copy()
    if dtype.kind == "float":
        with np.errstate(all="ignore"):
            places = rng.integers(0, count, count // 4)
            bits[places] = np.array(SPECIALS)[rng.integers(0, len(SPECIALS), len(places))].astype(dtype.dtype)
            places = rng.integers(0, count, count // 4)
            bits[places] = (4 * rng.normal(size=len(places))).astype(np.float32).astype(dtype.dtype)
    else:
        bits[rng.integers(0, count, count // 4)] = 0
    return bits


class Setting:
    """The memory of one call: an array of bytes for each operand, and where in it the operand begins."""

    def __init__(
        self,
        row,
        types,
        scalars,
        counts,
        *,
        seed=0,
        offsets=None,
        share=None,
        value=None,
        numbers=None,
        room=BYTES,
    ):
        self.row, self.types, self.scalars, self.counts = row, types, scalars, counts
        self.offsets, self.share, self.value, self.numbers = offsets or {}, share, value, numbers or {}
        self.room = room
        rng = np.random.default_rng(seed)
        self.data = {}
        for name, dtype in types.items():
            if name not in scalars:
                self.data[name] = self._fill(row, name, dtype, rng)
        self.found = {}
        self.result = None

    def _fill(self, row, name, dtype, rng):
        data = random_bits(dtype, self.room // dtype.size, rng)
        if name == "src" and "lut" in row.name:
            data %= 64
        if name == "index" and row.name in ("bang_unpool", "bang_maxpool_bp"):
            data %= 2
        if name == "src1" and row.name in ("bang_div", "bang_rem") and dtype.kind != "float":
            data[data == 0] = 3
        return data.view(np.uint8)

    def declare(self, mlu, tensors):
        """The operands' memory, filled, and what is passed for each parameter."""
        made, given = {}, {}
        result = mlu.ldram(float32, 2)
        for name, dtype in self.types.items():
            if name in self.scalars:
                continue
            space = self.row.operands[name].spaces[0]
            if space is GDRAM:
                pointer = tensors[name].cast(dtype)
            elif self.share and name == self.share[1] and self.share[0] in made:
                pointer = made[self.share[0]].cast(dtype)
            else:
                declare = {NRAM: mlu.nram, WRAM: mlu.wram, LDRAM: mlu.ldram, SRAM: mlu.shared}[space]
                pointer = declare(dtype, self.room // dtype.size)
                pointer.view.raw[:] = self.data[name]
                pointer.view.allocation.filled = True  # as an array that is declared with values
            made[name] = pointer
            self.found[name] = pointer.view.raw
            index, phase = divmod(self.offsets.get(name, 0), dtype.size)
            given[name] = (pointer.cast(uint8) + phase + index * dtype.size).cast(dtype)
        self.found[""] = result.view.raw
        return given, result

    def arguments(self):
        """The numbers that are passed, by name."""
        for name, given, value in given_of(self.row, self.types, self.scalars, self.counts):
            if not given.pointer:
                chosen = self.value if self.value is not None and given.dtype.kind == "float" else value
                chosen = self.numbers.get(name, chosen)
                yield name, given, given.dtype(chosen) if name not in self.counts else value


class Form:
    """The native form of a kernel that makes one call."""

    def __init__(self, setting, program, number):
        self.setting, self._program, self._number = setting, program, number

    def program(self, _):
        """The library of the family."""
        return self._program

    def loaded(self, _, compiler=None, _mode=None, **_how):
        """The library, for one launch."""
        return Loaded(self._program, compiler)

    def words(self, core, arguments, word):
        """The number of the use, then what is passed."""
        setting = self.setting
        if core.place.task or core.place.memory_core:
            return [], []
        pointers, result = setting.declare(core.mlu, dict(zip(tensor_names(setting), arguments, strict=True)))
        word(result)
        numbers = {name: value for name, _, value in setting.arguments()}
        made = [self._number]
        for name, given, _ in given_of(setting.row, setting.types, setting.scalars, setting.counts):
            if given.pointer:
                made.append(word(pointers[name]))
            else:
                made.append(_bits(numbers[name]))
        return made, []


def _bits(value):
    if isinstance(value, np.generic) and value.dtype.kind not in "iu":
        return int.from_bytes(value.tobytes(), "little")
    return int(value) & (1 << 64) - 1


def tensor_names(setting):
    """The operands in GDRAM."""
    return [n for n in setting.data if setting.row.operands[n].spaces[0] is GDRAM]


def run(setting, engine, board, program=None, number=None):
    """Launch the call; the bytes of every operand, the result, the launch or the fault."""
    device = mlusim.Device(board)
    names = tensor_names(setting)
    tensors = [device.put(setting.data[n]) for n in names]

    def body(mlu, *pointers):
        if mlu.taskId or mlu.core.place.memory_core:
            return
        given, result = setting.declare(mlu, dict(zip(names, pointers, strict=True)))
        given |= {name: value for name, _, value in setting.arguments()}
        order = [p.name for p in setting.row.given if p.name in given]
        answer = getattr(mlu, setting.row.name)(**{n: given[n] for n in order})
        if answer is not None:
            result.cast("uint64").view.array[:1] = np.float64(answer).view(np.uint64)

    kernel = Kernel(body)
    if program is not None:
        kernel.native = Form(setting, program, number)
    any_sram = any(o.spaces[0] is SRAM for o in setting.row.operands.values())
    kind = mlusim.UNION1 if any_sram else mlusim.BLOCK
    setting.found = {}
    try:
        launch = device.launch(
            kernel, dim=(4 if any_sram else 1, 1, 1), kind=kind, args=tuple(tensors), engine=engine
        )
    except Fault as fault:
        return None, fault
    left = {n: raw.copy() for n, raw in setting.found.items()}
    left |= {n: device.get(t) for n, t in zip(names, tensors, strict=True)}
    return left, launch


def same_numbers(first, second, dtype):
    """Whether two pieces of memory hold the same elements, NaN of any bits being one."""
    if np.array_equal(first, second):
        return True
    if dtype.kind in "iu":
        return False
    a, b = first.view(dtype), second.view(dtype)
    different = a.view(f"u{dtype.itemsize}") != b.view(f"u{dtype.itemsize}")
    with np.errstate(all="ignore"):  # signalling ones say so
        nan = np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
    return not np.any(different & ~nan)
