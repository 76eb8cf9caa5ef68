"""The parameters of a tuning run: classifies the words of ``--param`` as macros, arguments, dims or kinds, and combines their values."""

import contextlib
import itertools
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from mlusim.bangc.errors import SourceError
from mlusim.counted import counted
from mlusim.errors import UsageError
from mlusim.machine.limits import USUAL, Limit
from mlusim.near import near
from mlusim.programs.argument_forms import AskedCall
from mlusim.programs.kernel_call import KernelCall, MacroTexts, dim_of, kind_of
from mlusim.programs.native_program import CommandProgram, HostProgram
from mlusim.tune import ranking

MACRO, ARGUMENT, DIM, KIND = "macro", "argument", "dim", "kind"
MOST = 10_000  # limit of candidates in a grid, and of values in a range
FORM = "write NAME=V,V,... as TILE=64,128,256, or with ; between values that have commas: dim=4,1,1;4,8,1"
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?::(\d+))?")


WORD, VARIABLE = "word", "variable"
ENVIRONMENT = "env:"
"""Prefix of the name of an environment variable."""
BEHIND = "write it as {NAME} behind --, or as env:NAME"


@frozen
class TuneParameter:
    """A name with several possible *values*; *role* is its kind: `MACRO`, `ARGUMENT`, `DIM` or `KIND`."""

    name: str
    role: str
    values: tuple[str, ...]


@frozen
class Setting:
    """One value of one parameter."""

    name: str
    role: str
    value: str


Settings = tuple[Setting, ...]
"""One candidate: a value for each parameter."""


@frozen
class ParameterWord:
    """A word of ``--param``; *macro* if it begins with ``-D``."""

    name: str
    macro: bool
    values: tuple[str, ...]


def parameters_of(words: Sequence[str], call: KernelCall) -> tuple[TuneParameter, ...]:
    """Return the parameters in *words* of ``--param`` for *call*, in order.

    ``-DNAME`` is a macro; ``dim`` and ``kind`` are those of the launch; any other name is an argument if the
    kernel has a parameter of that name, else a macro used in the source. Raises `UsageError` for other names,
    and `SourceError` if the source does not compile even with those macros.
    """
    spelled = [word_of(word) for word in words]
    names = [word.name for word in spelled]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--param gives {name} twice; give it once, with all of its values")
    call = _compiling(call, spelled)
    formals = [parameter.source_name for parameter in call.loaded().form.parameters]
    parameters = tuple(_parameter(word, formals, call) for word in spelled)
    for declared in parameters:
        taken = (
            call.arguments
            if declared.role == ARGUMENT
            else call.asked.define
            if declared.role == MACRO
            else ()
        )
        if declared.name in taken and (declared.role == ARGUMENT or declared.name not in names):
            raise UsageError(f"--param and --arg both give {declared.name}; leave the --arg out")
    return parameters


def word_of(text: str) -> ParameterWord:
    """Return the name and the values in a word of ``--param``. Raises `UsageError` for a malformed word."""
    name, equals, values = text.partition("=")
    macro = name.startswith("-D")
    name = name.removeprefix("-D").strip()
    if not name.isidentifier() or not equals:
        raise UsageError(f"--param {text!r} gives no values; {FORM}")
    apart = ";" if ";" in values or (name == DIM and not macro) else ","
    if name == DIM and apart not in values and values.count(",") > 2:
        raise UsageError(f"--param {text!r} is not a grid; {FORM}, so {values.replace(',', ';')} here")
    each = [piece.strip() for piece in values.split(apart)]
    if not all(each):
        raise UsageError(f"--param {text!r} has an empty value; {FORM}")
    every = itertools.chain.from_iterable(_values(piece, text) for piece in each)
    return ParameterWord(name, macro, tuple(dict.fromkeys(every)))


