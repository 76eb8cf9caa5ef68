"""The values of ``--arg``, parsed by the table of `argument_forms` and computed: numbers, sizes and arrays.

Numbers and sizes may be formulas of other arguments, so that all arguments of a call are parsed together
(`ArgumentScope`).
"""

import math
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field

from mlusim.arch.board import Board
from mlusim.arch.catalog import board_constants
from mlusim.arch.dtypes import DType, as_dtype, int32
from mlusim.counted import counted
from mlusim.errors import UsageError
from mlusim.files.arrays import LARGEST, read_array, read_member
from mlusim.files.reading import shown
from mlusim.lazy import lazy
from mlusim.memory.allocation import POISON
from mlusim.near import near
from mlusim.programs import argument_forms as forms
from mlusim.programs.argument_forms import ArgumentForm, ArgumentValue

if TYPE_CHECKING:
    from mlusim.formula import expr, parse
    from mlusim.machine.device import Device
    from mlusim.machine.tensor import DeviceTensor
else:
    expr, parse = lazy("mlusim.formula.expr", "mlusim.formula.parse")


Array = np.ndarray[Any, Any]
_MEMBER = re.compile(r"(.+\.npz)(?::(.+))?", re.DOTALL)
_HEXADECIMAL = re.compile(r"(?:^|(?<=x))(0[xX][0-9a-fA-F]+)(?=x|$)")
_WIDEST = 1 << 63


def value_of(text: str, what: str) -> ArgumentValue:
    """Parse *text*, the value of *what*.  Raises `UsageError` for a form that is not in the table."""
    if text in ("null", "nullptr"):
        return ArgumentValue(text, forms.NULL)
    word, colon, rest = text.partition(":")
    if colon and word in forms.words():
        return _worded(text, word, rest, what)
    if text.endswith(".npy"):
        return ArgumentValue(text, forms.FILE, file=text)
    member = _MEMBER.fullmatch(text)
    if member is not None:
        return ArgumentValue(text, forms.MEMBER, file=member[1], member=member[2])
    if colon and word.isidentifier():
        meant = " or ".join(f"{meant_word}:" for meant_word in near(word, forms.words()))
        hint = f" (meant: {meant})" if meant else ""
        raise _unread(
            what, text, f"{shown(word)} is not a word of --arg{hint}; use {forms.spellings(forms.FORMS)}"
        )
    return ArgumentValue(text, forms.NUMBER)


def _worded(text: str, word: str, rest: str, what: str) -> ArgumentValue:
    """Parse ``word:rest``, where *word* is in the table."""
    if word == forms.INOUT.word:
        inner = value_of(rest, what)
        if not inner.form.goes_in:
            raise _unread(what, text, f"behind inout: stands what goes in, {forms.spellings(forms.ARRAYS)}")
        return evolve(inner, text=text, comes_back=True)
    if word == forms.HOST.word:
        inner = value_of(rest, what)
        if not inner.is_array or inner.on_host:
            raise _unread(
                what,
                text,
                f"behind host: stands an array, {forms.spellings((*forms.ARRAYS, forms.OUT, forms.INOUT))}",
            )
        return evolve(inner, text=text, on_host=True)
    if word == forms.IN.word and rest.endswith((".npy", ".npz")):
        return evolve(value_of(rest, what), text=text)
    if word == forms.DRAW.word:
        return _drawn(text, rest, what)
    form = forms.words()[word][0]
    dtype, colon, sizes = rest.partition(":")
    if not (dtype and colon and sizes) or ":" in sizes:
        raise _unread(what, text, f"write {form.spelling}, as {_example(form)}")
    return ArgumentValue(text, form, dtype, sizes, comes_back=form is forms.OUT)


