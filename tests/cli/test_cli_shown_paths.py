"""A file has one name in texts: its path from the current folder, wherever the text is made."""

import re

import pytest

import mlusim
from mlusim import bangc
from mlusim.errors import MlusimError, UsageError

KERNELS = """#include <bang.h>
__nram__ float a[64];
__mlu_entry__ void Far(float *y) { __memcpy(a, y, 400, GDRAM2NRAM); }
namespace a1 { __mlu_entry__ void K(float *y) { y[0] = 1; } }
namespace b1 { __mlu_entry__ void K(float *y) { y[0] = 1; } }
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that one stands in, with sources in a folder below it."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "k.mlu").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def named(project, text):
    """The names of the project's files in *text*; none is absolute."""
    assert str(project) not in text
    return set(re.findall(r"[\w./]*k\.mlu", text))


def test_a_fault_names_where_memory_is_declared_like_where_it_happens(project):
    """The declaration and the access: one path."""
    device = mlusim.Device()
    with pytest.raises(MlusimError, match="declared at") as caught:
        device.launch(bangc.load("src/k.mlu")["Far"], args=(device.empty(64, "float32"),))

    assert {"src/k.mlu"} == named(project, str(caught.value))


def test_kernels_of_one_name_are_told_apart_by_path(project):
    """Each with its file and line."""
    with pytest.raises(UsageError, match="is the name of 2 kernels") as caught:
        bangc.load("src/k.mlu")["K"]

    assert {"src/k.mlu"} == named(project, str(caught.value))


def test_compile_names_a_source_as_it_was_given(project, cli):
    """Its heading is the path from the current folder."""
    done = cli("compile", "src/k.mlu")

    assert "src/k.mlu" == done.out.splitlines()[0]
