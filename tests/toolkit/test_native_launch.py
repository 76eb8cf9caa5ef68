"""Launches of native programs: results, times, errors, findings of their host, and the names that others hook."""

import re
import subprocess

import numpy as np
import pytest

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.check.kernel_calls import check_program
from mlusim.engine.preference import AUTO, NATIVE, preferring
from mlusim.machine.native.screening import Screening
from mlusim.programs.native_program import CommandProgram
from mlusim.report.efficiency import efficiency

SCALE = r"""
#include <bang.h>
#include <cnrt.h>
#include <cstdio>
#include <cstdlib>
struct Factors { float by; short count; float *more[2]; };
__nram__ float piece[1024];
__mlu_entry__ void Scale(float *y, const float *x, Factors f, int n) {
  __memcpy(piece, x, n * sizeof(float), GDRAM2NRAM);
  for (int i = 0; i < f.count; ++i) __bang_mul_scalar(piece, piece, f.by + f.more[1][0], n);
  __memcpy(y, piece, n * sizeof(float), NRAM2GDRAM);
  __bang_printf("n %d\n", n);
}
template <class T> __mlu_global__ void Put(T *y, T value) { y[0] = value; }
static void scale(float *y, const float *x, float *more, int n, cnrtQueue_t queue) {
  Factors f = {1.5f, 2, {nullptr, more}};
  cnrtDim3_t dim = {1, 1, 1};
  Scale<<<dim, cnrtFuncTypeBlock, queue>>>(y, x, f, n);
}
"""
RIGHT = (
    SCALE
    + r"""
int main() {
  float host[1000], *x, *y, *more, half = 0.5f, us = 0;
  for (int i = 0; i < 1000; ++i) host[i] = i;
  cnrtMalloc(&x, sizeof host), cnrtMalloc(&y, sizeof host), cnrtMalloc(&more, 4);
  cnrtMemcpy(x, host, sizeof host, cnrtMemcpyHostToDev), cnrtMemcpy(more, &half, 4, cnrtMemcpyHostToDev);
  cnrtQueue_t queue;
  cnrtNotifier_t from, to;
  cnrtQueueCreate(&queue), cnrtNotifierCreate(&from), cnrtNotifierCreate(&to);
  cnrtPlaceNotifier(from, queue);
  puts("before");
  scale(y, x, more, 1000, queue);
  cnrtPlaceNotifier(to, queue);
  cnrtQueueSync(queue);
  cnrtNotifierDuration(from, to, &us);
  cnrtMemcpy(host, y, sizeof host, cnrtMemcpyDevToHost);
  printf("%g %.6g\n", host[999], us);
  cnrtDim3_t dim = {1, 1, 1};
  Put<half_t><<<dim, cnrtFuncTypeBlock, queue>>>((half_t *)y, (half_t)2.5f);
  cnrtKernelParamsBuffer_t params;
  cnrtGetKernelParamsBuffer(&params);
  int value = 42, *z = (int *)x, back = 0;
  cnrtKernelParamsBufferAddParam(params, &z, sizeof z), cnrtKernelParamsBufferAddParam(params, &value, sizeof value);
  void (*put)(int *, int) = Put<int>;
  cnrtInvokeKernel_V2((const void *)put, dim, params, cnrtFuncTypeBlock, queue);
  cnrtDestroyKernelParamsBuffer(params);
  cnrtQueueSync(queue);
  cnrtMemcpy(&back, x, 4, cnrtMemcpyDevToHost);
  unsigned short bits = 0;
  cnrtMemcpy(&bits, y, 2, cnrtMemcpyDevToHost);
  printf("%d %x\n", back, bits);
}
"""
).replace("static void scale", "typedef half half_t;\nstatic void scale")
WRONG = (
    SCALE.replace("int n) {\n", 'int n) { __bang_printf("given %d\\n", n);\n', 1)
    + r"""
int main() {
  float *x, host[16] = {};
  cnrtMalloc(&x, 64);
  cnrtMemcpy(x, host, 64, cnrtMemcpyHostToDev);
  cnrtQueue_t queue;
  cnrtQueueCreate(&queue);
  cnrtNotifier_t notifier;
  cnrtNotifierCreate(&notifier);
  auto name = [](cnrtRet_t code) { return cnrtGetErrorName(code) + 4; };
  scale(x, x, x, 2000, queue);
  printf("%s ", name(cnrtGetLastError()));
  cnrtPlaceNotifier(notifier, queue);
  printf("%s %s ", name(cnrtQueryNotifier(notifier)), name(cnrtWaitNotifier(notifier)));
  printf("%s %s %s ", name(cnrtQueueSync(queue)), name(cnrtSyncDevice()), name(cnrtQueueQuery(queue)));
  scale(x, x, x, 1, queue);
  printf("%s\n", name(cnrtGetLastError()));
  cnrtQueueDestroy(queue), cnrtQueueCreate(&queue);
  cnrtDim3_t none = {0, 1, 1};
  Put<int><<<none, cnrtFuncTypeBlock, queue>>>((int *)x, 1);
  printf("%s %s ", name(cnrtPeekAtLastError()), name(cnrtGetLastError()));
  printf("%s %s\n", name(cnrtQueueSync(queue)), name(cnrtQueueSync(queue)));
  Put<int><<<none, cnrtFuncTypeBlock>>>((int *)x, 1);
  printf("%s %s\n", name(cnrtMemcpy(host, x, 4, cnrtMemcpyDevToHost)), name(cnrtMemcpy(host, x, 4, cnrtMemcpyDevToHost)));
  scale(x, (float *)0x123456, x, 1, queue);
  cnrtFree(x);
  scale(x, nullptr, x, 1, queue);
  printf("%s %s\n", name(cnrtQueueSync(queue)), name(cnrtQueueDestroy(queue)));
}
"""
)
CARELESS = (
    SCALE
    + r"""
int main() {
  float *x, *y, *z, host[16] = {};
  cnrtMalloc(&x, 64);
  cnrtMalloc(&z, 64);
  cnrtMalloc(&y, 64);
  cnrtMemcpy(x, host, 64, cnrtMemcpyHostToDev);
  cnrtQueue_t queue;
  cnrtQueueCreate(&queue);
  scale(y, x, z, 16, queue);
  cnrtMemcpy(host, x, 64, cnrtMemcpyDevToHost);  // which the kernel only reads
  cnrtMemcpy(host, y, 64, cnrtMemcpyDevToHost);
  cnrtMemcpy(host, x, 128, cnrtMemcpyDevToHost);
  cnrtFree(x);
  cnrtFree(z);
  cnrtMemset(x, 0, 4);
  return 0;
}
"""
)

