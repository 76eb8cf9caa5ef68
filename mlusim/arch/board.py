"""Boards: `Arch` is an architecture, `Board` one product with that architecture and its clusters, clocks and memories.

Every number of either class has its source in ``sources``: a name from `SOURCES`, possibly with a remark
behind it, or a sentence that begins with "inferred". Construction checks that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from attrs import Attribute, field, fields, frozen

from mlusim.errors import UsageError
from mlusim.presenting import Presented

V = TypeVar("V")


# Boards are keys of caches, so their mappings must be hashable. Python 3.11's dict and MappingProxyType are
# not.
class FrozenMap(Mapping[str, V]):
    """An immutable mapping from names to hashable values; equal to any mapping with the same items."""

    __slots__ = ("_items",)
    _items: dict[str, V]

    def __init__(self, items: Mapping[str, V]) -> None:
        object.__setattr__(self, "_items", dict(items))

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a FrozenMap does not change; {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a FrozenMap does not change; {name} cannot be deleted")

    def __reduce__(self) -> tuple[type["FrozenMap[V]"], tuple[dict[str, V]]]:
        return (FrozenMap, (dict(self._items),))


KIB = 1024
STACK_RESERVE = 128 * KIB
"""Bytes of NRAM (per core) and of SRAM (per cluster) that the vendor's kernels leave to the compiler's stack."""

VECTOR_REGISTER = 256
"""Bytes of a vector register on every architecture that has them, from 372 on [D].

