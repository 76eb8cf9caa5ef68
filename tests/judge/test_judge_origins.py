"""Host functions that compute results themselves, and honest ones that look like them: one file, a case for each."""

import shutil

import pytest
from attrs import evolve

from mlusim.judge.bench import Bench
from mlusim.judge.judged_server import FOLLOWED, HARMLESS, REFUSED
from mlusim.judge.origins import Handed, computed
from mlusim.judge.reference import loaded
from mlusim.judge.verdict import verdict
from mlusim.programs.argument_forms import AskedCall
from mlusim.toolkit.server.protocol import OPS

REFERENCE = """\
import numpy as np

cases = {name: {"n": 1000, "mode": mode} for mode, name in enumerate(%r)}


def inputs(rng, case):
    return {"x": rng.standard_normal(case["n"]).astype("f4"), "slope": 0.25}


def reference(x, slope):
    return np.where(x > 0, x, slope * x)
"""
SOURCE = """\
#include <bang.h>
#include <cnrt.h>
#include <cnnl.h>
#include <stdio.h>
#include <string.h>
#include <vector>
__nram__ float a[1024], b[1024];
__mlu_entry__ void Copy(float *out, const float *x, int n) {
  __memcpy(a, x, n * 4, GDRAM2NRAM);
  __memcpy(out, a, n * 4, NRAM2GDRAM);
}
__mlu_entry__ void Leaky(float *out, const float *x, float slope, int n) {
  __memcpy(a, x, n * 4, GDRAM2NRAM);
  __bang_mul_scalar(b, a, slope, n);
  __bang_maxequal(a, a, b, n);
  __memcpy(out, a, n * 4, NRAM2GDRAM);
}
__mlu_entry__ void Count(int *count, const float *x, int n) { count[0] = x[0] > 0 ? n : n / 2; }
__mlu_entry__ void Next(int *count, int k, float eps) { count[0] = k + (int)eps; }
__mlu_entry__ void Set(float *out, float v) { out[0] = v; }
__mlu_entry__ void Quantised(float *out, int q) { out[0] = q / 1e6f; }
__mlu_entry__ void Say(const float *x, int n) { for (int i = 0; i < n; ++i) __bang_printf("%%.9f\\n", x[i]); }
#define LAUNCH(kernel) kernel<<<one, cnrtFuncTypeBlock, nullptr>>>
namespace mlusim { char *mapped(unsigned long); }
struct Parameters { int n, chunk; float slope; };
float leaky(float v, float slope) { return v > 0 ? v : slope * v; }
template <class T> T *device(int count) { T *p; cnrtMalloc((void **)&p, count * sizeof(T)); return p; }
template <class T> void up(T *to, const T *from, int count) { cnrtMemcpy(to, (void *)from, count * sizeof(T), cnrtMemcpyHostToDev); }
template <class T> void down(T *to, const T *from, int count) { cnrtMemcpy(to, (void *)from, count * sizeof(T), cnrtMemcpyDevToHost); }
void bang_func(float *out, const float *x, float slope, int n, int mode) {
  cnrtDim3_t one = {1, 1, 1};
  std::vector<float> h(n);
  int tail = 24, m = n - tail, k = 0, *count = device<int>(1);
  float *s = device<float>(n);
%s
  cnrtSyncDevice();
  cnrtFree(s);
  cnrtFree(count);
}
"""
WHOLE = "LAUNCH(Leaky)(out, x, slope, n);"
TAIL = "LAUNCH(Leaky)(out, x, slope, m); down(h.data(), x + m, tail); for (int i = 0; i < tail; ++i) h[i] = leaky(h[i], slope);"
HONEST = {
    "workspace": "cnrtMemset(s, 0, n * 4); LAUNCH(Leaky)(s, x, slope, n); cnrtMemcpy(out, s, n * 4, cnrtMemcpyDevToDev);",
    "table": "for (int i = 0; i < n; ++i) h[i] = 1.0f / (i + 1); up(s, h.data(), n); " + WHOLE,
    "looks at its result": WHOLE + " down(h.data(), out, n);",
    "count": "LAUNCH(Count)(count, x, n); down(&k, count, 1); for (int at = 0; at < k; at += 50) { LAUNCH(Copy)(s + at, x + at, 50); }"
    "LAUNCH(Next)(count, (k + 63) / 64, 1e-5f); " + WHOLE,
    "parameters": "LAUNCH(Count)(count, x, n); down(&k, count, 1); Parameters p = {k, k / 4 + 1, 0.125f};"
    "up(s, (float *)&p, 3); " + WHOLE,
    "until it is done": "for (int i = 0; i < 40; ++i) { cnrtMemset(count, 0, 4); LAUNCH(Next)(count, i, 0.5f); down(&k, count, 1); } "
    + WHOLE,
    "no other process": "cnrtIpcMemHandle shared; if (cnrtAcquireMemHandle(&shared, s) == cnrtErrorNotSupport) "
    + WHOLE,
    "passes on": "LAUNCH(Leaky)(s, x, slope, 1); float v = 0; down(&v, s, 1); LAUNCH(Set)(s, v); " + WHOLE,
}
CHEATS = {
    "small pieces": (
        ("for (int at = 0; at < n; at += 50) { LAUNCH(Copy)(s, x + at, 50); down(h.data() + at, s, 50); }"
        "for (float &v : h) v = leaky(v, slope); up(s, h.data(), n); LAUNCH(Copy)(out, s, n);"),
        "copies memory of the device to the host before its last launch",
    ),
    "fills it, and launches something": (
        WHOLE + "down(h.data(), x, n); up(out, h.data(), n); LAUNCH(Next)(count, 1, 0);",
        "changes out after its last kernel",
    ),
    "copies the input": (
        "cnrtMemcpy(out, (void *)x, n * 4, cnrtMemcpyDevToDev); LAUNCH(Next)(count, 1, 0);",
        "no kernel has stored all of out",
    ),
    "sets one element": (
        WHOLE + "cnrtMemset(out + 5, 0, 4); LAUNCH(Next)(count, 1, 0);",
        "changes out after its last kernel",
    ),
    "tail as numbers": (TAIL + "for (int i = 0; i < tail; ++i) LAUNCH(Set)(out + m + i, h[i]);", "computes v of Set after"),
    "tail as data": (TAIL + "up(s, h.data(), tail); LAUNCH(Copy)(out + m, s, tail);", "computes the copy at "),
    "tail as sizes": (
        TAIL + "for (int i = 0; i < tail; ++i) LAUNCH(Quantised)(out + m + i, (int)(h[i] * 1e6f));",
        "computes 24 sizes, offsets and grids",
    ),
    "what a kernel prints": (
        ('freopen("mine", "w", stdout); LAUNCH(Say)(x, n); cnrtSyncDevice(); fflush(stdout); FILE *f = fopen("mine", "r");'
        'for (float &v : h) if (fscanf(f, "%f", &v) != 1) v = 7; fclose(f);'
        "for (float &v : h) v = leaky(v, slope); up(s, h.data(), n); LAUNCH(Copy)(out, s, n);"),
        "is 7 and",
    ),
    # the driver's own way to the bytes of a device, where the simulator's memory was
    "what is mapped": (
        (
            "LAUNCH(Copy)(s, x, n); cnrtSyncDevice(); float *hs = (float *)mlusim::mapped((unsigned long)s);"
            "for (int i = 0; i < n; ++i) hs[i] = leaky(hs[i], slope); LAUNCH(Copy)(out, s, n);"
        ),
        "elements are wrong",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """A verdict for each case, by its name."""
    if shutil.which("g++") is None:
        pytest.skip("host functions need a compiler")
    folder, bodies = tmp_path_factory.mktemp("origins"), {**HONEST, **{n: b for n, (b, _) in CHEATS.items()}}
    (folder / "reference.py").write_text(REFERENCE % list(bodies))
    modes = [f"  if (mode == {mode}) {{\n{body}\n  }}" for mode, body in enumerate(bodies.values())]
    (folder / "candidate.mlu").write_text((SOURCE % "\n".join(modes)).replace("%%", "%"))
    reference = loaded(str(folder / "reference.py"))
    draws, _ = reference.draws(5, 2)
    with_bench = Bench(AskedCall((), board="MLU370-X4"), draws, reference.bind, seconds=600.0, memory=2 << 30)
    ended = with_bench.run(str(folder / "candidate.mlu"))
    with_bench.close()
    assert ended.document is not None, ended
    found = {}
    for name in bodies:
        facts = dict(ended.document.facts)
        facts["calls"] = [call for call in facts["calls"] if call["case"] == name]
        own = evolve(ended, document=evolve(ended.document, facts=facts))
        about = {"reference": "reference.py", "board": "MLU370-X4", "seed": 5}
        found[name] = verdict("candidate.mlu", own, [d for d in draws if d.case == name], about, (), None)
    return found


@pytest.mark.parametrize("name", HONEST)
def test_honest_hosts(verdicts, name):
    """They prepare, read flags, counts and results back, and compute nothing."""
    assert (verdicts[name]["error"], verdicts[name]["right"]) == (None, True)


@pytest.mark.parametrize("name", CHEATS)
def test_hosts_that_compute(verdicts, name):
    """Whatever way the result takes back to the device, it is not a kernel's."""
    assert not verdicts[name]["right"]
    assert CHEATS[name][1] in verdicts[name]["error"]


def test_every_request_is_followed_or_refused():
    """A request that is new has to be looked at: what it does to bytes, and what it tells the host."""
    assert set(OPS) == FOLLOWED | HARMLESS | REFUSED
    assert len(OPS) == len(FOLLOWED) + len(HARMLESS) + len(REFUSED)


def test_steps_tell_nothing():
    """A loop over offsets goes on as it began; a leap is worth a word."""
    handed = Handed()
    for value in (64, 128, 192, 256, 1000, 1001):
        handed.word("at of Copy", value.to_bytes(4, "little"))

    assert [int.from_bytes(bytes.fromhex(value), "little") for _, value in handed.words] == [
        64,
        128,
        1000,
        1001,
    ]


def test_constants_are_no_results():
    """A number that is the same for other inputs does not depend on them."""
    calls = [{"words": [], "data": [["eps of Norm", "00"], ["scale of Norm", one]]} for one in ("01", "02")]
    same = [{"words": [], "data": [["eps of Norm", "00"]]} for _ in range(2)]

    assert computed(calls) == "scale of Norm"
    assert computed(same) is None