def _drawn(text: str, rest: str, what: str) -> ArgumentValue:
    """Parse ``int:LOW..HIGH`` and the type and sizes that may follow."""
    span, *behind = rest.split(":")
    low, dots, high = span.partition("..")
    if not (low and dots and high) or len(behind) > 2 or "" in behind:
        raise _unread(
            what, text, f"write {forms.DRAW.spelling} or {forms.DRAWS.spelling}, as {_example(forms.DRAWS)}"
        )
    if not behind:
        return ArgumentValue(text, forms.DRAW, low=low, high=high)
    dtype = behind[0] if len(behind) == 2 else None
    return ArgumentValue(text, forms.DRAWS, dtype, behind[-1], low, high)


def _unread(what: str, text: str, why: str) -> UsageError:
    return UsageError(f"{what} is given {shown(text)!r}; {why}")


def _refuse_on_device(value: ArgumentValue, what: str) -> None:
    """Raise `UsageError` for a value that is not an array in the device's memory."""
    if not value.is_array:
        raise UsageError(f"{what} is given {value.text!r}; a pointer takes {forms.spellings(forms.POINTERS)}")
    if value.on_host:
        raise UsageError(
            f"{what} is given {value.text!r}; memory of the host goes to pointers of host functions alone (--function)"
        )


def _refuse_unwritten(name: str, value: ArgumentValue, what: str) -> None:
    """Raise `UsageError` for an output array passed to a pointer to const, through which the kernel cannot write."""
    if value.form is forms.OUT:
        raise _unread(
            what,
            value.text,
            f"it points to const, so that nothing writes what comes back; give what goes in, as {name}=in:{value.dtype}:{value.sizes}",
        )


def _example(form: ArgumentForm) -> str:
    return form.example.partition("=")[2]


