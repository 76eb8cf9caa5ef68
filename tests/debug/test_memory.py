"""Memory: watchpoints, values, comparisons, files, and who wrote what."""

import numpy as np
import pytest
from debug_kernels import counting_program, data, line, scale_program, staged_program
from debug_tools import console_on, place, refuses, says

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel
from mlusim.debug import Console, DebugSession, OperatorProgram
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import case_generator


@pytest.mark.parametrize(
    ("what", "marks"),
    [
        ("watch buffer", ["scale-load", "scaled-mul", "scale-add"]),
        ("watch buffer[3]", ["scale-load", "scaled-mul", "scale-add"]),
        ("rwatch buffer[2:4]", ["scaled-mul", "scale-add", "scale-store"]),
        ("watch nram+0x8", ["scale-load", "scaled-mul", "scale-add"]),
        ("watch nram+0x38:8", ["scale-load", "scaled-mul", "scale-add"]),
        ("watch 0x200000:4", ["scale-load", "scaled-mul", "scale-add"]),
        ("watch out[15]", ["scale-store"]),
        ("rwatch data", ["scale-load"]),
    ],
)
def test_watchpoints_stop_before_bytes_change_or_are_read(what, marks):
    """Each instruction that touches the bytes of task 0, and none of another task's."""
    with console_on(scale_program) as console:
        says(console, f"tbreak {line('scale-load')}", "run")
        verb = "read" if what.startswith("r") else "written"
        assert says(console, what).endswith(f"is {verb}")
        stops = []
        while "Watchpoint 2" in says(console, "continue"):
            if console.session.position.launch == 2 or console.session.focus != "task 0":
                break
            stops.append(place(console)[1])

        assert [line(mark) for mark in marks] == stops


def test_a_watchpoint_beside_the_bytes_does_not_stop():
    """One byte further nothing writes."""
    with console_on(scale_program) as console:
        says(console, f"tbreak {line('scale-store')}", "run", "watch out[16]")
        answer = says(console, "continue")

        assert "task 1" in answer
        assert "about to execute __memcpy on the IO-DMA pipe, writes out[16:32]" in answer


def test_a_watchpoint_of_all_tasks():
    """With `all` the same address of every task's memory is meant."""
    with console_on(scale_program) as console:
        says(console, f"tbreak {line('scaled-mul')}", "run", "watch data[0] all")
        stops = [says(console, "c") and console.session.focus for _ in range(4)]

        assert ["task 0", "task 0", "task 1", "task 1"] == stops


def test_an_asynchronous_write_counts_when_it_lands():
    """The stop is at the barrier, before the landing, and names the line that issued the copy."""
    with console_on(staged_program) as console:
        says(console, f"tbreak {line('staged-barrier')} task 0m", "run", "watch sram+0")
        answer = says(console, "c")

        assert ("task 0m", line("staged-barrier")) == place(console)[:2]
        assert f"about to land: memcpy_async of line {line('staged-load')}" in answer
        assert "poison  poison" in says(console, "x/2f shared")
        assert "in flight: memcpy_async" in says(console, "info pipes")
        assert says(console, "delete", "stepi all", "x/2f sram+0").endswith("0  1")


def test_examine_formats():
    """Floats, integers, hexadecimal, bits and bytes, with poison marked, as far as the memory reaches."""
    with console_on(scale_program) as console:
        says(console, "break scaled task 1", "run")

        assert "0x200000: 16  17" == says(console, "x/2f nram+0")
        assert "0x200004: 0x41880000" == says(console, "x/1xw data + 1")
        assert "0x200000: 0x41800000  0x41880000" == says(console, "x/2x data")
        assert "0x200002: 16768" == says(console, "x/1uh nram+2")
        assert "0x200003:   65     0     0  -120" == says(console, "x/4db nram+3")
        assert "0x200003: 01000001" == says(console, "x/1tb nram+3")
        assert "0x200003: 'A'" == says(console, "x/1c nram+3")
        assert says(console, "x/2f out").endswith("2  3") is False
        assert says(console, "x/2f out + 16").endswith("poison  poison")
        assert "nram+0x38:99 means 99 bytes; give 1 to 8, which are declared from there on" in refuses(
            console, "watch nram+0x38:99"
        )
        assert "17 elements of float reach 4 bytes beyond data; 16 fit" in refuses(console, "x/17f data")


