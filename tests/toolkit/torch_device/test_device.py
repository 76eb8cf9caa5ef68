"""``import torch_mlu``: a device of PyTorch whose memory is the simulator's, and extensions with kernels in BANG C."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from mlusim.toolkit.torch.builder import BINDINGS, TENSORS, WHOLE, header_for

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    "name",
    [
        *(
            "moves",
            "views",
            "operators",
            "trains",
            "encoder",
            "saves",
            "memory",
            "streams",
            "extension",
            "files",
            "devices",
        ),
        *("flags", "casts", "graphs", "names", "switches", "triton_kernels"),
    ],
)
def test_the_device_does_what_the_cpu_does(found, name):
    assert isinstance(found[name], list), found[name]
    assert all(found[name]) or name == "memory", found[name]


def test_tensors_of_two_devices_do_not_meet(found):
    """With PyTorch's own sentence; a number of the CPU goes with any device, and so do indices."""
    told, *allowed = found["two_devices"]

    assert [] == [
        name for name, words in told.items() if "Expected all tensors to be on the same device" not in words
    ]
    assert [True] * 3 == allowed


def test_what_loses_in_half_is_computed_in_float_and_rounded_once(found):
    """Within the bounds that the tutorial gives."""
    parts = found["half"]

    assert 20 == len(parts)
    assert [] == [name for name, part in parts.items() if not part <= 1]


def test_a_module_is_the_one_of_its_sources(found):
    """A file that was edited, under the same name, and a second one of texts."""
    assert [[1, 2], True, 4, "first"] == found["modules"]


def test_names_of_the_vendor_s_package_are_there_or_say_what_replaces_them(found):
    """Each of its public modules; a snapshot of memory has a tensor's bytes."""
    lacking, sizes, priorities = found["vendor_names"]

    assert [] == lacking
    assert ([28], [0, 0]) == (sizes, priorities)


def test_memory_is_counted_and_its_end_is_an_error(found):
    used, left, pinned, moved, said = found["memory"]
    assert (used, left, pinned, moved) == (4096, 0, True, True)
    assert "MLU out of memory for a Byte tensor (1099511627776,)" in said
    assert "MLUSIM_BOARD; a tensor is freed when nothing refers to it any more (`del x`" in said
    assert "device.free" not in said


def test_the_address_of_a_tensor_with_gaps_is_noted_once_and_a_copy_of_no_bytes_is_no_fault(found):
    """By the name of the parameter; one whose elements follow one another is not."""
    words = "is given the address of y, a Float tensor (2, 2) with strides (1, 2): "

    assert 0 == found["strided"]
    assert [1, 1] == [found["stderr"].count(text) for text in (words, "is given the address of")]


def test_the_profiler_of_autograd_takes_the_device_s_events(found):
    """Whose lack PyTorch tells in a hundred lines for each operator."""
    assert "RecordFunction" not in found["stderr"]


def test_memory_that_pytorch_gives_back_is_no_finding(run_torch):
    """A tensor that a launch was given ends before the launch may be over, and pinned memory at the end."""
    done = run_torch("-m", "mlusim", "check", sys.executable, str(HERE / "left_to_pytorch.py"))

    assert (0, "no findings in 1 launch of 1 run") == (done.returncode, done.stdout.partition(",")[0])


