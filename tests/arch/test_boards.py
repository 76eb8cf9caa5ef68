"""The boards: their numbers to the byte, the sources of the numbers, and validation."""

import copy
import pickle
import re

import attrs
import pytest
from hypothesis import given, strategies as st

from mlusim.arch.board import SOURCES, STACK_RESERVE, Arch, is_inferred, numeric_fields
from mlusim.arch.catalog import ARCHES, BOARDS
from mlusim.errors import UsageError

X4 = BOARDS["MLU370-X4"]

# board: architecture, clusters, cores, largest union, MHz, GB/s, as the driver publishes them
PUBLISHED = {
    "MLU220-M2": ("mtp_220", 1, 4, 1, 500, 29.86),
    "MLU220-EVB": ("mtp_220", 1, 4, 1, 500, 29.86),
    "MLU220-EDGE": ("mtp_220", 1, 4, 1, 800, 29.86),
    "MLU220-SOM": ("mtp_220", 1, 4, 1, 800, 29.86),
    "MLU270-S4": ("mtp_270", 4, 16, 4, 1000, 102.4),
    "MLU270-F4": ("mtp_270", 4, 16, 4, 1000, 102.4),
    "MLU270-V4": ("mtp_270", 4, 16, 4, 1000, 102.4),
    "MLU270-X5K": ("mtp_270", 4, 16, 4, 1100, 102.4),
    "MLU270-D4": ("mtp_270", 2, 8, 1, 1000, 102.4),
    "MLU290-M5": ("mtp_290", 16, 64, 16, 1000, 1228.8),
    "MLU370-S4": ("mtp_372", 6, 24, 4, 1000, 307.2),
    "MLU370-X4": ("mtp_372", 8, 32, 8, 1000, 307.2),
    "MLU370-X4K": ("mtp_372", 8, 32, 8, 1000, 307.2),
    "MLU370-X4L": ("mtp_372", 8, 32, 8, 1000, 307.2),
    "MLU370-X8": ("mtp_372", 4, 16, 4, 1000, 307.2),
    "MLU370-M8": ("mtp_372", 8, 32, 8, 1300, 307.2),
    "MLU365-D2": ("mtp_372", 2, 8, 2, 1000, 153.6),
    "MLU590-H8": ("mtp_592", 12, 48, 8, 1500, 2048.0),
    "MLU590-M9": ("mtp_592", 12, 48, 8, 1600, 2764.8),
    "MLU590-M9U": ("mtp_592", 12, 48, 8, 1600, 2764.8),
    "MLU590-M9L": ("mtp_592", 12, 48, 8, 1600, 2764.8),
    "MLU590-M9DG": ("mtp_592", 8, 32, 8, 1850, 2304.0),
    "MLU590-M9B": ("mtp_592", 12, 48, 8, 1600, 2048.0),
    "MLU590-M9C": ("mtp_592", 10, 40, 8, 1600, 2048.0),
    "MLU585": ("mtp_592", 10, 40, 8, 1500, 2048.0),
    "MLU580-H5": ("mtp_592", 8, 32, 8, 1500, 1228.8),
    "MLU580": ("mtp_592", 12, 48, 8, 1500, 768.0),
    "MLU570": ("mtp_592", 10, 40, 8, 1600, 640.0),
    "MLU560": ("mtp_592", 10, 40, 8, 1500, 384.0),
    "CE3226-V101": ("tp_322", 1, 1, 0, 1000, 29.86),
    "CE3226-D2D": ("tp_322", 2, 2, 0, 1200, 29.86),
}