The vendor's common.h fills a block of 2048 bytes with eight registers, and its philox_generator.h reads 64
words of 32 bits from each register, on 372 and on later architectures. One public script steps by 512 bytes,
but it only measures times.
"""

UNION_LIMITS = (0, 1, 2, 4, 8, 16)  # 0: Block alone; the vendor's function types end with Union16

SOURCES: Mapping[str, str] = FrozenMap(
    {
        "driver table": "Cambricon's Linux kernel driver (2024-09): cndrv_mcu_info.c, cndrv_attr_mlu*.c",
        "vendor target header": "the memory sizes that the vendor's compiler predefines per architecture",
        "vendor function header": "bang_device_functions.h, the definitions behind the BANG C functions",
        "mlu-ops": "Cambricon/mlu-ops: kernels/kernel.h and the executor.h of its test framework",
        "develop guide": "BANG-C-OPS-Develop-Guide.md of Cambricon/mlu-ops",
        "board probe": "the attributes that the runtime of a real MLU590-M9DG reported, published by its user",
        "vendor press": "the vendor's product announcements",
        "user reports": "the device listings that users published",
    }
)
"""The sources that a number may name, each with its full title."""

_UNSOURCED = frozenset({"name", "arch", "sources"})
# mlu-ops' test framework uses half the rate for all other types of the first input, int8 included.
_DOUBLE_RATE = frozenset({"half", "float16", "fp16", "int16", "short"})


def _is_count(value: object, least: int) -> bool:
    # bool is a subclass of int, but True is not a legal value.
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _must(hold: Callable[[Any], bool], legal: str) -> Callable[[Any, "Attribute[Any]", Any], None]:
    """Return a validator that accepts the values for which *hold* is true; *legal* names the legal values in an error."""

    def check(instance: Any, attribute: "Attribute[Any]", value: Any) -> None:
        if not hold(value):
            kind = type(instance).__name__.lower()
            raise UsageError(f"{attribute.name} of {kind} {instance.name!r} is {value!r}; give {legal}")

    return check


_positive = _must(lambda value: _is_count(value, 1), "an integer above 0")
_not_negative = _must(lambda value: _is_count(value, 0), "an integer of 0 or more")
_rates = _must(
    lambda rates: rates and all(isinstance(k, str) and _is_count(v, 1) for k, v in rates.items()),
    "an integer above 0 for at least one dtype name",
)
_named = _must(lambda value: isinstance(value, str) and bool(value.strip()), "a name that is not empty")
_flag = _must(lambda value: isinstance(value, bool), "True or False")
_grid = _must(
    lambda sizes: isinstance(sizes, tuple) and len(sizes) == 3 and all(_is_count(n, 1) for n in sizes),
    "three integers above 0, for x, y and z",
)
_an_arch = _must(lambda value: isinstance(value, Arch), "an Arch")
_a_union_limit = _must(
    lambda value: _is_count(value, 0) and value in UNION_LIMITS,
    f"one of {', '.join(map(str, UNION_LIMITS))}",
)


def numeric_fields(spec: "type[Arch | Board]") -> tuple[str, ...]:
    """Return the names of the fields of `Arch` or `Board` that need a source."""
    return tuple(a.name for a in fields(spec) if a.name not in _UNSOURCED)


def is_inferred(source: str) -> bool:
    """Return whether *source* says that the number was inferred or chosen as a default, not published."""
    return source.startswith("inferred")


def _known_source(value: object) -> bool:
    """Return whether *value* begins with the name of a source as whole words: "driver table; ..." does, "driver tables" does not."""
    starts: Iterable[str] = ("inferred", *SOURCES)
    return isinstance(value, str) and any(
        value == start or (value.startswith(start) and not value[len(start)].isalnum()) for start in starts
    )


def _sourced(instance: Any, attribute: "Attribute[Any]", value: Mapping[str, str]) -> None:
    """Check that *value* names exactly one valid source for each numeric field."""
    needed = numeric_fields(type(instance))
    missing = [name for name in needed if name not in value]
    surplus = [name for name in value if name not in needed]
    unknown = [
        f"{name}: {value[name]!r}" for name in needed if name in value and not _known_source(value[name])
    ]
    for wrong, what in (
        (missing, "lacks a source for {}; give one for every numeric field"),
        (surplus, "has a source for {}, which is not a numeric field; take it out"),
        (
            unknown,
            f"names no known source for {{}}; begin with 'inferred' or with one of {', '.join(SOURCES)}",
        ),
    ):
        if wrong:
            kind = type(instance).__name__.lower()
            told = what.format(", ".join(wrong))
            raise UsageError(f"{attribute.name} of {kind} {instance.name!r} {told}")


def _frozen_map(value: object) -> Any:
    return FrozenMap(value) if isinstance(value, Mapping) else FrozenMap({})


@frozen(kw_only=True, cache_hash=True)
class Arch:
    """One architecture: the memories of its cores and clusters, and what they compute per cycle.

    ``nram`` and ``wram`` are bytes per core, ``sram`` bytes per cluster (0: no SRAM), the whole memories of
    the hardware. The formulas of the vendor's library use the smaller `max_nram`, `max_wram` and `max_sram`;
    `limits` says how much a kernel may declare. ``vector_ops`` are plain results (one addition, one product)
    per cycle and core, by dtype name, with "other" for all other dtypes; ``vector_flops`` is the hardware
    peak, which from generation 3 on counts a fused multiply-add as two operations. ``tensor_macs`` are
    multiply-accumulates per cycle and core; a dtype that is absent has no published rate. ``max_dim`` bounds
    x, y and z of a launch.
    """

    name: str = field(validator=_named)
    bang_arch: int = field(validator=_positive)
    nram: int = field(validator=_positive)
    wram: int = field(validator=_positive)
    sram: int = field(validator=_not_negative)
    cores_per_cluster: int = field(validator=_positive)
    memory_core: bool = field(validator=_flag)
    # The windows of device addresses by which __is_nram and similar functions recognise a memory.
    nram_base: int = field(default=0x200000, validator=_positive)
    wram_base: int = field(default=0x300000, validator=_positive)
    sram_base: int = field(default=0x400000, validator=_positive)
    vector_ops: Mapping[str, int] = field(converter=_frozen_map, validator=_rates)
    vector_flops: Mapping[str, int] = field(converter=_frozen_map, validator=_rates)
    # An operand shorter than a vector also takes a whole cycle.
    vector_bytes_per_cycle: int = field(default=128, validator=_positive)
    tensor_macs: Mapping[str, int] = field(converter=_frozen_map, validator=_rates)
    max_dim: tuple[int, int, int] = field(default=(65535, 65535, 65535), validator=_grid)
    sources: Mapping[str, str] = field(converter=_frozen_map, validator=_sourced, repr=False)

    def __attrs_post_init__(self) -> None:
        """Check the rules that involve more than one field."""
        # Some NRAM must be left above the reserve: kernels divide `max_nram` among their buffers.
        if self.nram <= STACK_RESERVE:
            raise UsageError(
                f"nram of arch {self.name!r} is {self.nram} bytes; give more than {STACK_RESERVE}"
            )
        if 0 < self.sram <= STACK_RESERVE:
            raise UsageError(
                f"sram of arch {self.name!r} is {self.sram} bytes; give 0 or more than {STACK_RESERVE}"
            )
        # A memory core does nothing but copy between GDRAM and SRAM, and meet barriers (develop guide 3.3.2).
        if self.memory_core != (self.sram > 0):
            raise UsageError(f"arch {self.name!r} must have SRAM and a memory core together, or neither")
        # An address must identify its memory: kernels call `__is_nram`, and cast pointers to integers and
        # back.
        if self.nram_base + self.nram > self.wram_base or self.wram_base + self.wram > self.sram_base:
            raise UsageError(
                f"the address windows of arch {self.name!r} overlap; put NRAM, WRAM and SRAM one after the other"
            )
        if "other" not in self.vector_ops:
            raise UsageError(f"vector_ops of arch {self.name!r} has no entry 'other'; give one")

    @cached_property  # every copy reads this
    def generation(self) -> int:
        """The generation of the architecture: 2 for 2xx, 3 for 3xx, 5 for 5xx."""
        return self.bang_arch // 100

    @property
    def max_nram(self) -> int:
        """Bytes of NRAM per core, less the bytes that the vendor's compiler reserves for its stack."""
        return self.nram - STACK_RESERVE

    @property
    def max_wram(self) -> int:
        """Bytes of WRAM per core; the compiler reserves nothing there."""
        return self.wram

    @property
    def max_sram(self) -> int:
        """Bytes of SRAM per cluster, less the compiler's reserve; 0 without SRAM."""
        return self.sram - STACK_RESERVE if self.sram else 0

    def limits(self, *, compiled: bool) -> dict[str, int]:
        """Return how many bytes of NRAM, WRAM and SRAM, by name, a kernel may declare.

        With *compiled* (BANG C) a kernel may declare the whole memory, as the vendor's compiler allows;
        declarations above `max_nram` take bytes from the stack. A Python kernel is limited to `max_nram`,
        `max_wram` and `max_sram`, as in the library's formulas.
        """
        if compiled:
            return {"NRAM": self.nram, "WRAM": self.wram, "SRAM": self.sram}
        return {"NRAM": self.max_nram, "WRAM": self.max_wram, "SRAM": self.max_sram}

    def stack_left(self, declared: int) -> int:
        """Return the bytes of NRAM left for the stack beside *declared* bytes, at most `STACK_RESERVE`."""
        return max(min(STACK_RESERVE, self.nram - declared), 0)

    def stack_taken(self, space: str, declared: int) -> str:
        """Return a remark for a message if *declared* bytes of *space* reach into the stack's share, else ""."""
        over = declared - self.limits(compiled=False).get(space, declared)
        # A declaration larger than the whole memory is reported by another message.
        if over <= 0 or declared > self.limits(compiled=True)[space]:
            return ""
        return f" ({over / KIB:.1f} KiB of them from the {STACK_RESERVE // KIB} KiB that the compiler keeps for its stack)"