def test_print_shows_pointers_with_place_values_and_poison():
    """A pointer says what it points to; expressions use the kernel's variables and the tensors' names."""
    with console_on(scale_program) as console:
        says(console, f"tbreak {line('scale-load')} task 1", "run")

        assert "buffer = float * NRAM 0x200000 buffer[0]: poison, poison" in says(console, "print buffer")
        assert "out + 14 = float * GDRAM 0x1000000238 out[14]: 29, 31, poison, poison" in says(
            console, "print out + 14"
        )
        assert "share * 4 = 64" == says(console, "print share * 4")
        assert "share = 0x10" == says(console, "print/x share")
        assert "np.float32(factor) = 2.0 (float32)" == says(console, "print np.float32(factor)")


def test_regions_have_values_in_numbers():
    """Minimum, maximum, NaN and poison of declarations and tensors."""
    with console_on(scale_program) as console:
        says(console, f"tbreak {line('scale-store')} task 1", "run")
        rows = {text.split()[0]: text.split() for text in says(console, "info regions").splitlines()}
        tensors = {text.split()[0]: text.split() for text in says(console, "info tensors").splitlines()}

        assert ["NRAM", "float", "16", "0x0", "64", "33", "63", "0", "0"] == rows["buffer"][1:10]
        assert ["GDRAM", "float", "64"] == tensors["out"][1:4]
        assert ["1", "31", "0", "48"] == tensors["out"][6:10]
        assert ["0", "63", "0", "0"] == tensors["data"][6:10]


def test_diff_against_a_moment_a_file_and_an_array(tmp_path):
    """What differs, worst first; and nothing where nothing does."""
    expected = data() * 2 + 1
    wrong = expected.copy()
    wrong[5] += 100
    np.save(tmp_path / "wrong.npy", wrong)
    np.savez(tmp_path / "both.npz", right=expected, wrong=wrong)
    with console_on(scale_program, arrays={"expected": expected}) as console:
        says(console, "goto 1:end")

        assert "no difference in 64 elements" in says(console, "diff out expected")
        assert "1 of 64 elements differ; the worst:\n  [5]  11  here, 111 there" in says(
            console, f"diff out {tmp_path}/wrong.npy"
        )
        assert "no difference" in says(console, f"diff out {tmp_path}/both.npz::right")
        assert "64 of 64 elements differ" in says(console, "diff out @begin")
        assert "holds right, wrong; write" in refuses(console, f"diff out {tmp_path}/both.npz")
        assert "has 64 elements and [2] has 2" in refuses(console, "diff out[3:5] expected")
        says(console, "goto 23")
        assert "task 3" == console.session.focus
        assert "16 of 16 elements differ" in says(console, "diff buffer @21")
        assert "task 3 does not run at moment 5" in refuses(console, "diff buffer @5")


def test_dump_saves_what_was_there(tmp_path):
    """A tensor keeps its shape, elements are flat."""
    with console_on(staged_program) as console:
        says(console, "goto end", f"dump out {tmp_path}/out.npy", f"dump out[2,5] {tmp_path}/one.npy")

        assert np.array_equal(np.tile(data() * 1.5, (4, 1)), np.load(tmp_path / "out.npy"))
        assert [7.5] == np.load(tmp_path / "one.npy").tolist()


def test_who_wrote_leads_back_to_the_tensors():
    """Instruction, task, line and moment, and the same of each source."""
    with console_on(scale_program) as console:
        says(console, "goto 1:end")
        told = says(console, "who-wrote out[20]").splitlines()
        marks = ["scale-store", "scale-add", "scaled-mul", "scale-load"]

        assert [f":{line(mark)}" in text for mark, text in zip(marks, told, strict=False)] == [True] * 4
        assert all("task 1" in text for text in told[:4])
        assert "from data[20]: as the host gave it to the device" in told[4]


@kernel
def summing(mlu, out, x):
    """Add up each line of 32 elements."""
    own, sums = mlu.nram(float32, 96), mlu.nram(float32, 96)
    mlu.memcpy(own, x, 384, GDRAM2NRAM)
    mlu.bang_reduce_sum(sums, own, 96)
    mlu.memcpy(out, sums, 384, NRAM2GDRAM)


