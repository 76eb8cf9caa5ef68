"""The commands about memory and values: show, compare, trace causes, change, save; and the expressions displayed at every stop."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from mlusim.bangc import types as t
from mlusim.bangc.c_scope import function_type
from mlusim.bangc.c_syntax import NoExpression, parse_type
from mlusim.bangc.c_values import named_type
from mlusim.counted import plural
from mlusim.debug import editing
from mlusim.debug.console.command import MEMORY, Command, CommandContext, declared_as
from mlusim.debug.look.c_shown import FORM_LETTERS, bits_of, displayed, elements_from, in_form
from mlusim.debug.look.describe import Parted, elements, pointer_text, value_text
from mlusim.debug.look.evaluate import BeyondMemory, parse, unknown_names
from mlusim.debug.look.places import locate
from mlusim.debug.look.regions import array_of, difference, examine, same_place
from mlusim.debug.source.frames import place_of
from mlusim.debug.stop.stops import END, ByteSpan, Position
from mlusim.debug.values import variable
from mlusim.errors import MlusimError, UsageError
from mlusim.files.arrays import open_arrays, read_array
from mlusim.files.reading import shown
from mlusim.files.writing import write
from mlusim.lazy import lazy
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mlusim.debug import asking
    from mlusim.debug.look import causes, origins
    from mlusim.debug.look.evaluate import Expression
    from mlusim.debug.look.origins import Origin
    from mlusim.debug.session import DebugSession
else:
    asking, causes, origins = lazy(
        "mlusim.debug.asking", "mlusim.debug.look.causes", "mlusim.debug.look.origins"
    )

_FORM = re.compile(r"/(?P<count>\d*)(?P<letters>[a-z]*)$")
_SEVERAL = re.compile(r"(?P<place>[^@]*[^@\s])\s*@\s*(?P<count>[^@]+)$")
_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_][\w.\[\]>-]*?)\s*(?P<op>=(?!=)|\+\+|--)(?P<value>.*)$")
MOST = 100_000  # elements shown at once
SHOWN = 16  # elements of a pointer that `print` shows


def print_(console: CommandContext, words: str) -> str:
    """Show the value of an expression."""
    letter, words = print_form(words, "print")
    if not words:
        raise UsageError("print takes an expression in the kernel's variables, as in `print count * 4`")
    return f"{words} = {value_in_form(console.session, words, letter)}"


def print_form(words: str, command: str) -> tuple[str, str]:
    """Split *words* into the letter of the form, or "", and the expression; raises `UsageError` for an unknown form."""
    form, words = _form(words)
    letters = form["letters"] if form else ""
    if form is not None and (letters not in FORM_LETTERS or form["count"]):
        forms = ", ".join(f"/{c}" for c in FORM_LETTERS)
        more = "; elements are written as p@4" if form["count"] else ""
        raise UsageError(f"{command}{form[0]} is not a form; there are {forms}{more}")
    return letters, words


def value_in_form(session: "DebugSession", words: str, letter: str = "") -> str:
    """Return the value of an expression in the form *letter*; raises `UsageError` if the value has no such form."""
    several = _SEVERAL.match(words)
    if several is not None and (count := _count(session, several["count"])) is not None:
        return _array(session, several["place"].strip(), count, letter)
    expression, bits = parse_or_assign(words), 0
    try:
        answer = session.ask(expression, _known(session))
        value, bits = displayed(answer, whole=bool(letter)), bits_of(answer.type)
    except BeyondMemory:
        raise  # the bytes there belong to another variable: `x` shows them
    except UsageError:
        value = _elements(session, words)
        if value is None:
            raise
    if letter and not isinstance(value, Parted):
        return in_form(value, letter, bits)
    if isinstance(value, Ptr):
        return pointer_text(value, session.look(), SHOWN)
    return (
        value.text(session.look(), letter) if isinstance(value, Parted) else value_text(value, session.look())
    )


def parse_or_assign(words: str) -> "Expression":
    """Parse an expression; raises `UsageError` for anything else, with a hint at the command `set` for an assignment."""
    try:
        return parse(words)
    except UsageError:
        match = _ASSIGNED.match(words)
        if "$" in words:
            raise UsageError(
                f"{words!r}: no values are kept under $, and there are no registers; write the expression"
            ) from None
        if match is None:
            raise
        name, op = match["name"], match["op"]
        value = match["value"].strip() if op == "=" else f"{name} {op[0]} 1"
        raise UsageError(
            f"an expression of the debugger changes nothing; `set var {name} = {value}` does"
        ) from None


def _count(session: "DebugSession", text: str) -> int | None:
    """Return the element count of ``place@text``; None if *text* is not an integer, as in a matrix product in Python."""
    try:
        value = session.ask(text, _known(session)).value
    except UsageError:
        return None
    return int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None


def _array(session: "DebugSession", place: str, count: int, letter: str = "") -> str:
    """Return the text of *count* elements from *place* on, for ``place@count``."""
    of_c = elements_from(session.ask(place, _known(session)), count, place)
    if of_c is not None:
        return of_c.text(session.look(), letter)
    span = session.resolve(place)
    if span.dtype is None:
        raise UsageError(
            f"{place} has no element type; write it as elements of a pointer, as in p[0]@{count}"
        )
    allocation, start = locate(span, session.in_focus())
    fit = (allocation.nbytes - start) // span.dtype.size
    if not 1 <= count <= min(fit, MOST):
        raise UsageError(f"{place}@{count} reaches beyond its memory; give 1 to {min(fit, MOST)} elements")
    array = np.ndarray((count,), span.dtype.dtype, allocation.raw, start)
    if letter:
        return in_form(array, letter)
    return "{" + ", ".join(elements(array)) + "}"


def _known(session: "DebugSession") -> "dict[str, Any]":
    """Return the names for expressions: memories, and the host's arrays; ``input.x`` becomes a member of ``input``."""
    arrays = session.arrays()
    values: dict[str, Any] = {name: array for name, array in arrays.items() if "." not in name}
    for head in dict.fromkeys(name.partition(".")[0] for name in arrays if "." in name):
        members = {n.removeprefix(f"{head}."): a for n, a in arrays.items() if n.startswith(f"{head}.")}
        values[head] = SimpleNamespace(**members)
    return values | session.names()


