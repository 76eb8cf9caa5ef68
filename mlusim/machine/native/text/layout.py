"""The state of a core that C and Python share while it runs natively: one table of fields, two renderings."""

import ctypes
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from mlusim.arch.board import Pipe
from mlusim.engine.contract import BUILT_INS, PATIENCE, POLL_BYTES, POLL_COPIES, POLLED, SPIN_LOADS
from mlusim.isa.table import ISA
from mlusim.isa.vv import BYTES
from mlusim.machine.native.text.loops import NAMES
from mlusim.memory.allocation import POISON
from mlusim.memory.pointer import REACH
from mlusim.memory.space import DIRECTIONS, SPACES
from mlusim.time import copy_costs, log, quantities, work

NOWHERE = len(SPACES)  # the space of the null pointer
# The numbers of the spaces of variables with an address, which are not memory of the board; all from here on.
CELL = NOWHERE + 1
MIXED = CELL + 1  # of those in which there are pointers
FUEL = 16 << 20  # bytes of instructions, a few milliseconds, after which Python handles signals
TURN_BYTES = FUEL >> 11  # the share of an iteration of a loop, and of a call of a function that calls others
LOADS = 64  # of a task from off chip, by which those of the next task are expected
OFFSET_BITS = 48  # bits of a pointer's offset; above them is the number of its allocation
MOST_ARGUMENTS = 24  # arguments of a call that Python executes
CELL_BYTES = 4 << 20  # a core's space for variables that have an address
DEEP_CELL_BYTES = 32 << 20  # the space if the kernel has recursive functions
UNSET = bytes.fromhex("8f1d3a6bc5e947025b7e0c92fd38a416e3a94d17b02c6f5819c6f2805ad7be43")
"""The first bytes of a vector register that nothing has written: no instruction produces them by chance."""
LITERAL = 1 << 40  # replaces the bytes of an element if an array is a string literal
ACCESSES = quantities.LOADS.many() + quantities.STORES.many()  # counters of scalar accesses
MOST_CELLS = 30000  # variables with an address per core; with the allocations they must fit above OFFSET_BITS
MOST_OUTLIVED = 1 << 14  # of variables that pointers may outlive, whose numbers nothing else has
MOST_ALLOCATIONS = (1 << 64 - OFFSET_BITS) - MOST_CELLS - MOST_OUTLIVED - 1

_C: dict[str, tuple[str, Any]] = {
    "i64": ("int64_t", ctypes.c_int64),
    "i16": ("int16_t", ctypes.c_int16),
    "i32": ("int32_t", ctypes.c_int32),
    "u64": ("uint64_t", ctypes.c_uint64),
    "f64": ("double", ctypes.c_double),
    "ptr": ("void *", ctypes.c_void_p),
}

Fields = tuple[tuple[str, str, int], ...]
"""The fields of a structure: name, type, number of elements."""


def _fields(kind: str, names: str) -> Fields:
    return tuple((name, kind, 1) for name in names.split())