HASTY = r"""
#include <cnrt.h>
#include <cstring>
__mlu_entry__ void Twice(float *to, const float *from) {
  __nram__ float b[1024];
  __memcpy(b, from, 4096, GDRAM2NRAM);
  __bang_add(b, b, b, 1024);
  __memcpy(to, b, 4096, NRAM2GDRAM);
}
static float fixed[1000];
static void look(void *place) { fixed[0] = *(float *)place; }
int main(int, char **words) {
  bool patient = !strcmp(words[1], "patient");
  float *x, *y, *pinned, *plain = new float[1024];
  cnrtQueue_t queue, other;
  cnrtNotifier_t notifier;
  cnrtDim3_t dim = {1, 1, 1};
  cnrtQueueCreate(&queue), cnrtQueueCreate(&other);
  cnrtMalloc(&x, 4096), cnrtMalloc(&y, 4096);
  cnrtMemset(x, 0, 4096);
  if (!strcmp(words[1], "silent")) {
    Twice<<<dim, cnrtFuncTypeBlock, queue>>>(y, x);  // never-copied-back
    cnrtSyncDevice();
    return 0;
  }
  cnrtHostMalloc(&pinned, 4096);  // never-freed
  memset(pinned, 0, 4096);
  cnrtMemcpyAsync(x, pinned, 4096, queue, cnrtMemcpyHostToDev);
  if (patient) cnrtNotifierCreate(&notifier), cnrtPlaceNotifier(notifier, queue), cnrtWaitNotifier(notifier);
  pinned[1023] = 5;  // no-order
  Twice<<<dim, cnrtFuncTypeBlock, queue>>>(y, x);
  cnrtMemcpyAsync(plain, y, 4096, queue, cnrtMemcpyDevToHost);
  if (patient) cnrtSyncDevice();
  plain[0] += 1;  // read-without-sync
  cnrtMemcpyAsync(pinned, y, 4096, queue, cnrtMemcpyDevToHost);
  if (patient) cnrtInvokeHostFunc(queue, look, pinned), cnrtQueueSync(queue);
  memset(pinned, 0, 4096);  // read-without-sync
  cnrtMemcpyAsync(fixed, y, 4000, queue, cnrtMemcpyDevToHost);  // never-waited
  if (patient) cnrtQueueSync(queue);
  cnrtQueueDestroy(queue);
  Twice<<<dim, cnrtFuncTypeBlock, other>>>(y, x);
  if (patient) cnrtMemcpyAsync(plain, y, 4096, other, cnrtMemcpyDevToHost), cnrtQueueSync(other);
  cnrtFree(x);  // freed-in-use
  cnrtQueueSync(other);
  cnrtFree(y);
  if (patient) cnrtFreeHost(pinned);
  if (!patient) cnrtMemcpy(fixed, plain, 4, cnrtMemcpyDevToHost), cnrtMemcpy(fixed, plain, 4, cnrtMemcpyDevToDev);
  delete[] plain;
  return 0;
}
"""


@pytest.fixture
def compiled(toolkit, tmp_path):
    """The program of a text of BANG C, with debug information."""

    def compile_(text, *flags):
        path = tmp_path / "lab.mlu"
        path.write_text(text)
        words = [str(toolkit / "bin" / "cncc"), "-g", str(path), "-o", str(tmp_path / "lab"), *flags]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return tmp_path / "lab"

    return compile_