def _elements(session: "DebugSession", words: str) -> "np.ndarray[Any, Any] | np.generic | None":
    """Return the elements selected by brackets with commas or a colon, which Python alone cannot evaluate; otherwise None."""
    array = _here(session, words) if words.endswith("]") else None
    if array is None or ":" in words.rpartition("[")[2] or array.size != 1:
        return array
    element: np.generic = array.reshape(-1)[0]
    return element


def _here(session: "DebugSession", text: str) -> "np.ndarray[Any, Any] | None":
    """Return the current elements of a place of the device; None if *text* is not a place."""
    try:
        return array_of(session.in_focus(), session.resolve(text))
    except UsageError:
        return None


def examine_(console: CommandContext, words: str) -> str:
    """Show memory, element by element."""
    session = console.session
    form, words = _form(words)
    if not words:
        raise UsageError("x takes a place, as in `x/8f nram+0x100` or `x/4x term1`")
    count = int(form["count"]) if form and form["count"] else None
    letters = form["letters"] if form else ""
    sizes = "".join(c for c in letters if c in "bhwg")
    kinds = "".join(c for c in letters if c in "fduxtc")
    if len(sizes) > 1 or len(kinds) > 1 or len(sizes) + len(kinds) != len(letters):
        raise UsageError(
            f"x/{letters} is not a form; letters: f d u x t c for the kind, b h w g for 1, 2, 4, 8 bytes"
        )
    if count is not None and not 1 <= count <= MOST:
        raise UsageError(f"x shows 1 to {MOST} elements, not {count}")
    span = session.resolve(words)
    exact = re.search(r":\w+\]?$", words) is not None
    return "\n".join(examine(session.in_focus(), span, count, kinds, sizes, exact=exact))


def _form(words: str) -> "tuple[re.Match[str] | None, str]":
    if not words.startswith("/"):
        return None, words
    first, _, rest = words.partition(" ")
    match = _FORM.match(first)
    if match is None:
        raise UsageError(f"{first} is not a form; write a count and letters, as in x/8f")
    return match, rest.strip()


# -- comparing and saving ----------------------------------------------------------------------------


def diff(console: CommandContext, words: str) -> str:
    """Compare a region with another place or a file."""
    session = console.session
    place, _, other = words.rpartition(" ")
    place, other = place.strip(), other.strip()
    if not place:
        raise UsageError("diff takes a place and what to compare with: @MOMENT, FILE.npy, or an array's name")
    span = session.resolve(place)
    ours = array_of(session.in_focus(), span)
    lines = difference(ours, _other(session, span, other))
    return "\n".join([f"{place} here ({session.place}) and {other} there:", *lines])


