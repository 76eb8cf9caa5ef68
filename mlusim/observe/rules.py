"""The rules: every id that mlusim can report, who reports it, and what it means."""

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from mlusim.observe.finding import ERROR, NOTE


@frozen
class Rule:
    """One rule: its id, who reports it, its level, and its meaning in a few words."""

    id: str
    summary: str
    level: str = ERROR

    @property
    def checker(self) -> str:
        """The checker's name, or "fault", "schedule" or "suppression": what stands before the first hyphen."""
        return self.id.partition("-")[0]


_ROWS = (
    Rule("memcheck-out-of-bounds", "an access leaves its tensor or declaration"),
    Rule("memcheck-use-after-end", "memory of a task, launch or tensor that has ended is used"),
    Rule("memcheck-read-only", "a store changes a tensor that the host passed as const"),
    Rule(
        "memcheck-wrong-space", "an operand is no pointer, or points into another memory or at another type"
    ),
    Rule("memcheck-out-of-memory", "a declaration does not fit into the memory of the board"),
    Rule("memcheck-broken-rule", "a count, size, stride or alignment breaks a rule of the instruction"),
    Rule("memcheck-unsupported", "the architecture or the core lacks the instruction or the copy"),
    Rule("memcheck-misaligned", "a scalar access is at an address that its type does not divide"),
    Rule("memcheck-lanes-wasted", "a vector ends or begins inside a line of 128 bytes", NOTE),
    Rule("initcheck-undefined-stored", "bytes that were never written are stored to GDRAM"),
    Rule("initcheck-undefined-scalar", "the kernel reads a scalar out of bytes that were never written"),
    Rule(
        "initcheck-lanes-mixed",
        "an instruction mixes bytes that were never written into a result that is used",
    ),
    Rule(
        "initcheck-undefined-address",
        "an instruction takes an index or an address from bytes that were never written",
    ),
    Rule("initcheck-never-stored", "the host copies back bytes of a tensor that no task has stored"),
    Rule("racecheck-read-after-write", "an instruction reads what another pipe may not have written yet"),
    Rule("racecheck-write-after-read", "an instruction overwrites what another pipe may still be reading"),
    Rule("racecheck-write-after-write", "two pipes write the same bytes in no order"),
    Rule(
        "racecheck-scalar-store",
        "a copy touches what a scalar store to GDRAM or SRAM may not have written yet",
    ),
    Rule("racecheck-idle-sync", "a sync or a barrier puts nothing in order", NOTE),
    Rule("racecheck-tasks-read-write", "one task reads what another writes, in no order"),
    Rule("racecheck-tasks-write-write", "two tasks write the same bytes in no order"),
    Rule("racecheck-tasks-same-word", "several tasks write the same value to one word"),
    Rule("synccheck-early-return", "a task returned before a barrier that others wait at"),
    Rule("synccheck-memory-core-left", "a memory core returned before a barrier that needs it"),
    Rule("synccheck-divergence", "tasks wait at different barriers, or some at none, without end"),
    Rule("synccheck-stuck", "tasks poll memory or a mutex that no task will change"),
    Rule("synccheck-block-cluster", "a barrier of the cluster in a Block task synchronises nothing"),
    Rule("plancheck-crosses-regions", "an operand begins in one region of the plan and ends outside it"),
    Rule("plancheck-slack", "an operand lies where the plan has no region"),
    Rule("plancheck-unused-region", "a region of the plan is never used", NOTE),
    Rule("plancheck-high-water", "a task declares more NRAM than its plan has"),
    Rule(
        "plan-carved-overlap",
        "bytes of one pointer variable are overwritten through another and read afterwards; inferred",
    ),
    Rule("fault", "the program raised a fault that is of no kind of the machine's"),
    Rule("fault-out-of-bounds", "an access leaves its tensor or declaration, and memcheck does not watch"),
    Rule("fault-ended", "memory that has ended is used, and memcheck does not watch"),
    Rule("fault-read-only", "a store changes a const tensor, and memcheck does not watch"),
    Rule("fault-wrong-space", "an operand is no pointer, or points elsewhere, and memcheck does not watch"),
    Rule("fault-out-of-memory", "a declaration or a tensor does not fit, and memcheck does not watch"),
    Rule("fault-rule-fault", "an operand breaks a rule of its instruction, and memcheck does not watch"),
    Rule("fault-unsupported", "the architecture lacks the instruction, and memcheck does not watch"),
    Rule(
        "fault-divergence",
        "a task left before a barrier that others wait at, and synccheck does not watch",
    ),
    Rule("fault-limit-reached", "a launch went on beyond its limit of instructions, wall time or growth"),
    Rule("fault-deadlock", "no task can go on, and synccheck does not watch"),
    Rule("schedule-difference", "another legal schedule gives other results"),
    Rule("suppression-unused", "a suppression allows nothing that was found", NOTE),
)

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for rule in _ROWS})
