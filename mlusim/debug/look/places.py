"""Places in memory: the addresses, regions, tensors and pointers that the user's words mean, and the names that exist."""

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from mlusim.arch.dtypes import as_dtype
from mlusim.counted import plural
from mlusim.debug.look.describe import value_text
from mlusim.debug.look.evaluate import Answer, ask, parse, pointer_at
from mlusim.debug.look.paused_run import Focus, PausedRun
from mlusim.debug.source.frames import cluster_name, name_of, variables_of
from mlusim.debug.stop.stops import ByteSpan
from mlusim.errors import UsageError
from mlusim.kernel_frames import SCOPES
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM, LDRAM_SIZE, NRAM, SPACES, SRAM, Space

if TYPE_CHECKING:
    from mlusim.machine.core import Core

_NUMBER = r"(0x[0-9a-f]+|\d+)"
_SPACE = re.compile(rf"(gdram|ldram|nram|wram|sram)(?:\s*([+-])\s*{_NUMBER})?(?::{_NUMBER})?$", re.IGNORECASE)
_ADDRESS = re.compile(rf"(0x[0-9a-f]+)(?::{_NUMBER})?$", re.IGNORECASE)
_ITEM = re.compile(r"(?P<base>.+?)\[(?P<item>[^\[\]]*)\]$", re.DOTALL)


def resolve(text: str, focus: Focus) -> ByteSpan:
    """Return the bytes of *text* for the core and in the variables of the frame in *focus*.

    *text* may be a space with an offset in bytes (``nram+0x100``) or an address (``0x200100``), either to the end of
    the declaration there or with a number of bytes (``nram+0x100:64``); a region of the plan, or a tensor or pointer
    by name (to its end); an expression whose value is a pointer (one element); or any of the last three with
    elements: ``p[3]``, ``p[2:8]``, ``tensor[0, 3, 5]``.  Raises `UsageError` for any other text, and for bytes
    outside of the core's memories.
    """
    text = text.strip()
    if not text:
        raise UsageError("name a place: a region, a tensor, nram+0x100, an address, or a pointer")
    return (
        _by_number(text, focus)
        or _by_item(text, focus)
        or _by_name(text, focus)
        or _one(_pointer(text, focus), text, focus)
    )


def ahead(text: str, paused: PausedRun) -> ByteSpan | None:
    """Return the bytes of *text* in any task, before one has begun: a region of the plan or its elements, or ``nram+0x100``.

    None for any other text; raises `UsageError` for bytes that the board's memory does not have.
    """
    form = _SPACE.match(text)
    if form is not None and form[1].upper() != GDRAM.name:
        space = next(s for s in SPACES if s.name == form[1].upper())
        first, count = _offset(form), int(form[4], 0) if form[4] else 1
        size = paused.machine.memory_limits.get(space.name, LDRAM_SIZE)
        if not 0 <= first < first + count <= size:
            raise UsageError(
                f"{text} is not a run of bytes of {space}, which has {size} on {paused.machine.board.name}"
            )
        low = paused.base(space) + first
        return ByteSpan(space, low, low + count, text, anyone=True)
    item = _ITEM.match(text)
    name = (item["base"] if item is not None else text).strip()
    for start, region in paused.nram_regions:
        if region.name == name.removeprefix("region.") and name not in paused.tensors:
            dtype, low, nbytes = as_dtype(region.dtype), paused.base(NRAM) + start, region.bytes
            if item is not None:
                first, stop = _elements(item["item"], None, Focus(paused))
                low, nbytes = low + first * dtype.size, (stop - first) * dtype.size
            return ByteSpan(NRAM, low, low + nbytes, text, dtype, anyone=True)
    return None


def _offset(form: re.Match[str]) -> int:
    offset = int(form[3], 0) if form[3] else 0
    return -offset if form[2] == "-" else offset


def locate(span: ByteSpan, focus: Focus) -> tuple[Allocation, int]:
    """Return the allocation that contains *span*, and the first byte of *span* in it.

    Raises `UsageError` for bytes outside of all live allocations.
    """
    declared = [*focus.paused.allocations(focus.core)]
    for owner, a in declared:
        inside = a.space is span.space and a.address <= span.low < a.address + max(a.nbytes, 1)
        if inside and (owner == span.owner or span.anyone):
            return a, span.low - a.address
    known = [f"{a.space} {a.address:#x}..{a.address + a.nbytes:#x}" for _, a in declared]
    raise UsageError(
        f"there is no declared memory at {span.space} {span.low:#x}; there is "
        + (", ".join(known[:6]) + (" and more" if len(known) > 6 else "") if known else "none")
    )