def test_a_launch_is_that_of_the_simulator(compiled, native, tmp_path):
    """Structures with pointers, halves, prints in their place, older launches; the time is what the device predicts."""
    program = compiled(RIGHT)
    done = native.run(program)

    assert done.stderr == ""
    before, printed, first, second = done.stdout.splitlines()
    assert (before, printed, second) == ("before", "n 1000", "42 4100")
    device = mlusim.Device("MLU370-X4")
    kernel = mlusim.bangc.load(tmp_path / "lab.mlu")["Scale"]
    y, x, more = device.empty(1000, "float32"), device.put(np.zeros(1000, "f")), device.put(np.zeros(1, "f"))
    launch = device.launch(kernel, args=(y, x, (1.5, 2, (None, more)), 1000))
    value, us = first.split()
    assert (float(value), float(us)) == (999 * 4.0, float(f"{launch.time_us:.6g}"))


def test_errors_are_returned(compiled, native):
    """A fault is the last error and that of every sync of its queue, a refused launch that of one; notifiers tell that work is over.

    What the kernel printed before its fault is shown.
    """
    done = native.run(compiled(WRONG))

    assert done.stdout.splitlines() == [
        "given 2000",
        "ErrorKernelTrap Success Success ErrorKernelTrap ErrorKernelTrap ErrorKernelTrap ErrorQueue",
        "ErrorArgsInvalid ErrorArgsInvalid ErrorArgsInvalid Success",
        "ErrorArgsInvalid Success",
        "ErrorArgsInvalid Success",
    ]
    fault, failed, dim, usual, pointer, freed = done.stderr.splitlines()
    assert "lab.mlu:9, task 0" in fault
    assert "(called at lab.mlu:18 in scale)" in fault
    assert "this is a queue that has failed: the kernel launched at lab.mlu:18 in scale had a fault" in failed
    assert "dim.x = 0 is out of range" in dim
    assert "dim.x = 0 is out of range" in usual
    assert "an argument points to 0x123456, where no memory of the device is" in pointer
    assert "which was freed at lab.mlu:" in freed


UNANSWERED = r"""
#include <bang.h>
#include <cnrt.h>
#include <cstdio>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
__mlu_entry__ void Add(int *p, int at) { p[at] += 1; }
static int *p;
static int value() {
  int host;
  cnrtMemcpy(&host, p, 4, cnrtMemcpyDevToHost);
  return host;
}
static void look(void *seen) { *(int *)seen = value(); }
int main() {
  cnrtQueue_t a, b;
  cnrtDim3_t dim = {1, 1, 1};
  int seen = 0, status = 0;
  cnrtQueueCreate(&a), cnrtQueueCreate(&b), cnrtMalloc(&p, 4), cnrtMemset(p, 0, 4);
  auto name = [](cnrtRet_t code) { return cnrtGetErrorName(code) + 4; };
  for (int i = 0; i < 5000; ++i) Add<<<dim, cnrtFuncTypeBlock, a>>>(p, 0);
  cnrtInvokeHostFunc(a, look, &seen), cnrtQueueSync(a);
  Add<<<dim, cnrtFuncTypeBlock, a>>>(p, 0);
  if (fork() == 0) _exit(cnrtGetLastError() + cnrtSyncDevice());
  wait(&status);
  printf("%d %d %d\n", seen, status, value());
  fflush(stdout);
  Add<<<dim, cnrtFuncTypeBlock, a>>>(p, 1 << 20);
  std::thread([&] { printf("%s ", name(cnrtQueueSync(b))), printf("%s ", name(cnrtGetLastError())); }).join();
  printf("%s ", name(cnrtGetLastError()));
  printf("%s %s\n", name(cnrtGetLastError()), name(cnrtQueueSync(a)));
  Add<<<dim, cnrtFuncTypeBlock, b>>>((int *)0x123456, 0);
  printf("%s %s\n", name(cnrtQueueSync(b)), name(cnrtQueueSync(b)));
  Add<<<dim, cnrtFuncTypeBlock, b>>>(p, 1 << 21);
}
"""


def test_launches_that_are_not_waited_for_are_done_in_order(compiled, native):
    """Their errors are those of their thread and queue, what a child begins with has none of them, and the end of the program waits for them.

    Where an error ends the program, each launch is waited for.
    """
    program = compiled(UNANSWERED)
    done, stopped = native.run(program), native.run(program, MLUSIM_ERRORS="stop")

    first = "5000 0 5001"
    assert done.stdout.splitlines() == [
        first,
        "Success Success ErrorKernelTrap Success ErrorKernelTrap",
        "ErrorArgsInvalid Success",
    ]
    lines = [n for n, line in enumerate(UNANSWERED.splitlines(), 1) if "1 << 2" in line or "0x123456" in line]
    errors = done.stderr.splitlines()
    assert [f"(called at lab.mlu:{n} in main)" for n in lines] == [
        re.search(r"\(called at.*\)", e)[0] for e in errors
    ]
    assert (stopped.returncode, stopped.stdout, stopped.stderr.splitlines()) == (3, f"{first}\n", errors[:1])


