"""Synchronisation, identification and device print: the rows that act on the core instead of on data."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from mlusim.arch.board import Pipe
from mlusim.counted import plural
from mlusim.errors import shown_file
from mlusim.isa.declare import (
    Condition,
    CoreMethod,
    Flow,
    Generation,
    Intrinsic,
    MemoryCore,
    Pointer,
    Refused,
    Unspelled,
    Values,
    alias,
    intrinsic,
    not_in_memory,
)
from mlusim.memory.pointer import Ptr


def _row(
    spelling: str, source: str, certainty: str = "C", native: Any = ""
) -> Callable[[Callable[..., Any]], Intrinsic]:
    return intrinsic(
        spelling,
        control=True,
        pipe=Pipe.SCALAR,
        flow=Flow.MIXING,
        memory_core=True,
        source=source,
        certainty=certainty,
        aligned=False,
        native=native,
    )


@_row("__sync", "develop guide, pipes and synchronisation", native=("wait", "all"))
def sync(wait: CoreMethod) -> None:
    """Wait for every outstanding instruction of this core."""
    wait("__sync")


@_row("__sync_compute", "develop guide, pipes and synchronisation")
def sync_compute(wait: CoreMethod, wait_inside: CoreMethod, generation: Generation) -> None:
    """Wait for this core's vector and tensor instructions, and for its asynchronous copies inside NRAM.

    That this sync completes such copies is inferred: vendor kernels rely on it in twelve places and give
    right results.
    """
    wait("__sync_compute", Pipe.VECTOR, Pipe.TENSOR)
    if generation > 2:  # on MLU2xx they belong to the compute stream anyway
        wait_inside("__sync_compute")


@_row("__sync_io", "develop guide, pipes and synchronisation", native=("wait", "io"))
def sync_io(wait: CoreMethod) -> None:
    """Wait for this core's IO-DMA copies (one side in GDRAM or LDRAM)."""
    wait("__sync_io", Pipe.IO)


@_row("__sync_move", "develop guide, pipes and synchronisation", native=("wait", "move"))
def sync_move(wait: CoreMethod) -> None:
    """Wait for this core's move-DMA copies (both sides on chip)."""
    wait("__sync_move", Pipe.MOVE)


@_row("__sync_io_move_compute", "develop guide, pipes and synchronisation", "I")
def sync_io_move_compute(
    wait: CoreMethod,
    from_io: bool = True,
    from_move: bool = True,
    from_compute: bool = True,
    to_io: bool = True,
    to_move: bool = True,
    to_compute: bool = True,
) -> None:
    """Wait for the streams IO, move and compute; with six flags, let the last three wait for the first three.

    With flags it is modelled as a full wait for the producing pipes, which the card also allows. racecheck
    checks the pipes that do not wait against the effects that they may overtake.
    """
    pipes = [Pipe.IO] * from_io + [Pipe.MOVE] * from_move + [Pipe.VECTOR, Pipe.TENSOR] * from_compute
    waiting = [Pipe.IO] * to_io + [Pipe.MOVE] * to_move + [Pipe.VECTOR, Pipe.TENSOR] * to_compute
    if pipes and waiting:
        every = to_io and to_move and to_compute
        wait("__sync_io_move_compute", *pipes, waiting=() if every else waiting)


@_row("__sync_cluster", "vendor function header, barriers", native=("meet", "all"))
def sync_cluster(barrier: CoreMethod) -> None:
    """Meet the IPU cores and the memory core of the own cluster; in a Block task a plain ``__sync``."""
    barrier("__sync_cluster", "cluster")


@_row("__sync_all", "vendor function header, barriers", native=("meet", "all"))
def sync_all(barrier: CoreMethod) -> None:
    """Meet every IPU and memory core of the union; in a Block task a plain ``__sync``."""
    barrier("__sync_all", "all")


@_row("__sync_all_ipu", "vendor function header, barriers", native=("meet", "ipu"))
def sync_all_ipu(barrier: CoreMethod) -> None:
    """Meet the IPU cores of the union; a memory core passes."""
    barrier("__sync_all_ipu", "all_ipu")


@_row("__sync_all_mpu", "vendor function header, barriers")
def sync_all_mpu(barrier: CoreMethod) -> None:
    """Meet the memory cores of the union; an IPU core passes."""
    barrier("__sync_all_mpu", "all_mpu")