# Counters come first, as laid out by `time.quantities`.
_CORE: Fields = (
    *((field.name, "i64", field.many(len(ISA))) for field in (*quantities.TASK, *quantities.CORE)),
    *((field.name, "ptr", 1) for field in quantities.LAUNCH),
    *_fields("i32", " ".join(BUILT_INS)),
    *_fields(
        "i32",
        "memory_core timing late compiled directions rows_directions async_directions idle_directions pending fence nflights head_transfers",
    ),
    ("head_transactions", "i64", 1),
    *_fields(
        "i32", "most_flights ncells most_cells noutlived next_outlived nlog nseen site depth nallocs argc"
    ),
    ("seen", "u64", POLLED),
    *_fields("i64", "polls looks looked others source source_at fuel cells_top met many"),
    ("asked", "i64", 3),
    *_fields("u64", "stack_end base state"),
    ("inside", "i32", 1),
    *_fields("ptr", "log flights allocs cells globals up call drop look save restore thread loops"),
    *_fields("i32", "screens hears segment"),
    *_fields("ptr", "screen records sums cell_flags parts cover steps leaving"),
    ("context", "i32", 1),
    ("loaded", "u64", 1),  # the address of the last load from off chip
    *_fields("i64", "loaded_size loaded_rows loaded_stride"),
    ("apart", "i64", 1),  # bytes from the load before to it
    ("step", "i64", 1),  # bytes from it to the next load, as expected; 0 if none is
    ("missed", "i64", 1),  # number of loads in a row that were elsewhere than expected
    (
        "past",
        "u64",
        LOADS,
    ),  # the addresses of the first such loads of the task before, or of this one as it makes them
    ("past_rows", "i64", LOADS),
    *_fields("i64", "nloads npast"),  # their numbers, of this task and of the one before
    (
        "guess",
        "u64",
        1,
    ),  # the address of the next load if this task goes on as the one before; 0 if that made no more
    *_fields("i64", "guess_rows sure"),  # its rows, and whether the last guess was right
    ("owed", "i64", 1),  # number of the allocation that is owed zeros; 0 if none is
    *_fields("i64", "owed_at owed_bytes owed_of"),  # their place and number, and the size of the allocation
    ("chain", "ptr", 1),
    ("packed", "ptr", 1),  # the rows of a log that has been full in C (`machine.native.seat`)
    *_fields("i64", "packed_words packed_rows packed_room"),
    ("jump", "u64", 64),
)
_ALLOCATION = (
    *_fields("ptr", "raw"),
    *_fields("i64", "nbytes"),
    *_fields("u64", "address"),
    *_fields("i32", "space"),
    *_fields("i16", "writable counted"),
    *_fields("i64", "read"),
    *_fields("ptr", "flags"),
    *_fields("i64", "key"),
    *_fields("i32", "last_read last_write"),
)
_ARGUMENT = (*_fields("i32", "kind dtype"), *_fields("u64", "bits"))
_FLIGHT = (
    *_fields("i64", "dst src to frm size to_stride from_stride rows"),
    *_fields("i32", "pipe number site spare"),
)
# A chain of tasks that a core runs one after the other, without Python between them (`machine.native.chain`).
_CHAIN = (
    ("many", "i64", 1),  # number of tasks; Python has begun the first
    ("at", "i64", 1),  # the running task
    ("called", "i64", 1),  # whether it has called Python, so that none follows it
    ("known", "i64", 1),  # number of arrays of functions, in the order of declaration
    ("met", "i64", 1),  # number of arrays that the task has declared
    ("given", "i64", 1),  # allocations at the kernel's beginning
    ("poisoned", "i64", 1),  # pieces of memory that are renewed
    *_fields("i64", "nrest nplaces"),
    ("nrows", "i64", 1),  # rows of the logs
    ("who", "i64", 1),  # number of this thread among those that share its tasks
    ("crew", "ptr", 1),  # words shared by these threads (`machine.native.beside`)
    *_fields("ptr", "tasks arrays pieces rest places done rows team"),
)
CHAIN_TASK = ("taskId", "taskIdX", "taskIdY", "taskIdZ", "coreId", "segment", "clusterId", "memory_core")
"""The columns of a chain's ``tasks``; the segment is the number of the union, or of the Block task."""
CHAIN_ARRAY = ("place", "site", "word", "raw", "nbytes", "fill")
"""The columns of its ``arrays``; the bytes of an array are filled with the last, unless that is negative."""
CHAIN_PIECE = ("start", "bytes", "content", "number")
"""The columns of its ``pieces``: an address, the bytes, the address of the content or one of the next two constants; and the number of the allocation
if it may become poison later, else 0."""
POISONED, ZEROS = 0, 1
FIRST_POISON = 1 << 14
"""Bytes of a large memory that are poison when a task begins; the rest becomes poison as far as the task accesses it."""
CHAIN_DONE = ("head_transactions", "head_transfers", "nlog", "met", "who")
"""The fields of ``done`` for each task after the counters, and before the bytes read of each allocation."""
CHAIN_ROWS = 2048  # rows of the logs of a chain
PACKED = 1 + log.COLUMNS * (1 + log.CHUNK)  # the most words of the rows of a full log

