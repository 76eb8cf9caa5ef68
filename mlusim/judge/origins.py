"""The origin of each byte of a device: followed from the inputs of a call through kernels and copies to its outputs.

The computations of a candidate's host are native code and cannot be followed.  Instead, the bytes that it *reads
back* and that depend on the inputs are counted, and from then on the values that it passes to the device are
examined.
"""

import hashlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field

from mlusim.judge.wire import Array
from mlusim.machine.hub import Effect, Observer
from mlusim.machine.launch import Launch
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import Allocation

# The flags of a byte.  Without a flag, the host stored a value that does not depend on the inputs, or nothing
# was stored.
STORED, INPUT, REPLACED = (
    1,
    2,
    4,
)  # a kernel stored it last; it is an input of the call; the host overwrote what a kernel had stored
FLAG = 250  # bytes read back that may decide the next launches, such as flags and counts; less than MOST
MOST = 255  # the number of bytes read back is counted up to here
SHARE = 16  # a smaller share of an output cannot be the whole result
WORDS = 16  # integers that the host may compute from what it has read back: sizes, offsets and grids
SMALL = 64  # bytes of a block that may be parameters; a larger block is data
LARGEST = 1 << 24  # of a size or an offset in a block of parameters
KEPT = 1 << 16  # bytes read back that are compared with values passed to the device
EIGHT = 8  # bytes of the largest number


@define(eq=False)
class Handed:
    """The values that the host has passed to the device since its first read back, and the values that it had before.

    *values* are the bytes of numbers that the host received or passed before; ``words`` are integers and ``data``
    floats and bytes that occur neither in *values* nor in what was read back, each with the place that it was passed
    to.
    """

    values: set[bytes] = field(factory=set)
    words: dict[tuple[str, str], None] = field(factory=dict)
    data: dict[tuple[str, str], None] = field(factory=dict)
    _content: bytearray = field(factory=bytearray)
    _before: dict[str, tuple[int, int]] = field(factory=dict)

    def knows(self, content: bytes) -> None:
        """Note *content* that the host has read back."""
        if len(self._content) < KEPT:
            self._content += content

    def given(self, content: bytes) -> None:
        """Note a value that the host passes before it has read anything back."""
        self.values.add(content if len(content) <= SMALL else _digest(content).encode())

    def word(self, place: str, content: bytes) -> None:
        """Examine an integer or offset that is passed to *place*; a third value in an arithmetic sequence carries no information."""
        value = int.from_bytes(content, "little", signed=True)
        last, step = self._before.get(place, (value, 0))
        self._before[place] = value, value - last
        if value and not self._explained(content) and not (step and value - last == step):
            self.words[place, content.hex()] = None

    def datum(self, place: str, content: bytes) -> None:
        """Examine a float, or bytes, that are passed to *place*."""
        if not self._explained(content):
            self.data[place, content.hex() if len(content) <= EIGHT else _digest(content)] = None

    def block(self, place: str, content: bytes) -> None:
        """Examine *content* that is copied to the device: parameters, a table from before, bytes that were read back, or data."""
        if self._explained(content):
            return
        if len(content) <= SMALL and len(content) % 4 == 0:
            for at in range(0, len(content), 4):
                part = content[at : at + 4]
                small = abs(int.from_bytes(part, "little", signed=True)) < LARGEST
                (self.word if small else self.datum)(f"{place}, byte {at}", part)
        else:
            self.datum(place, content)

    def _explained(self, content: bytes) -> bool:
        same = content.count(content[:1]) == len(content) and content[:1] in (b"\0", b"\xff")
        key = content if len(content) <= SMALL else _digest(content).encode()
        return same or key in self.values or content in self._content


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


