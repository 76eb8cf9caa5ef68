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


def score() -> str:
    """Run every plant and its twin under all checkers; return the page."""
    order = list(CHECKERS)
    plants = sorted(PLANTS, key=lambda it: order.index(it.checker))
    judged = [(it, judge(it, wrong=True), judge(it, wrong=False)) for it in plants]
    return "\n".join([HEAD, *_table(judged), "", *_list(judged)]) + "\n"


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
