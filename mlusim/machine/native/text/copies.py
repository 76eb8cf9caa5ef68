"""The forms of copies as C: a function of the run-time for each, generated from the actions of Python's method, and their costs.

If a check fails, the whole call is left to Python, as in the doors of other rows (`machine.native.text.door`).
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

from mlusim.engine.recipes import actions, copy_rows as at
from mlusim.engine.recipes.copy_rows import CopyForm, copy_of
from mlusim.isa.table import ISA, NUMBERS
from mlusim.memory.space import DIRECTIONS
from mlusim.time.copy_costs import FUNCTIONS, LINE_COPY, LOADED, OFF_CHIP, ON_CHIP, ROWS_LOAD, Charge

Lines = Iterator[str]
# Names of the functions, by the directions of the form.
NAMES: Mapping[str, str] = {"one": "memcpy_1d", "rows": "memcpy_rows", "started": "memcpy_start"}
_LANES = {"one": "directions", "rows": "rows_directions", "started": "async_directions"}
_PIPE = "far_direction(d) ? P_IO : P_MOVE"


@functools.cache
def copies() -> str:
    """Return the functions of all forms of copies."""
    forms = (form for name in ("memcpy", "memcpy_async") for form in copy_of(ISA[name]).forms)
    return "".join(f"{line}\n" for form in forms for line in _function(form))


def _function(form: CopyForm) -> Lines:
    shape = {
        True: "int64_t ts, int64_t fs, int64_t more, ",
        False: "",
        None: "int shaped, int64_t ts, int64_t fs, int64_t more, ",
    }
    yield f"PART void {NAMES[form.lanes]}(Core *m, int row, Ptr dst_p, Ptr src_p, int64_t size, int64_t direction, {shape[form.shaped]}int dd, int sd, int site) {{"
    yield "  IDLE_(direction >= 0 && direction < 31 && m->idle_directions >> direction & 1, )"
    yield "  NOTED_(begins_(m, site, row, -1 - direction);)"
    lends = any(isinstance(action, at.MoveBytes | at.MoveRows) for action in form.actions)
    if lends:
        yield "  int lent = 0;"
    yield "again:;"
    yield "  At dst = see(m, dst_p), src = see(m, src_p);"
    yield "  int d = (int)direction;"
    broken = [f"direction < 0 || direction >= {len(DIRECTIONS)} || !(m->{_LANES[form.lanes]} >> d & 1)"]
    broken += (text for condition in form.conditions for text in _broken(condition, form.shaped is not False))
    yield f"  if (UNLIKELY({' || '.join(broken)})) {{"
    if lends:
        yield "    if (!lent && (lent = lend_(m, dst.a->space, src.a->space, dst_p))) goto again;"
    yield "    if (deepen_(m)) goto again;"
    plain = "UP(m, row, site, a_pointer(dst_p, dd), a_pointer(src_p, sd), a_integer(size, -1), a_direction(direction)"
    long = f"{plain}, a_integer(ts, -1), a_integer(fs, -1), a_integer(more, -1))"
    yield {True: f"    {long};", False: f"    {plain});", None: f"    if (shaped) {long}; else {plain});"}[
        form.shaped
    ]
    yield "    return;"
    yield "  }"
    if form.shaped is not False:
        yield "  if (!more) ts = fs = 0; /* the strides of a single segment do not matter */"
        yield "  int64_t rows = more + 1, nbytes = size * rows, l[5];"
    yield "  m->site = site;"
    yield from _looked(form)
    for action in form.actions:
        yield from _done(type(action), form)
    yield "}"


def _done(kind: type, form: CopyForm) -> Iterator[str] | Sequence[str]:
    """Return the lines of an action of the *kind*."""
    lines = DONE[kind]
    return lines(form) if callable(lines) else lines


@functools.cache
def lane_parts(direction: int) -> tuple[str, str]:
    """Return a C function that says whether a blocking copy of one piece in *direction* can be one of several instructions that C performs together, and one that accounts for it.

    One that may poll a flag is not.
    """
    form = next(form for form in copy_of(ISA["memcpy"]).forms if form.lanes == "one")
    broken = ["m->idle_directions >> d & 1", f"!(m->{_LANES[form.lanes]} >> d & 1)", "size <= POLL_BYTES"]
    broken += (text for condition in form.conditions for text in _broken(condition, rows=False))
    head = f"copy_{direction}(Core *m, Ptr dst_p, Ptr src_p, int64_t size"
    begun = f"  enum {{ d = {direction}, row = {NUMBERS['memcpy']} }}; const At dst = see(m, dst_p), src = see(m, src_p);"
    kinds = [
        type(action)
        for action in form.actions
        if isinstance(action, at.Traffic | at.ChargeLine | actions.Count)
    ]
    paid = [line for kind in kinds for line in _done(kind, form)]
    last = "  m->source = number_(src_p); m->source_at = src.o;"
    checks = [f"ALWAYS int fits_{head}) {{", begun, f"  return !({' || '.join(broken)});", "}"]
    charges = [f"ALWAYS void paid_{head}, int64_t many_) {{", begun, *paid, last, "}"]
    return "\n".join(checks), "\n".join(charges)


@functools.cache
def costs() -> str:
    """Return the functions that charge copies, from the table of their costs."""
    return "".join(f"{line}\n" for line in (*_amounts(), *_charging(), *_loading()))


def _amounts() -> Lines:
    for function in FUNCTIONS:
        yield f"ALWAYS int64_t {function.name}({', '.join(f'int64_t {p}' for p in function.parameters)}) {{"
        yield from (f"  const int64_t {name} = {part};" for name, part in function.parts.items())
        yield f"  return {function.value};"
        yield "}"


def _charging() -> Lines:
    taken = {
        OFF_CHIP: "io_line(Core *m, int reads, int writes, int64_t to, int64_t frm, int64_t size)",
        ON_CHIP: "move_line(Core *m, int shared, int64_t size)",
    }
    for reach, head in taken.items():
        yield f"ALWAYS void {head} {{"
        yield "  m->fuel -= size;"
        yield from charged(LINE_COPY[reach], "m->work[W_{}]".format)
        yield "}"


def _loading() -> Lines:
    """Render the function that computes the load ``l`` of rows of segments."""
    yield (
        "ALWAYS void rows_load_(int far, int reads, int writes, int shared, int64_t to, int64_t to_stride, int64_t frm, "
        "int64_t from_stride, int64_t size, int64_t rows, int64_t *l) {"
    )
    yield "  int64_t transactions = 0, stalls = 0, stores = 0, lines = 0, sram = 0;"
    yield "  if (rows == 1) to_stride = from_stride = 0; /* the strides of a single segment do not matter */"
    for test, reach in (("if (far)", OFF_CHIP), ("else", ON_CHIP)):
        yield f"  {test} {{"
        yield from charged(ROWS_LOAD[reach], str)
        yield "  }"
    yield "  l[0] = transactions; l[1] = stalls; l[2] = stores; l[3] = lines; l[4] = sram;"
    yield "}"


def charged(charges: Sequence[Charge], counter: Callable[[str], str]) -> Lines:
    """Yield statements of C that add *charges*; *counter* renders the counter of each."""
    for charge in charges:
        where = " && ".join(f"({test})" for test in charge.where)
        yield f"    {f'if ({where}) ' if where else ''}{counter(charge.to)} += {charge.amount};"


def _span(side: str, *, rows: bool) -> str:
    """Render the number of bytes from the first of *side* to its last."""
    return f"(more ? more * {'ts' if side == 'dst' else 'fs'} : 0) + size" if rows else "size"


def _broken(condition: at.CopyCondition, rows: bool) -> Iterator[str]:
    """Render the negation of a required condition; that numbers are integers and pointers are the core's is already known."""
    match condition:
        case at.HasBytes():
            yield "size <= 0"
        case at.Segments():
            yield f"more < 0 || more > {at.MOST_SEGMENTS}"
            yield "(more && (size > ts || ts > 1ll << 31 || fs > 1ll << 31 || fs < 0))"
        case at.Within(side):
            yield f"out({side}, {_span(side, rows=rows)})"
        case at.Directed(side):
            yield f"{side}.a->space != DIRECTION_{side.upper()}[d]"
        case at.TargetWritable():
            yield "!dst.a->writable"
        case at.Grained():
            yield "unaligned_(d, dst.o, src.o, size)"
        case at.SidesApart(in_front):
            yield f"laps(dst, {_span('dst', rows=rows)}, src, {_span('src', rows=rows)}, {int(in_front)})"


