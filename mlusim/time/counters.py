"""The counters of a launch, laid out once: the machine's lists, the rows of a log and the C structure follow.

Each field is a run of counters.  In C they lie behind each other in this order; in Python each is a list of its own,
which is as fast as one list for all (NumPy's arrays and ``array`` take two to three times as long for an increment),
and lets cores that nothing watches write straight to the lists of the launch.
"""

from attrs import frozen

from mlusim.memory.space import DIRECTIONS, SPACES
from mlusim.time.quantities import PLACES


@frozen
class CounterField:
    """So many counters of one *name*; ``places`` is None where there is one for each instruction of the table."""

    name: str
    places: int | None

    def many(self, rows: int = 0) -> int:
        """Return how many there are, in a table of *rows* instructions."""
        return rows if self.places is None else self.places

    def zeros(self, rows: int = 0) -> list[int]:
        """Return a list of them, in a table of *rows* instructions, with nothing counted yet."""
        return [0] * self.many(rows)


WORK = CounterField("work", PLACES)  # quantities, as `time.work` numbers them
LOADS = CounterField("loads", len(SPACES))  # scalar loads by the number of the space
STORES = CounterField("stores", len(SPACES))
TRAFFIC = CounterField("traffic", len(DIRECTIONS))  # bytes that were copied by the number of the direction
COUNTS = CounterField("counts", None)  # instructions
LINES = CounterField("lines", None)  # lines of the vector unit that they took
SPARE = CounterField("spare", None)  # bytes of these that hold no element

TASK = (WORK, LOADS, STORES)  # what each task sums up; a row of its log ends with these
CORE = (TRAFFIC, COUNTS)  # what a core adds up over its tasks, or the launch over its cores
LAUNCH = (LINES, SPARE)  # what all cores of a launch add to


def places_before(field: CounterField) -> int:
    """Return how many counters of a task stand before *field*."""
    return sum(f.many() for f in TASK[: TASK.index(field)])


TASK_PLACES = sum(field.many() for field in TASK)