def _other(session: "DebugSession", span: ByteSpan, text: str) -> "np.ndarray[Any, Any]":
    if text.startswith("@"):
        return _at_moment(session, span, text[1:])
    if text in session.arrays():
        return np.asarray(session.arrays()[text])
    if (ours := _here(session, text)) is not None:
        return ours
    name, _, key = text.partition("::")
    if "\0" in name or not Path(name).is_file():
        arrays = ", ".join(session.arrays()) or "none"
        raise UsageError(
            f"{text!r} is neither @MOMENT, nor a file, nor an array, nor a place; arrays that are known: {arrays}"
        )
    if not key and name.endswith(".npy"):
        return read_array(name, "diff takes an .npy or .npz file")
    with open_arrays(name, "diff takes an .npy or .npz file") as stored:
        if key not in stored.members:
            names = [shown(member) for member in stored.members]
            raise UsageError(
                f"{name} holds {', '.join(names) or 'nothing'}; write {name}::{(names or ['NAME'])[0]}"
            )
        return stored.read(key)


def _at_moment(session: "DebugSession", span: ByteSpan, text: str) -> "np.ndarray[Any, Any]":
    launch, _, moment = text.rpartition(":")
    number = {"begin": 0, "end": END}.get(moment)
    if number is None:
        if not moment.isdigit():
            raise UsageError(f"@{text} is not a moment; write @1234, @begin, @end or @LAUNCH:MOMENT")
        number = int(moment)
    index = int(launch) if launch.isdigit() else session.position.launch
    _same_tensor(session, span, index)
    with session.beside(Position(index, number)) as paused:
        return array_of(same_place(span, paused, session.core()), span)


def _same_tensor(session: "DebugSession", span: ByteSpan, launch: int) -> None:
    """Raise `UsageError` if *launch* was not given the GDRAM tensor that contains *span*."""
    homes = session.recorded.homes
    home = next((a for a in homes if a.address <= span.low < a.address + a.nbytes), None)
    if span.space is GDRAM and home is not None and home not in session.runs.recorded(launch).homes:
        raise UsageError(f"launch {launch} was not given the tensor that {span.text} is in")


def dump(console: CommandContext, words: str) -> str:
    """Write a region to a file."""
    session = console.session
    place, _, name = words.rpartition(" ")
    if not place or not name.endswith(".npy"):
        raise UsageError("dump takes a place and a file, as in `dump term1 term1.npy`")
    array = array_of(session.in_focus(), session.resolve(place.strip()))
    write(name, lambda file: np.save(file, array), keep=True)
    return f"{array.size} {plural(array.size, 'element')} of {array.dtype}, shape {list(array.shape)}, written to {name}"


# -- causes ------------------------------------------------------------------------------------------


def who_wrote(console: CommandContext, words: str) -> str:
    """Show the last write of a byte."""
    session = console.session
    place, _, number = words.rpartition(" ")
    deep = bool(place) and number.isdigit()
    place, depth = (place.strip(), int(number)) if deep else (words, origins.DEPTH)
    return "\n".join(_told(session, asking.writer_of(session, place, depth)))


def why(console: CommandContext, words: str) -> str:
    """Show the origin of an expression's value, or the reason of a branch."""
    form = _FORM.match(words.partition(" ")[0])
    if form is not None and (form["letters"] or not form["count"]):
        raise UsageError("why/ takes the number of links to follow in a chain, as in `why/12 count`")
    depth = int(form["count"]) if form is not None else causes.FAR
    words = words.partition(" ")[2] if form is not None else words
    return "\n".join(_told(console.session, asking.cause_of(console.session, words, depth)))


def _told(
    session: "DebugSession", origin: "Origin", level: int = 0, shown_tests: "set[str] | None" = None
) -> "list[str]":
    """Return the lines of a chain; a condition that led to several statements is shown once, at the first."""
    shown_tests = set() if shown_tests is None else shown_tests
    indent = "  " * level
    head = f"{indent}{'from ' * (level > 0)}{origin.place}"
    if origin.moment:
        launch = f"launch {origin.launch}, " * (len(session.launches) > 1)
        clock = session.runs.recorded(origin.launch).clock
        at = clock.at(origin.task, origin.moment) if clock is not None else None
        line = (
            f"{head}: {origin.verb} at {launch}moment {origin.moment} by {origin.task}, {origin.instruction} "
            f"at {place_of(origin.file)}:{origin.line}"
        ) + (f", {at[1]:.3f} us" if at is not None and at[0] == origin.moment else "")
    else:
        line = f"{head}: {origin.note}" if origin.note else head
    because = (
        [f"{indent}  because {origin.because}"]
        if origin.because and origin.because not in shown_tests
        else []
    )
    shown_tests.add(origin.because)
    inner = (text for source in origin.sources for text in _told(session, source, level + 1, shown_tests))
    return [line, *because, *inner]