# Unions whose cores run in C and meet there (`machine.native.team`).  A core is numbered by its place in the
# first set, the second and so on; in the queue a union that has not begun is -1 minus its number.
_TEAM = (
    *_fields("i64", "unions members sets slots admitted first ready room"),
    ("running", "i64", 1),  # the running core
    ("strand", "i64", 1),  # its strand
    *_fields("i64", "strands idle_strands idle_sets"),
    ("called", "i64", 1),  # set if Python has taken over
    ("tensor", "i64", 1),  # number of the first tensor
    *_fields("i64", "sram"),
    *_fields(
        "ptr", "cores words call drop more taken longer switches queue strands_left sets_left table left"
    ),
    *_fields("ptr", "order scopes slot expected meetings met pieces ledger"),
)
TEAM_CORE = ("task", "strand", "begun", "ended", "slot")
"""The columns of a team's ``table``, with a row for each core."""

# A core's records of every instruction, beside its log (`machine.native.steps`), like those of
# `time.log.NotedLog` in Python.
_NOTED = (
    *_fields("i64", "site number lanes fresh"),  # the current instruction, and whether it is still uncounted
    ("open", "i64", 1),  # whether additions may exist that belong to no step yet
    *_fields("i64", "flies flight_issued flight_kind"),
    ("flight_load", "i64", len(quantities.CopyLoad._fields)),
    *_fields("i64", "fenced fence_site fence_number fence_lanes"),
    ("added_up", "i64", quantities.PLACES),
    *_fields("i64", "nturns ncuts whole room"),
    *_fields("ptr", "turns cuts owners more table"),
)
# The distinct steps of a launch; the numbers of scalar accesses by place and counter, and of the last
# instruction at each place.
_STEPS = (*_fields("i64", "many places mask room"), *_fields("ptr", "rows hash accesses last"))
STEP = ("site", "number", "lanes", "issued", "nbytes")
"""The columns of its ``rows``, before those of a row of the log."""

_TAIL = (("argv", "Argument", MOST_ARGUMENTS),)


@functools.lru_cache(maxsize=256)
def words_type(count: int) -> Any:
    """Return the array type of *count* words of C; cached, because ctypes drops a type without arrays, and creating it takes 50 us."""
    return ctypes.c_uint64 * count


def _structure(name: str, fields: Fields, *nested: tuple[str, Any, int]) -> Any:
    members = [(n, _C[t][1] if many == 1 else _C[t][1] * many) for n, t, many in fields]
    members += [(n, t * many) for n, t, many in nested]
    return type(name, (ctypes.Structure,), {"_fields_": members})


Alloc: Any = _structure("Alloc", _ALLOCATION)
Argument: Any = _structure("Argument", _ARGUMENT)
Flight: Any = _structure("Flight", _FLIGHT)
Core: Any = _structure("Core", _CORE, ("argv", Argument, MOST_ARGUMENTS))
Chain: Any = _structure("Chain", _CHAIN)
Team: Any = _structure("Team", _TEAM)
Noted, Steps = _structure("Noted", _NOTED), _structure("Steps", _STEPS)

POINTER, INTEGER, UNSIGNED, FLOAT, TEXT, DIRECTION, REGISTER = range(7)  # kinds of arguments
# The reasons for which C calls Python.
ROW, ACCESS, SPIN, ATOMIC, LOG, LAND, TICK, LIBRARY, GROW, FAULT, DISTANCE, MEET, SUSPECT, STEPS = range(14)


def _declaration(name: str, fields: Any) -> Iterator[str]:
    yield f"typedef struct {name} {{"
    for field, kind, many in fields:
        ctype = _C[kind][0] if kind in _C else kind
        yield f"  {ctype} {field}{f'[{many}]' if many > 1 else ''};"
    yield f"}} {name};"


_DECLARED: Mapping[str, Any] = {
    "Alloc": _ALLOCATION, "Argument": _ARGUMENT, "Flight": _FLIGHT, "Core": (*_CORE, *_TAIL), "Chain": _CHAIN, "Team": _TEAM,
    "Noted": _NOTED, "Steps": _STEPS,
}  # fmt: skip