def test_a_kernel_that_is_not_there_is_an_error_of_its_queue(compiled, native):
    """Compiled for another architecture, or not translated: the launch, the last error and one sync say so."""
    source = "static __mlu_func__ void bad(int *p) { memcpy(p, p, 4); }\n__mlu_global__ void Bad(int *p) { bad(p); }\n"
    source += (
        SCALE
        + r"""
int main() {
  cnrtQueue_t queue;
  cnrtQueueCreate(&queue);
  cnrtDim3_t dim = {1, 1, 1};
  int *p, code;
  cnrtMalloc(&p, 4);
  Bad<<<dim, cnrtFuncTypeBlock, queue>>>(p);
  code = cnrtGetLastError();
  printf("%s %d\n", cnrtGetErrorName((cnrtRet_t)code), code == cnrtQueueSync(queue));
}
"""
    )
    program = compiled(source, "--mlusim-untranslated")

    assert native.run(program).stdout == "cnrtErrorKernelTrap 1\n"
    assert native.run(program, MLUSIM_BOARD="MLU590-H8").stdout == "cnrtErrorNoKernel 1\n"


def test_a_host_that_does_not_wait_is_found_and_its_patient_twin_is_not(compiled):
    """Its own memory that a copy may still use, memory freed in use, results without a wait or a look, at the line of each."""
    program = str(compiled(HASTY))
    lines = HASTY.splitlines()

    def found(mode):
        done = check_program(CommandProgram(program, (mode,)), program, notes=True)
        return [
            (f.id.removeprefix("hostcheck-"), lines[f.line - 1].rpartition("// ")[2], f.message)
            for f in done.findings
        ]

    hasty, patient, silent = map(found, ("hasty", "patient", "silent"))
    assert patient == []
    assert [rule for rule, _, _ in silent if rule != "never-freed"] == ["never-copied-back"]
    fitting = [message for rule, _, message in hasty if rule == "no-memory"]
    assert len(fitting) == 2
    assert all(
        message.endswith("memory of the host; the direction that fits is cnrtMemcpyHostToHost")
        for message in fitting
    )
    told = [(rule, line) for rule, line, _ in hasty if rule != "no-memory"]
    assert all(rule == line for rule, line in told)
    assert sorted({rule for rule, _ in told}) == [
        "freed-in-use",
        "never-freed",
        "never-waited",
        "no-order",
        "read-without-sync",
    ]
    assert next(message for rule, _, message in hasty if rule == "no-order").startswith(
        "the program changes byte 4092 of 4096 bytes of the host"
    )
    assert len([rule for rule, _ in told if rule == "read-without-sync"]) == 2


def test_what_only_the_host_shows_is_found(compiled, capfd):
    """Each mistake of the host is a finding at the line of its call, and the driver's library does not say it as well."""
    program = compiled(CARELESS)
    lines = CARELESS.splitlines()
    done = check_program(CommandProgram(str(program)), str(program), notes=True)

    found = {f.id: lines[f.line - 1].strip() for f in done.findings if f.id.startswith("hostcheck")}
    assert found == {
        "hostcheck-read-without-sync": "cnrtMemcpy(host, y, 64, cnrtMemcpyDevToHost);",
        "hostcheck-beyond-allocation": "cnrtMemcpy(host, x, 128, cnrtMemcpyDevToHost);",
        "hostcheck-use-after-free": "cnrtMemset(x, 0, 4);",
        "hostcheck-freed-in-use": "cnrtFree(z);",
        "hostcheck-never-freed": "cnrtMalloc(&y, 64);",
        "hostcheck-never-waited": "Scale<<<dim, cnrtFuncTypeBlock, queue>>>(y, x, f, n);",
    }
    assert capfd.readouterr().err == ""