@_row("__sync_all_ipu_within_cluster", "vendor function header, barriers", "I", native=("meet", "ipu"))
def sync_all_ipu_within_cluster(barrier: CoreMethod) -> None:
    """Meet the IPU cores of the own cluster; a memory core passes."""
    barrier("__sync_all_ipu_within_cluster", "cluster_ipu")


def _half(spelling: str, scope: str, members: str, *, waits: bool) -> Intrinsic:
    """``(barrier_id, count)``: the first or the second half of a barrier."""

    def body(half_barrier: CoreMethod, barrier_id: int, count: int) -> None:
        half_barrier(spelling, scope, barrier_id, count, waits=waits)

    body.__doc__ = (
        (
            f"Wait until *count* cores of {members} have arrived at the barrier *barrier_id*; the core's own pipes continue."
            if waits
            else f"Arrive at the barrier *barrier_id* of *count* arrivals in {members}, without waiting for other cores; waits for the core's own pipes only."
        )
        + "\n\nAfter *count* arrivals the barrier begins again; the n-th wait of a core waits for its n-th completion.  A core "
        "may arrive without waiting, and wait without arriving (all of this is inferred).  In a Block task it is a plain ``__sync``."
    )
    return _row(spelling, "vendor function header, barriers", "I")(body)


sync_cluster_arrive = _half("__sync_cluster_arrive", "cluster", "the own cluster", waits=False)
sync_cluster_wait = _half("__sync_cluster_wait", "cluster", "the own cluster", waits=True)
sync_all_arrive = _half("__sync_all_arrive", "all", "the union", waits=False)
sync_all_wait = _half("__sync_all_wait", "all", "the union", waits=True)


@_row("__is_mpu", "vendor function header, built-in variables")
def is_mpu(memory_core: MemoryCore) -> bool:
    """Return whether this is the cluster's memory core: ``coreId == 128``."""
    return memory_core


@_row("__is_ipu", "vendor function header, built-in variables")
def is_ipu(memory_core: MemoryCore) -> bool:
    """Return whether this is an IPU core."""
    return not memory_core


@_row("__bang_printf", "vendor declaration header, control")
def bang_printf(memory_core: MemoryCore, say: CoreMethod, fmt: str, *values: Values) -> None:
    """Print on the device, C style; at most 16 values; not on a memory core.

    The output of each call is shown on separate lines, even without a newline at its end: the order of calls
    in different tasks depends on the schedule, and parts of their lines would mix. ``printf`` in a kernel of
    BANG C is the same.
    """
    if memory_core:
        raise Refused("a memory core cannot print; guard it with `if mlu.is_ipu()`")
    if len(values) > 16:
        raise Refused(f"{len(values)} {plural(len(values), 'value')} to print; legal: at most 16")
    _check_format(fmt, values)
    try:
        say(_formatted(fmt, values))
    except (TypeError, ValueError) as error:
        raise Refused(
            f"the format {fmt!r} does not fit its {len(values)} {plural(len(values), 'value')}: {error}"
        ) from None


_DIRECTIVE = re.compile(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|z|j|t|L)?([a-zA-Z%])")
_LONG = ("ll", "l", "z", "j", "t")  # length modifiers of 64-bit types
_WHOLE = (int, np.integer)
_WANTED: Mapping[str, tuple[str, tuple[type, ...]]] = {
    **dict.fromkeys("diouxXc", ("an integer", _WHOLE)),
    # Both half types count as floats here: NumPy has a float class for one of them only.
    **dict.fromkeys("eEfFgGaA", ("a float", (float, np.inexact, ml_dtypes.bfloat16))),
    "s": ("a text", (str,)),
}


def _formatted(fmt: str, values: Sequence[Any]) -> str:
    """Return *values* formatted as in C; Python does not know C's size modifiers and unsigned directives."""
    pending, converted = iter(values), list[Any]()

    def directive(match: re.Match[str]) -> str:
        size, letter = match[3], match[4]
        if letter == "%":
            return match[0]
        converted.extend(itertools.islice(pending, [match[1], match[2]].count("*")))
        for value in itertools.islice(pending, 1):
            if letter == "p":
                place = getattr(value, "address", value)  # a pointer, or an integer as an address
                converted.append(hex(place) if isinstance(place, int) and place else "(nil)")
            elif letter in "diuoxX" and isinstance(value, _WHOLE):
                bits = {"hh": 8, "h": 16}.get(size or "", 64 if size in _LONG else 32)
                low = int(value) & ((1 << bits) - 1)
                converted.append(low - (1 << bits) if letter in "di" and low >> (bits - 1) else low)
            else:
                converted.append(value)
        start = match[0][: -1 - len(size or "")]
        return start + ("s" if letter == "p" else letter)

    text = _DIRECTIVE.sub(directive, fmt)
    return text % (*converted, *pending)  # Python raises for surplus values, which C ignores