def set_(console: CommandContext, words: str) -> str:
    """Change a variable or memory."""
    target, equals, text = words.removeprefix("var ").partition("=")
    if not (target.strip() and equals and text.strip()) or text.startswith("="):
        raise UsageError(
            "set takes a variable or elements of memory, and a value, as in `set var i = 3` or `set p[2:8] = 0`"
        )
    return editing.assign(console.session, target, text)


def whatis(console: CommandContext, words: str) -> str:
    """Show the type of an expression."""
    if not words:
        raise UsageError("whatis takes an expression, as in `whatis buffer`")
    session = console.session
    of_c = _type_of(session, words)
    if of_c is not None and not isinstance(of_c, t.Void):
        return f"{words}: {of_c}"
    return f"{words}: {variable(words, session.ask(words).value).type}"


def ptype(console: CommandContext, words: str) -> str:
    """Show the definition of a type, or of an expression's type."""
    if not words:
        raise UsageError("ptype takes a type or an expression, as in `ptype Part` or `ptype part`")
    session = console.session
    kind, scope = _type_of(session, words), session.scope()
    if kind is None or scope is None or isinstance(kind, t.Void):
        return whatis(console, words)
    return f"type = {kind if isinstance(kind, str) else _defined(kind, scope.module.enumerations)}"


def _type_of(session: "DebugSession", words: str) -> "t.Type | str | None":
    """Return the C type that *words* name, or that they have as an expression; for a function its declaration; None in a Python kernel."""
    scope = session.scope()
    if scope is None:
        return None
    # A variable hides a type with the same name, as in C.
    if scope.local(words) is None:
        named = parse_type(words, scope.is_type)
        if named is not None:
            try:
                return named_type(named, scope)
            except NoExpression as refused:
                raise UsageError(str(refused)) from None
        if functions := scope.functions(words.removeprefix("&").strip()):
            return "\n".join(dict.fromkeys(function_type(f) for f in functions))
    return session.ask(words).type


def _defined(kind: t.Type, enumerations: "Mapping[str, Mapping[str, int]]") -> str:
    """Return the definition of a C type: the members of a struct, also behind a pointer or in an array, or the values of an enumeration."""
    if isinstance(kind, t.Pointer) and isinstance(kind.to, t.Struct):
        return f"{_members(kind.to)} {'&' if kind.reference else '*'}  // to {_bytes(kind.to)}"
    if isinstance(kind, t.Array) and isinstance(kind.of, t.Struct):
        return f"{_members(kind.of)} [{kind.count}]  // each of {_bytes(kind.of)}"
    if isinstance(kind, t.Arithmetic) and kind.name in enumerations:
        numbers = ", ".join(f"{name} = {number}" for name, number in enumerations[kind.name].items())
        return f"enum {kind.name} {{{numbers}}}"
    return f"{_members(kind)}  // {_bytes(kind)}" if isinstance(kind, t.Struct) else str(kind)


def _members(kind: t.Struct) -> str:
    rows = [f"  {declared_as(str(f.type), f.name)};  // offset {f.offset}" for f in kind.fields]
    return "\n".join([f"{'union' if kind.union else 'struct'} {kind.name} {{", *rows, "}"])


def _bytes(kind: t.Type) -> str:
    return f"{kind.size} {plural(kind.size, 'byte')}"


def display(console: CommandContext, words: str) -> str:
    """Show an expression at every stop."""
    if words:
        _, text = print_form(words, "display")
        if not text:
            raise UsageError("display takes an expression, as in `display count` or `display/x mask`")
        # A syntax error is reported now, not at each stop; @COUNT is not a part of the expression.
        parse_or_assign(text.partition("@")[0])
        session = console.session
        codes = [function.code for function in session.functions]
        names = session.names()
        # Names on both sides of @ must exist; any operator that the parser accepts serves to find them.
        unknown = [
            n for n in unknown_names(text.replace("@", "+"), codes, session.owned.names) if n not in names
        ]
        if unknown:
            raise UsageError(
                f"name {unknown[0]!r} is not defined in any function of the kernel; `info locals` lists what there is"
            )
        console.displayed += 1
        console.displays[console.displayed] = words
    return displays_text(console) or "nothing is displayed"


def undisplay(console: CommandContext, words: str) -> str:
    """Stop showing an expression."""
    if words and (not words.isdigit() or int(words) not in console.displays):
        displays = ", ".join(map(str, console.displays)) or "none"
        raise UsageError(f"there is no display {words!r}; there are: {displays}")
    for number in [int(words)] if words else list(console.displays):
        del console.displays[number]
    return displays_text(console) or "nothing is displayed"


