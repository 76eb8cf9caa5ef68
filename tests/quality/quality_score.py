"""The score of the checkers on the planted faults, as the page of the documentation keeps it.

``python tests/quality/quality_score.py > docs/reference/quality.md`` writes the page.
"""

from collections import Counter

import plants_barriers
import plants_memory
import plants_plans
import plants_races
import plants_values
from quality_plants import PLANTS, Plant, Verdict, judge

from mlusim.observe.names import CHECKERS

MODULES = (plants_memory, plants_values, plants_races, plants_barriers, plants_plans)
HEAD = """# What the checkers find

Made by `python tests/quality/quality_score.py`; `tests/quality` holds every row of it.

Each planted fault is one mistake in a correct kernel, most of them taken from fixes in the vendor's kernels.
It counts as found where the checker named for it reports the rule named for it, and as placed where the
finding stands on the faulty line.
Its innocent twin is the same kernel without the mistake, which every checker has to leave alone.
"""

TAIL = """
## What they leave alone

`mlusim check --all` runs every operator on all its cases but the long ones, on both default boards, under all checkers, and
compares what comes out with the reference.
On 2026-11-20: 879 runs with 951 launches on MLU370-X4 and MLU590-H8, no finding, no fault, nothing inaccurate; 9 min 27 s on
two cores.
One statement of mutual_information_backward is accepted by a comment: it reads the zero in front of a region with it, as its
document says (MI-10), which plancheck tells as an operand that crosses regions.
`mlusim check --all --long` takes the six runs of cases 18 to 20 of three_interpolate_backward too, minutes each, because checkers
watch in Python; five of them were made, with no finding either: all but case_20 on MLU590-H8.
The tests run the quick cases (`tests/quality/test_operators_are_clean.py`), and the examples, which have just the findings that
they are about (`tests/quality/test_examples_are_clean.py`).

## What attacks them

`make attack` (or `python -m pytest -m attack tests/fuzz`) makes 27,500 tries: for each target 1,000 that hypothesis draws and 1,500
that a search derives from inputs which reached new lines of mlusim.
`make test` makes 100 of each, and 40 of each kind of file.

| target | what is tried |
| --- | --- |
| kernels | copies, pointer arithmetic and every intrinsic with operands of any kind, with and without checkers, on three boards |
| launches | boards, grids, kinds, arguments, observers, seeds and effects of any type |
| npz | broken bytes, in the archive and in its members |
| runs | arrays of any shape and type as the inputs of operators, through `mlusim run` and `mlusim check` |
| texts | files of suppressions and replay files |
| baselines | stored runs |
| recordings | recordings of calls and of scripts, changed in their facts and in their bytes; nothing of them runs |
| sweeps | files of sweeps, with sums that are wrong or right |
| profiles | stored profiles |
| plans | claims, values and variables of plans as any text |
| commands | command lines of any words |

A try fails for anything but an answer or a sentence: a traceback from the inside, an exit code that does not go with what is
said, five minutes without an end.
On 2026-11-20 the first seven targets: 17,500 tries, no failure; six minutes of processor time.
Random kernels have faults planted into them, too (`tests/fuzz/fuzz_faults.py`): a sync that they need is taken out, or the copy that
fills a buffer, or the barrier between two phases of several tasks; an operation is one unit too long for its buffer, or for its
region.
The checkers have to name the line, one finding for one barrier, and to say nothing of the kernel without the fault: 2,000 kernels of each
kind in `make attack`, 20 in `make test`.

What earlier attacks found is kept in `tests/fuzz/test_fuzz.py`: a pointer in the place of the count of `__bang_count`, a member of an `.npz` file that is not an array, brackets deeper
than Python can follow, Python's remarks on a formula, recordings of what is not installed; and in `tests/observe/test_racecheck_tasks.py`: values of memory that had ended.

## What they cost

`python -m benchmarks checkers`, border_align_backward, the first network case, processor time of the checked over the unchecked
run, the least of seven runs each, for what else the machine does only ever adds:

| checkers | measured | limit |
| --- | --- | --- |
| memcheck | 1.04 | 1.3 |
| initcheck | 1.66 | 2.0 |
| racecheck | 1.94 | 2.5 |
| synccheck | 0.99 | 1.3 |
| plancheck | 1.54 | 2.0 |
| all | 2.40 | 4.0 |
| memory of all over simulated memory | 0.49 | 4.0 |

On the largest network case (2 x 950 x 4 x 256): memcheck 0.91, initcheck 1.91, racecheck 2.45, plancheck 1.82, all 2.93.
An unobserved launch has no trace of them (`tests/observe/test_off.py`).
"""


def score() -> str:
    """Run every plant and its twin under all checkers; return the page."""
    order = list(CHECKERS)
    plants = sorted(PLANTS, key=lambda it: order.index(it.checker))
    judged = [(it, judge(it, wrong=True), judge(it, wrong=False)) for it in plants]
    return "\n".join([HEAD, *_table(judged), "", *_list(judged)]) + "\n" + TAIL


def _table(judged: list[tuple[Plant, Verdict, Verdict]]) -> list[str]:
    planted, found, placed, silent = Counter(), Counter(), Counter(), Counter()
    for it, wrong, right in judged:
        planted[it.checker] += 1
        found[it.checker] += wrong.named(it)
        placed[it.checker] += wrong.placed(it)
        silent[it.checker] += not right.said
    lines = [
        "| checker | planted | found | on the line | twins left alone |",
        "| --- | --- | --- | --- | --- |",
    ]
    for checker, count in planted.items():
        lines.append(f"| {checker} | {count} | {found[checker]} | {placed[checker]} | {silent[checker]} |")
    totals = (planted, found, placed, silent)
    return [*lines, "| all | " + " | ".join(str(sum(t.values())) for t in totals) + " |"]


def _list(judged: list[tuple[Plant, Verdict, Verdict]]) -> list[str]:
    lines = ["| planted fault | rule | others that speak |", "| --- | --- | --- |"]
    for it, wrong, _ in judged:
        others = sorted({rule for checker, rule, _ in wrong.said if checker != it.checker})
        rule = f"[{it.rule}](rules/{it.rule}.md)"
        lines.append(f"| {it.name.replace('_', ' ')} | {rule} | {', '.join(others)} |")
    return lines


if __name__ == "__main__":
    print(score(), end="")  # noqa: T201 - it is a program
