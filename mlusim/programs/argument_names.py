"""Names in ``--arg``: those that are no parameter's, and those of formulas that stand for nothing.

They are told before anything is made of the values: a name that is misspelt makes others wrong, which would be told in its place.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from mlusim.arch.board import Board
from mlusim.files.paths import shown
from mlusim.formula.boards import board_constants
from mlusim.near import near
from mlusim.programs import argument_forms as forms
from mlusim.programs.argument_forms import ArgumentValue

FUNCTIONS = ("min", "max", "PAD_UP", "PAD_DOWN", "CEIL_DIV", "true", "false")  # and sizeof(type)
SEPARATOR = "x"  # between sizes
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_WORD = re.compile(r"\w+")  # of sizes, where 4xrows is 4 and rows
_SIZEOF = re.compile(r"sizeof\s*\([^()]*\)")


def misspelt(
    called: str,
    parameters: Collection[str],
    needed: Iterable[str],
    values: Mapping[str, Sequence[ArgumentValue | str]],
    known: Iterable[str],
    formulas: Iterable[str] = (),
) -> str | None:
    """Return the sentence for a name in *values* that *called* does not have; None where there is none.

    *values* are the alternatives of each argument, a text for one that cannot be read.  *parameters* are those of *called*, of
    which *needed* have no value by themselves.  *known* are names that formulas may use besides; *formulas* are texts that
    arguments had before, whose numbers may be left over.
    """
    names = frozenset({*values, *known, *FUNCTIONS})
    uses = {name: list(_uses(alternatives, names)) for name, alternatives in values.items()}
    named = {word for name, words in uses.items() for word, _ in words if word != name}
    named.update(one for text in formulas for word in _WORD.findall(text) for one in _apart(word, names))
    numbers = [name for name, alternatives in values.items() if any(map(_is_number, alternatives))]
    usable = {*numbers, *known, *FUNCTIONS}
    unknown = {w: name for name, words in uses.items() for w, sure in words if sure and w not in usable}
    lacking = [name for name in needed if name not in values]
    for name in values:
        if name in parameters:
            continue
        if name not in named:
            guess = near(name, [*lacking, *unknown], 1) or near(name, parameters, 1)
            hint = f"its parameters: {', '.join(parameters) or 'it has none'}"
            if guess:
                hint = f"did you mean {guess[0]}{_named_by(guess[0], unknown, values)}?"
            return f"{called} has no parameter {name!r}, and no formula names it; {hint}"
        if guess := near(name, lacking, 1):
            return f"{called} has no parameter {name!r}; did you mean {guess[0]}, which has no value?"
    for word, name in unknown.items():
        others = [*(one for one in numbers if one != name), *known]
        guess = near(word, others, 1)
        hint = f"did you mean {guess[0]}?" if guess else f"known are {', '.join(others)}"
        kind = "no number" if word in values else "no argument or macro"
        return f"--arg {name} is given {shown(_text(values[name], word))!r}, and {word!r} is {kind}; {hint}"
    return None


def _named_by(
    word: str, unknown: Mapping[str, str], values: Mapping[str, Sequence[ArgumentValue | str]]
) -> str:
    """Return the words for the argument whose formula has *word*; none where it is no word of a formula."""
    user = unknown.get(word)
    return "" if user is None else f", which --arg {user}={shown(_text(values[user], word))} names"


def _text(alternatives: Iterable[ArgumentValue | str], word: str) -> str:
    """Return the text of the alternative that has *word* in it."""
    texts = [value if isinstance(value, str) else value.text for value in alternatives]
    return next(text for text in texts if word in text)


def _is_number(value: ArgumentValue | str) -> bool:
    return isinstance(value, str) or not (value.is_array or value.is_null)


def known_to(board: Board, macros: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the names that formulas may use besides the arguments."""
    return (*board_constants(board), *macros)


def _uses(alternatives: Sequence[ArgumentValue | str], names: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Yield each name that a value uses, and whether it is in a formula for sure."""
    for value in alternatives:
        if isinstance(value, str):
            yield from ((word, False) for word in _NAME.findall(value))
            continue
        sure = [text for text in (value.sizes, value.low, value.high) if text is not None]
        for text in sure:
            for word in _WORD.findall(_SIZEOF.sub("0", text)):
                yield from ((one, True) for one in _apart(word, names))
        if value.dtype is not None:  # of a search, a type may be drawn: in:DTYPE:n
            yield value.dtype, False
        if value.form is forms.NUMBER:  # an enumerator of a host function, too
            computed = not set("*+(").isdisjoint(value.text)
            yield from ((word, computed) for word in _NAME.findall(_SIZEOF.sub("0", value.text)))


def _apart(word: str, names: frozenset[str]) -> list[str]:
    """Return the names in *word*, which may be sizes with x between them, as ``rowsxcols``."""
    if word in names and word != SEPARATOR:
        return [word]
    parts = word.split(SEPARATOR)
    sized = [part for part in parts if part and not part[0].isdigit()]
    if len(parts) > 1 and (len(sized) < len(parts) or not names.isdisjoint(sized)):
        return sized
    return [] if word[0].isdigit() else [word]