def test_an_operator_that_the_device_lacks_is_told_when_asked(found):
    assert "torch_mlu: aten::topk.values runs on the CPU\n" in found["stderr"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fault", ["RuntimeError: __memcpy", "reach 12288 bytes past its end", "added.mlu:10, task 0"]),
        ("strided", ["RuntimeError: add takes contiguous tensors"]),
        ("dtype", ["the device mlu has no dtype Float8_e4m3fn; it has bool"]),
        ("generator", ["Expected a 'mlu' device type for generator but found 'cpu'"]),
        ("device", ["there is no device mlu:7; 2 are there, counted from 0"]),
        ("host", ["TypeError: add: argument 2 (y) is int, where torch.Tensor is expected"]),
        ("number", ["TypeError: fails: argument 1 (how) is str, where int is expected"]),
        ("list", ["TypeError: counts: argument 1 (x) is str, where ", "ist[float] is expected"]),
        ("count", ["TypeError: add takes 2 arguments, and 1 is given"]),
        ("thrown", ["RuntimeError: there is no row 7"]),
        ("odd", ["RuntimeError: fails throws something that is not std::exception"]),
        ("sparse", ["the device mlu has no sparse tensors (aten::_to_sparse): keep them on the CPU"]),
        ("compressed", ["the device mlu has no sparse tensors", "move what x.to_dense() gives"]),
        ("quantized", ["the device mlu has no quantized tensors", "move what x.dequantize() gives"]),
        (
            "nested",
            ["the device mlu has no nested tensors of layout torch.strided", "give layout=torch.jagged"],
        ),
        ("of_cards", ["aten::batch_norm_stats is an operator that PyTorch has for other cards alone"]),
        ("captured", ["given a queue that is not being captured; call cnrtQueueBeginCapture first"]),
        (
            "other",
            [
                "a Float tensor (64, 64) of device 1, and the launch is on device 0; make device 1 the current one"
            ],
        ),
        (
            "cpu",
            [
                "points to y, a Float tensor (64, 64) of the CPU, which lies in the host's memory; give y.mlu()"
            ],
        ),
        ("flags", ["TypeError: the flags '-O3' are a text; give a list: ['-O3']"]),
        ("library", ["Error building extension 'added'", "no_such_library"]),
        ("signature", ["uses add(at::Tensor), which none of its sources defines"]),
        (
            "syntax",
            ["Error building extension 'add'", "add.mlu:1:45: error: use of undeclared identifier 'y'"],
        ),
    ],
)
def test_a_mistake_is_an_exception_with_a_sentence(found, name, words):
    assert all(word in found["mistakes"][name] for word in words), found["mistakes"][name]
    assert "Traceback" not in found["stderr"]


def test_the_device_goes_on_behind_a_fault(found):
    assert found["mistakes"]["after"] is True


def test_a_file_that_calls_python_is_compiled_with_its_headers():
    """Without an include of its own: that of the extension declares them."""
    plain = "torch::Tensor f(torch::Tensor x) { happy(x); return x; }"
    called = ["if (Py_IsInitialized())", "PyRun_SimpleString(text);", "PyObject *p;", "py::object o;"]

    assert [header_for(one) for one in (plain, *called)] == [TENSORS, *[BINDINGS] * len(called)]
    assert header_for("torch::nn::Linear f;") == WHOLE


REFERENCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, y):
        return x + torch.rand(8).float() * 0 + y
def get_inputs():
    return [torch.randn(32, 8), torch.randn(32, 8)]
def get_init_inputs():
    return []
"""
SOLUTION = """
import torch
from torch_mlu.utils.cpp_extension import load_inline
extension = load_inline(
    name="added", cpp_sources="torch::Tensor add(torch::Tensor x, torch::Tensor y);",
    bang_sources=open({source!r}).read(), functions=["add"], extra_cflags=["-O3"], extra_ldflags=["-lcnrt"],
    extra_bang_cflags=["-O3", "-lm"],
)
torch.rand = torch.ones
class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return extension.add(x, y)
"""


def test_a_submission_of_the_contest_runs_and_what_it_replaces_is_told(run_torch, tmp_path):
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "solution.py").write_text(SOLUTION.format(source=str(HERE / "add.mlu")))
    call = "import sys, pathlib; from benchmarks.contest import child; f = pathlib.Path(sys.argv[1]); child.run(f, *sys.argv[2:], 0)"
    done = run_torch("-c", call, str(tmp_path), str(tmp_path / "reference.py"), str(tmp_path / "solution.py"))
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "told.json").read_text())
    assert told == {
        "step": "done",
        "time": pytest.approx(told["time"]),
        "written": 0,
        "replaced": ["torch.rand"],
    }
    assert 0 < told["time"] < 100
    arrays = [np.load(tmp_path / name / "0.npy").astype("f4") for name in ("expected", "actual", "changed")]
    assert np.allclose(arrays[0], arrays[1], atol=1e-2)
    assert np.array_equal(arrays[0], arrays[2])


def test_processes_exchange_tensors_of_their_cards(found):
    """Over gloo, in the group that the vendor's library has: all-reduce, broadcast, gathers, reduce-scatter, one to one, gradients."""
    summed, told, first, second, of_first, of_second, part, sent, gradient = found["group"]

    assert ([3.0] * 3, [1.0] * 2, [6.0] * 3) == (summed, told, sent)
    assert ([0.0], [1.0], [5.0], [6.0], [2.0]) == (first, second, of_first, of_second, part)
    assert [1.5, 1.5] == gradient