@frozen(kw_only=True, cache_hash=True)
class Board(Presented):
    """One board as a program sees it; of a card with two devices, one device.

    ``clock_mhz`` is the rated clock in MHz, ``bandwidth`` the nominal GDRAM bandwidth in bytes per second,
    ``gdram`` and ``l2`` are bytes (``l2`` 0: no size is listed). ``union_limit`` is the largest N of a UnionN
    launch that the driver admits, 0 where it admits Block launches only.
    """

    name: str = field(validator=_named)
    arch: Arch = field(validator=_an_arch)
    clusters: int = field(validator=_positive)
    union_limit: int = field(validator=_a_union_limit)
    clock_mhz: int = field(validator=_positive)
    bandwidth: int = field(validator=_positive)
    memory_bus_bits: int = field(validator=_positive)
    l2: int = field(validator=_not_negative)
    gdram: int = field(validator=_positive)
    sources: Mapping[str, str] = field(converter=_frozen_map, validator=_sourced, repr=False)

    def __attrs_post_init__(self) -> None:
        """Check that a board with union launches has a memory core, because such launches use it."""
        if self.union_limit and not self.arch.memory_core:
            raise UsageError(
                f"union_limit of board {self.name!r} is {self.union_limit}, but {self.arch.name} has no"
                " memory core; give 0"
            )

    @property
    def cores(self) -> int:
        """IPU cores of the board; memory cores are not counted."""
        return self.clusters * self.arch.cores_per_cluster

    @property
    def clock_hz(self) -> int:
        """Clock of a core in cycles per second."""
        return self.clock_mhz * 1_000_000

    @property
    def io_bandwidth_gbs(self) -> float:
        """Nominal bandwidth in GB/s (10^9 bytes), as the vendor's test framework prints IoBandWidth."""
        return self.bandwidth / 1e9

    @property
    def max_union(self) -> int:
        """Largest N of UnionN that can start: within the limit, and a power of two within the clusters."""
        return min(self.union_limit, 1 << (self.clusters.bit_length() - 1))

    def places(self, unions: int) -> int:
        """Return how many tasks run at once: one Block task (*unions* 0) per core, or one UnionN task per N clusters."""
        return self.clusters // unions if unions else self.cores

    @property
    def large_tensor(self) -> bool:
        """Return whether the vendor's operators take tensors of 2^31 elements and more (592 onwards)."""
        return self.arch.bang_arch >= 592  # ARCH_SUPPORT_LARGE_TENSOR in mlu-ops' kernel.h

    @property
    def max_dim(self) -> tuple[int, int, int]:
        """Largest x, y and z of a launch; reported by an MLU590, inferred for the others."""
        return self.arch.max_dim

    def compute_force(self, dtype_name: str) -> float:
        """Return the board's vector operations per second as the vendor's test framework counts them.

        64 per cycle and core when the first input is half or int16, 32 for every other dtype.
        """
        return float((64 if dtype_name in _DOUBLE_RATE else 32) * self.cores * self.clock_hz)


# -- the pipes of a core: the units that instructions are issued to ------------------------------------


class Pipe(Enum):
    """The pipes of a core; instructions of one pipe complete in order."""

    SCALAR = "scalar"
    VECTOR = "vector"
    TENSOR = "tensor"
    IO = "IO-DMA"
    MOVE = "move-DMA"