QUEUES = (
    SCALE
    + r"""
#define TO(target, n, queue) cnrtMemcpyAsync(target, host, n * 4, queue, cnrtMemcpyHostToDev)
#define FROM(source, n, queue) cnrtMemcpyAsync(back, source, n * 4, queue, cnrtMemcpyDevToHost)
#define SCALED(y, x, queue) Scale<<<dim, cnrtFuncTypeBlock, queue>>>(y, x, f, 32)
#define MEET cnrtPlaceNotifier(met, a), cnrtQueueWaitNotifier(met, b, 0)
#define WAIT cnrtQueueSync(a), cnrtQueueSync(b)
int main() {
  static float host[64], back[64], *x, *y, *more;
  cnrtQueue_t a, b;
  cnrtNotifier_t met;
  cnrtDim3_t dim = {1, 1, 1};
  cnrtMalloc(&x, 256), cnrtMalloc(&y, 256), cnrtMalloc(&more, 4);
  cnrtMemset(more, 0, 4), cnrtMemset(x, 0, 256), cnrtMemset(y, 0, 256);
  Factors f = {1.5f, 2, {nullptr, more}};
  cnrtQueueCreate(&a), cnrtQueueCreate(&b), cnrtNotifierCreate(&met);
  TO(x, 64, a); SCALED(y, x, a); FROM(y, 32, a); WAIT;  // right
  TO(x, 64, a); SCALED(y, x, b); WAIT;  // launch reads copy
  TO(x, 64, a); MEET; SCALED(y, x, b); WAIT;  // right
  MEET; TO(x, 64, a); SCALED(y, x, b); WAIT;  // launch reads copy
  TO(x, 32, a); SCALED(y, x + 32, b); WAIT;  // right
  SCALED(y, x, a); TO(x, 32, b); WAIT;  // copy writes launch
  SCALED(y, x, a); SCALED(x + 32, y, b); WAIT;  // launch reads launch
  SCALED(y, x, a); SCALED(y + 32, x, b); WAIT;  // right
  SCALED(y, x, a); cnrtMemset(y + 31, 0, 4); WAIT;  // set writes launch
  SCALED(y, x, a); cnrtMemsetAsync(y, 0, 4, a); WAIT;  // right
  FROM(y, 64, a); cnrtMemcpy(x, back, 16, cnrtMemcpyHostToDev); WAIT;  // copy reads copy
  FROM(y, 60, a); cnrtMemcpy(x, back + 60, 16, cnrtMemcpyHostToDev); WAIT;  // right
  SCALED(y, x, nullptr); cnrtMemcpy(back, y, 64, cnrtMemcpyDevToHost); WAIT;  // right
  MEET; SCALED(y, x, a); cnrtWaitNotifier(met); cnrtMemcpy(back, y, 4, cnrtMemcpyDevToHost); WAIT;  // copy reads launch
  TO(x, 32, a);  // ends
  cnrtFree(y), cnrtFree(more);
}
"""
)


@pytest.mark.parametrize("engine", [AUTO, NATIVE])
def test_work_of_queues_that_nothing_puts_in_order_is_found(compiled, monkeypatch, engine):
    """Copies, sets and launches of two queues, or of one and the host, by the bytes that they touch; also where C checks the launches."""
    clean, usual = [], Screening.run
    monkeypatch.setattr(Screening, "run", lambda *given: clean.append(usual(*given)) or clean[-1])
    program = compiled(QUEUES)
    with preferring(engine):
        done = check_program(CommandProgram(str(program)), str(program))
    lines = QUEUES.splitlines()
    expected = {n: line.split("// ")[1] for n, line in enumerate(lines, 1) if "; WAIT;  // " in line}
    found = {}
    for finding in (
        f for f in done.findings if f.id != "hostcheck-never-freed"
    ):  # of x, which the last copy uses
        words = re.fullmatch(r"a (\w+) (reads|writes) .* which the (\w+) at .*", finding.message)
        found[finding.line] = " ".join(words.groups()) if words else finding.message.split()[2]
        result = words and words[1] == "copy" and words[2] == "reads"
        kind = ("read-without-sync" if result else "no-order") if words else "never-waited"
        assert f"hostcheck-{kind}" == finding.id
        assert "cnrtQueueSync" in finding.hint

    assert {
        **{n: what for n, what in expected.items() if what != "right"},
        len(lines) - 2: "ends",
    } == found
    assert (engine == NATIVE) == any(clean)