def test_every_published_board_is_there():
    """The catalog has the published boards and no other."""
    assert set(PUBLISHED) == set(BOARDS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_board_has_the_published_numbers(name):
    """Architecture, clusters, cores, union limit, clock and bandwidth are those of the driver."""
    b = BOARDS[name]

    assert PUBLISHED[name] == (
        b.arch.name,
        b.clusters,
        b.cores,
        b.union_limit,
        b.clock_mhz,
        b.io_bandwidth_gbs,
    )
    assert name == b.name
    assert PUBLISHED[name][4] * 10**6 == b.clock_hz


@pytest.mark.parametrize(
    ("arch", "nram", "wram", "sram"),
    [
        ("mtp_220", 393216, 524288, 1966080),
        ("mtp_270", 393216, 1048576, 1966080),
        ("mtp_290", 393216, 524288, 1966080),
        ("tp_322", 655360, 1048576, 0),
        ("mtp_372", 655360, 1048576, 4063232),
        ("mtp_592", 393216, 524288, 1966080),
    ],
)
def test_usable_memory_to_the_byte(arch, nram, wram, sram):
    """A kernel may use the hardware sizes less 128 KiB of NRAM and of SRAM, and all WRAM."""
    spec = ARCHES[arch]

    assert (nram, wram, sram) == (spec.max_nram, spec.max_wram, spec.max_sram)
    assert nram + 131072 == spec.nram
    assert (sram + 131072 if sram else 0) == spec.sram


@pytest.mark.parametrize(("board", "floats"), [("MLU370-X4", 163840), ("MLU590-H8", 98304)])
def test_nram_in_floats(board, floats):
    """The number of floats that fit NRAM is the one that the vendor's operators quote."""
    assert (floats, 0) == divmod(BOARDS[board].arch.max_nram, 4)


@pytest.mark.parametrize(
    ("board", "force", "bandwidth"),
    [
        ("MLU270-S4", 5.12e11, 102.4),
        ("MLU370-X4", 1.024e12, 307.2),
        ("MLU370-S4", 7.68e11, 307.2),
        ("MLU370-X8", 5.12e11, 307.2),
        ("MLU370-M8", 1.3312e12, 307.2),
        ("MLU590-H8", 2.304e12, 2048.0),
        ("MLU590-M9", 2.4576e12, 2764.8),
    ],
)
def test_printed_compute_force_and_bandwidth(board, force, bandwidth):
    """The two constants that the vendor's test framework prints come out exactly."""
    b = BOARDS[board]

    assert force == b.compute_force("float")
    assert bandwidth == b.io_bandwidth_gbs


@pytest.mark.parametrize("name", BOARDS)
def test_compute_force_doubles_for_half_and_int16_only(name):
    """Inputs of half and int16 count double, every other dtype as float."""
    b = BOARDS[name]
    base = b.compute_force("float")

    assert [2 * base] * 3 == [b.compute_force(d) for d in ("half", "float16", "int16")]
    assert [base] * 5 == [b.compute_force(d) for d in ("float32", "int8", "int32", "bfloat16", "bool")]


@pytest.mark.parametrize(
    ("board", "dtype", "tera"),
    [
        ("MLU590-M9", "half", 314.6),
        ("MLU590-M9", "int8", 629.1),
        ("MLU590-M9", "float", 78.6),
        ("MLU370-X4", "int8", 262.1),
        ("MLU370-X4", "half", 98.3),
        ("MLU370-X4", "float", 24.6),
    ],
)
def test_tensor_peak_matches_what_is_marketed(board, dtype, tera):
    """Two operations per multiply-accumulate give the published tensor peaks in TOPS."""
    b = BOARDS[board]

    assert tera == round(2 * b.arch.tensor_macs[dtype] * b.cores * b.clock_hz / 1e12, 1)


@pytest.mark.parametrize("arch", ARCHES.values(), ids=lambda a: a.name)
def test_vector_rate_is_the_width_of_a_vector_instruction(arch):
    """128 bytes a cycle are 64 half and 32 float results; the peak counts a fused multiply-add as two."""
    fused = 1 if arch.generation == 2 else 2

    assert arch.vector_bytes_per_cycle == 2 * arch.vector_ops["half"] == 4 * arch.vector_ops["float"]
    assert {d: fused * arch.vector_ops[d] for d in ("half", "float")} == dict(arch.vector_flops)


def test_address_windows():
    """The windows start and end where the vendor's own address checks have them."""
    a = ARCHES["mtp_372"]
    windows = [(a.nram_base, a.nram), (a.wram_base, a.wram), (a.sram_base, a.sram)]
    expected = [(0x200000, 0x2C0000), (0x300000, 0x400000), (0x400000, 0x800000)]

    assert expected == [(base, base + size) for base, size in windows]


@pytest.mark.parametrize(
    ("arch", "bang_arch", "generation", "memory_core"),
    [
        ("mtp_220", 220, 2, True),
        ("mtp_270", 270, 2, True),
        ("mtp_290", 290, 2, True),
        ("tp_322", 322, 3, False),
        ("mtp_372", 372, 3, True),
        ("mtp_592", 592, 5, True),
    ],
)
def test_architecture_numbers(arch, bang_arch, generation, memory_core):
    """__BANG_ARCH__, the generation and the memory core of each architecture."""
    a = ARCHES[arch]

    assert (bang_arch, generation, memory_core) == (a.bang_arch, a.generation, a.memory_core)


def test_large_tensors_begin_at_592():
    """Only the boards of architecture 592 take large tensors."""
    assert {n for n, row in PUBLISHED.items() if row[0] == "mtp_592"} == {
        n for n, b in BOARDS.items() if b.large_tensor
    }


@given(st.integers(1, 64), st.sampled_from([0, 1, 2, 4, 8, 16]))
def test_max_union_is_the_largest_that_fits(clusters, limit):
    """max_union is the largest N that is allowed, a power of two, and no more than the clusters."""
    board = attrs.evolve(X4, clusters=clusters, union_limit=limit)
    fitting = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= limit and n <= clusters]

    assert max(fitting, default=0) == board.max_union