def _check_format(fmt: str, values: Sequence[Any]) -> None:
    """Refuse a value whose kind or size differs from its directive's; C leaves this undefined, and the device prints garbage."""
    pending = iter(values)
    for match in _DIRECTIVE.finditer(fmt):
        size, letter = match[3], match[4]
        if letter == "%":
            continue
        for width in match.groups()[:2]:
            if width == "*":
                next(pending, None)
        value = next(pending, None)
        wanted, kinds = _WANTED.get(letter, ("", ()))
        if (
            kinds == _WHOLE
            and isinstance(value, kinds)
            and size not in _LONG
            and not -(1 << 31) <= value < 1 << 32
        ):
            raise Refused(
                f"the format takes an integer of 32 bits for {match[0]!r} and is given {value}",
                legal=f"'%l{letter}' for an integer of 64 bits",
            )
        if value is None or not kinds or isinstance(value, kinds):
            continue
        kind = next(
            (phrase.partition(" ")[2] for phrase, of in _WANTED.values() if isinstance(value, of)), "pointer"
        )
        raise Refused(
            f"the format takes {wanted} for {match[0]!r} and is given {'an' if kind == 'integer' else 'a'} {kind}",
            legal="a format whose directives are of the kinds of its values; cast a value of another",
        )


@_row("__assert_fail", "vendor declaration header, control")
def assert_fail(assertion: str, file: str = "", line: int = 0, function: str = "") -> None:
    """End the kernel with a fault that says which *assertion* failed, and where; C's ``assert`` calls it."""
    where = f" at {shown_file(file)}:{line}" if file else ""
    inside = f" in {function}" if function else ""
    raise Refused(f"assertion `{assertion}` failed{where}{inside}")


@_row("__abort", "public kernels and an editor mode for them", "I")
def abort() -> None:
    """End the kernel with a fault."""
    raise Refused("the kernel calls __abort")


@_row("__assert", "vendor function header, diagnostics", "I")
def assert_(expression: Condition, text: str = "") -> None:
    """End the kernel with a fault unless *expression* is true; *text* says what was expected."""
    if not expression:
        raise Refused(f"assertion failed: {text}" if text else "assertion failed")


@_row("__breakdump_scalar", "vendor function header, diagnostics", "I")
def breakdump_scalar(*values: Values) -> None:
    """End the kernel with a fault that shows *values*; numbers with a C type are shown with their bits."""
    if not values:
        raise Refused("nothing to show", legal="one value or more")
    shown = (
        f"{value} ({value.tobytes()[::-1].hex()})" if isinstance(value, np.generic) else str(value)
        for value in values
    )
    raise Refused(f"dump of {len(values)} scalars: {', '.join(shown)}")


@_row("__breakdump_vector", "vendor function header, diagnostics", "I")
def breakdump_vector(pointer: Pointer, size: int, space: Unspelled = None) -> None:
    """End the kernel with a fault that shows *size* bytes from *pointer* on, which must lead into *space* if given."""
    if not isinstance(pointer, Ptr):
        text = f"pointer is {not_in_memory(pointer)[0]}"
        raise Refused(text, operand="pointer", legal="a pointer into NRAM, WRAM, SRAM, LDRAM or GDRAM")
    if space is not None and pointer.space is not space:
        raise Refused(f"pointer leads into {pointer.space}", operand="pointer", legal=str(space))
    left = pointer.view.nbytes - pointer.offset if pointer.offset >= 0 else 0
    if not isinstance(size, int) or not 0 < size <= left:
        legal = (
            f"1 to {left} {plural(left, 'byte')} from pointer on"
            if left > 0
            else "a pointer to memory with bytes behind it"
        )
        raise Refused(f"size = {size!r}", operand="size", legal=legal)
    # In words of four bytes, like a memory dump.
    text = pointer.view.raw[pointer.offset : pointer.offset + size].tobytes().hex(" ", 4)
    raise Refused(
        f"dump of {size} {plural(size, 'byte')} of {pointer.space} from {pointer.address:#x} on: {text}"
    )


COMPUTE = (Pipe.VECTOR, Pipe.TENSOR)