def preamble() -> str:
    """Render the C declarations: the structures, and the numbers of rows, spaces, places of work and kinds of log rows."""
    constants: dict[str, int] = {
        "ROWS": len(ISA), "PLACES": quantities.PLACES, "COLUMNS": log.COLUMNS, "LOG_ROWS": log.CHUNK, "PACKED": PACKED, "LOG_SUMS": log.SUMS,
        "POLLED": POLLED, "SPIN_LOADS": SPIN_LOADS, "POLL_BYTES": POLL_BYTES, "POLL_COPIES": POLL_COPIES, "PATIENCE": PATIENCE,
        "FUEL": FUEL, "TURN_BYTES": TURN_BYTES, "SPACES": len(SPACES), "CELL": CELL, "MIXED": MIXED, "NOWHERE": NOWHERE, "OFFSET_BITS": OFFSET_BITS,
        "CELL_BYTES": DEEP_CELL_BYTES, "MOST_CELLS": MOST_CELLS, "MOST_OUTLIVED": MOST_OUTLIVED, "LINE": copy_costs.LINE, "VECTOR_BYTES": work.VECTOR_BYTES, "UNIT": copy_costs.UNIT, "START": copy_costs.START, "OPENING": quantities.OPENING, "LONGEST": quantities.LONGEST,
        "K_END": log.END, "K_IO": log.IO_FLIGHT, "K_MOVE": log.MOVE_FLIGHT, "K_WAIT": log.WAIT, "K_MEET": log.MEET,
        "FOR_IO": log.FOR_IO, "FOR_MOVE": log.FOR_MOVE, "FOR_COMPUTE": log.FOR_COMPUTE, "FOR_ALL": log.FOR_ALL,
        "IS_POINTER": POINTER, "IS_INTEGER": INTEGER, "IS_FLOAT": FLOAT, "IS_UNSIGNED": UNSIGNED, "IS_TEXT": TEXT, "IS_DIRECTION": DIRECTION, "IS_REGISTER": REGISTER, "REGISTER_BYTES": BYTES,
        "UP_ROW": ROW, "UP_ACCESS": ACCESS, "UP_GROW": GROW, "UP_SPIN": SPIN, "UP_ATOMIC": ATOMIC, "UP_LOG": LOG, "UP_LAND": LAND,
        "UP_TICK": TICK, "UP_LIBRARY": LIBRARY, "UP_FAULT": FAULT, "UP_DISTANCE": DISTANCE, "UP_MEET": MEET, "UP_SUSPECT": SUSPECT, "UP_STEPS": STEPS,
        "N_LOAD": log.LOAD, "N_STORE": log.STORE, "N_LEAVE": log.LEAVE, "MOST_STEPS": log.MOST_STEPS, "MOST_CUTS": log.MOST,
        "R_OWN": log.OWN, "R_SUMS": log.SUMS, "R_LOADS": log.LOADS, "R_STORES": log.STORES, "LOAD_PLACES": quantities.LOADS.many(), "ACCESSES": ACCESSES,
        "P_IO": log.WAITS[Pipe.IO], "P_MOVE": log.WAITS[Pipe.MOVE],
        "POISON": POISON, "TASK_PLACES": quantities.TASK_PLACES, "CHAIN_ROWS": CHAIN_ROWS, "POISONED": POISONED, "ZEROS": ZEROS, "FIRST_POISON": FIRST_POISON, "LOADS": LOADS,
    }  # fmt: skip
    constants |= {space.name: space.number for space in SPACES}
    constants |= {f"W_{name}": place for name, place in quantities.BY_NAME.items()}
    constants |= {d.name: d.value for d in DIRECTIONS}
    constants |= {name: number for number, name in enumerate(NAMES.values())}
    text = ["#include <stdint.h>", "#include <stddef.h>", f"#define REACH INT64_C({REACH})"]
    text.append("enum { " + ", ".join(f"{name} = {value}" for name, value in constants.items()) + " };")
    for name, values in (
        ("DIRECTION_SRC", [d.src.number for d in DIRECTIONS]),
        ("DIRECTION_DST", [d.dst.number for d in DIRECTIONS]),
    ):
        text.append(f"static const int8_t {name}[] = {{{', '.join(map(str, values))}}};")
    for name, fields in _DECLARED.items():
        text += _declaration(name, fields)
    for letter, columns in (
        ("T", CHAIN_TASK), ("A", CHAIN_ARRAY), ("P", CHAIN_PIECE), ("D", CHAIN_DONE), ("M", TEAM_CORE), ("S", STEP),
    ):  # fmt: skip
        names = ", ".join(f"{letter}_{name.upper()}" for name in (*columns, "columns"))
        text.append(f"enum {{ {names} }};")
    return "\n".join(text) + "\n"