@pytest.mark.parametrize("spec", [*ARCHES.values(), *BOARDS.values()], ids=lambda s: s.name)
def test_every_number_has_a_source(spec):
    """Each numeric field names a listed source or says that it is inferred."""
    numbers = {
        a.name for a in attrs.fields(type(spec)) if not isinstance(getattr(spec, a.name), str | Arch)
    } - {"sources"}
    starts = "|".join(re.escape(s) for s in ("inferred", *SOURCES))

    assert numbers == set(spec.sources) == set(numeric_fields(type(spec)))
    assert all(re.match(rf"(?:{starts})(?:$|\W)", source) for source in spec.sources.values())


def test_memory_sizes_that_nobody_published_say_so():
    """GDRAM is sourced where a publication exists and inferred elsewhere."""
    expected = {"MLU290-M5": 32 * 2**30, "MLU590-M9": 96 * 2**30}
    published = {name: b.gdram for name, b in BOARDS.items() if not is_inferred(b.sources["gdram"])}

    assert expected == published


def test_limits_of_a_launch_are_inferred_but_for_592():
    """65535 was reported by an MLU590; for the others the row admits that it is an inference."""
    reported = [a.name for a in ARCHES.values() if not is_inferred(a.sources["max_dim"])]

    assert all(b.max_dim == (65535, 65535, 65535) for b in BOARDS.values())
    assert reported == ["mtp_592"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"clusters": 0}, "clusters of board 'MLU370-X4' is 0; give an integer above 0"),
        ({"clusters": True}, "clusters of board 'MLU370-X4' is True; give an integer above 0"),
        ({"clock_mhz": -1}, "clock_mhz of board 'MLU370-X4' is -1; give an integer above 0"),
        ({"bandwidth": 307.2}, "bandwidth of board 'MLU370-X4' is 307.2; give an integer above 0"),
        ({"memory_bus_bits": 0}, "memory_bus_bits of board 'MLU370-X4' is 0; give an integer above 0"),
        ({"gdram": 0}, "gdram of board 'MLU370-X4' is 0; give an integer above 0"),
        ({"l2": -1}, "l2 of board 'MLU370-X4' is -1; give an integer of 0 or more"),
        ({"union_limit": 3}, "union_limit of board 'MLU370-X4' is 3; give one of 0, 1, 2, 4, 8, 16"),
        ({"union_limit": 32}, "union_limit of board 'MLU370-X4' is 32; give one of 0, 1, 2, 4, 8, 16"),
        ({"arch": "mtp_372"}, "arch of board 'MLU370-X4' is 'mtp_372'; give an Arch"),
        ({"name": " "}, "name of board ' ' is ' '; give a name that is not empty"),
        (
            {"arch": ARCHES["tp_322"]},
            "union_limit of board 'MLU370-X4' is 8, but tp_322 has no memory core; give 0",
        ),
        (
            {"sources": {k: v for k, v in X4.sources.items() if k != "l2"}},
            "sources of board 'MLU370-X4' lacks a source for l2; give one for every numeric field",
        ),
        (
            {"sources": {**X4.sources, "colour": "driver table"}},
            "sources of board 'MLU370-X4' has a source for colour, which is not a numeric field; take it out",
        ),
    ],
    ids=lambda v: "+".join(v) if isinstance(v, dict) else "",
)
def test_bad_board_rows_are_refused(change, sentence):
    """A row that no board can have is refused in one sentence with the legal values."""
    with pytest.raises(UsageError) as caught:
        attrs.evolve(X4, **change)

    assert sentence == str(caught.value)


