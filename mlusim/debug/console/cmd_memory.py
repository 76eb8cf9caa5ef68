"""The commands that show, compare and save memory and values."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from mlusim.counted import plural
from mlusim.debug.console.command import MEMORY, Command
from mlusim.debug.look.c_shown import FORM_LETTERS, bits_of, elements_from, in_form, shown_of
from mlusim.debug.look.describe import Parted, elements, pointer_text, value_text
from mlusim.debug.look.evaluate import evaluate, parse
from mlusim.debug.look.names import names_of
from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.look.places import locate, resolve
from mlusim.debug.look.regions import array_of, difference, examine, same_place
from mlusim.debug.source.frames import place_of
from mlusim.debug.stop.stops import END, ByteSpan, Position
from mlusim.errors import UsageError
from mlusim.files.arrays import open_arrays, read_array
from mlusim.files.paths import shown
from mlusim.files.writing import write
from mlusim.lazy import lazy
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM

if TYPE_CHECKING:
    from typing import Any

    from mlusim.debug import asking
    from mlusim.debug.console.command import CommandContext
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


def print_(console: "CommandContext", words: str) -> str:
    """Show the value of an expression."""
    letter, words = print_form(words, "print")
    if not words:
        raise UsageError("print takes an expression in the kernel's variables, as in `print count * 4`")
    return f"{words} = {value_in_form(console.session, words, letter)}"


def print_form(words: str, command: str) -> tuple[str, str]:
    """Return the letter of a form before an expression, or nothing, and the expression.  Raises `UsageError` for what is no form."""
    form, words = _form(words)
    letters = form["letters"] if form else ""
    if form is not None and (letters not in FORM_LETTERS or form["count"]):
        known = ", ".join(f"/{c}" for c in FORM_LETTERS)
        more = "; elements are written as p@4" if form["count"] else ""
        raise UsageError(f"{command}{form[0]} is no form; there are {known}{more}")
    return letters, words


def value_in_form(session: "DebugSession", words: str, letter: str = "") -> str:
    """Return the value of an expression in the form that *letter* names; raises `UsageError` where it has none."""
    several = _SEVERAL.match(words)
    if several is not None and (count := _count(session, several["count"])) is not None:
        return _array(session, several["place"].strip(), count, letter)
    expression, known = parse_or_assign(words), _known(session)
    bits = 0
    try:
        value = shown_of(expression, session.frame(), session.core(), known, whole=bool(letter))
        if letter:
            bits = bits_of(expression, session.frame(), session.core(), known)
    except UsageError:
        value = _elements(session, words)
        if value is None:
            raise
    if letter:
        whole = isinstance(value, Parted)
        return value.text(session.look(), letter) if whole else in_form(value, letter, bits)
    if isinstance(value, Ptr):
        return pointer_text(value, session.look(), SHOWN)
    return value_text(value, session.look())


def parse_or_assign(words: str) -> "Expression":
    """Return an expression; raises `UsageError`, for an assignment with the command that makes it."""
    try:
        return parse(words)
    except UsageError:
        given = _ASSIGNED.match(words)
        if "$" in words:
            raise UsageError(
                f"{words!r}: no values are kept under $, and there are no registers; write the expression"
            ) from None
        if given is None:
            raise
        value = (
            f"{given['name']} + 1"
            if given["op"] == "++"
            else f"{given['name']} - 1"
            if given["op"] == "--"
            else given["value"]
        )
        raise UsageError(
            f"an expression of the debugger changes nothing; `set var {given['name']} = {value.strip()}` does"
        ) from None


def _count(session: "DebugSession", text: str) -> int | None:
    """Return how many elements ``place@text`` means; None where that is no integer, as behind the @ of Python."""
    try:
        value = evaluate(parse(text), session.frame(), session.core(), _known(session))
    except UsageError:
        return None
    return int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None


def _array(session: "DebugSession", place: str, count: int, letter: str = "") -> str:
    """*count* elements from *place* on, as ``place@count`` means them."""
    of_c = elements_from(parse(place), count, session.frame(), session.core(), _known(session))
    if of_c is not None:
        return of_c.text(session.look(), letter)
    span = resolve(place, session.look(), session.core(), session.frame())
    if span.dtype is None:
        raise UsageError(
            f"{place} has no element type; write it as elements of a pointer, as in p[0]@{count}"
        )
    allocation, start = locate(span, session.look(), session.core())
    fit = (allocation.nbytes - start) // span.dtype.size
    if not 1 <= count <= min(fit, MOST):
        raise UsageError(f"{place}@{count} reaches beyond its memory; give 1 to {min(fit, MOST)} elements")
    array = np.ndarray((count,), span.dtype.dtype, allocation.raw, start)
    if letter:
        return in_form(array, letter)
    return "{" + ", ".join(elements(array)) + "}"


def _known(session: "DebugSession") -> "dict[str, Any]":
    """Return the names for expressions: memory, and the arrays of the host, dotted ones as members of what is before the dot."""
    arrays = session.arrays()
    known: dict[str, Any] = {name: array for name, array in arrays.items() if "." not in name}
    for head in dict.fromkeys(name.partition(".")[0] for name in arrays if "." in name):
        members = {n.removeprefix(f"{head}."): a for n, a in arrays.items() if n.startswith(f"{head}.")}
        known[head] = SimpleNamespace(**members)
    return known | names_of(session.look(), session.core())


def _elements(session: "DebugSession", words: str) -> "np.ndarray[Any, Any] | np.generic | None":
    """Return the element or elements that brackets with commas or a colon mean, which are no expression of Python; else None."""
    if not words.endswith("]"):
        return None
    try:
        span = resolve(words, session.look(), session.core(), session.frame())
        array = array_of(session.look(), session.core(), span)
        return array if ":" in words.rpartition("[")[2] or array.size != 1 else array.reshape(-1)[0]
    except UsageError:
        return None


def examine_(console: "CommandContext", words: str) -> str:
    """Show memory, element by element."""
    session = console.session
    form, words = _form(words)
    if not words:
        raise UsageError("x takes a place, as in `x/8f nram+0x100` or `x/4x term1`")
    given = int(form["count"]) if form and form["count"] else None
    letters = form["letters"] if form else ""
    sizes = [c for c in letters if c in "bhwg"]
    kinds = [c for c in letters if c in "fduxtc"]
    if len(sizes) > 1 or len(kinds) > 1 or len(sizes) + len(kinds) != len(letters):
        raise UsageError(
            f"x/{letters} is no form; letters: f d u x t c for the kind, b h w g for 1, 2, 4, 8 bytes"
        )
    if given is not None and not 1 <= given <= MOST:
        raise UsageError(f"x shows 1 to {MOST} elements, not {given}")
    span = resolve(words, session.look(), session.core(), session.frame())
    exact = re.search(r":\w+\]?$", words) is not None
    lines = examine(session.look(), session.core(), span, given, "".join(kinds), "".join(sizes), exact=exact)
    return "\n".join(lines)


def _form(words: str) -> "tuple[re.Match[str] | None, str]":
    if not words.startswith("/"):
        return None, words
    first, _, rest = words.partition(" ")
    found = _FORM.match(first)
    if found is None:
        raise UsageError(f"{first} is no form; write a count and letters, as in x/8f")
    return found, rest.strip()


# -- comparing and saving ----------------------------------------------------------------------------


def diff(console: "CommandContext", words: str) -> str:
    """Compare a region with another place or a file."""
    session = console.session
    place, _, other = words.rpartition(" ")
    place, other = place.strip(), other.strip()
    if not place:
        raise UsageError("diff takes a place and what to compare with: @MOMENT, FILE.npy, or an array's name")
    span = resolve(place, session.look(), session.core(), session.frame())
    ours = array_of(session.look(), session.core(), span)
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
        known = ", ".join(session.arrays()) or "none"
        raise UsageError(
            f"{text!r} is neither @MOMENT, nor a file, nor an array, nor a place; arrays that are known: {known}"
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


def _here(session: "DebugSession", text: str) -> "np.ndarray[Any, Any] | None":
    """Return the elements of another place of the device, as they are now; None where *text* is none."""
    try:
        span = resolve(text, session.look(), session.core(), session.frame())
        return array_of(session.look(), session.core(), span)
    except UsageError:
        return None


def _at_moment(session: "DebugSession", span: ByteSpan, text: str) -> "np.ndarray[Any, Any]":
    launch, _, moment = text.rpartition(":")
    number = {"begin": 0, "end": END}.get(moment)
    if number is None:
        if not moment.isdigit():
            raise UsageError(f"@{text} is no moment; write @1234, @begin, @end or @LAUNCH:MOMENT")
        number = int(moment)
    index = int(launch) if launch.isdigit() else session.position.launch
    _same_tensor(session, span, index)
    run = session.runs.aside(Position(index, number))
    try:
        assert run.stop is not None
        paused = PausedRun(run.recorded, run.session, run.tracer, run.stop)
        where, core = same_place(span, paused, session.core())
        return array_of(paused, core, where)
    finally:
        run.abandon()


def _same_tensor(session: "DebugSession", span: ByteSpan, launch: int) -> None:
    """Raise `UsageError` where *launch* was not given the tensor of GDRAM that *span* lies in here."""
    homes = session.recorded.homes
    home = next((a for a in homes if a.address <= span.low < a.address + a.nbytes), None)
    if span.space is GDRAM and home is not None and home not in session.runs.recorded(launch).homes:
        raise UsageError(f"launch {launch} was not given the tensor that {span.text} is in")


def dump(console: "CommandContext", words: str) -> str:
    """Write a region to a file."""
    session = console.session
    place, _, name = words.rpartition(" ")
    if not place or not name.endswith(".npy"):
        raise UsageError("dump takes a place and a file, as in `dump term1 term1.npy`")
    span = resolve(place.strip(), session.look(), session.core(), session.frame())
    array = array_of(session.look(), session.core(), span)
    write(name, lambda file: np.save(file, array), keep=True)
    return f"{array.size} {plural(array.size, 'element')} of {array.dtype}, shape {list(array.shape)}, written to {name}"


# -- origins -----------------------------------------------------------------------------------------


def who_wrote(console: "CommandContext", words: str) -> str:
    """Show the write that a byte comes from."""
    session = console.session
    place, _, number = words.rpartition(" ")
    deep = bool(place) and number.isdigit()
    place, depth = (place.strip(), int(number)) if deep else (words, origins.DEPTH)
    span = resolve(place, session.look(), session.core(), session.frame())
    session.leave_interrupt()
    search = asking.search_from(session, depth)
    try:
        origin = search.of_byte(origins.Byte(span.space, span.low, span.owner), place)
    finally:
        search.close()
    return "\n".join(_told(session, origin))


def why(console: "CommandContext", words: str) -> str:
    """Show where the value of an expression comes from, or why a branch was taken."""
    form = _FORM.match(words.partition(" ")[0])
    if form is not None and (form["letters"] or not form["count"]):
        raise UsageError(
            "why/ takes a number: how many links behind each other are followed, as in `why/12 count`"
        )
    depth = int(form["count"]) if form is not None else causes.FAR
    words = words.partition(" ")[2] if form is not None else words
    return "\n".join(_told(console.session, asking.cause_of(console.session, words, depth)))


def _told(
    session: "DebugSession", origin: "Origin", level: int = 0, known: "set[str] | None" = None
) -> "list[str]":
    """Return the lines of a chain; a test that led to several of its statements is told at the first."""
    known = set() if known is None else known
    indent = "  " * level
    head = f"{indent}{'from ' * (level > 0)}{origin.place}"
    if origin.moment:
        launch = f"launch {origin.launch}, " * (len(session.launches) > 1)
        line = (
            f"{head}: {origin.verb} at {launch}moment {origin.moment} by {origin.task}, {origin.instruction} "
            f"at {place_of(origin.file)}:{origin.line}"
        ) + _when(session, origin)
    else:
        line = f"{head}: {origin.note}" if origin.note else head
    because = (
        [f"{indent}  because {origin.because}"] if origin.because and origin.because not in known else []
    )
    known.add(origin.because)
    inner = (text for source in origin.sources for text in _told(session, source, level + 1, known))
    return [line, *because, *inner]


def _when(session: "DebugSession", origin: "Origin") -> str:
    """Return the predicted time of a write, where `info time` has asked for the launch's."""
    clock = session.runs.recorded(origin.launch).clock
    known = clock.at(origin.task, origin.moment) if clock is not None else None
    return f", {known[1]:.3f} us" if known is not None and known[0] == origin.moment else ""