SYMBOLS = r"""
#include <bang.h>
#include <cnrt.h>
#include <cstdio>
__mlu_device__ int table[4] = {1, 2, 3, 4};
namespace deep { static __mlu_device__ float factor = 2; }
__mlu_device__ int unused;
namespace deep { __mlu_const__ int rows[3] = {5, 6, 7}; }
__mlu_const__ int number = 9;
__mlu_entry__ void Read(int *p) { for (int i = 0; i < 3; ++i) { p[i] = deep::rows[i]; } p[3] = number; }
__mlu_entry__ void Use(int *p) { for (int i = 0; i < 4; ++i) { p[i] = table[i] * (int)deep::factor; table[i] += 10; } }
__mlu_entry__ void Put(int *t) { t[3] = 99; }
int main() {
  cnrtQueue_t q; cnrtQueueCreate(&q); cnrtDim3_t d = {1, 1, 1}; int *p, h[4], two[2] = {7, 8}; float f = 3; cnrtMalloc(&p, 16);
  size_t n; void *at;
  int a = cnrtMemcpyToSymbolAsync_V2(table, two, 8, 4, cnrtMemcpyHostToDev, q), b = cnrtMemcpyToSymbol(&deep::factor, &f, 4, 0, cnrtMemcpyHostToDev);
  Use<<<d, cnrtFuncTypeBlock, q>>>(p); cnrtQueueSync(q); cnrtMemcpy(h, p, 16, cnrtMemcpyDevToHost);
  printf("%d %d: %d %d %d %d\n", a, b, h[0], h[1], h[2], h[3]);
  a = cnrtMemcpyFromSymbol(h, table, 16, 0, cnrtMemcpyDevToHost); printf("%d: %d %d %d %d\n", a, h[0], h[1], h[2], h[3]);
  cnrtGetSymbolSize(&n, table); cnrtGetSymbolAddress(&at, table); Put<<<d, cnrtFuncTypeBlock, q>>>((int *)at); cnrtQueueSync(q);
  cnrtMemcpyFromSymbolAsync(h, table, 4, 12, cnrtMemcpyNoDirection, q); cnrtQueueSync(q); printf("%zu %d\n", n, h[0]);
  printf("%s\n", cnrtGetErrorName(cnrtMemcpyFromSymbol(h, h, 4, 0, cnrtMemcpyDevToHost)));
  printf("%s\n", cnrtGetErrorName(cnrtMemcpyFromSymbol(h, &unused, 4, 0, cnrtMemcpyDevToHost)));
  for (size_t offset : {8, 13, -4}) printf("%s\n", cnrtGetErrorName(cnrtMemcpyToSymbol(deep::rows, two, 8, offset, cnrtMemcpyHostToDev)));
  a = cnrtMemcpyToSymbol(deep::rows, two, 8, 4, cnrtMemcpyHostToDev); b = cnrtMemcpyToSymbol(&number, two, 4, 0, cnrtMemcpyHostToDev);
  Read<<<d, cnrtFuncTypeBlock, q>>>(p); cnrtQueueSync(q); cnrtMemcpy(h, p, 16, cnrtMemcpyDevToHost); cnrtGetSymbolSize(&n, deep::rows);
  printf("%d %d %zu: %d %d %d %d\n", a, b, n, h[0], h[1], h[2], h[3]);
  cnrtFree(p); cnrtQueueDestroy(q);
}
"""


def test_variables_of_the_device_are_reached_from_the_host(compiled, native):
    """Copies to and from ``__mlu_device__`` and ``__mlu_const__`` variables, of a namespace and static too, their sizes, and their addresses as arguments."""
    done = native.run(compiled(SYMBOLS))

    assert done.stdout.splitlines() == [
        "0 0: 3 21 24 12",
        "0: 11 17 18 14",
        "16 99",
        "cnrtErrorInvalidSymbol",
        "cnrtErrorInvalidSymbol",
        *("cnrtErrorArgsInvalid",) * 3,
        "0 0 12: 5 7 8 7",
    ]
    other, unused, *ends = done.stderr.splitlines()
    assert "cnrtMemcpyFromSymbol is given no variable of the program" in other
    assert "the variable unused is not in code of the device" in unused
    assert "is given 8 bytes from byte 8 on of a variable of 12 bytes" in ends[0]


HOOK = r"""
#include "cnrt.h"
#include <dlfcn.h>
extern "C" void __bangRegisterFunction(void **handle, const char *stub, char *device, const char *name, int limit, cnrtDim3_t *id, cnrtDim3_t *dim, int *size) {
  fprintf(stderr, "registers %s\n", name);
  ((decltype(&__bangRegisterFunction))dlsym(RTLD_NEXT, "__bangRegisterFunction"))(handle, stub, device, name, limit, id, dim, size);
}
extern "C" cnrtRet_t cnrtInvokeKernel(const void *stub, cnrtDim3_t dim, cnrtFunctionType_t kind, void **args, size_t reserved, cnrtQueue_t queue) {
  fprintf(stderr, "launches\n");
  return ((decltype(&cnrtInvokeKernel))dlsym(RTLD_NEXT, "cnrtInvokeKernel"))(stub, dim, kind, args, reserved, queue);
}
"""


def test_the_names_of_the_compiler_can_be_hooked(compiled, toolkit, native, tmp_path):
    """A library before ours sees kernels as they are registered, and launched."""
    program = compiled(RIGHT)
    (tmp_path / "hook.cpp").write_text(HOOK)
    words = ["g++", "-shared", "-fPIC", f"-I{toolkit / 'include'}", str(tmp_path / "hook.cpp"), "-o"]
    subprocess.run([*words, str(tmp_path / "hook.so")], check=True)
    done = native.run(program, LD_PRELOAD=str(tmp_path / "hook.so"))

    assert done.returncode == 0
    names = re.findall(r"registers (\S+)", done.stderr)
    assert len(names) == 3
    assert "_Z5ScalePfPKf7Factorsi" in names
    assert done.stderr.count("launches") == 2  # the older call has another name


