"""Calls of the closed library from a native program reach the stand-ins with the types of their arguments."""

import re

import pytest

from mlusim.bangc.prelude import DRIVER
from mlusim.bangc.runtime.cnnl.calls import calls
from mlusim.check.kernel_calls import check_program
from mlusim.errors import Unsupported
from mlusim.programs.native_program import CommandProgram
from mlusim.toolkit.server.closed_library import HostWords, Stores

CALLS = r"""
#include "cnnl.h"
int main() {
  cnnlHandle_t handle;
  cnnlTensorDescriptor_t wide, high, both[2];
  cnnlTransposeDescriptor_t turn;
  cnnlCreate(&handle), cnnlSetQueue(handle, nullptr);
  cnnlCreateTensorDescriptor(&wide), cnnlCreateTensorDescriptor(&high), cnnlCreateTransposeDescriptor(&turn);
  int sizes[2] = {2, 3}, order[2] = {1, 0};
  int64_t turned[2] = {3, 2}, odd[2] = {1, 9};
  cnnlSetTensorDescriptor(wide, CNNL_LAYOUT_ARRAY, CNNL_DTYPE_FLOAT, 2, sizes);
  cnnlSetTensorDescriptor_v2(high, CNNL_LAYOUT_ARRAY, CNNL_DTYPE_FLOAT, 2, turned);
  float *x, *y, one = 2.5f, host[6] = {1, 2, 3, 4, 5, 6};
  cnrtMalloc(&x, 24), cnrtMalloc(&y, 24);
  int status = cnnlFill_v3(handle, CNNL_POINTER_MODE_HOST, &one, wide, y);
  cnrtMemcpy(x, host, 24, cnrtMemcpyHostToDev);
  cnrtMemcpy(host, y, 24, cnrtMemcpyDevToHost);
  printf("%d %g\n", status, host[5]);
  cnnlSetTransposeDescriptor(turn, 2, order);
  size_t work = 99;
  cnnlGetTransposeWorkspaceSize(handle, wide, turn, &work);
  status = cnnlTranspose_v2(handle, turn, wide, x, high, y, nullptr, work);
  cnrtMemcpy(host, y, 24, cnrtMemcpyDevToHost);
  printf("%d %zu %g %g\n", status, work, host[1], host[4]);
  both[0] = both[1] = wide;
  const void *inputs[2] = {x, x};
  status = cnnlAddN_v2(handle, both, inputs, 2, wide, y, nullptr, (size_t)0);
  cnrtMemcpy(host, y, 24, cnrtMemcpyDevToHost);
  printf("%d %g\n", status, host[5]);
  cnnlTensorDescriptor_t one_by_one, parts[6], state;
  cnnlSeqDataDescriptor_t steps;
  cnnlGruDescriptor_t unit;
  cnnlActivationMode_t gates[1] = {CNNL_ACTIVATION_SIGMOID}, next[1] = {CNNL_ACTIVATION_TANH};
  int ones[4] = {1, 1, 1, 1}, times[3] = {1, 2, 1};
  cnnlCreateTensorDescriptor(&one_by_one), cnnlCreateTensorDescriptor(&state);
  cnnlCreateSeqDataDescriptor(&steps), cnnlCreateGruDescriptor(&unit);
  cnnlSetTensorDescriptor(one_by_one, CNNL_LAYOUT_ARRAY, CNNL_DTYPE_FLOAT, 2, ones);
  cnnlSetTensorDescriptor(state, CNNL_LAYOUT_ARRAY, CNNL_DTYPE_FLOAT, 4, ones);
  cnnlSetSeqDataDescriptor(steps, CNNL_SEQDATA_NTC, CNNL_DTYPE_FLOAT, 3, times, 0, nullptr, nullptr);
  cnnlSetGruDescriptor_v2(unit, CNNL_GRU_ALGO_V2, CNNL_GRU_MODE_V2, CNNL_GRU_FORWARD, CNNL_GRU_IH_RZN, gates, next,
                          CNNL_GRU_LDNC, CNNL_DTYPE_FLOAT, true, nullptr, nullptr, nullptr, nullptr, nullptr, 1);
  float numbers[10] = {0, 1, 0.5f, -0.5f, 0.25f, 2, 0, 0, 1, 2};  // filters of the input and of the state, x 1 and 2
  float *held, *ends;
  void **table;
  const void *places[6];
  cnrtMalloc(&held, sizeof numbers), cnrtMalloc(&table, sizeof places), cnrtMalloc(&ends, 4);
  cnrtMemcpy(held, numbers, sizeof numbers, cnrtMemcpyHostToDev);
  for (int i = 0; i < 6; ++i) parts[i] = one_by_one, places[i] = held + i;
  cnrtMemcpy(table, places, sizeof places, cnrtMemcpyHostToDev);
  status = cnnlGru_v2(handle, unit, nullptr, nullptr, steps, held + 8, state, held, nullptr, nullptr, parts, (const void **)table,
                      parts, (const void **)table, nullptr, work, steps, x, state, ends);
  cnrtMemcpy(host, x, 8, cnrtMemcpyDevToHost), cnrtMemcpy(host + 2, ends, 4, cnrtMemcpyDevToHost);
  printf("%d %.4f %.4f %d\n", status, host[0], host[1], host[2] == host[1]);
  printf("%d\n", cnnlSetTensorDescriptorEx_v2(high, CNNL_LAYOUT_ARRAY, CNNL_DTYPE_FLOAT, 2, turned, odd));
  printf("%d\n", mlusim_cnnl::send("cnnlUnheardOf", handle));
}
"""


def test_calls_reach_their_stand_ins(native):
    """Numbers, descriptors, arrays of them and places for results travel; a call without a stand-in is refused."""
    program = native.compile(CALLS, "-std=c++11", "-Wall", "-Wextra", "-Werror", needs=("cnnl", "cnrt"))
    done = native.run(program)
    checked = check_program(CommandProgram(str(program)), str(program), notes=True)

    assert done.stdout.splitlines() == ["0 2.5", "0 0 4 3", "0 12", "0 0.0898 0.1223 1", "7", "7"]
    assert "cnnlUnheardOf is of the closed library, and has no stand-in here" in done.stderr
    assert ["cnnlUnheardOf" in f.message for f in checked.findings if f.id == "hostcheck-refused"] == [True]


def test_the_header_has_every_stand_in():
    """What the header declares is what there is."""
    text = (DRIVER / "cnnl.h").read_text()
    kinds, names = (
        set(re.findall(r"X\((\w+)\)", re.search(rf"define {table}\(X\)(.*?)\n(?! )", text, re.DOTALL)[1]))
        for table in ("MLUSIM_CNNL_DESCRIPTORS", "MLUSIM_CNNL_CALLS")
    )
    declared = {f"cnnl{n}" for n in names} | {
        f"cnnl{verb}{k}" for k in kinds for verb in ("Create", "Destroy")
    }

    assert dict(calls(None)).keys() - declared == set()
    assert declared - dict(calls(None)).keys() == set()


def test_what_the_host_does_not_have_is_a_sentence():
    """A stand-in that reads behind what could be read of the host, or an untyped number, is refused."""
    with pytest.raises(Unsupported, match="which is not there"):
        HostWords(0x1000, b"1234", "i", Stores())[1]
    with pytest.raises(Unsupported, match="without a type"):
        HostWords(0x1000, b"1234", "", Stores())[0]