PRINTS = """EXPR is an expression of C in a function of BANG C, of Python in a kernel of Python.  A function of the source is
called where it only computes: one that executes an intrinsic, or stores to what is not its own, is refused; macros are
expanded.  p@4 or *p@n are so many elements from there on.  FORM is one letter: x hexadecimal, z the same with leading
zeros, d signed, u unsigned, o octal, t binary, a address, c character, f float; floats are cut toward zero for integers."""

FORMS = """FORM is a count and letters: f float, d signed, u unsigned, x hexadecimal, t binary, c character; b h w g for
1, 2, 4 and 8 bytes.  Without letters the place's own type is shown, without a count all of p[2:8] or nram+0x100:64,
and of other places eight elements.  `poison` is a float that was never
written, `-1?` an integer that looks like one."""

PLACES = """PLACE is nram+0x100 (gdram, ldram, wram, sram; an offset in bytes), an address as 0x200100, either with a count
of bytes as nram+0x100:64, a region of the plan, a tensor, a declaration by its variable, or an expression that
gives a pointer; elements as p[3], p[2:8], out[0, 3, 5].  Where a region and a tensor share a name, a variable
comes first, then the region; region.NAME and tensor.NAME say which."""

WHY = """EXPR is a variable, a member, an element of memory, or what is computed of such.  Each line is a statement that gave a
value, with the values that it took below it: variables of the same function, arguments and results of functions, loads from
memory and their writers, back to literals, arguments of the launch and the host's tensors.  `because` is the test that led to the
statement.  `why branch` and `why` alone tell the last decision of the function, `why branch LINE` the last one at that line."""