def _old_sync(source: str, target: str, pipe: Pipe) -> Intrinsic:
    """Return the row of an older sync, which waits for the copies of one direction."""
    spelling = f"__sync_copy_{source}_to_{target}"
    in_nram = source == target == "nram"

    def body(wait: CoreMethod, generation: Generation) -> None:
        pipes = COMPUTE if in_nram and generation == 2 else (pipe,)
        wait(spelling, *pipes, route=(source.upper(), target.upper()))

    old = ", on MLU2xx of the compute stream," if in_nram else ""
    body.__doc__ = (
        f"Wait for this core's asynchronous copies from {source.upper()} to {target.upper()}.\n\n"
        f"In the simulator all copies of the {pipe.value}{old} complete; the race check regards copies issued after the last "
        f"such copy as still in flight.  Newer kernels write ``{'__sync_io' if pipe is Pipe.IO else '__sync_move'}``."
    )
    stream = "io" if pipe is Pipe.IO else "move"
    return _row(spelling, "vendor declaration header, copies", "I", ("wait", stream))(body)


sync_copy_gdram_to_nram = _old_sync("gdram", "nram", Pipe.IO)
sync_copy_nram_to_gdram = _old_sync("nram", "gdram", Pipe.IO)
sync_copy_gdram_to_wram = _old_sync("gdram", "wram", Pipe.IO)
sync_copy_gdram_to_sram = _old_sync("gdram", "sram", Pipe.IO)
sync_copy_sram_to_gdram = _old_sync("sram", "gdram", Pipe.IO)
sync_copy_gdram_to_ldram = _old_sync("gdram", "ldram", Pipe.IO)
sync_copy_gdram_to_gdram = _old_sync("gdram", "gdram", Pipe.IO)
sync_copy_wram_to_gdram = _old_sync("wram", "gdram", Pipe.IO)
sync_copy_nram_to_nram = _old_sync("nram", "nram", Pipe.MOVE)
sync_copy_nram_to_wram = _old_sync("nram", "wram", Pipe.MOVE)
sync_copy_wram_to_nram = _old_sync("wram", "nram", Pipe.MOVE)
sync_copy_sram_to_nram = _old_sync("sram", "nram", Pipe.MOVE)
sync_copy_nram_to_sram = _old_sync("nram", "sram", Pipe.MOVE)
sync_copy_sram_to_wram = _old_sync("sram", "wram", Pipe.MOVE)
sync_copy_wram_to_sram = _old_sync("wram", "sram", Pipe.MOVE)
sync_copy_dram_to_nram = alias("__sync_copy_dram_to_nram", sync_copy_gdram_to_nram)
sync_copy_nram_to_dram = alias("__sync_copy_nram_to_dram", sync_copy_nram_to_gdram)
sync_copy_dram_to_sram = alias("__sync_copy_dram_to_sram", sync_copy_gdram_to_sram)
sync_copy_sram_to_dram = alias("__sync_copy_sram_to_dram", sync_copy_sram_to_gdram)
sync_copy_dram_to_wram = alias("__sync_copy_dram_to_wram", sync_copy_gdram_to_wram)
sync_copy_wram_to_dram = alias("__sync_copy_wram_to_dram", sync_copy_wram_to_gdram)


@_row("__bang_lock", "vendor function header, built-in variables", "I")
def bang_lock(memory_core: MemoryCore, lock: CoreMethod, id0: int, id1: int) -> None:
    """Take the mutex (*id0*, *id1*) of the device; while it is taken, let other cores run.

    An IPU core passes ``id0 == id1``, a memory core two different numbers, as in the vendor's kernels.
    """
    _check_lock(memory_core, id0, id1)
    lock("__bang_lock", (id0, id1))


@_row("__bang_unlock", "vendor function header, built-in variables", "I")
def bang_unlock(memory_core: MemoryCore, unlock: CoreMethod, id0: int, id1: int) -> None:
    """Release the mutex (*id0*, *id1*)."""
    _check_lock(memory_core, id0, id1)
    unlock("__bang_unlock", (id0, id1))


def _check_lock(memory_core: bool, id0: int, id1: int) -> None:
    # The only pairs in the vendor's kernels; the meaning of other pairs is unknown.
    if memory_core == (id0 == id1):
        legal = "id0 != id1 on a memory core" if memory_core else "id0 == id1 on an IPU core"
        raise Refused(f"id0 = {id0} and id1 = {id1}", legal=legal)