def displays_text(console: CommandContext) -> str:
    """Return every displayed expression with its current value, or the reason why it has none."""
    lines = []
    for number, words in console.displays.items():
        letter, text = print_form(words, "display")
        try:
            shown = value_in_form(console.session, text, letter)
        # A name may have no value in the function of this stop; the other displays are shown all the same.
        except MlusimError as error:
            # Without the remedy, which would be repeated at every stop.
            said = str(error).partition(";")[0]
            shown = f"<{said.partition(' has no value in C: ')[2] or said}>"
        lines.append(f"{number}: {words} = {shown}")
    return "\n".join(lines)


PRINTS = """EXPR is an expression of C in a function of BANG C, of Python in a kernel of Python.  A function of the source is
called where it only computes: one that executes an intrinsic, or stores to what is not its own, is refused; macros are
expanded.  p@4 or *p@n are so many elements from there on.  FORM is one letter: x hexadecimal, z the same with leading
zeros, d signed, u unsigned, o octal, t binary, a address, c character, f float; floats are cut toward zero for integers."""

FORMS = """FORM is a count and letters: f float, d signed, u unsigned, x hexadecimal, t binary, c character; b h w g for
1, 2, 4 and 8 bytes.  Without letters the place's own type is shown, without a count all of p[2:8] or nram+0x100:64,
and of other places eight elements.  `poison` is a float that was never
written, `-1?` an integer whose bytes look as if it never was."""

PLACES = """PLACE is nram+0x100 (gdram, ldram, wram, sram; an offset in bytes), an address as 0x200100, either with a count
of bytes as nram+0x100:64, a region of the plan, a tensor, a declaration by its variable, or an expression that
gives a pointer; elements as p[3], p[2:8], out[0, 3, 5].  Where a region and a tensor share a name, a variable
comes first, then the region; region.NAME and tensor.NAME say which."""

WHY = """EXPR is a variable, a member, an element of memory, or a computation with these.  Each line is a statement that gave a
value, and below it are the values that it took: variables of the same function, arguments and results of functions, loads
from memory and their writers, back to literals, arguments of the launch and the host's tensors.  `because` is the test that
led to the statement.  `why branch`, as `why` alone, shows the last decision of the function, `why branch LINE` the last at that line."""

FORK = """A variable of the function in focus, or elements of memory as p[2:8], tensor[0, 3], region[0]; one value or as many
as there are elements.  The run forks there: it is no longer what the program does, going back and forth keeps the
change, and the program continues with what becomes of the launch's tensors, where it has not passed the launch already.
Changes that were made at later places of the launch are dropped.  `info changes` lists them."""

COMMANDS = (
    Command("print", ("p",), "[/FORM] EXPR[@COUNT]", MEMORY, "evaluate an expression in the kernel's variables; it changes nothing", print_, PRINTS, completes="place"),
    Command("x", (), "[/FORM] PLACE", MEMORY, "show memory, element by element", examine_, FORMS + "\n" + PLACES, repeats=False, completes="place"),
    Command("diff", (), "PLACE @MOMENT|FILE.npy|ARRAY|PLACE", MEMORY, "compare memory with itself at another moment, with a file, an array, or another place", diff, "FILE.npz::NAME names an array of an .npz file; @begin and @end are moments, @LAUNCH:MOMENT another launch's.\nAn operator's inputs and reference are arrays, input.NAME and reference.NAME; so are a script's own variables.", completes="place"),
    Command("dump", (), "PLACE FILE.npy", MEMORY, "save memory as a NumPy array", dump, completes="place"),
    Command("who-wrote", ("ww",), "PLACE [DEPTH]", MEMORY, "who last wrote a byte, and where its sources came from, back to the tensors", who_wrote, completes="place"),
    Command("why", (), "[/DEPTH] [EXPR | branch [LINE]]", MEMORY, "where the value of an expression comes from, and why a branch was taken", why, WHY, completes="place"),
    Command("set", (), "[var] NAME|PLACE = EXPR", MEMORY, "change a variable or memory; the run forks there", set_, FORK, completes="place"),
    Command("whatis", (), "EXPR", MEMORY, "show the type of an expression", whatis, completes="place"),
    Command("ptype", (), "TYPE|EXPR", MEMORY, "show the definition of a type: its members with their offsets in bytes", ptype, completes="place"),
    Command("display", (), "[/FORM] [EXPR[@COUNT]]", MEMORY, "show an expression at every stop; without EXPR all of them, here", display, completes="place"),
    Command("undisplay", (), "[NUMBER]", MEMORY, "no longer show an expression at every stop, or none of them", undisplay),
)  # fmt: skip
