"""The cost of running a program under the debugger, ready to go back to any moment, against a plain run."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ops
from benchmarks.operators import BOARD
from benchmarks.timing import Row, ratio
from mlusim.debug import Console, DebugSession
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import case_generator

CASES = (
    ("mutual_information_backward", "network"),
    ("three_interpolate_backward", "case_2"),
    ("tin_shift_forward", "golden_document"),
)
LIMIT = 1.6
WATCHED = (
    ("an intrinsic is waited for", "break bang_pow2 task 99"),
    ("bytes are watched", "watch nram+0x9000"),
    ("a function is waited for", "break computePGrad if False"),
    ("findings are waited for", "break finding synccheck"),
)
NATIVE_CASE = "border_align_backward", "network_2x70x4x256_float"
NATIVE_COMMANDS = (
    ("to its end and a step back", ("run", "reverse-stepi")),
    ("findings are waited for", ("break finding", "run")),
)
MANY = 15  # times the boxes of that case, in each launch
LAUNCHES = 5
LATE = "break kernel.mlu:180 task 31 if num_loop == 8390"
LATE_COMMANDS = (
    ("to a breakpoint near the end", 5.0, ("run", f"goto {2 * LAUNCHES}:begin", LATE, "continue")),
    ("a step back from there", 0.5, ("reverse-stepi",)),
    ("a line back from there", 0.5, ("reverse-step",)),
)
NATIVE_LIMIT = 0.3  # 0.9 with the start, whose limit is 0.6
WATCHED_LIMIT = 16.0  # a first run of small instructions, announced one by one, with lines
PARSING_FIRST = 600.0
PARSING = """
import sys, tempfile, time
from pathlib import Path
import mlusim.bangc
from mlusim.arch.catalog import find_board
from mlusim.bangc.parse.sources import Options
kernel, options = sys.argv[1], Options((), (), find_board(sys.argv[2]))
with tempfile.TemporaryDirectory() as folder:
    for n in range(10):
        begun = time.process_time()
        from mlusim.bangc.lower.module import Lowering
        from mlusim.bangc.parse.unit import parsed
        file = Path(folder, f"{n}.mlu")
        text = f"__mlu_device__ auto expression(float *x, int n) {{ return x[n + {n}] * 2; }}"
        file.write_text(f'#include "{kernel}"\\n{text}\\n')
        with parsed(str(file), options) as unit:
            unit.functions = tuple(f for f in unit.functions if f.name == "expression")
            unit.requested = {}  # the instances of kernels that the file asks for
            assert Lowering(unit).run().functions
        print((time.process_time() - begun) * 1e3)
"""


def debugger() -> Iterator[Row]:
    """Yield the cost of a whole run at the debugger's console, without breakpoints and with pending conditions."""
    for name, case in CASES:
        yield _row(f"{name} {case} under the debugger", name, case, ("run",), LIMIT)
    yield from _natively()
    yield from _many_moments()
    for what, command in WATCHED:
        yield _row(f"{CASES[0][0]}, {what}", *CASES[0], (command, "run"), WATCHED_LIMIT)
    yield from _parsed_expressions()


def _natively() -> Iterator[Row]:
    """Yield the CPU seconds, without the start, of a long launch that C runs up to the breakpoint."""
    name, case = NATIVE_CASE
    spec = find_case(find_operator(name), case)
    inputs, params = spec.make(case_generator(spec))
    ops.run(name, inputs, params, board=BOARD, engine="native")
    for what, commands in NATIVE_COMMANDS:
        begun = time.process_time()
        session = DebugSession(
            lambda observe: ops.run(name, inputs, params, board=BOARD, observe=observe, engine="native")
        )
        for command in commands:
            Console(session).execute(command)
        session.close()
        taken = time.process_time() - begun
        yield Row(
            f"{name} [2,70,4,256] in C, {what}", taken, NATIVE_LIMIT, "s of CPU", "the start is not in it"
        )


def _parsed_expressions() -> Iterator[Row]:
    """Yield the CPU milliseconds that the front end needs to parse and lower an expression after its kernel's file.

    The debugger has a parser of its own; decision 0033 compares the two.
    """
    kernel = Path(ops.__file__).parent / CASES[1][0] / "kernel.mlu"
    run = subprocess.run(  # noqa: S603 - a process of its own, for the first text loads the parser
        [sys.executable, "-c", PARSING, str(kernel), BOARD], check=True, capture_output=True, text=True
    )
    first, *rest = map(float, run.stdout.split())
    yield Row("an expression through the front end, the first", first, PARSING_FIRST, "ms of CPU")
    yield Row(
        "an expression through the front end, a new text", sorted(rest)[len(rest) // 2], 50, "ms of CPU"
    )


def _many_moments() -> Iterator[Row]:
    """Yield the CPU seconds for five launches of 1.5 million moments each: to a breakpoint near their end, and back from there."""
    name, case = NATIVE_CASE
    spec = find_case(find_operator(name), case)
    few, params = spec.make(case_generator(spec))
    inputs = {key: np.concatenate([array] * MANY, axis=1) for key, array in few.items()}
    params = {**params, "height": params["height"] * MANY}

    def program(observe: Iterable[Any]) -> None:
        for _ in range(LAUNCHES):
            ops.run(name, inputs, params, board=BOARD, observe=tuple(observe), engine="native")

    program(())
    session = DebugSession(program)
    console = Console(session)
    for what, limit, commands in LATE_COMMANDS:
        begun = time.process_time()
        for command in commands:
            _done(console, command)
        taken = time.process_time() - begun
        at = f"moment {session.position.moment:,} of launch {session.position.launch}"
        yield Row(f"{name} [2,1050,4,256] in C {LAUNCHES} times, {what}", taken, limit, "s of CPU", at)
    session.close()


def _done(console: Console, command: str) -> None:
    reply = console.execute(command)
    if not reply.ok:
        raise RuntimeError(reply.text)


def _row(work: str, name: str, case: str, commands: tuple[str, ...], limit: float) -> Row:
    spec = find_case(find_operator(name), case)
    inputs, params = spec.make(case_generator(spec))

    def plain() -> None:
        ops.run(name, inputs, params, board=BOARD)

    plain()
    measured, ours, raw = ratio(_debugged(name, inputs, params, commands), plain, 1)
    return Row(work, measured, limit, "x a plain run", f"{ours * 1e3:.0f} ms, plain {raw * 1e3:.0f} ms")


def _debugged(
    name: str, inputs: dict[str, Any], params: dict[str, Any], commands: tuple[str, ...]
) -> Callable[[], None]:
    def run() -> None:
        session = DebugSession(lambda observe: ops.run(name, inputs, params, board=BOARD, observe=observe))
        console = Console(session)
        for command in commands:
            _done(console, command)
        if not session.ended:
            raise RuntimeError(f"{commands[0]} has stopped the run that was to be measured")
        session.close()

    return run