@define(eq=False)
class ArgumentScope:
    """The arguments of one call by name, from which numbers are computed and arrays made.

    *macros* are those of ``-D``; formulas may use those that are integers.  *board* gives constants such as the size
    of NRAM. Drawn values depend on *seed* and the argument's name alone.  *given* are arrays that replace arrays that
    texts describe; input arrays are stored in *arrays*, under ``input.NAME``.
    """

    texts: Mapping[str, str]
    macros: Mapping[str, str | None]
    board: Board
    seed: int = 0
    supplied: Mapping[str, Array] = field(factory=dict)
    arrays: dict[str, Array] = field(factory=dict)
    _values: dict[str, ArgumentValue] = field(factory=dict)
    _numbers: dict[str, int] = field(factory=dict)
    _open: list[str] = field(factory=list)

    def value(self, name: str, what: str) -> ArgumentValue:
        """Return the value of argument *name*, which *what* describes.  Raises `UsageError` as `value_of` does."""
        value = self._values.get(name)
        if value is None:
            value = self._values[name] = value_of(self.texts[name], what)
        return value

    def refuse_misspelt(
        self, called: str, parameters: Collection[str], needed: Iterable[str], formulas: Iterable[str]
    ) -> None:
        """Raise `UsageError` for a misspelt name of an argument or in a formula, as `misspelt` finds it."""
        values = {name: [self._read(name)] for name in self.texts}
        usable = known_to(self.board, self.macros)
        sentence = misspelt(called, parameters, needed, values, usable, formulas)
        if sentence is not None:
            raise UsageError(sentence)

    def _read(self, name: str) -> ArgumentValue | str:
        """Return the parsed value of argument *name*, or its text if it cannot be parsed."""
        try:
            return self.value(name, f"--arg {name}")
        except UsageError:
            return self.texts[name]

    def whole(self, name: str, what: str | None = None) -> int:
        """Return the integer value of argument or macro *name*.  Raises `UsageError` if it has none."""
        if name in self._numbers:
            return self._numbers[name]
        text = self.texts.get(name) or self.macros.get(name) or ""
        told = what or f"--arg {name}"
        # Formulas may refer to each other in a circle, which would make the recursion endless.
        if name in self._open:
            ring = " and ".join(dict.fromkeys(self._open[self._open.index(name) :]))
            raise UsageError(f"{told} is given {shown(text)!r}; {ring} cannot be known from each other")
        self._open.append(name)
        try:
            number = self._whole(name, text, told)
        finally:
            self._open.pop()
        self._numbers[name] = number
        return number

    def _whole(self, name: str, text: str, what: str) -> int:
        if name not in self.texts:
            return int(text, 0)
        value = self.value(name, what)
        if value.form is forms.DRAW:
            return self.drawn(name, *self.range_of(value, what))
        if value.form is not forms.NUMBER:
            raise _unread(what, text, "give a whole number, a formula of other arguments or int:LOW..HIGH")
        return self.number(text, what)

    def number(self, text: str, what: str) -> int:
        """Return the integer in *text*, which may be a formula.  Raises `UsageError` for anything else."""
        words = {"true": 1, "false": 0}
        if text in words:
            return words[text]
        try:
            return int(text, 0)
        except ValueError:
            pass
        try:
            return self._formula(text)
        except UsageError as error:
            raise _unread(
                what, text, f"give a whole number or a formula of other arguments: {error}"
            ) from None

    def numbers(self, text: str, what: str) -> tuple[int, ...]:
        """Return the integers in *text*, separated by commas, which may be formulas.  Raises `UsageError` as `number` does."""
        return tuple(self.number(part.strip(), what) for part in _apart(text))

    def sizes(self, value: ArgumentValue, what: str) -> tuple[int, ...]:
        """Return the shape of *value*.  Raises `UsageError` for a size that is negative or no integer."""
        for word in re.findall(r"\w+", value.sizes or ""):
            hexadecimal = _HEXADECIMAL.search(word) if word not in self._names() else None
            if hexadecimal is not None:  # int() accepts 0x10, which could also be the sizes 0 and 10
                number = hexadecimal[1]
                apart = f"0,{int(number[2:])} or " if number[2:].isdigit() else ""
                why = f"{number} may be hexadecimal, or a 0 with x behind it; write {apart}{int(number, 16)}"
                raise self._no_sizes(value, what, why)
        spread = re.sub(r"\w+", lambda match: self._spread(match[0]), value.sizes or "")
        if not all(size.strip() for size in _apart(spread)):
            raise self._no_sizes(value, what, "a size is missing")
        try:
            shape = tuple(self._formula(size) for size in _apart(spread))
        except UsageError as error:
            raise self._no_sizes(value, what, str(error)) from None
        if any(size < 0 for size in shape):
            raise self._no_sizes(value, what, f"a size is {min(shape)}")
        return shape

    @staticmethod
    def _no_sizes(value: ArgumentValue, what: str, why: str) -> UsageError:
        return _unread(what, value.text, f"write {value.form.spelling}, as {_example(value.form)}: {why}")

    def nbytes(self) -> int:
        """Return the bytes of the arrays that the arguments describe, without those read from files."""
        total = 0
        for name in self.texts:
            what = f"--arg {name}"
            value = self.value(name, what)
            if value.sizes is not None:
                # int32 is the type of drawn integers if the text names none.
                size = 4 if value.dtype is None else self.dtype_of(value, what).size
                total += math.prod(self.sizes(value, what)) * size
        return total

    def array(
        self,
        name: str,
        value: ArgumentValue,
        what: str,
        usual: DType | None = None,
        legal: Sequence[ArgumentForm] = forms.POINTERS,
    ) -> Array:
        """Make or read the input array of argument *name*; *usual* is its element type if the text names none.

        *legal* are the forms that the message about a missing file lists.  Raises `UsageError` for an invalid file,
        type or size.
        """
        wanted = f"{what} takes {forms.spellings(legal)}"
        if value.form is forms.FILE:
            return read_array(str(value.file), wanted)
        if value.form is forms.MEMBER:
            return read_member(str(value.file), value.member, wanted)
        dtype = usual or int32 if value.dtype is None else self.dtype_of(value, what)
        shape = self.sizes(value, what)
        nbytes = math.prod(shape) * dtype.size
        if nbytes > LARGEST:
            raise _unread(
                what, value.text, f"{counted(nbytes, 'byte')}; an array that goes in has at most {LARGEST:,}"
            )
        if value.form.real and dtype.kind != "float":
            raise _unread(
                what, value.text, f"{value.form.word} draws floats; for integers write {forms.DRAWS.spelling}"
            )
        rng = self._generator(name)
        if value.form is forms.DRAWS:
            low, high = self.range_of(value, what)
            limits = None if dtype.kind == "float" else np.iinfo(dtype.dtype)
            if limits is not None and not limits.min <= low < high <= limits.max + 1:
                raise _unread(what, value.text, f"{dtype} does not hold {low:,} to {high - 1:,}")
            array = rng.integers(low, high, shape, dtype=np.int64)
        else:
            array = _MAKERS[value.form.word](shape, dtype, rng)
        with np.errstate(over="ignore"):  # arange may exceed the range of half; the conversion gives infinity
            return np.asarray(array).astype(dtype.dtype, copy=False)

    def tensor(
        self, device: "Device", name: str, what: str, usual: DType | None, *, read_only: bool = False
    ) -> "DeviceTensor":
        """Make the tensor of argument *name* on *device*, with this name.

        Raises `UsageError` for a value that is not an array, for a pure output if the parameter is *read_only*, and
        as `array` does.
        """
        value = self.value(name, what)
        _refuse_on_device(value, what)
        if read_only:
            _refuse_unwritten(name, value, what)
        if not value.form.goes_in:
            tensor = device.empty(self.sizes(value, what), self.dtype_of(value, what))
        else:
            array = self._taken(name, value, what, usual)
            try:
                as_dtype(array.dtype)
            except UsageError as error:
                raise _unread(what, value.text, f"its elements: {error}") from None
            # Shared read-only, so that a store through a cast is a fault instead of silently changing an
            # input.
            tensor = device.put(array) if value.comes_back else device.share(array)
        tensor.allocation.declared = evolve(tensor.allocation.declared, name=name)
        return tensor

    def host_array(self, name: str, what: str, usual: DType | None, *, read_only: bool = False) -> Array:
        """Make the array of argument *name* in the host's memory, as `tensor` does on the device."""
        value = self.value(name, what)
        if read_only:
            _refuse_unwritten(name, value, what)
        if not value.form.goes_in:
            array = np.empty(self.sizes(value, what), self.dtype_of(value, what).dtype)
            array.view(np.uint8).fill(POISON)
            return array
        return self._taken(name, value, what, usual).copy()

    def _taken(self, name: str, value: ArgumentValue, what: str, usual: DType | None) -> Array:
        """Return the input array of *name* and store it in ``arrays``: the supplied array, or the one that *value* describes."""
        array = self.supplied.get(name)
        taken = self.arrays[f"input.{name}"] = (
            self.array(name, value, what, usual) if array is None else array
        )
        return taken

    @staticmethod
    def dtype_of(value: ArgumentValue, what: str) -> DType:
        """Return the element type that *value* names.  Raises `UsageError` for an unknown type."""
        try:
            return as_dtype(value.dtype)
        except UsageError as error:
            raise _unread(what, value.text, str(error)) from None

    def drawn(self, name: str, low: int, high: int) -> int:
        """Draw the integer of argument *name*, at least *low* and below *high*."""
        return int(self._generator(name).integers(low, high, dtype=np.int64))

    def range_of(self, value: ArgumentValue, what: str) -> tuple[int, int]:
        """Return the range that *value* draws from; the second number is excluded.  Raises `UsageError` if it is empty."""
        low, high = self.number(str(value.low), what), self.number(str(value.high), what)
        # The limits of NumPy's generator and of the widest parameter.
        if not -_WIDEST <= low < high <= _WIDEST - 1:
            raise _unread(
                what,
                value.text,
                f"no whole number is {low:,} or more and below {high:,}; raise HIGH, which is not drawn itself",
            )
        return low, high

    def _generator(self, name: str) -> np.random.Generator:
        # Seeded by the name, so that an argument draws the same values when other arguments are added or
        # removed.
        return np.random.default_rng([self.seed & (_WIDEST - 1), zlib.crc32(name.encode())])

    def _spread(self, word: str) -> str:
        """Return *word*, a text of sizes, with each x between sizes replaced by a comma: ``8x1024``, ``rowsxcols``."""
        names = self._names()
        if "x" not in word or word in names:
            return word
        return ",".join(_between(word, names) or [word])

    def _names(self) -> dict[str, None]:
        """Return the names that formulas may use: the arguments and macros whose values are numbers."""
        numbers = (forms.NUMBER, forms.DRAW)
        names = {n: None for n, text in self.macros.items() if text is not None and _is_whole(text)}
        names |= {n: None for n in self.texts if self.value(n, f"--arg {n}").form in numbers}
        return names

    def _formula(self, text: str) -> int:
        """Return the value of a formula of arguments, macros and constants of the board."""
        text = text.strip()
        if text.isdigit():
            return int(text)
        constants = board_constants(self.board)
        free = {
            n: expr.Var(n) for n in self._names() if n.isidentifier() and n not in (*constants, "min", "max")
        }
        parsed = parse.parse_formula(text, free)
        named = [part.name for part in expr.walk(parsed) if isinstance(part, expr.Var) and part.name in free]
        return parsed.evaluate({**constants, **{n: self.whole(n) for n in named}})