POINTERS = r"""
#include <bang.h>
#include <cnrt.h>
#include <cstdio>
__nram__ float piece[4];
__mlu_entry__ void Sum(float *out, void **in, int count) {
  float total = 0;
  for (int i = 0; i < count; ++i) {
    __memcpy(piece, (float *)in[i], sizeof piece, GDRAM2NRAM);
    total += piece[3] + ((float *)in[i])[0];
  }
  out[0] = total;
}
__mlu_entry__ void Own(float *out) { out[taskId] = coreId == 0x80 ? 9 : 5; }
__mlu_entry__ void Unasked(float *out) { out[taskId] = 7; }
int main() {
  float host[4] = {1, 2, 3, 4}, *in[3], *out;
  void **table;
  for (float *&one : in) cnrtMalloc(&one, 16), cnrtMemcpy(one, host, 16, cnrtMemcpyHostToDev);
  cnrtMalloc(&out, 4), cnrtMalloc(&table, sizeof in);
  cnrtMemcpy(table, in, sizeof in, cnrtMemcpyHostToDev);
  cnrtDim3_t dim = {1, 1, 1};
  Sum<<<dim, cnrtFuncTypeBlock>>>(out, table, 3);
  cnrtMemcpy(host, out, 4, cnrtMemcpyDevToHost);
  printf("%g", host[0]);
  dim.x = 4;
  Own<<<dim, cnrtFuncTypeUnion1>>>(in[0]);
  for (int i = 0; i < 2; i++) Unasked<<<dim, cnrtFuncTypeUnion1>>>(in[1]);
  cnrtMemcpy(host, in[0], 16, cnrtMemcpyDevToHost);
  printf(" %g %g\n", host[0], host[1]);
}
"""


@pytest.mark.parametrize("engine", ["auto", "python"])
def test_pointers_in_device_memory_are_found(compiled, native, engine):
    """A kernel follows addresses that the host stored in memory of the device.

    A memory core stores to the place of its cluster's first task before it, or after it where the environment says so.
    """
    program = compiled(POINTERS)
    done = native.run(program, MLUSIM_ENGINE=engine)
    last = native.run(program, MLUSIM_ENGINE=engine, MLUSIM_MEMORY_CORES="last")

    assert (done.stdout, last.stdout) == ("15 5 5\n", "15 9 5\n")
    for ended, order in ((done, "first"), (last, "last")):
        (note,) = ended.stderr.splitlines()
        assert note.startswith(f"note: Unasked also runs on memory cores, which store to GDRAM {order} here")
        assert "`if (__is_mpu()) return;` (coreId == 0x80) is missing" in note


def test_an_unknown_order_of_cores_is_refused(compiled, native):
    """It is not taken for the default."""
    done = native.run(compiled(POINTERS), MLUSIM_MEMORY_CORES="early")

    assert (
        "error: MLUSIM_MEMORY_CORES is 'early'; it must be last or first, which is the default" in done.stderr
    )
    assert done.stdout == ""


ARCHITECTURES = r"""
#include <bang.h>
#include <cnrt.h>
#include <cstdio>
__mlu_entry__ void Which(int *out) { out[0] = __BANG_ARCH__; }
int main() {
  for (int device = 0; device < 2; ++device) {
    int found = 0, *out = nullptr;
    cnrtSetDevice(device);
    cnrtMalloc((void **)&out, sizeof found);
    Which<<<cnrtDim3_t{1, 1, 1}, cnrtFuncTypeBlock, nullptr>>>(out);
    cnrtMemcpy(&found, out, sizeof found, cnrtMemcpyDevToHost);
    cnrtFree(out);
    printf("%d\n", found);
  }
}
"""


def test_boards_of_two_architectures_run_their_own_code(compiled, native):
    """Each device takes the code of its architecture; where an image has none, the launch on that device is refused."""
    both = "--bang-mlu-arch=mtp_372", "--bang-mlu-arch=mtp_592"
    done = native.run(compiled(ARCHITECTURES, *both), MLUSIM_BOARD="MLU370-X4,MLU590-H8")
    assert (done.stdout.split(), done.stderr) == (["372", "592"], "")

    done = native.run(compiled(ARCHITECTURES, both[0]), MLUSIM_BOARD="MLU370-X4,MLU590-H8")
    assert done.stdout.split()[0] == "372"
    assert "was compiled for mtp_372, and this board has __BANG_ARCH__ 592" in done.stderr


WRAP = r"""
#include "cnrt.h"
#include <cstdio>
#include <map>
#include <string>
static std::map<const void *, std::string> &names() { static std::map<const void *, std::string> all; return all; }
extern "C" void __real___bangRegisterFunction(void **, const char *, char *, const char *, int, cnrtDim3_t *, cnrtDim3_t *, int *);
extern "C" void __wrap___bangRegisterFunction(
    void **handle, const char *stub, char *device, const char *name, int limit, cnrtDim3_t *id, cnrtDim3_t *dim, int *size) {
  names()[stub] = name;
  __real___bangRegisterFunction(handle, stub, device, name, limit, id, dim, size);
}
extern "C" cnrtRet_t __real_cnrtInvokeKernel(const void *, cnrtDim3_t, cnrtFunctionType_t, void **, size_t, cnrtQueue_t);
extern "C" cnrtRet_t __wrap_cnrtInvokeKernel(
    const void *stub, cnrtDim3_t dim, cnrtFunctionType_t kind, void **args, size_t reserved, cnrtQueue_t queue) {
  printf("[MLU Kernel Name(s)     ]: {\"%s\": %u}\n", names()[stub].c_str(), dim.x);
  return __real_cnrtInvokeKernel(stub, dim, kind, args, reserved, queue);
}
"""