@pytest.mark.parametrize("source", ["", "guess", "driver tables", "not inferred", None])
def test_unknown_sources_are_refused(source):
    """A source that is not in the list, or only looks like one of it, is refused."""
    with pytest.raises(UsageError, match=re.escape(f"names no known source for l2: {source!r}")):
        attrs.evolve(X4, sources={**X4.sources, "l2": source})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nram": STACK_RESERVE}, "give more than 131072"),
        ({"nram": -5}, "give an integer above 0"),
        ({"wram": 0}, "give an integer above 0"),
        ({"sram": STACK_RESERVE}, "give 0 or more than 131072"),
        ({"sram": 0}, "SRAM and a memory core together, or neither"),
        ({"memory_core": False}, "SRAM and a memory core together, or neither"),
        ({"memory_core": 1}, "give True or False"),
        ({"cores_per_cluster": 0}, "give an integer above 0"),
        ({"bang_arch": "372"}, "give an integer above 0"),
        ({"nram": 0x100001}, "windows of arch 'mtp_372' overlap"),
        ({"wram": 0x100001}, "windows of arch 'mtp_372' overlap"),
        ({"tensor_macs": {}}, "at least one dtype name"),
        ({"tensor_macs": {"half": 0}}, "an integer above 0"),
        ({"vector_ops": {"half": 64, "float": 32}}, "no entry 'other'"),
        ({"max_dim": (65535, 65535)}, "three integers above 0"),
        ({"max_dim": (65535, 0, 65535)}, "three integers above 0"),
        ({"sources": {}}, "lacks a source for bang_arch, nram, wram"),
    ],
    ids=lambda v: "+".join(v) if isinstance(v, dict) else "",
)
def test_bad_architecture_rows_are_refused(change, words):
    """An architecture that cannot be is refused with a sentence that says what would do."""
    with pytest.raises(UsageError, match=re.escape(words)):
        attrs.evolve(ARCHES["mtp_372"], **change)


def test_nothing_of_a_board_changes():
    """Boards, their mappings and the catalog are immutable."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        X4.clusters = 9
    with pytest.raises(TypeError):
        BOARDS["MLU999"] = X4
    with pytest.raises(TypeError):
        del X4.arch.tensor_macs["half"]
    with pytest.raises(AttributeError):
        X4.sources._items = {}
    with pytest.raises(AttributeError):
        del X4.sources._items

    assert X4.clusters == 8
    assert X4.arch.tensor_macs["half"] == 1536


def test_a_board_keeps_its_own_copy_of_a_mapping():
    """Changing the dict that a board was built from does not change the board."""
    given_sources = dict(X4.sources)
    board = attrs.evolve(X4, sources=given_sources)
    given_sources.clear()

    assert board == X4


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_boards_survive_copying(copied):
    """A copied or pickled board equals the original and hashes the same."""
    twin = copied(X4)

    assert twin == X4
    assert hash(X4) == hash(twin)
    assert copied(attrs.evolve(X4, clusters=4)) != X4
