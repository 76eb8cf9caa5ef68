"""Random kernels that are right, each with a twin in which one thing is missing or too long.

A kernel is a list of operations, made with a small model of its own of what runs side by side and of what has been
written: a sync stands where the model needs one, so that taking it out is a fault, and nothing else is.
"""

import linecache
import random
from itertools import pairwise

import numpy as np
from attrs import evolve, field, frozen

import mlusim
from mlusim.bang import kernel
from mlusim.errors import Fault
from mlusim.observe.names import CHECKERS
from mlusim.plan import Plan, Region, Stage, Var, float32

UNIT = 32  # elements: 128 bytes, the granularity of every board
SIZE = 4 * UNIT
BOARDS = ("MLU370-X4", "MLU590-H8", "MLU270-S4")
HEAD = "from mlusim.bang import *\n"
COMPUTE = ("bang_add", "bang_sub", "bang_mul", "bang_maximum", "bang_minimum")


@frozen
class Op:
    """One line of a kernel: its text, where it runs, and what it reads and writes, as (name, first, end)."""

    text: str
    pipe: str = "sync"
    reads: tuple[tuple[str, int, int], ...] = ()
    writes: tuple[tuple[str, int, int], ...] = ()
    later: bool = False  # it may still run when the next line is reached
    longer: str = ""  # the same with one unit too much
    clears: tuple[str, ...] = ()


@frozen
class Planted:
    """A kernel, its faulty twin, the line of the fault (0: none to name), and the rules of which one has to be reported."""

    board: str
    right: str
    wrong: str
    line: int
    rules: tuple[str, ...]
    dim: tuple[int, int, int] = (1, 1, 1)
    kind: str = mlusim.BLOCK
    most: int = 0  # findings that it may give, one for each memory that is concerned; 0: any number
    names: dict[str, object] = field(factory=dict)


def findings(planted, *, wrong):
    """What all checkers say of the kernel or its twin: (rule, the lines that take part) of each finding."""
    source = HEAD + (planted.wrong if wrong else planted.right)
    file = f"<planted {'wrong' if wrong else 'right'}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = dict(planted.names)
    exec(compile(source, file, "exec"), names)  # noqa: S102 - our own text
    device = mlusim.Device(planted.board)
    tensors = [device.put(np.ones(8 * SIZE, np.float32)) for _ in range(4)]
    try:
        told = device.launch(
            kernel(names["body"]), planted.dim, planted.kind, tensors, observe=list(CHECKERS)
        ).findings
    except Fault as fault:
        told = fault.findings
    return [(finding.id, {finding.line, *(place.line for place in finding.places)}) for finding in told]


def text_of(ops, head="def body(mlu, x, y, out, more):"):
    """The kernel of *ops*."""
    return "\n".join([head, *(f"    {op.text}" for op in ops if op.text), ""])


# -- one core -------------------------------------------------------------------------------------


def meet(first, second):
    """Whether two operations touch the same elements, and one writes them."""
    ways = (first.writes, second.reads), (first.reads, second.writes), (first.writes, second.writes)
    return any(
        a == b and low < end and start < high
        for ours, theirs in ways
        for a, low, high in ours
        for b, start, end in theirs
    )


class Order:
    """What may still be running, by pipe, and which sync is needed before the next operation."""

    def __init__(self):
        self.running = {"io": [], "move": [], "compute": [], "scalar": []}

    def needed(self, op, draw):
        """The sync before *op*, or None."""
        held = {
            pipe
            for pipe, before in self.running.items()
            if pipe != op.pipe and (op.later or pipe in ("io", "move")) and any(meet(b, op) for b in before)
        }
        if not held or (op.pipe in ("compute", "scalar") and held <= {"compute", "scalar"}):
            return None
        narrow = {"io": "sync_io", "move": "sync_move", "compute": "sync_compute"}
        if len(held) == 1 and held <= narrow.keys() and draw.random() < 0.7:
            (pipe,) = held
            inside = ("move",) if pipe == "compute" else ()  # it waits for copies inside NRAM, too
            return Op(f"mlu.{narrow[pipe]}()", clears=(pipe, *inside))
        return Op("mlu.sync()", clears=tuple(self.running))

    def take(self, op):
        """Let *op* run."""
        for pipe in op.clears:
            self.running[pipe].clear()
        if op.pipe == "sync":
            return
        if (
            op.pipe in ("io", "move") and not op.later
        ):  # it has waited for its own pipe and for all work in order
            for pipe in (op.pipe, "compute", "scalar"):
                self.running[pipe].clear()
        else:
            self.running[op.pipe].append(op)


