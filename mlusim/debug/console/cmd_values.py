"""The commands about values: types, changes by hand, and what is shown at every stop."""

from typing import TYPE_CHECKING

from mlusim.counted import plural
from mlusim.debug import editing
from mlusim.debug.console.cmd_memory import parse_or_assign, print_form, value_in_form
from mlusim.debug.console.command import MEMORY, Command, declared_as
from mlusim.debug.look.evaluate import c_scope, evaluate, parse, typed, unknown_names
from mlusim.debug.look.names import names_of
from mlusim.debug.values import variable
from mlusim.errors import MlusimError, UsageError
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.c_scope import function_type
from mlusim.frontend.bangc.c_syntax import NoExpression, parse_type
from mlusim.frontend.bangc.c_values import named_type

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mlusim.debug.console.command import CommandContext
    from mlusim.debug.session import DebugSession


def set_(console: "CommandContext", words: str) -> str:
    """Change a variable or memory."""
    target, equals, text = words.removeprefix("var ").partition("=")
    if not (target.strip() and equals and text.strip()) or text.startswith("="):
        raise UsageError(
            "set takes a variable or elements of memory, and a value, as in `set var i = 3` or `set p[2:8] = 0`"
        )
    return editing.assign(console.session, target, text)


def whatis(console: "CommandContext", words: str) -> str:
    """Show the type of an expression."""
    if not words:
        raise UsageError("whatis takes an expression, as in `whatis buffer`")
    session = console.session
    names = names_of(session.look(), session.core())
    of_c = _type_of(session, words, names)
    if of_c is not None and not isinstance(of_c, t.Void):
        return f"{words}: {of_c}"
    expression = parse(words)
    return f"{words}: {variable(words, evaluate(expression, session.frame(), session.core(), names)).type}"


def ptype(console: "CommandContext", words: str) -> str:
    """Show the definition of a type, or of an expression's type."""
    if not words:
        raise UsageError("ptype takes a type or an expression, as in `ptype Part` or `ptype part`")
    session = console.session
    names = names_of(session.look(), session.core())
    kind, scope = _type_of(session, words, names), c_scope(session.frame(), names)
    if kind is None or scope is None or isinstance(kind, t.Void):
        return whatis(console, words)
    return f"type = {kind if isinstance(kind, str) else _defined(kind, scope.module.enumerations)}"


def _type_of(session: "DebugSession", words: str, names: "Mapping[str, Any]") -> "t.Type | str | None":
    """Return the type of C that *words* are, or have as an expression; of a function as text; None where it is Python's."""
    scope = c_scope(session.frame(), names)
    if scope is None:
        return None
    # A variable hides a type of the same name, as in C.
    if scope.local(words) is None:
        made = parse_type(words, scope.is_type)
        if made is not None:
            try:
                return named_type(made, scope)
            except NoExpression as refused:
                raise UsageError(str(refused)) from None
        if functions := scope.functions(words.removeprefix("&").strip()):
            return "\n".join(dict.fromkeys(function_type(f) for f in functions))
    found = typed(parse(words), session.frame(), session.core(), names)
    # No scope of C: the frame is that of a Python kernel, whose values have types of Python.
    return None if found is None else found.type


def _defined(kind: t.Type, enumerations: "Mapping[str, Mapping[str, int]]") -> str:
    """Return a type of C with the members of the record, or the numbers of the enumeration, that it is or leads to."""
    if isinstance(kind, t.Pointer) and isinstance(kind.to, t.Record):
        return f"{_members(kind.to)} {'&' if kind.reference else '*'}  // to {_bytes(kind.to)}"
    if isinstance(kind, t.Array) and isinstance(kind.of, t.Record):
        return f"{_members(kind.of)} [{kind.count}]  // each of {_bytes(kind.of)}"
    if isinstance(kind, t.Arithmetic) and kind.name in enumerations:
        numbers = ", ".join(f"{name} = {number}" for name, number in enumerations[kind.name].items())
        return f"enum {kind.name} {{{numbers}}}"
    return f"{_members(kind)}  // {_bytes(kind)}" if isinstance(kind, t.Record) else str(kind)


def _members(kind: t.Record) -> str:
    rows = [f"  {declared_as(str(f.type), f.name)};  // offset {f.offset}" for f in kind.fields]
    return "\n".join([f"{'union' if kind.union else 'struct'} {kind.name} {{", *rows, "}"])


def _bytes(kind: t.Type) -> str:
    return f"{kind.size} {plural(kind.size, 'byte')}"


def display(console: "CommandContext", words: str) -> str:
    """Show an expression at every stop."""
    if words:
        _, text = print_form(words, "display")
        if not text:
            raise UsageError("display takes an expression, as in `display count` or `display/x mask`")
        # A mistake in the syntax is told now and not at each stop; @COUNT is no part of the expression.
        parse_or_assign(text.partition("@")[0])
        session = console.session
        codes = [function.code for function in session.functions]
        known = names_of(session.look(), session.core())
        # The names on both sides of @ are wanted, which the parser has for any operator that it knows.
        unknown = [
            n for n in unknown_names(text.replace("@", "+"), codes, session.owned.names) if n not in known
        ]
        if unknown:
            raise UsageError(f"name {unknown[0]!r} is not defined in any function of the kernel")
        console.displayed += 1
        console.displays[console.displayed] = words
    return displays_text(console) or "nothing is displayed"


def undisplay(console: "CommandContext", words: str) -> str:
    """Stop showing an expression."""
    if words and (not words.isdigit() or int(words) not in console.displays):
        known = ", ".join(map(str, console.displays)) or "none"
        raise UsageError(f"there is no display {words!r}; there are: {known}")
    for number in [int(words)] if words else list(console.displays):
        del console.displays[number]
    return displays_text(console) or "nothing is displayed"


def displays_text(console: "CommandContext") -> str:
    """Return every displayed expression with its value here; where it has none, why."""
    lines = []
    for number, words in console.displays.items():
        letter, text = print_form(words, "display")
        try:
            shown = value_in_form(console.session, text, letter)
        # A name may have no value in the function where this stop is; the other displays are shown all the same.
        except MlusimError as error:
            shown = f"<{_brief(str(error))}>"
        lines.append(f"{number}: {words} = {shown}")
    return "\n".join(lines)


def _brief(sentence: str) -> str:
    """Return what a sentence of an error says, without what to do about it: it is repeated at every stop."""
    said = sentence.partition(";")[0]
    return said.partition(" has no value in C: ")[2] or said


FORK = """A variable of the function in focus, or elements of memory as p[2:8], tensor[0, 3], region[0]; one value or as many
as there are elements.  The run forks there: it is no longer what the program does, going back and forth keeps the
change, and the program continues with what becomes of the launch's tensors, where it has not passed the launch already.
Changes behind this place in the launch are given up.  `info changes` lists them."""

COMMANDS = (
    Command("set", (), "[var] NAME|PLACE = EXPR", MEMORY, "change a variable or memory; the run forks there", set_, FORK, completes="place"),
    Command("whatis", (), "EXPR", MEMORY, "show the type of an expression", whatis, completes="place"),
    Command("ptype", (), "TYPE|EXPR", MEMORY, "show the definition of a type: its members with their offsets in bytes", ptype, completes="place"),
    Command("display", (), "[/FORM] [EXPR[@COUNT]]", MEMORY, "show an expression at every stop; without EXPR all of them, here", display, completes="place"),
    Command("undisplay", (), "[NUMBER]", MEMORY, "no longer show an expression at every stop, or none of them", undisplay),
)  # fmt: skip
