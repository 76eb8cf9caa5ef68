"""Instructions in pieces, and on registers: what they touch, where their bytes come from, where they stop."""

import numpy as np
from debug_tools import console_on, place, refuses, says

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, int32, kernel, uint32, vv_int32

COUNT = 64


@kernel
def gathering(mlu: Mlu, out: Ptr, source: Ptr, places: Ptr) -> None:
    """Take elements from where the list says, add them up atomically, and store what was fetched."""
    fetched = mlu.nram(float32, COUNT)
    offsets = mlu.nram(uint32, COUNT)
    before = mlu.nram(float32, COUNT)
    mlu.memcpy(offsets, places, 4 * COUNT, GDRAM2NRAM)
    mlu.gather(fetched, source, offsets, 4, GDRAM2NRAM, 4, COUNT)
    mlu.bang_discrete_atomic_add(before, out, offsets, fetched, COUNT)
    mlu.memcpy(out, fetched, 4 * COUNT, NRAM2GDRAM)


@kernel
def counting(mlu: Mlu, out: Ptr, start: int) -> None:
    """A sequence in a register."""
    kept = mlu.nram(int32, 64)
    register, three = vv_int32(), vv_int32()
    mlu.vv_index(register, start, 1)
    mlu.vv_move(three, 3)
    for _ in range(2):
        mlu.vv_add(register, register, three)
    mlu.vv_store(kept, register, 64)
    mlu.memcpy(out, kept, 256, NRAM2GDRAM)


def gathering_program(observe):
    """Every third element, round and round."""
    device = mlusim.Device("MLU590-M9")
    places = (np.arange(COUNT) * 12 % (4 * COUNT)).astype(np.uint32)
    source = device.put(np.arange(COUNT, dtype=np.float32))
    out = device.put(np.zeros(COUNT, np.float32))
    device.launch(gathering, args=(out, source, device.put(places)), observe=observe)


def counting_program(observe):
    """On a board that has registers."""
    device = mlusim.Device("MLU590-M9")
    device.launch(counting, args=(device.empty(64, int32), 5), observe=observe)


def test_many_pieces_are_named_in_a_few_words():
    """Those that follow each other as one; of the others the first."""
    with console_on(gathering_program) as console:
        answer = says(console, "break gather", "run")

        assert (
            "writes fetched[0:64], reads offsets[0:64]; source[0]; source[3]; source[6] and 61 more" in answer
        )
        assert "next: gather, writes fetched[0:64]" in says(console, "info pipes")


def test_a_gathered_byte_comes_from_its_own_piece():
    """And its place from its own element of the list."""
    with console_on(gathering_program) as console:
        says(
            console,
            "break memcpy if mlu.counts and fetched[1] == 3",
            "tbreak bang_discrete_atomic_add",
            "run",
        )
        told = says(console, "who-wrote fetched[5]").splitlines()

        assert "by task 0, __gather at" in told[0]
        assert told[1].strip().startswith("from source[15]: as the host gave it")
        assert told[2].strip().startswith("from offsets[5]: written at moment")
        assert told[3].strip().startswith("from places[5]: as the host gave it")
        assert 4 == len(told)


def test_an_interrupt_counts_instructions_in_pieces():
    """What the program has issued is as many moments of a run that is watched."""
    for program in (gathering_program, counting_program):
        with console_on(program) as console:
            says(console, "run")
            issued = console.session.host.issued
            rows = says(console, "history 1000").splitlines()[1:]

            assert issued == sum("  issue  " in row for row in rows)


def test_instructions_on_registers_stop_at_their_lines():
    """The machine announces none of them; the line is as good.  One that the kernel lacks is refused."""
    with console_on(counting_program) as console:
        says(console, "break __vv_add", "run")
        first = place(console)
        assert "kernel names vv_xor" in refuses(console, "break vv_xor")
        assert "register  <vv_int32 [" in says(console, "info locals")
        assert "= int32[3] [5 6 7]" in says(console, "print register.values[:3]")
        says(console, "c")
        assert "= int32[3] [ 8  9 10]" in says(console, "print register.values[:3]")
        says(console, "reverse-continue")

        assert first == place(console)
        assert "= int32[3] [5 6 7]" in says(console, "print register.values[:3]")


def test_who_wrote_ends_at_a_register():
    """A store of a register is where the chain ends, and says so."""
    with console_on(counting_program) as console:
        says(console, "run")
        told = says(console, "who-wrote out[3]").splitlines()

        assert "__vv_store" in told[1]
        assert told[2].strip() == "from a vector register: registers have no history; step back from here"