def _is_whole(text: str) -> bool:
    try:
        int(text, 0)
    except ValueError:
        return False
    return True


def _between(word: str, names: Mapping[str, None]) -> list[str] | None:
    """Return the sizes in *word*, which are separated by x; the first or the last is empty if a parenthesis is next to the x."""
    if not word or word.isdigit() or word in names:
        return [word]
    # By trial, since names may contain an x themselves, as in `boxesx4`.
    for at, letter in enumerate(word):
        if letter == "x" and (at == 0 or word[:at].isdigit() or word[:at] in names):
            rest = _between(word[at + 1 :], names)
            if rest is not None:
                return [word[:at], *rest]
    return None


def _apart(text: str) -> list[str]:
    """Split *text* at the commas outside of parentheses."""
    pieces, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return pieces


def _any(shape: tuple[int, ...], dtype: DType, rng: np.random.Generator) -> Array:
    if dtype.kind == "float":
        return rng.standard_normal(shape, np.float32)
    return rng.integers(-100 if dtype.kind == "int" else 0, 100, shape)


_MAKERS: Mapping[str, Callable[[tuple[int, ...], DType, np.random.Generator], Array]] = {
    "zeros": lambda shape, dtype, _: np.zeros(shape, dtype.dtype),
    "ones": lambda shape, dtype, _: np.ones(shape, dtype.dtype),
    "rand": lambda shape, _, rng: rng.random(shape, np.float32),
    "randn": lambda shape, _, rng: rng.standard_normal(shape, np.float32),
    "arange": lambda shape, _, __: np.arange(math.prod(shape)).reshape(shape),
    "in": _any,
}