def test_the_linker_can_wrap_launches(compiled, native, tmp_path):
    """``--wrap`` takes the names of the compiler that the program's own objects refer to: kernels are traced by name."""
    (tmp_path / "wrap.cpp").write_text(WRAP)
    names = ("cnrtInvokeKernel", "__bangRegisterFunction")
    program = compiled(ARCHITECTURES, str(tmp_path / "wrap.cpp"), *(f"-Wl,--wrap={name}" for name in names))
    done = native.run(program, MLUSIM_BOARD="MLU370-X4,MLU370-X4")

    assert done.stderr == ""
    assert done.stdout.splitlines() == ['[MLU Kernel Name(s)     ]: {"_Z5WhichPi": 1}', "372"] * 2


EFFICIENCIES = r"""
#include <bang.h>
#include <cndev.h>
#include <cnrt.h>
#include <cstdio>
#define N 4096
__nram__ float piece[N];
__mlu_entry__ void Twice(float *y, const float *x) {
  __memcpy(piece, x + taskId * N, sizeof piece, GDRAM2NRAM);
  __bang_add(piece, piece, piece, N);
  __memcpy(y + taskId * N, piece, sizeof piece, NRAM2GDRAM);
}
int main() {
  const int tasks = 8;
  const double ops = tasks * N, bytes = 2.0 * tasks * N * sizeof(float);
  float *x, *y, us = 0;
  cnrtNotifier_t from, to;
  cnrtMalloc((void **)&x, tasks * sizeof piece), cnrtMalloc((void **)&y, tasks * sizeof piece);
  cnrtMemset(x, 0, tasks * sizeof piece);
  cnrtNotifierCreate(&from), cnrtNotifierCreate(&to);
  cnrtPlaceNotifier(from, nullptr);
  Twice<<<cnrtDim3_t{tasks, 1, 1}, cnrtFuncTypeBlock, nullptr>>>(y, x);
  cnrtPlaceNotifier(to, nullptr);
  cnrtQueueSync(nullptr);
  cnrtNotifierDuration(from, to, &us);
  int clusters, cores, khz;
  cnrtDeviceGetAttribute(&clusters, cnrtAttrClusterCount, 0);
  cnrtDeviceGetAttribute(&cores, cnrtAttrMcorePerCluster, 0);
  cnrtDeviceGetAttribute(&khz, cnrtAttrClusterClockRate, 0);
  cndevDDRInfo_t ddr = {};
  cndevInit(0);
  cndevGetDDRInfo(&ddr, 0);
  double rest = ddr.bandWidthDecimal;
  while (rest > 1) rest /= 10;
  cndevDeviceMaxPerformance_t most = {};
  cndevGetDeviceMaxPerformance(&most, 0);
  printf("%.7g %.7g %.7g\n", us, ops / (us * 1e-6 * (most.fp32Vector / 2) * clusters * cores * khz * 1e3), bytes / (us * 1e-6 * (ddr.bandWidth + rest) * 1e9));
  cnrtFree(x), cnrtFree(y), cnrtNotifierDestroy(from), cnrtNotifierDestroy(to);
}
"""


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
def test_a_program_reads_the_efficiencies_of_the_report(compiled, native, tmp_path, board):
    """Hardware time, compute and IO efficiency by the vendor's formulas, from notifiers and what the board says of itself."""
    arch = find_board(board).arch.name
    done = native.run(compiled(EFFICIENCIES, f"--bang-mlu-arch={arch}", "-lcndev"), MLUSIM_BOARD=board)
    us, compute, io = map(float, done.stdout.split())

    device = mlusim.Device(board)
    text = EFFICIENCIES.partition("int main")[0].replace("#include <cndev.h>", "")
    (tmp_path / "kernel.mlu").write_text(text)
    kernel = mlusim.bangc.load(tmp_path / "kernel.mlu", board=board)["Twice"]
    y, x = device.empty(8 * 4096, "float32"), device.put(np.zeros(8 * 4096, "f"))
    launch = device.launch(kernel, dim=(8, 1, 1), kind=mlusim.BLOCK, args=(y, x))
    found = efficiency(find_board(board), "float32", 8 * 4096, 2 * 8 * 4096 * 4, launch.time_us)
    assert us == pytest.approx(launch.time_us, rel=1e-6)
    assert (compute, io) == pytest.approx((found.compute_efficiency, found.io_efficiency), rel=1e-6)
    assert found.io_bandwidth == find_board(board).bandwidth / 1e9