def _looked(form: CopyForm) -> Lines:
    """Render the lines for checkers and for cores that run at the same time."""
    moved = "1, 0, 0" if form.shaped is False else "rows, ts, fs"
    told = "copy_flies_" if form.shaped is None else "copies_"
    shaped = {False: "0", True: "1", None: "shaped"}[form.shaped]
    yield f"  SCREENED_({told}(m, row, dst, src, size, {moved}, {shaped}, {_PIPE}, site);)"
    yield f"  BESIDE_(touches_copy_(m, dst, src, size, {moved}, site);)"


def _settle(form: CopyForm) -> Lines:
    moved = "1, 0, 0" if form.shaped is False else "rows, ts, fs"
    yield f"  settle_(m, {_PIPE});"
    yield f"  SCREENED_(flags_move_(m, dst, src, size, {moved}, 0, site);)"


def _traffic(form: CopyForm) -> Lines:
    nbytes = "size" if form.shaped is False else "nbytes"
    yield f"  m->traffic[d] += {nbytes};"
    yield f"  src.a->read += {nbytes};"
    if form.shaped is not False:
        yield "  m->fuel -= nbytes + rows * COSTLY_;"


def _remember(form: CopyForm) -> Lines:
    small, nbytes = ("", "size") if form.shaped is False else ("!shaped && ", "nbytes")
    yield f"  remember_(m, src_p, dst, src, {nbytes}, {small}size <= POLL_BYTES);"


