"""The commands about values: types, changes by hand, and what is shown at every stop."""

from typing import TYPE_CHECKING

from mlusim.counted import plural
from mlusim.debug import editing
from mlusim.debug.console.columns import declared_as
from mlusim.debug.console.command import MEMORY, Command
from mlusim.debug.look.evaluate import c_scope, evaluate, parse, typed
from mlusim.debug.look.names import names_of
from mlusim.debug.values import variable
from mlusim.errors import MlusimError, UsageError
from mlusim.frontend.bangc import types as t

if TYPE_CHECKING:
    from mlusim.debug.console.command import CommandContext


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
    expression, names = parse(words), names_of(session.look(), session.core())
    found = typed(expression, session.frame(), session.core(), names)
    if found is not None and not isinstance(found.type, t.Void):
        return f"{words}: {found.type}"
    return f"{words}: {variable(words, evaluate(expression, session.frame(), session.core(), names)).type}"


def ptype(console: "CommandContext", words: str) -> str:
    """Show the definition of a type, or of an expression's type."""
    if not words:
        raise UsageError("ptype takes a type or an expression, as in `ptype Part` or `ptype part`")
    session = console.session
    scope = c_scope(session.frame())
    if scope is None:
        return whatis(console, words)
    name = words.removeprefix("struct ").strip()
    kind: t.Type | None = scope.record(name)
    if kind is None:
        expression, names = parse(words), names_of(session.look(), session.core())
        found = typed(expression, session.frame(), session.core(), names)
        kind = None if found is None else found.type
    if kind is None or isinstance(kind, t.Void):
        return whatis(console, words)
    return f"type = {_defined(kind)}"


def _defined(kind: t.Type) -> str:
    """Return a type of C with the members of the record that it is, or points to."""
    if isinstance(kind, t.Pointer) and isinstance(kind.to, t.Record):
        return f"{_defined(kind.to)} {'&' if kind.reference else '*'}"
    if not isinstance(kind, t.Record):
        return str(kind)
    rows = [f"  {declared_as(str(f.type), f.name)};  // offset {f.offset}" for f in kind.fields]
    return "\n".join([f"struct {kind.name} {{", *rows, f"}}  // {kind.size} {plural(kind.size, 'byte')}"])


def display(console: "CommandContext", words: str) -> str:
    """Show an expression at every stop."""
    if words:
        parse(words)
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
    session = console.session
    lines = []
    for number, text in console.displays.items():
        try:
            value = evaluate(
                parse(text), session.frame(), session.core(), names_of(session.look(), session.core())
            )
            shown = variable(text, value, session.look()).text
        except MlusimError as error:
            shown = f"<{error}>"
        lines.append(f"{number}: {text} = {shown}")
    return "\n".join(lines)


FORK = """A variable of the function in focus, or elements of memory as p[2:8], tensor[0, 3], region[0]; one value or as many
as there are elements.  The run forks there: it is no longer what the program does, going back and forth keeps the
change, and the program continues with what becomes of the launch's tensors, where it has not passed the launch already.
Changes behind this place in the launch are given up.  `info changes` lists them."""

COMMANDS = (
    Command("set", (), "[var] NAME|PLACE = EXPR", MEMORY, "change a variable or memory; the run forks there", set_, FORK, completes="place"),
    Command("whatis", (), "EXPR", MEMORY, "show the type of an expression", whatis, completes="place"),
    Command("ptype", (), "TYPE|EXPR", MEMORY, "show the definition of a type: its members with their offsets in bytes", ptype, completes="place"),
    Command("display", (), "[EXPR]", MEMORY, "show an expression at every stop; without EXPR all of them, here", display, completes="place"),
    Command("undisplay", (), "[NUMBER]", MEMORY, "no longer show an expression at every stop, or none of them", undisplay),
)  # fmt: skip