def owner_in(space: Space, core: "Core | None") -> str | None:
    """Return the name of the core or cluster whose *space* *core* accesses; None for GDRAM."""
    if space is GDRAM:
        return None
    if core is None:
        raise UsageError(f"{space} belongs to a task; choose one with `task N` once it has begun")
    if space is SRAM:
        if core.cluster is None:
            raise UsageError(
                "a Block task has no SRAM; the clusters of a union have, as of a launch of kind Union1"
            )
        return cluster_name(core)
    return name_of(core)


# -- the forms of places ---------------------------------------------------------------------------


def _by_number(text: str, focus: Focus) -> ByteSpan | None:
    paused, core, _ = focus
    form = _SPACE.match(text)
    if form is not None:
        space = next(s for s in SPACES if s.name == form[1].upper())
        address = paused.base(space) + _offset(form)
        found = _rest(ByteSpan(space, address, address + 1, text, owner=owner_in(space, core)), focus)
        return _bounded(found, form[4])
    form = _ADDRESS.match(text)
    if form is None:
        return None
    address = int(form[1], 0)
    for owner, a in paused.allocations(core):
        if a.address <= address < a.address + a.nbytes:
            return _bounded(ByteSpan(a.space, address, a.address + a.nbytes, text, owner=owner), form[2])
    raise UsageError(f"no memory of the device is at {text}; `info regions` and `info tensors` list what is")


def _bounded(span: ByteSpan, nbytes: str | None) -> ByteSpan:
    """Return *span*, or its first *nbytes* bytes; raises `UsageError` if it has fewer."""
    if nbytes is None:
        return span
    count = int(nbytes, 0)
    if not 1 <= count <= span.nbytes:
        raise UsageError(
            f"{span.text} means {count} {plural(count, 'byte')}; give 1 to {span.nbytes}, which are declared from there on"
        )
    return evolve(span, high=span.low + count)


def _rest(span: ByteSpan, focus: Focus) -> ByteSpan:
    allocation, start = locate(span, focus)
    dtype = focus.paused.declared(allocation)[1]
    fits = dtype is not None and start % dtype.size == 0
    return evolve(span, high=allocation.address + allocation.nbytes, dtype=dtype if fits else None)


def _by_item(text: str, focus: Focus) -> ByteSpan | None:
    parts = _ITEM.match(text)
    if parts is None:
        return None
    try:
        base, shape = _based(parts["base"], focus)
    except UsageError:
        return None  # the brackets may belong to a Python expression
    if base is None:
        return None
    size = base.view.itemsize
    first, stop = _elements(parts["item"], shape, focus)
    low = base.address + first * size
    owner = owner_in(base.space, focus.core)
    span = ByteSpan(base.space, low, low + max(stop - first, 1) * size, text, base.dtype, owner)
    locate(span, focus)
    return span


def _based(text: str, focus: Focus) -> tuple[Ptr | None, tuple[int, ...] | None]:
    """Return the pointer before the brackets, and its shape if it is a whole tensor."""
    name = text.strip()
    pointer = named(name, focus)
    if pointer is not None:
        tensor = tensor_at(pointer, focus.paused)
        return pointer, None if tensor is None else tensor.shape
    value = _asked(text, focus).value
    return (value, None) if isinstance(value, Ptr) else (None, None)


def _elements(item: str, shape: tuple[int, ...] | None, focus: Focus) -> tuple[int, int]:
    """Return the range of elements that *item* selects."""

    class Index:
        def __getitem__(self, item: object) -> Any:
            return item

    index = ask(parse(f"_index_[{item}]"), focus.frame, focus.core, {"_index_": Index()}).value
    if isinstance(index, slice):
        first = int(index.start or 0)
        if index.stop is None or index.step not in (None, 1) or index.stop <= first:
            raise UsageError(f"[{item}] is not a run of elements; write [first:stop]")
        return first, int(index.stop)
    if isinstance(index, tuple):
        if shape is None or len(index) != len(shape):
            raise UsageError(
                f"[{item}] has {len(index)} indices; {f'the shape is {list(shape)}' if shape else 'give one'}"
            )
        try:
            first = int(np.ravel_multi_index(index, shape))
        except (ValueError, TypeError) as error:
            raise UsageError(f"[{item}] is outside the shape {list(shape)}: {error}") from None
        return first, first + 1
    try:
        return int(index), int(index) + 1
    except (TypeError, ValueError):
        raise UsageError(f"[{item}] is not a number of an element; write [3], or [2:8] for several") from None


def _by_name(text: str, focus: Focus) -> ByteSpan | None:
    pointer = named(text, focus)
    if pointer is None:
        return None
    allocation = pointer.view.allocation
    high = allocation.address + allocation.nbytes
    regions = focus.paused.regions_at(allocation, pointer.offset)
    if regions:
        begins = (r for r in regions.values() if r[0] == pointer.offset)
        first = next(begins, next(iter(regions.values())))
        start, meant = regions.get(text.removeprefix("region."), first)
        high = allocation.address + start + meant.bytes
    owner = owner_in(pointer.space, focus.core)
    return ByteSpan(pointer.space, pointer.address, high, text, pointer.dtype, owner)