COMMANDS = (
    Command("print", ("p",), "[/FORM] EXPR[@COUNT]", MEMORY, "evaluate an expression in the kernel's variables; it changes nothing", print_, PRINTS, completes="place"),
    Command("x", (), "[/FORM] PLACE", MEMORY, "show memory, element by element", examine_, FORMS + "\n" + PLACES, repeats=False, completes="place"),
    Command("diff", (), "PLACE @MOMENT|FILE.npy|ARRAY|PLACE", MEMORY, "compare memory with itself at another moment, with a file, an array, or another place", diff, "FILE.npz::NAME names an array of an .npz file; @begin and @end are moments, @LAUNCH:MOMENT another launch's.\nAn operator's inputs and reference are arrays, input.NAME and reference.NAME; so are a script's own variables.", completes="place"),
    Command("dump", (), "PLACE FILE.npy", MEMORY, "save memory as a NumPy array", dump, completes="place"),
    Command("who-wrote", ("ww",), "PLACE [DEPTH]", MEMORY, "who last wrote a byte, and where its sources came from, back to the tensors", who_wrote, completes="place"),
    Command("why", (), "[/DEPTH] [EXPR | branch [LINE]]", MEMORY, "where the value of an expression comes from, and why a branch was taken", why, WHY, completes="place"),
)  # fmt: skip