def part(draw):
    """A range of whole units of a buffer."""
    low = draw.randrange(SIZE // UNIT)
    return low * UNIT, draw.randint(low + 1, SIZE // UNIT) * UNIT


def operation(draw, buffers, board):
    """An operation on buffers that hold something everywhere."""
    (low, end), what = (
        part(draw),
        draw.choice(["load", "store", "move", "compute", "compute", "set", "scalar"]),
    )
    a, b, c = (draw.choice(buffers) for _ in range(3))
    later = draw.random() < 0.6 and (what != "move" or board != "MLU270-S4")
    call, size = f"mlu.memcpy{'_async' if later else ''}", end - low
    beyond = SIZE - low + UNIT  # elements up to one unit behind the buffer
    if what == "load":
        text = f"{call}({a} + {low}, {draw.choice('xy')} + {low}, {{}} * 4, GDRAM2NRAM)"
        return copy(text, "io", later, size, beyond, writes=((a, low, end),))
    if what == "store":
        text = f"{call}(out + {low}, {a} + {low}, {{}} * 4, NRAM2GDRAM)"
        return copy(text, "io", later, size, beyond, reads=((a, low, end),), writes=(("out", low, end),))
    if what == "move" and a != b:
        pipe = "compute" if board == "MLU270-S4" else "move"
        text = f"{call}({a} + {low}, {b} + {low}, {{}} * 4, NRAM2NRAM)"
        return copy(text, pipe, later, size, beyond, reads=((b, low, end),), writes=((a, low, end),))
    if what == "set":
        text = f"mlu.bang_write_value({a} + {low}, {{}}, float32({draw.randint(-3, 3)}))"
        return copy(text, "compute", False, size, beyond, writes=((a, low, end),))
    if what == "scalar":
        return Op(f"float({a}[{low}])", "scalar", reads=((a, low, low + 1),), longer=f"float({a}[{SIZE}])")
    text = f"mlu.{draw.choice(COMPUTE)}({a} + {low}, {b} + {low}, {c} + {low}, {{}})"
    reads = ((b, low, end), (c, low, end))
    return copy(text, "compute", False, size, beyond, reads=reads, writes=((a, low, end),))


def copy(text, pipe, later, size, beyond, **touched):
    """An operation of *size* elements, and the same one unit too long."""
    return Op(text.format(size), pipe, later=later, longer=text.format(beyond), **touched)


def core_kernel(draw):
    """(board, declarations, operations with the syncs that they need)."""
    board, buffers = draw.choice(BOARDS), [f"b{n}" for n in range(draw.randint(2, 4))]
    declared = [Op(f"{name} = mlu.nram(float32, {SIZE})") for name in buffers]
    wanted = []
    for name in buffers:
        half = draw.choice([0, UNIT, SIZE // 2])
        for low, end in ((0, half), (half, SIZE)):
            if end > low:
                filled = f"mlu.memcpy_async({name} + {low}, x + {low}, {{}} * 4, GDRAM2NRAM)"
                wanted.append(
                    copy(filled, "io", True, end - low, SIZE - low + UNIT, writes=((name, low, end),))
                )
    draw.shuffle(wanted)
    wanted += [operation(draw, buffers, board) for _ in range(draw.randint(6, 16))]
    order, ops = Order(), []
    for op in wanted:
        sync = order.needed(op, draw)
        for step in (sync, op) if sync else (op,):
            order.take(step)
            ops.append(step)
    return board, declared, ops


def planted_in(board, declared, ops, at, instead, rules, line):
    """The kernel, and the one with *instead* for operation *at*; the line is that of operation *line* of the right one."""
    wrong = [*ops[:at], *instead, *ops[at + 1 :]]
    number = 2 + len(declared) + line + 1 - (1 - len(instead)) * (line > at)
    return Planted(board, text_of(declared + ops), text_of(declared + wrong), number, rules)


def missing_sync(draw):
    """A kernel of one core, and the same without one of the syncs that it needs."""
    while True:
        board, declared, ops = core_kernel(draw)
        syncs = [n for n, op in enumerate(ops) if op.pipe == "sync"]
        if syncs:
            at = draw.choice(syncs)
            return planted_in(board, declared, ops, at, [], ("racecheck",), at + 1)


def unwritten(ops):
    """The first operation of *ops* that stores what was never written, by its number; None without one."""
    held = {}
    for number, op in enumerate(ops):
        poison = np.zeros(SIZE, bool)
        for name, low, end in op.reads:
            poison[low:end] |= held.setdefault(name, np.ones(SIZE, bool))[low:end]
        for name, low, end in op.writes:
            if name == "out" and poison[low:end].any():
                return number
            held.setdefault(name, np.ones(SIZE, bool))[low:end] = poison[low:end]
    return None


def uninitialised(draw):
    """A kernel of one core, and the same without one of the copies that fill a buffer, which a store then shows."""
    while True:
        board, declared, ops = core_kernel(draw)
        for at in draw.sample(range(len(ops)), len(ops)):
            left = ops[:at] + ops[at + 1 :]
            shown = unwritten(left) if ops[at].writes else None
            if shown is not None:
                return planted_in(board, declared, ops, at, [], ("initcheck",), shown + (shown >= at))


def too_long(draw):
    """A kernel of one core, and the same with one operation that leaves its buffer by a unit."""
    board, declared, ops = core_kernel(draw)
    at = draw.choice([n for n, op in enumerate(ops) if op.longer])
    longer = evolve(ops[at], text=ops[at].longer)
    return planted_in(board, declared, ops, at, [longer], ("memcheck",), at)


# -- regions of a plan ----------------------------------------------------------------------------


def wrong_region(draw):
    """Regions side by side in one buffer, and one operation that reaches one unit into the next."""
    count, board = draw.randint(2, 4), draw.choice(BOARDS)
    sizes, n = [draw.randint(2, 4) * UNIT for _ in range(count)], Var("n")
    plan = Plan(
        "random", [Stage("all", [Region(f"r{i}", n * size, float32) for i, size in enumerate(sizes)])]
    )
    scale = draw.randint(1, 2)
    ops = [Op(f"r = PLAN.place(mlu.nram(int8, {4 * scale * sum(sizes)}), n={scale})")]
    sizes = [scale * size for size in sizes]
    ops += [Op(f"mlu.memcpy(r.r{i}, x, {4 * size}, GDRAM2NRAM)") for i, size in enumerate(sizes)]
    chosen = []
    for _ in range(draw.randint(2, 6)):
        i = draw.randrange(count - 1)
        low = draw.randrange(sizes[i] // UNIT) * UNIT
        text = draw.choice(
            [
                f"mlu.bang_mul_scalar(r.r{i} + {low}, r.r{i} + {low}, 2.0, {{}})",
                f"mlu.memcpy(out, r.r{i} + {low}, {{}} * 4, NRAM2GDRAM)",
                f"mlu.memcpy(r.r{i} + {low}, y, {{}} * 4, GDRAM2NRAM)",
                f"mlu.bang_write_value(r.r{i} + {low}, {{}}, float32(1))",
            ]
        )
        chosen.append(copy(text, "compute", False, sizes[i] - low, sizes[i] - low + UNIT))
    ops += chosen
    at = draw.randrange(len(ops) - len(chosen), len(ops))
    planted = planted_in(board, [], ops, at, [evolve(ops[at], text=ops[at].longer)], ("plancheck",), at)
    return evolve(planted, names={"PLAN": plan})


# -- several tasks --------------------------------------------------------------------------------

TASKS = 4
SHARED = ("x", "y", "out", "more")


def missing_barrier(draw):
    """Return phases in which tasks write their own shares and read their neighbours', with one barrier missing."""
    while True:
        phases, busy = [], []
        for _ in range(draw.randint(2, 5)):
            written = set(draw.sample(SHARED, draw.randint(0, 2)))
            read = set(draw.sample(sorted(set(SHARED) - written), draw.randint(0, 2)))
            phases.append((written, read))
            busy.append(
                draw.sample([(name, name in written) for name in sorted(written | read)], len(written | read))
            )
        gaps = [
            n
            for n, ((written, read), (next_written, next_read)) in enumerate(pairwise(phases))
            if written & next_read or read & next_written
        ]
        if gaps:
            break
    head = [Op("if mlu.is_mpu():"), Op("    return"), Op(f"a = mlu.nram(float32, {UNIT})")]
    head += [Op(f"mlu.bang_write_zero(a, {UNIT})"), Op(f"own = mlu.taskId * {UNIT}")]
    ops, gap = list(head), draw.choice(gaps)
    for number, accesses in enumerate(busy):
        far = f"(mlu.taskId + {draw.randint(1, TASKS - 1)}) % {TASKS} * {UNIT}"
        for name, writes in accesses:
            store = f"mlu.memcpy({name} + own, a, {4 * UNIT}, NRAM2GDRAM)"
            ops.append(Op(store if writes else f"mlu.memcpy(a, {name} + {far}, {4 * UNIT}, GDRAM2NRAM)"))
        if number == gap:
            at = len(ops)
        ops.append(Op(draw.choice(["mlu.sync_all_ipu()", "mlu.sync_cluster()", "mlu.sync_all()"])))
    ops = [
        evolve(
            op, text=op.text.replace("sync_cluster", "sync_all_ipu").replace("sync_all()", "sync_all_ipu()")
        )
        for op in ops
    ]
    planted = planted_in(draw.choice(["MLU370-X4", "MLU590-H8"]), [], ops, at, [], ("racecheck-tasks",), 0)
    (written, read), (next_written, next_read) = phases[gap : gap + 2]
    most = len(written & next_read | read & next_written)
    return evolve(planted, line=0, dim=(TASKS, 1, 1), kind=mlusim.UNION1, most=most)


PLANTS = {f.__name__: f for f in (missing_sync, uninitialised, too_long, wrong_region, missing_barrier)}


def attack(name, seed):
    """Plant one fault; the right kernel has to be left alone, the wrong one to be told, on its line."""
    planted = PLANTS[name](random.Random(seed))
    clean, told = findings(planted, wrong=False), findings(planted, wrong=True)
    found = [(rule, lines) for rule, lines in told if rule.startswith(planted.rules)]

    assert [] == clean, (name, seed, clean, planted.right)
    assert found, (name, seed, told, planted.wrong)
    assert not planted.line or any(planted.line in lines for _, lines in found), (
        seed,
        planted.line,
        told,
        planted.wrong,
    )
    assert len(told) <= planted.most or not planted.most, (name, seed, told, planted.wrong)
