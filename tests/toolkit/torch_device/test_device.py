"""``import torch_mlu``: a device of PyTorch whose memory is the simulator's, and extensions with kernels in BANG C."""

import pytest


@pytest.mark.parametrize(
    "name", ["moves", "views", "operators", "trains", "saves", "memory", "streams", "extension"]
)
def test_the_device_does_what_the_cpu_does(found, name):
    assert isinstance(found[name], list), found[name]
    assert all(found[name]) or name == "memory", found[name]


def test_memory_is_counted_and_its_end_is_an_error(found):
    used, left, pinned, moved, said = found["memory"]
    assert (used, left, pinned, moved) == (4096, 0, True, True)
    assert "MLU out of memory for a Byte tensor (1099511627776,)" in said


def test_an_operator_that_the_device_lacks_is_told_when_asked(found):
    assert "torch_mlu: aten::topk.values runs on the CPU\n" in found["stderr"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fault", ["RuntimeError: __memcpy", "reach 12288 bytes past its end", "added.mlu:10, task 0"]),
        ("strided", ["RuntimeError: add takes contiguous tensors"]),
        ("dtype", ["the device mlu has no dtype Float8_e4m3fn; it has bool"]),
        ("device", ["there is no device mlu:7; 1 are there"]),
        ("host", ["TypeError: add(): incompatible function arguments"]),
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