# -- misspelt names of arguments, and unknown names in formulas ------------------------------------------

FUNCTIONS = ("min", "max", "PAD_UP", "PAD_DOWN", "CEIL_DIV", "true", "false")  # and sizeof(type)
SEPARATOR = "x"  # between sizes
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
OF_LAUNCHES = ("dim", "kind", "kernel", "board", "seed")
"""Options of a launch that are not arguments of the kernel."""
_WORD = re.compile(r"\w+")  # of sizes, in which 4xrows is 4 and rows
_SIZEOF = re.compile(r"sizeof\s*\([^()]*\)")


def misspelt(
    called: str,
    parameters: Collection[str],
    needed: Iterable[str],
    values: Mapping[str, Sequence[ArgumentValue | str]],
    besides: Iterable[str],
    formulas: Iterable[str] = (),
) -> str | None:
    """Return the sentence about a name in *values* that *called* does not have; None if there is none.

    *values* are the alternatives of each argument; an alternative that cannot be parsed is a text.  *parameters* are
    those of *called*, of which *needed* have no default.  *besides* are other names that formulas may use; *formulas*
    are earlier texts of arguments, whose numbers may be left over.
    """
    names = frozenset({*values, *besides, *FUNCTIONS})
    uses = {name: list(_uses(alternatives, names)) for name, alternatives in values.items()}
    named = {word for name, words in uses.items() for word, _ in words if word != name}
    named.update(part for text in formulas for word in _WORD.findall(text) for part in _split(word, names))
    numbers = [name for name, alternatives in values.items() if any(map(_is_number, alternatives))]
    usable = {*numbers, *besides, *FUNCTIONS}
    unknown = {w: name for name, words in uses.items() for w, sure in words if sure and w not in usable}
    lacking = [name for name in needed if name not in values]
    for name in values:
        if name in parameters:
            continue
        if name not in named:
            guess = near(name, [*lacking, *unknown], 1) or near(name, parameters, 1)
            hint = _instead_of(name, parameters)
            if guess:
                hint = f"did you mean {guess[0]}{_named_by(guess[0], unknown, values)}?"
            return f"{called} has no parameter {name!r}, and no formula names it; {hint}"
        if guess := near(name, lacking, 1):
            return f"{called} has no parameter {name!r}; did you mean {guess[0]}, which has no value?"
    for word, name in unknown.items():
        others = [*(number for number in numbers if number != name), *besides]
        guess = near(word, others, 1)
        hint = f"did you mean {guess[0]}?" if guess else f"known are {', '.join(others)}"
        kind = "not a number" if word in values else "not an argument or macro"
        return f"--arg {name} is given {shown(_text(values[name], word))!r}, and {word!r} is {kind}; {hint}"
    return None