_ROWS = "rows_load_(far_direction(d), FAR(DIRECTION_SRC[d]), FAR(DIRECTION_DST[d]), in_sram(d), {}, ts, {}, fs, size, rows, l);"


def _rows(_: CopyForm) -> Lines:
    yield f"  {_ROWS.format('dst.o & (UNIT - 1)', 'src.o & (UNIT - 1)')}"
    for test, reach in (("if (far_direction(d))", OFF_CHIP), ("else", ON_CHIP)):
        yield f"  {test} {{"
        yield "    const int64_t transactions = l[0], stalls = l[1], stores = l[2], lines = l[3], sram = l[4];"
        yield from charged(LOADED[reach], "m->work[W_{}]".format)
        yield "  }"


DONE: Mapping[type, Sequence[str] | Callable[[CopyForm], Lines]] = {
    at.SettlePipe: _settle,
    at.MoveBytes: (
        "  if (UNLIKELY(lent)) pay_around_(m, dst.o, 0, size, 1);",
        "  carry_(m, DIRECTION_DST[d], DIRECTION_SRC[d], at(dst), at(src), size);",
    ),
    at.MoveRows: (
        "  if (UNLIKELY(lent)) pay_around_(m, dst.o, ts, size, rows);",
        "  carry_rows_(m, DIRECTION_DST[d], DIRECTION_SRC[d], at(dst), ts, at(src), fs, size, rows);",
    ),
    at.StartFlight: (
        f"  int pipe = {_PIPE};",
        f"  {_ROWS.format('dst.o', 'src.o')}",
        "  fly_(m, (Flight){number_(dst_p), number_(src_p), dst.o, src.o, size, ts, fs, rows, pipe, -1, site, 0}, l[0], l[1], l[2], l[3], l[4]);",
        "  m->work[pipe == P_IO ? W_IO : W_MOVE] += nbytes;",
    ),
    at.ChargeLine: (
        "  if (far_direction(d)) io_line(m, FAR(DIRECTION_SRC[d]), FAR(DIRECTION_DST[d]), dst.o, src.o, size);",
        "  else move_line(m, in_sram(d), size);",
    ),
    at.ChargeRows: _rows,
    at.Traffic: _traffic,
    at.Remember: _remember,
    actions.Count: ("  m->counts[row]++;",),
}
"""The lines of each action."""
