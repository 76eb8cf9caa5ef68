"""What checkers cost: border_align_backward at network scale, checked over unchecked, and the memory of it."""

import time
import tracemalloc
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.timing import Row
from mlusim.arch.catalog import find_board
from mlusim.observe.names import CHECKERS
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import case_generator, run_case

BOARD = "MLU370-X4"
LIMITS = {"memcheck": 1.3, "initcheck": 2.0, "racecheck": 2.5, "synccheck": 1.3, "plancheck": 2.0}
ALL = 4.0
MEMORY = 4.0
ROUNDS = 7


def checkers() -> Iterator[Row]:
    """Each checker alone, all together, and the memory of all together."""
    for name in CHECKERS:
        yield _time(f"{name} on border_align_backward", (name,), LIMITS[name])
    yield _time("all checkers on border_align_backward", tuple(CHECKERS), ALL)
    yield _memory()


def _seconds(observe: Sequence[str]) -> float:
    """Processor seconds of one run; the machine may be busy with other things."""
    operator = find_operator("border_align_backward")
    case = next(c for c in operator.cases if c.group == "network")
    start = time.process_time()
    run_case(operator, case, board=BOARD, observe=observe, reference=False)
    return time.process_time() - start


def _time(work: str, observe: Sequence[str], limit: float) -> Row:
    pairs = [(_seconds(observe), _seconds(())) for _ in range(ROUNDS)]
    checked, plain = (min(pair[n] for pair in pairs) for n in (0, 1))  # what else runs only ever adds
    return Row(
        work, checked / plain, limit, "x unchecked", f"{checked * 1e3:.0f} ms, unchecked {plain * 1e3:.0f} ms"
    )


def _memory() -> Row:
    """Peak of what Python and NumPy hold under all checkers over the simulated memory in use.

    In use are the tensors, and NRAM and SRAM of every core and cluster that runs at once.
    """
    operator = find_operator("border_align_backward")
    case = next(c for c in operator.cases if c.group == "network")
    inputs, params = case.make(case_generator(case))
    shapes = operator.shapes(inputs, params)
    tensors = sum(a.nbytes for a in inputs.values())
    tensors += sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())
    run_case(operator, case, board=BOARD, observe=tuple(CHECKERS), reference=False)
    tracemalloc.start()
    try:
        done = run_case(operator, case, board=BOARD, observe=tuple(CHECKERS), reference=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    board = find_board(BOARD)
    on_chip = board.cores * done.memory["NRAM"].capacity
    simulated = tensors + on_chip
    detail = f"{peak / 2**20:.0f} MiB for {simulated / 2**20:.0f} MiB"
    return Row("memory of all checkers", peak / simulated, MEMORY, "x simulated memory", detail)