def _instead_of(name: str, parameters: Collection[str]) -> str:
    """Return a phrase with the option that *name* should be, or else with the parameters."""
    if name in OF_LAUNCHES:
        return f"that of the launch is given as --{name}"
    return f"its parameters: {', '.join(parameters) or 'it has none'}"


def _named_by(
    word: str, unknown: Mapping[str, str], values: Mapping[str, Sequence[ArgumentValue | str]]
) -> str:
    """Return the end of an error sentence that names the argument whose formula uses *word*; "" if there is none."""
    user = unknown.get(word)
    return "" if user is None else f", which --arg {user}={shown(_text(values[user], word))} names"


def _text(alternatives: Iterable[ArgumentValue | str], word: str) -> str:
    texts = [value if isinstance(value, str) else value.text for value in alternatives]
    return next(text for text in texts if word in text)


def _is_number(value: ArgumentValue | str) -> bool:
    return isinstance(value, str) or not (value.is_array or value.is_null)


def known_to(board: Board, macros: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the names that formulas may use besides the arguments."""
    return (*board_constants(board), *macros)


def _uses(alternatives: Sequence[ArgumentValue | str], names: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Yield each name that a value uses, and whether it is certainly part of a formula."""
    for value in alternatives:
        if isinstance(value, str):
            yield from ((word, False) for word in _NAME.findall(value))
            continue
        sure = [text for text in (value.sizes, value.low, value.high) if text is not None]
        for text in sure:
            for word in _WORD.findall(_SIZEOF.sub("0", text)):
                yield from ((part, True) for part in _split(word, names))
        if value.dtype is not None:  # in a search the type may be drawn: in:DTYPE:n
            yield value.dtype, False
        if value.form is forms.NUMBER:  # it may also be an enumerator of a host function
            computed = not set("*+(").isdisjoint(value.text)
            yield from ((word, computed) for word in _NAME.findall(_SIZEOF.sub("0", value.text)))


def _split(word: str, names: frozenset[str]) -> list[str]:
    """Return the names in *word*, which may be sizes separated by x, as ``rowsxcols``."""
    if word in names and word != SEPARATOR:
        return [word]
    parts = word.split(SEPARATOR)
    sized = [part for part in parts if part and not part[0].isdigit()]
    if len(parts) > 1 and (len(sized) < len(parts) or not names.isdisjoint(sized)):
        return sized
    return [] if word[0].isdigit() else [word]