def _values(text: str, word: str) -> Sequence[str]:
    """Return the values denoted by *text*: itself, or the integers in ``LOW..HIGH`` or ``LOW..HIGH:STEP``."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return (text,)
    low, high, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if low > high or step < 1 or (high - low) // step >= MOST:
        raise UsageError(
            f"--param {word!r} has the range {text}; write LOW..HIGH:STEP with at most {MOST:,} values, as 16..512:16"
        )
    return [str(value) for value in range(low, high + 1, step)]


def _compiling(call: KernelCall, words: Sequence[ParameterWord]) -> KernelCall:
    """Return *call* with the first values of those macros without which its source does not compile."""
    macros = {word.name: word.values[0] for word in words if word.macro}
    both = next((name for name in macros if name in call.asked.define), None)
    if both is not None:
        raise UsageError(f"--param and -D both give {both}; leave the -D out")
    free = {word.name: word.values[0] for word in words if not word.macro and word.name not in (DIM, KIND)}
    first: SourceError | None = None
    while True:
        trial = call.asking(define={**call.asked.define, **macros})
        try:
            trial.loaded()
        except SourceError as error:
            first = first or error
            told = " ".join(diagnostic.message for diagnostic in error.diagnostics)
            missing = {name for name in free if name not in macros and re.search(rf"\b{name}\b", told)}
            if not missing:
                raise first from None
            macros |= {name: free[name] for name in missing}
        else:
            return trial


def _parameter(word: ParameterWord, formals: Sequence[str], call: KernelCall) -> TuneParameter:
    name, values = word.name, word.values
    if word.macro:
        refuse_unused(name, formals, call)
        return TuneParameter(name, MACRO, values)
    if name in (DIM, KIND):
        if name in formals:
            raise UsageError(
                f"--param {name} is that of the launch, and {call.name} has a parameter {name} as well; rename that"
            )
        texts = values if name == KIND else [",".join(map(str, dim_of(value))) for value in values]
        for text in texts if name == KIND else ():
            kind_of(text)
        return TuneParameter(name, name, tuple(dict.fromkeys(texts)))
    formulas = re.findall(r"\b[A-Za-z_]\w*\b", " ".join(call.arguments.values()))
    if name in formals or (name in formulas and name not in _texts(call).identifiers()):
        return TuneParameter(name, ARGUMENT, values)
    refuse_unused(name, formals, call)
    return TuneParameter(name, MACRO, values)


def refuse_unused(name: str, formals: Sequence[str], call: KernelCall | HostProgram) -> None:
    """Raise `UsageError` if no source of *call* uses a macro *name*, or if one defines it regardless of ``-D``."""
    texts = _texts(call)
    identifiers = texts.identifiers()
    if name not in identifiers:
        legal = ", ".join(["dim", "kind", *formals])
        guess = near(name, [*formals, *identifiers], 1)
        hint = f"did you mean {guess[0]}?" if guess else f"there are {legal}, and macros"
        raise UsageError(
            f"--param {name}: {call.name} has no parameter {name}, and its source uses no such macro; {hint}"
        )
    texts.refuse_fixed(name)


def _texts(call: KernelCall | HostProgram) -> MacroTexts:
    return MacroTexts.of(call.asked)


def grid(parameters: Sequence[TuneParameter]) -> list[Settings]:
    """Return every combination of values, with the last parameter changing fastest. Raises `UsageError` if there are too many."""
    number = math.prod(len(parameter.values) for parameter in parameters)
    if number > MOST:
        raise UsageError(
            f"these parameters have {counted(number, 'combination')}, of which a grid tries at most {MOST:,}; "
            "give fewer values"
        )
    rows = ([Setting(p.name, p.role, value) for value in p.values] for p in parameters)
    return [tuple(row) for row in itertools.product(*rows)]


def with_settings(call: KernelCall, settings: Settings) -> KernelCall:
    """Return *call* with the values of *settings*."""
    values = {
        role: {s.name: s.value for s in settings if s.role == role} for role in (MACRO, ARGUMENT, DIM, KIND)
    }
    return call.asking(
        define={**call.asked.define, **values[MACRO]},
        arguments={**call.arguments, **values[ARGUMENT]},
        dim=dim_of(values[DIM][DIM]) if values[DIM] else call.dim,
        kind=kind_of(values[KIND][KIND]).name if values[KIND] else call.kind.name,
    )


def told(settings: Settings) -> str:
    """Return *settings* as they are typed on the command line."""
    return " ".join(f"{'-D' if s.role == MACRO else ''}{s.name}={s.value}" for s in settings)


@frozen
class TriedTask:
    """The data shared by all candidates of a run: the request *asked* without settings; ``sources`` is a digest of all its files.

    ``first`` has the settings whose results on its board count as right, if the criterion has no expected
    results.
    """

    asked: AskedCall
    sources: str
    first: Settings | None = None
    limit: Limit = USUAL

    def tried(self, job: "TuneJob") -> dict[str, Any]:
        """Run one candidate in this process and return its document: settings, whether it fits and is right, time and bound."""
        raise NotImplementedError


@frozen
class TuneJob:
    """One candidate of a task on one board."""

    settings: Settings
    board: str
    task: TriedTask = field(repr=False)

    def __str__(self) -> str:
        return f"{told(self.settings)} on {self.board}"

    def empty(self) -> dict[str, Any]:
        """Return the document of a candidate before it is run."""
        return {
            "parameters": {s.name: s.value for s in self.settings}, "board": self.board, "verdict": ranking.OK, "fits": True, "right": None,
            "time_us": None, "time_band": None, "bound": None, "because": [], "io_efficiency": None, "compute_efficiency": None,
            "memory": {}, "mechanisms": {}, "carved": False, "engine": None, "why": "",
        }  # fmt: skip


# -- programs with a main --------------------------------------------------------------------------


def program_parameters(
    words: Sequence[str], program: "HostProgram | CommandProgram"
) -> tuple[TuneParameter, ...]:
    """Return the parameters in *words* of ``--param`` for *program*: macros, words after ``--`` and environment variables.

    ``{NAME}`` in a word stands for a value, ``env:NAME`` is an environment variable; any other name is a
    macro of the sources. Raises `UsageError` for unknown names.
    """
    parameters: list[TuneParameter] = []
    for text in words:
        variable = text.startswith(ENVIRONMENT)
        word = word_of(text.removeprefix(ENVIRONMENT))
        name = f"{ENVIRONMENT}{word.name}" if variable else word.name
        if any(name == parameter.name for parameter in parameters):
            raise UsageError(f"--param gives {name} twice; give it once, with all of its values")
        if variable:
            role = VARIABLE
        elif not word.macro and any(f"{{{word.name}}}" in argument for argument in program.arguments):
            role = WORD
        elif isinstance(program, HostProgram):
            role = MACRO
            if name in program.asked.define:
                raise UsageError(f"--param and -D both give {name}; leave the -D out")
        else:
            raise UsageError(f"--param {name}: no word of {program.name} has {{{name}}}; {BEHIND}")
        parameters.append(TuneParameter(name, role, word.values))
    macros = {parameter.name: parameter.values[0] for parameter in parameters if parameter.role == MACRO}
    # A macro that no source uses would give equal candidates, and a table without differences.
    if isinstance(program, HostProgram) and macros:
        compiled = with_macros(program, macros)
        for name in macros:
            refuse_unused(name, (), compiled)
    return tuple(parameters)


def with_macros(program: HostProgram, macros: Mapping[str, str]) -> HostProgram:
    """Return *program* with *macros* added to its own."""
    return program.asking(define={**program.asked.define, **macros})


def filled(word: str, settings: Settings) -> str:
    """Return *word* with each name in braces replaced by its value in *settings*."""
    values = {setting.name: setting.value for setting in settings if setting.role == WORD}
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), word)


@contextlib.contextmanager
def variables_set(settings: Settings) -> Iterator[None]:
    """Set the environment variables of *settings* in this context."""
    values = {
        setting.name.removeprefix(ENVIRONMENT): setting.value
        for setting in settings
        if setting.role == VARIABLE
    }
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
