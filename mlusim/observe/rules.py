"""The rules: every id that mlusim can report, its checker, and its meaning."""

from collections.abc import Mapping

from attrs import frozen

from mlusim.observe.finding import ERROR, NOTE


@frozen
class FindingRule:
    """One rule: its id, its checker, its level, and a short description; ``quiet`` notes are reported only on request."""

    id: str
    summary: str
    level: str = ERROR
    quiet: bool = False

    @property
    def checker(self) -> str:
        """The checker's name, or "fault", "schedule" or "suppression": the part of the id before the first hyphen."""
        # An id is public: suppressions, SARIF files and marks of tests use it.
        return self.id.partition("-")[0]


_ROWS = {
    "memcheck-out-of-bounds": "an access leaves its tensor or declaration",
    "memcheck-use-after-end": "memory of a task, launch or tensor that has ended is used",
    "memcheck-read-only": "a store changes a tensor that the host passed as const, or a constant",
    "memcheck-wrong-space": "an operand is not a pointer, or points into another memory or at another type",
    # Inferred: no document of the vendor states the size of the compiler's stack.
    "memcheck-stack": "local variables that are alive at once are larger than the compiler's stack; inferred",
    "memcheck-out-of-memory": "a declaration does not fit into the memory of the board",
    "memcheck-broken-rule": "a count, size, stride or alignment breaks a rule of the instruction",
    "memcheck-unsupported": "the architecture or the core lacks the instruction or the copy",
    "memcheck-misaligned": "a scalar access is at an address that its type does not divide",
    "memcheck-memory-core": "a memory core comes to code that needs NRAM or WRAM, which it does not have",
    "memcheck-filters-before-reshape": "the tensor unit multiplies filters that were reshaped elsewhere, as they were before",
    "memcheck-filters-not-reshaped": "more than 64 filters came to WRAM in one copy, and nothing was reshaped",
    "memcheck-filters-padded": "the tensor unit multiplies filters whose number is not a multiple of 64, which the compiler pads",
    "memcheck-lanes-wasted": "a vector ends or begins inside a line of 128 bytes",
    "initcheck-undefined-stored": "bytes that were never written are stored to GDRAM",
    "initcheck-undefined-scalar": "the kernel reads a scalar out of bytes that were never written",
    "initcheck-lanes-mixed": "an instruction mixes bytes that were never written into a result that is used",
    "initcheck-undefined-address": "an instruction takes an index or an address from bytes that were never written",
    "initcheck-never-stored": "the host copies back bytes of a tensor that no task has stored",
    "racecheck-read-after-write": "an instruction reads what another pipe may not have written yet",
    "racecheck-write-after-read": "an instruction overwrites what another pipe may still be reading",
    "racecheck-write-after-write": "two pipes write the same bytes in no order",
    "racecheck-scalar-store": "a copy touches what a scalar store to GDRAM or SRAM may not have written yet",
    "racecheck-idle-sync": "a sync or a barrier puts nothing in order",
    "racecheck-tasks-read-write": "one task reads what another writes, in no order",
    "racecheck-tasks-write-write": "two tasks write the same bytes in no order",
    "racecheck-tasks-same-word": "several tasks write the same value to one word",
    "synccheck-early-return": "a task returned before a barrier that others wait at",
    "synccheck-memory-core-left": "a memory core returned before a barrier that needs it",
    "synccheck-divergence": "tasks wait at different barriers, or some at none, without end",
    "synccheck-stuck": "tasks poll memory or a mutex that no task will change",
    "synccheck-mutex-held": "a task ends while it holds a mutex",
    "synccheck-block-cluster": "a barrier of the cluster in a Block task synchronises nothing",
    "plancheck-crosses-regions": "an operand begins in one region of the plan and ends outside it",
    "plancheck-slack": "an operand lies where the plan has no region",
    "plancheck-unused-region": "a region of the plan is never used",
    "plancheck-high-water": "a task declares more NRAM than its plan has",
    "hostcheck-beyond-allocation": "a copy or a set has more bytes than the memory of the device",
    "hostcheck-use-after-free": "memory of the device is used, or freed again, after it was freed",
    "hostcheck-freed-in-use": "memory of the device is freed while work that nothing has waited for uses it",
    "hostcheck-never-copied-back": "the program ends without a look at what its kernels have written",
    "hostcheck-no-memory": "an address is used where no memory of the device is",
    "hostcheck-never-freed": "memory of the device is never given back",
    "hostcheck-read-without-sync": "the host reads what work of a queue may not have written yet",
    "hostcheck-no-order": "a launch, a copy or a set uses bytes that work of another queue may still be using",
    "hostcheck-never-waited": "the program ends without a wait for a queue that had work",
    "hostcheck-refused": "the driver refuses a call of the host",
    "valuecheck-narrowed": "an implicit conversion to a narrower integer type changes the value",
    "valuecheck-overflow": "the result of signed integers does not fit into their type",
    "valuecheck-shift": "a shift is by a negative count, or by all bits of the type or more",
    "valuecheck-float-to-integer": "a floating number is converted to an integer type that cannot hold it",
    "valuecheck-counter-wraps": "the step of a loop takes its counter beyond its type",
    "valuecheck-float-overflow": "scalar code makes an infinity or a NaN of finite floats",
    "valuecheck-half-overflow": "a finite number is beyond the largest half, and becomes an infinity",
    "valuecheck-not-finite": "a vector makes an infinity or a NaN of finite numbers",
    "valuecheck-vector-overflow": "what a vector computes with signed integers, or converts to integers, does not fit into their type",
    "valuecheck-retyped": "a vector reads floats where another type was last written, and nothing has converted it",
    "plan-carved-overlap": "bytes of one pointer variable are overwritten through another and read afterwards; inferred",
    "fault": "the program raised a fault that is of no kind of the machine's",
    "fault-out-of-bounds": "an access leaves its tensor or declaration, and memcheck does not watch",
    "fault-ended": "memory that has ended is used, and memcheck does not watch",
    "fault-read-only": "a store changes a const tensor, and memcheck does not watch",
    "fault-wrong-space": "an operand is not a pointer, or points elsewhere, and memcheck does not watch",
    "fault-out-of-memory": "a declaration or a tensor does not fit, and memcheck does not watch",
    "fault-rule-fault": "an operand breaks a rule of its instruction, and memcheck does not watch",
    "fault-unsupported": "the architecture lacks the instruction, and memcheck does not watch",
    "fault-divergence": "a task left before a barrier that others wait at, and synccheck does not watch",
    "fault-limit-reached": "a launch went on beyond its limit of instructions, CPU time or growth",
    "fault-deadlock": "no task can go on, and synccheck does not watch",
    "schedule-difference": "another legal schedule gives other results",
    "suppression-unused": "a suppression allows nothing that was found",
}
_QUIET = {
    "memcheck-filters-not-reshaped",
    "memcheck-filters-padded",
    "memcheck-lanes-wasted",
    "racecheck-idle-sync",
    "plancheck-unused-region",
    "hostcheck-never-freed",
    "suppression-unused",
}
_NOTES = {
    *_QUIET,
    "valuecheck-float-overflow",
    "valuecheck-half-overflow",
    "valuecheck-not-finite",
    "valuecheck-retyped",
    "valuecheck-vector-overflow",
}
# The other rules are errors.

RULES: Mapping[str, FindingRule] = {
    name: FindingRule(name, summary, NOTE if name in _NOTES else ERROR, name in _QUIET)
    for name, summary in _ROWS.items()
}