def _asked(text: str, focus: Focus) -> Answer:
    return ask(parse(text), focus.frame, focus.core, names_of(focus))


def _pointer(text: str, focus: Focus) -> Ptr:
    answer = _asked(text, focus)
    value = answer.value
    if not isinstance(value, Ptr) and answer.typed is not None:
        value = answer.typed.place if isinstance(answer.typed.place, Ptr) else value  # an element, as in *p
    if not isinstance(value, Ptr):
        shown = value_text(value)
        what = text if shown == text else f"{text} is {shown}, which"
        alone = text.isidentifier() and shown != text
        hint = f"`why {text}` follows the value of a variable" if alone else "`help x` lists the forms"
        raise UsageError(f"{what} is not a place in memory; {hint}")
    return value


def _one(pointer: Ptr, text: str, focus: Focus) -> ByteSpan:
    low, size = pointer.address, pointer.view.itemsize
    allocation = pointer.view.allocation
    # For example `pair[1]`, a declaration in a list.
    if pointer.offset == 0 and focus.paused.declared(allocation)[0] == text:
        size = allocation.nbytes
    span = ByteSpan(pointer.space, low, low + size, text, pointer.dtype, owner_in(pointer.space, focus.core))
    locate(span, focus)
    return span


# -- names -----------------------------------------------------------------------------------------

_BARE = re.compile(r"(?:(?P<of>tensor|region)\.)?(?P<name>[A-Za-z_]\w*)$")


def named(text: str, focus: Focus) -> Ptr | None:
    """Return the pointer *text*: a variable of the frame, a region of the plan, a tensor, or a declaration.

    ``region.NAME`` and ``tensor.NAME`` distinguish a region and a tensor with the same name.
    """
    form = _BARE.match(text)
    if form is None:
        return None
    name = form["name"]
    if form["of"]:
        every = tensor_pointers(focus.paused) if form["of"] == "tensor" else region_pointers(focus)
        return every.get(name)
    value = variables_of(focus.frame).get(name) if focus.frame is not None else None
    if not isinstance(value, Ptr):
        value = names_of(focus).get(name)
    return value if isinstance(value, Ptr) else None


def tensor_at(pointer: Ptr, paused: PausedRun) -> DeviceTensor | None:
    """Return the tensor to whose beginning *pointer* points, if there is one."""
    for allocation, argument in paused.tensors.values():
        if allocation is pointer.view.allocation and isinstance(argument, DeviceTensor):
            return argument if pointer.offset == 0 and pointer.dtype == argument.dtype else None
    return None


def names_of(focus: Focus) -> dict[str, Any]:
    """Return the pointers that an expression may name in addition to the frame's variables."""
    tensors, regions = tensor_pointers(focus.paused), region_pointers(focus)
    both = {"tensor": SimpleNamespace(**tensors), "region": SimpleNamespace(**regions)}
    scopes = getattr(focus.paused.machine.request.kernel.body, "__globals__", {}).get(SCOPES)
    of_c = {} if scopes is None else {SCOPES: scopes}  # for expressions outside of any function
    return {**of_c, **both, **declared_pointers(focus), **tensors, **regions}


def tensor_pointers(paused: PausedRun) -> dict[str, Ptr]:
    """Return a pointer to each tensor of the launch, by the name of its parameter."""
    found = {}
    for name, (allocation, argument) in paused.tensors.items():
        offset = 0 if isinstance(argument, DeviceTensor) else argument.offset
        found[name] = pointer_at(allocation, offset, argument.dtype)
    return found


def region_pointers(focus: Focus) -> dict[str, Ptr]:
    """Return a pointer to each region of the plans in the memories of the core, by name."""
    pointers: dict[str, Ptr] = {}
    for placement in focus.paused.placements(focus.core):
        buffer = placement.allocation
        for region in (region for stage in placement.layout.stages for region in stage.regions):
            start = placement.start + region.offset
            if region.name not in pointers and start < buffer.nbytes:
                pointers[region.name] = pointer_at(buffer, start, as_dtype(region.dtype))
    return pointers


def declared_pointers(focus: Focus) -> Mapping[str, Ptr]:
    """Return a pointer to each declaration of the core and its cluster that exactly one variable holds, by that name."""
    paused, core, _ = focus
    if core is None:
        return {}
    mine: list[Allocation] = [a for arena in core.arenas.values() for a in arena.allocations]
    mine += core.cluster.sram.allocations if core.cluster is not None else []
    pointers: dict[str, Ptr] = {}
    twice: set[str] = set()
    for allocation in mine:
        name, dtype = paused.declared(allocation)
        if name is None or dtype is None or not name.isidentifier():
            continue
        twice |= {name} & pointers.keys()
        pointers[name] = pointer_at(allocation, 0, dtype)
    return {name: pointer for name, pointer in pointers.items() if name not in twice}