def test_who_wrote_names_the_line_that_was_added_up():
    """Not the whole operand of the reduction."""

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        tensors = device.empty(96, float32), device.put(np.ones(96, np.float32))
        device.launch(summing, args=tensors, observe=observe)

    with console_on(program) as console:
        says(console, "goto 1:end")
        told = says(console, "who-wrote out[64]")

        assert "bytes 256:384, mixed: written at" in told
        assert "from x[64]: as the host gave it" in told


def test_who_wrote_goes_back_to_earlier_launches():
    """What the second launch reads, the first has written."""
    with console_on(scale_program) as console:
        says(console, "run")
        told = says(console, "who-wrote out[3] 20")

        assert "out[3]: written at launch 2" in told
        assert "from data[3]: written at launch 1" in told
        assert "from data[3]: as the host gave it to the device" in told


def test_who_wrote_through_sram_and_scalars():
    """A landing copy counts from when it landed; a scalar store's statement is told."""
    with console_on(staged_program) as console:
        says(console, "goto end")
        told = says(console, "who-wrote out[1,7]")
        assert "from shared[7]: written" in told
        assert f"task 0m, __memcpy_async at tests/debug/debug_kernels.py:{line('staged-load')}" in told
        assert "from data[7]: as the host gave it to the device" in told
        assert "from bias[7]: as the host gave it to the device" in told
    with console_on(counting_program) as console:
        says(console, "goto end")

        assert (
            f"scalar store `out[mlu.taskId] = sums[3]` at tests/debug/debug_kernels.py:{line('counting-store')}"
            in says(console, "who-wrote out[1]")
        )


def test_who_wrote_of_fresh_memory():
    """Nothing has written it."""
    with console_on(scale_program) as console:
        says(console, f"tbreak {line('scale-load')}", "run")

        assert "buffer[2]: it was never written" in says(console, "who-wrote buffer[2]")


def test_places_show_what_they_span():
    """Elements with an end are shown to their end, others a few; what is left of a memory limits only the few."""
    with console_on(scale_program) as console:
        says(console, f"tbreak {line('scaled-mul')}", "run", "up")

        assert 3 == len(says(console, "x buffer[2:5]").split()) - 1
        assert 12 == sum(len(t.split()) - 1 for t in says(console, "x nram+0x10:48").splitlines())
        assert 8 == sum(len(t.split()) - 1 for t in says(console, "x buffer").splitlines())
        assert 2 == len(says(console, "x buffer[14]").split()) - 1
        assert "4 fit" in refuses(console, "x buffer[12:20]")


def test_values_show_elements_and_poison():
    """Brackets with a colon or commas; an element that was never written."""
    with console_on(scale_program) as console:
        says(console, f"tbreak {line('scale-load')}", "run")

        assert says(console, "print data[2:5]") == "data[2:5] = float32[3] [2. 3. 4.]"
        assert says(console, "print buffer[3]") == "buffer[3] = poison (float32)"
        assert says(console, "print [buffer, buffer]").endswith("= [&buffer[0], &buffer[0]]")
        assert len(says(console, "print [buffer] * 500")) < 200
        says(console, "next")
        assert "no difference in 16 elements" in says(console, "diff buffer data[0:16]")


def test_the_arrays_of_the_host_are_values():
    """An operator's inputs and reference, by the names that `diff` knows."""
    spec = find_operator("mutual_information_backward")
    inputs, params = spec.cases[0].make(case_generator(spec.cases[0]))
    console = Console(DebugSession(OperatorProgram(spec, inputs, params)))

    assert f"= {inputs['px'][0, 0, 0]} (float32)" in says(console, "print input.px[0, 0, 0]")
    assert "float32" in says(console, "print reference.px_grad[0, 0, :2]")
    console.session.close()


def test_a_tensor_that_nobody_filled_has_no_origin():
    """It holds poison, and was not given by the host."""
    with console_on(scale_program) as console:
        assert "as the host gave it" in says(console, "who-wrote data")
        assert "it was never written" in says(console, "who-wrote out")