class Origins(Observer):
    """The origins of all bytes of a device during one call with *inputs*; *numbers* are the numbers passed to the host."""

    name = "origins"

    def __init__(self, inputs: Mapping[str, DeviceTensor], numbers: Sequence[float] = ()) -> None:
        self._names = {tensor.allocation: name for name, tensor in inputs.items()}
        self._flags: dict[Allocation, Array] = {}
        # The number of bytes read back before a byte was stored, where it was not 0.
        self._known: dict[Allocation, Array] = {}
        self._read = 0  # bytes that depend on the inputs
        # The number of launches before each copy to the host, and the name of the copied memory.
        self._fetched: list[tuple[int, str]] = []
        self._launches = 0
        self.handed = Handed({packed for number in numbers for packed in _forms(number)})

    @property
    def informed(self) -> bool:
        """True if the host has read back something that depends on the inputs."""
        return self._read > 0

    # -- kernels ---------------------------------------------------------------------------------

    def effect(self, effect: Effect) -> None:
        """Note the bytes that an instruction stores to memory of the device."""
        for access in effect.step.writes:
            allocation = access.allocation
            if allocation.heap is not None:
                flags = self._of(allocation)
                informed = self._known_of(allocation)
                for start in access.starts:
                    flags[start : start + access.size] = STORED
                    if informed is not None:
                        informed[start : start + access.size] = min(self._read, MOST)

    def launched(self, launch: Launch) -> None:
        """Count a completed launch."""
        del launch
        self._launches += 1

    # -- the host --------------------------------------------------------------------------------

    def read_back(self, allocation: Allocation, low: int, high: int) -> None:
        """Note that the host copies bytes [*low*, *high*) of *allocation* to itself."""
        flags = self._flags.get(allocation)
        if flags is None:
            count = high - low if allocation in self._names else 0
        else:
            count = int(np.count_nonzero(flags[low:high]))
        if not count:
            return
        content = allocation.raw[low:high].tobytes()
        if len(content) <= EIGHT:  # a flag has only one significant byte
            count = max(1, len(content.rstrip(b"\0")))
        self.learned(count, self._names.get(allocation, "memory of the device"), content)

    def learned(self, count: int, name: str, content: bytes = b"") -> None:
        """Note that the host received *count* more bytes that depend on the inputs: *content* of *name*."""
        self._read += count
        self._fetched.append((self._launches, name))
        self.handed.knows(content)

    def written(self, allocation: Allocation, low: int, content: bytes, *, place: str) -> None:
        """Note that the host copies *content* to *allocation* at byte *low*; *place* describes the copy in words."""
        if self.informed:
            self.handed.block(place, content)
        else:
            self.handed.given(content)
        self._replace(allocation, low, low + len(content), 0)

    def filled(self, allocation: Allocation, low: int, high: int, word: bytes, *, place: str) -> None:
        """Note that the host fills bytes [*low*, *high*) of *allocation* with the repeated *word*."""
        if self.informed:
            self.handed.block(place, word)
        self._replace(allocation, low, high, 0)

    def by_library(self, allocation: Allocation, low: int, content: bytes, *, place: str) -> None:
        """Note that a library has stored *content*, which it may have computed from any data."""
        self.handed.datum(place, content)
        self._replace(allocation, low, low + len(content), 0)

    def moved(self, target: Allocation, to: int, source: Allocation, at: int, nbytes: int) -> None:
        """Note a copy of *nbytes* bytes within the device; each byte keeps its origin."""
        self._replace(target, to, to + nbytes, self._of(source)[at : at + nbytes].copy())
        if self._known or self.informed:
            after, before = self._known_of(target), self._known_of(source)
            assert after is not None
            assert before is not None
            after[to : to + nbytes] = before[at : at + nbytes].copy()

    def _replace(self, allocation: Allocation, low: int, high: int, flags: Array | int) -> None:
        held = self._of(allocation)[low:high]
        held[:] = (
            np.where((held & (STORED | REPLACED) != 0) & (np.asarray(flags) & STORED == 0), REPLACED, 0)
            | flags
        )

    def _of(self, allocation: Allocation) -> Array:
        flags = self._flags.get(allocation)
        if flags is None:
            flags = np.full(allocation.raw.size, INPUT if allocation in self._names else 0, np.uint8)
            self._flags[allocation] = flags
        return flags

    def _known_of(self, allocation: Allocation) -> Array | None:
        reads = self._known.get(allocation)
        if reads is None and (self._known or self.informed):
            reads = self._known[allocation] = np.zeros(allocation.raw.size, np.uint8)
        return reads

    # -- the end ---------------------------------------------------------------------------------

    def facts(self, outputs: "Mapping[str, Any]", inputs: Sequence[str]) -> dict[str, Any]:
        """Return the facts for a verdict: outputs that no kernel stored completely, outputs that the host changed, and what the host knew before.

        *outputs* are `LeftOutput`s; *inputs* names those that are inputs too, which kernels may leave unchanged.
        """
        unstored, replaced, informed = [], [], False
        for name, output in outputs.items():
            if not output.nbytes:
                continue
            flags = output.picked(self._of(output.allocation))
            if (flags & REPLACED).any():
                replaced.append(name)
            elif not (flags & (STORED | INPUT if name in inputs else STORED)).all():
                unstored.append(name)
            reads = self._known.get(output.allocation)
            most = min(FLAG, output.nbytes // SHARE)
            informed |= reads is not None and bool((output.picked(reads) > most).any())
        fetched = dict.fromkeys(name for before, name in self._fetched if before < self._launches)
        return {
            "unstored": unstored,
            "refilled": replaced,
            "read": list(fetched),
            "fetched": list(fetched) if informed else [],
            "words": [list(pair) for pair in self.handed.words],
            "data": [list(pair) for pair in self.handed.data],
        }


def computed(calls: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a phrase for values that the host computed from what it read back and passed to a kernel; None if there are none.

    A value that is the same in all *calls*, which are of one case with different inputs, is a constant.
    """
    if not calls:
        return None
    varying: dict[str, list[set[tuple[str, str]]]] = {}
    for what in ("data", "words"):
        several = [{(str(place), str(value)) for place, value in call[what]} for call in calls]
        constant = set.intersection(*several) if len(several) > 1 else set()
        varying[what] = [pairs - constant for pairs in several]
    data = sorted({place for pairs in varying["data"] for place, _ in pairs})
    if data:
        return f"{data[0]}" + (f" and {len(data) - 1} more" if len(data) > 1 else "")
    most = max(varying["words"], key=len)
    return f"{len(most)} sizes, offsets and grids, as {min(most)[0]}" if len(most) > WORDS else None


def _forms(number: float) -> Iterator[bytes]:
    """Yield the bytes of *number* in each type in which a kernel may receive it."""
    for form in "bhiqBHIQefd":
        try:
            yield struct.pack(f"<{form}", int(number) if form in "bhiqBHIQ" else number)
        except (struct.error, OverflowError, ValueError):  # the number does not fit the type
            continue
