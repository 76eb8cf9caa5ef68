"""The compiler driver: a program of kernels and host code, compiled as its own build says."""

import contextlib
import os
import platform
import random
import re
import signal
import subprocess
import sys

import pytest

from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError
from mlusim.toolkit import cnas, cnmon, compiler, folder as toolkit_folder, image
from mlusim.toolkit.cncc import TOO_LARGE
from mlusim.toolkit.ending import ended_in_order, signals_held
from mlusim.toolkit.folder import make
from mlusim.toolkit.server import image_module

ADD = r"""
#include <bang.h>
#include <cstdio>
#include <thread>
#include <vector>
#define N 256
__nram__ float nram_buffer[2 * N];
__nram__ float never_used[4];
__mlu_entry__ void add(float *out, const float *a, const float *b, int n) {
  int each = n / taskDim, at = taskId * each;
  __memcpy(nram_buffer, a + at, each * sizeof(float), GDRAM2NRAM);
  __memcpy(nram_buffer + N, b + at, each * sizeof(float), GDRAM2NRAM);
  __bang_add(nram_buffer, nram_buffer, nram_buffer + N, each);
  __memcpy(out + at, nram_buffer, each * sizeof(float), NRAM2GDRAM);
}
void launch(float *out, const float *a, const float *b, int n, cnrtQueue_t queue) {
  cnrtDim3_t dim = {4, 1, 1};
  add<<<dim, cnrtFuncTypeUnion1, queue>>>(out, a, b, n);
}
"""
MAIN = r"""
#include <cnrt.h>
#include <cstdio>
#include <thread>
#include <vector>
__nram__ float nram_buffer[8];
extern void launch(float *, const float *, const float *, int, cnrtQueue_t);
int main() {
  const int n = 1024;
  std::vector<float> a(n, 1.5f), b(n, 2.f), c(n);
  std::thread worker([&] { b[0] = 3; });
  worker.join();
  float *da, *db, *dc;
  CNRT_CHECK(cnrtMalloc(&da, n * 4));
  CNRT_CHECK(cnrtMalloc(&db, n * 4));
  CNRT_CHECK(cnrtMalloc(&dc, n * 4));
  CNRT_CHECK(cnrtMemcpy(da, a.data(), n * 4, cnrtMemcpyHostToDev));
  CNRT_CHECK(cnrtMemcpy(db, b.data(), n * 4, cnrtMemcpyHostToDev));
  cnrtQueue_t queue;
  CNRT_CHECK(cnrtQueueCreate(&queue));
  launch(dc, da, db, n, queue);
  CNRT_CHECK(cnrtQueueSync(queue));
  CNRT_CHECK(cnrtMemcpy(c.data(), dc, n * 4, cnrtMemcpyDevToHost));
  printf("%g %g\n", c[0], c[n - 1]);
}
"""


@pytest.fixture
def cncc(toolkit, tmp_path):
    """Runs ``cncc`` with some flags in a folder of the test's own."""

    def run(*words, code=0):
        done = subprocess.run(
            [str(toolkit / "bin" / "cncc"), *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    return run


def test_a_program_of_two_files_runs(cncc, native, tmp_path):
    """Kernels and host code of two files, each with an NRAM variable of one name, are compiled without a warning, and run."""
    (tmp_path / "add.mlu").write_text(ADD)
    (tmp_path / "main.mlu").write_text(MAIN)

    assert cncc("-Wall", "-Werror", "-O2", "-c", "add.mlu", "-o", "add.o") == ""
    assert cncc("-Wall", "-Werror", "main.mlu", "add.o", "-o", "main") == ""
    assert native.run(tmp_path / "main").stdout == "4.5 3.5\n"


STANDARDS = r"""
#include <cnrt.h>
#include <cstdio>
struct Pair { float a, b; };
#if __cplusplus >= 202002L
template <class T> concept Wide = sizeof(T) == 4;
__mlu_func__ auto doubled(Wide auto v) { return v + v; }
__mlu_func__ Pair made(float x) { return {.a = x, .b = doubled(x)}; }
#else
__mlu_func__ Pair made(float x) { Pair p = Pair{x, 2 * x}; return p; }
#endif
__mlu_entry__ void NAME(float *x) {
  auto last = [](Pair p) { return p.b; };
  *x = last(made(4)) + __cplusplus % 1000;
}
#ifdef MAIN
__mlu_entry__ void older(float *x);
int main() {
  float *there, here[2];
  cnrtMalloc((void **)&there, sizeof here);
  cnrtDim3_t dim = {1, 1, 1};
  older<<<dim, cnrtFuncTypeBlock, nullptr>>>(there);
  NAME<<<dim, cnrtFuncTypeBlock, nullptr>>>(there + 1);
  cnrtMemcpy(here, there, sizeof here, cnrtMemcpyDevToHost);
  printf("%g %g\n", here[0], here[1]);
}
#endif
"""


def test_kernels_are_of_the_standard_that_is_given(cncc, native, tmp_path):
    """In C++14 a temporary is moved, which a compiler leaves out; C++20 has concepts; each sees its own ``__cplusplus``."""
    (tmp_path / "k.mlu").write_text(STANDARDS)
    cncc("-std=c++14", "-DNAME=older", "-c", "k.mlu", "-o", "older.o", "-Wall", "-Werror")
    cncc("--std=gnu++2a", "-DNAME=newer", "-DMAIN", "k.mlu", "older.o", "-o", "main", "-Wall", "-Werror")

    assert native.run(tmp_path / "main").stdout == "410 10\n"
    sentence = (
        "kernels are not compiled with -std=c++98; give one of c++11, c++14, c++17, c++20, or its gnu++"
    )
    assert sentence in cncc("-std=c++98", "-c", "k.mlu", code=2)


def test_a_moved_program_runs_without_its_sources(cncc, native, tmp_path):
    """The form is in the program; a kernel's device function of another file is had from an archive, and missed when it is linked."""
    (tmp_path / "one.mlu").write_text(
        ADD.replace("__bang_add(", "shift(").replace(
            "__mlu_entry__",
            "__mlu_func__ void shift(float *, const float *, const float *, int);\n__mlu_entry__",
        )
    )
    (tmp_path / "two.mlu").write_text(
        "__nram__ float nram_buffer[64];\n__mlu_func__ void shift(float *out, const float *a, const float *b, int n) {\n"
        "  __bang_add(out, a, b, n);\n  __bang_add_scalar(out, out, 10, n);\n}\n"
    )
    (tmp_path / "main.mlu").write_text(MAIN)
    cncc("-c", "one.mlu", "two.mlu", "main.mlu", "-Wall", "-Werror")
    subprocess.run(["ar", "rcs", "libtwo.a", "two.o"], cwd=tmp_path, check=True)
    missed = cncc("one.o", "main.o", "-o", "main", code=1)
    assert "undefined reference to `shift(float*, float const*, float const*, int) [clone .device]'" in missed
    cncc("one.o", "main.o", "-L.", "-ltwo", "-o", "main")
    for name in ("one", "two", "main"):
        (tmp_path / f"{name}.mlu").unlink()
    (tmp_path / "elsewhere").mkdir()
    moved = (tmp_path / "main").rename(tmp_path / "elsewhere" / "program")

    assert native.run(moved).stdout == "14.5 13.5\n"


def test_what_does_not_translate_is_said_at_compile_time(cncc, tmp_path):
    """A kernel that the front end does not take is an error with its line, unless asked otherwise; clang's own errors come alone."""
    (tmp_path / "bad.mlu").write_text(
        "__mlu_entry__ void k(int *p) {\n  memcpy(p, p + 1, 4);\n}\nstatic __mlu_func__ void f(int *p) { memcpy(p, p, 4); }\n"
    )
    said = cncc("-c", "bad.mlu", code=1)
    assert f"{tmp_path}/bad.mlu:2:3: error: k does not translate: memcpy is a function of the host" in said
    assert "\n  memcpy(p, p + 1, 4);\n  ^" in said
    assert f"{tmp_path}/bad.mlu:4:38: warning: f does not translate" in said
    assert not (tmp_path / "bad.o").exists()
    said = cncc("-c", "bad.mlu", "-Werror", "--mlusim-untranslated")
    assert f"{tmp_path}/bad.mlu:2:3: warning: k does not translate" in said
    assert (tmp_path / "bad.o").exists()
    (tmp_path / "worse.mlu").write_text("__mlu_entry__ void k(float *p) {\n  *p = undeclared;\n}\n")
    said = cncc("-c", "worse.mlu", code=1)
    assert said.count("undeclared identifier 'undeclared'") == 1
    assert not (tmp_path / "worse.o").exists()


def test_each_mistake_is_one_sentence(cncc, toolkit, tmp_path):
    """Wrong flags, files that are not there, and what the flags contradict end with exit code 2 and one sentence."""
    (tmp_path / "a.mlu").write_text("__mlu_entry__ void k() {}\n")
    (tmp_path / "b.mlu").write_text("int b() { return 0; }\n")
    (tmp_path / "loop.rsp").write_text("@loop.rsp")
    (tmp_path / "open.rsp").write_text("-c 'a")
    for words, sentence in (
        ([], "no input files; name a source, as in `cncc -c kernel.mlu -o kernel.o`"),
        (["-c", "gone.mlu"], "gone.mlu: there is no such file"),
        (["-c", "a.mlu", "--bang-mlu-arh=mtp_372"], "did you mean --bang-mlu-arch=VALUE?"),
        (["-c", "a.mlu", "--bang-mlu-arch=mtp_999"], "'mtp_999' is not an architecture; give one of mtp_220"),
        (["-c", "a.mlu", "--bang-mlu-arch"], "--bang-mlu-arch has no value"),
        (["-c", "a.mlu", "-o"], "-o has no value"),
        (["-c", "a.mlu", "b.mlu", "-o", "x.o"], "-o x.o is one file and 2 are made; leave it out"),
        (
            ["--bang-device-only", "a.mlu"],
            "--bang-device-only makes no program; give -c for an object, or -S for text",
        ),
        (["@loop.rsp"], "@loop.rsp leads back to itself"),
        (["@open.rsp"], "@open.rsp is not a list of flags"),
    ):
        said = cncc(*words, code=2)
        assert said.startswith("cncc: error: "), said
        assert sentence in said
        assert said.count("\n") == 1


def test_a_full_disk_is_one_sentence(cncc, tmp_path):
    """Neither a crash of clang's nor a traceback, for kernels, plain C++ and the linker."""
    (tmp_path / "a.mlu").write_text("__mlu_entry__ void k() {}\n")
    (tmp_path / "b.cpp").write_text("int main() {}\n")
    for words in (["-c", "a.mlu"], ["-c", "b.cpp"], ["-S", "--bang-device-only", "a.mlu"]):
        said = cncc(*words, "-o", "/dev/full", code=2)
        assert said.startswith("cncc: error: "), said
        assert "no space" in said.lower()
        assert said.count("\n") == 1
        assert ": :" not in said


@pytest.mark.parametrize(
    "line", ["\t.set\tplain, _Z20__device_stub__plainPf\n", "plain = _Z20__device_stub__plainPf\n"]
)
def test_names_of_kernels_stay_for_the_linker_as_any_clang_writes_them(line):
    """Older versions of clang write a directive, newer ones an equals sign; the host's own functions are left out."""
    assembly = f"\t.globl\tplain\n{line}\t.globl\tmain\nmain:\n"

    text = image.text_of("kernel void plain(float * p):", assembly, "k.mlu", ["mtp_372"])

    assert [True, False] == [f".globl\t{name}\n" in text for name in ("plain", "main")]


def test_device_code_alone_is_refused_as_the_whole_file_is(cncc, tmp_path):
    """The front end goes on behind a missing header; what is written would lack what stands in it."""
    (tmp_path / "k.mlu").write_text('#include "none.h"\n__mlu_entry__ void k(int *p) { *p = 1; }\n')

    said = cncc("-S", "--bang-device-only", "k.mlu", code=1)

    assert "k.mlu:1:10: fatal error: 'none.h' file not found" in said
    assert not (tmp_path / "k.s").exists()


LAUNCHER = r"""
#include <cnrt.h>
#include <cstdio>
typedef unsigned short half;
extern "C" void plain(half *, unsigned);
void mangled(half *, half *, int);
void launch(void *kernel, half *p, unsigned n, int more) {
  cnrtQueue_t queue;
  cnrtKernelParamsBuffer_t buffer;
  cnrtCreateQueue(&queue);
  cnrtGetKernelParamsBuffer(&buffer);
  cnrtKernelParamsBufferAddParam(buffer, &p, sizeof p);
  if (more) cnrtKernelParamsBufferAddParam(buffer, &p, sizeof p);
  cnrtKernelParamsBufferAddParam(buffer, &n, sizeof n);
  printf("%d ", cnrtInvokeKernel_V2(kernel, {1, 1, 1}, buffer, CNRT_FUNC_TYPE_BLOCK, queue));
  half seen = 0;
  float value = 0;
  cnrtSyncQueue(queue);
  cnrtMemcpy(&seen, p, sizeof seen, CNRT_MEM_TRANS_DIR_DEV2HOST);
  cnrtConvertHalfToFloat(&value, seen);
  printf("%g\n", value);
}
int main() {
  half *p;
  cnrtInit(0);
  cnrtMalloc((void **)&p, 64);
  launch((void *)&plain, p, 7, 0);
  launch((void *)&mangled, p, 2, 1);
}
"""


def test_kernels_are_assembled_and_launched_by_objects_of_other_compilers(cncc, native, toolkit, tmp_path):
    """By ``cnas`` in two steps, at once, and beside host code; by the plain name and the mangled one, not by one of the C library."""
    (tmp_path / "k.mlu").write_text(
        "#include <bang.h>\n__mlu_entry__ void plain(half *p, uint32_t n) { p[0] = n; }\n"
        "__mlu_entry__ void mangled(half *p, half *q, int n) { p[0] = q[0] * n; }\n"
        "__mlu_entry__ void exp(half *p) {}\nint main() { return 5; }\nint launched = 3;\n"
    )
    cncc("-S", "-O3", "--bang-device-only", "k.mlu", "-o", "k.s")
    assert (tmp_path / "k.s").read_text().count("kernel void plain(half * p, unsigned int n):") == 1
    words = f"--device-only -O2 --mcpu {platform.machine()} --mlu-arch mtp_372 -i k.s -o two.o"
    subprocess.run([toolkit / "bin" / "cnas", *words.split()], cwd=tmp_path, check=True)
    cncc("-c", "-O3", "--bang-device-only", "k.mlu", "-o", "one.o")
    cncc("-c", "-Dmain=other", "k.mlu", "-o", "whole.o")

    assert (tmp_path / "one.o").read_bytes() == (tmp_path / "two.o").read_bytes()
    for made in ("two.o", "whole.o"):
        program = native.compile(LAUNCHER, str(tmp_path / made), needs=("cnrt", "cnbin", "cnml"))
        assert native.run(program).stdout == "0 7\n0 14\n"
    assert b"\0exp\0" not in (tmp_path / "whole.o").read_bytes()


def test_what_cnas_does_not_take_is_one_sentence(cncc, tmp_path, monkeypatch, capsys):
    """Another's file, one that is cut or was changed, another architecture or host, and wrong flags."""
    (tmp_path / "k.mlu").write_text("__mlu_entry__ void k(int *p) { *p = 1; }\n")
    cncc("-S", "--bang-device-only", "k.mlu")
    text = (tmp_path / "k.s").read_text()
    (tmp_path / "cut.s").write_text(text[: len(text) // 2])
    (tmp_path / "changed.s").write_text(text.replace(".weak", ".week"))
    (tmp_path / "other.s").write_bytes(b"\xff\x00 by another")
    monkeypatch.chdir(tmp_path)
    for words, sentence in (
        (
            "-i other.s",
            "other.s was not written by `cncc -S --bang-device-only` of mlusim; write it from its .mlu with that command",
        ),
        ("-i cut.s", "cut.s is not whole; write it again with `cncc -S --bang-device-only`"),
        ("-i changed.s", "changed.s is damaged; write it again with `cncc -S --bang-device-only`"),
        ("-i gone.s", "gone.s: No such file or directory"),
        (
            "-i k.s --mlu-arch mtp_592",
            "k.s has code for mtp_372, not for mtp_592; compile k.mlu with --bang-mlu-arch=mtp_592",
        ),
        ("-i k.s --mcpu sparc", "--mcpu sparc names another host than this machine"),
        ("-i k.s --device-onl", "there is no flag --device-onl; did you mean --device-only?"),
        ("-i", "-i has no value; type -i VALUE"),
        ("-i k.s -o none/k.o", "none/k.o: No such file or directory"),
        (
            "",
            "one input is assembled at a time, and these were given: none; type `cnas -i kernel.s -o kernel.o`",
        ),
    ):
        assert cnas.main(words.split()) in (1, 2)
        said = capsys.readouterr().err
        assert said.startswith(f"cnas: error: {sentence}"), said
        assert said.count("\n") == 1
    assert not list(tmp_path.glob("*.o"))


@pytest.mark.parametrize("cache", ["off", "/dev/null/cache"])
def test_without_a_cache_the_same_is_made(cncc, tmp_path, monkeypatch, cache):
    """One that is switched off, and one that cannot be written, cost time alone."""
    (tmp_path / "k.mlu").write_text("__mlu_entry__ void k(int *p) { *p = 1; }\n")
    assert cncc("-c", "k.mlu", "-Wall", "-Werror") == ""
    kept = _payload(tmp_path / "k.o")
    monkeypatch.setenv("MLUSIM_CACHE", cache)
    assert cncc("-c", "k.mlu", "-Wall", "-Werror") == ""
    assert _payload(tmp_path / "k.o") == kept


def test_two_boards_side_by_side(toolkit, native, tmp_path, monkeypatch):
    """Each folder compiles for its board, and runs on it, whether NEUWARE_HOME names it, the other or nothing."""
    other = tmp_path / "other"
    make(other, find_board("MLU590-H8"))
    (tmp_path / "k.mlu").write_text(
        "#include <bang.h>\n#include <cstdio>\n__mlu_entry__ void k(int *p) { *p = __BANG_ARCH__; }\n"
        "int main() {\n  int *d, h = 0;\n  cnrtDim3_t dim = {1, 1, 1};\n  cnrtMalloc((void **)&d, 4);\n"
        "  k<<<dim, cnrtFuncTypeBlock>>>(d);\n  cnrtMemcpy(&h, d, 4, cnrtMemcpyDevToHost);\n"
        '  printf("%d\\n", h);\n}\n'
    )
    monkeypatch.delenv("NEUWARE_HOME", raising=False)
    for folder, arch in ((toolkit, "372"), (other, "592")):
        program = tmp_path / f"k{arch}"
        subprocess.run([folder / "bin" / "cncc", tmp_path / "k.mlu", "-o", program], check=True)
        assert native.run(program).stdout == f"{arch}\n"
        monkeypatch.setenv("NEUWARE_HOME", str(toolkit))


def test_the_flags_met_in_builds_are_taken(cncc, tmp_path):
    """Older spellings, words for tools that are not there, several architectures, files of flags, and dependencies."""
    (tmp_path / "k.h").write_text("#define N 4\n")
    (tmp_path / "k.mlu").write_text('#include "k.h"\n__mlu_entry__ void k(int *p) { p[0] = N + OTHER; }\n')
    (tmp_path / "flags.rsp").write_text("-DOTHER=2 -Xbang-cnas -O1 '-mllvm' -enable-mlisa-sanitizer")
    flags = (
        "--bang-mlu-arch=MLU270 --bang-mlu-arch=mtp_592 --bang-arch=compute_30 --neuware-path=/usr --no-neuware-version-check "
        "-fbang-instrument-kernels -g3 -O3 -fPIC -pthread -std=c++17 -Wall -Werror -Wdeprecated-declarations -MD -MF k.d -MT k.o"
    )
    assert cncc(*flags.split(), "@flags.rsp", "-c", "k.mlu", "-o", "k.o", "-I/usr/include") == ""
    assert {"k.mlu", "k.h"} <= set((tmp_path / "k.d").read_text().split())
    cncc("-S", "--bang-device-only", "--bang-arch=compute_20", "k.mlu", "-o", "k.s", "@flags.rsp")
    assert (tmp_path / "k.s").read_text().count("\n// mtp_270\n// kernel void k(int * p)") == 1
    assert "cncc: v4." in cncc("-O2", "--version", "-c")
    payload = _payload(tmp_path / "k.o")
    for bang_arch in (270, 592, 372):
        assert "_Z1kPi" in image_module.read(payload, (), bang_arch).symbols


KERNELS = r"""
#include <cnrt.h>
#include <cstdio>
#include <functional>
#include "kernels.h"
#define NAMED(name, more...) __mlu_global__ void name##_made(float *p) { *p = 1; more }
#define INSTANCE(T) \
  template void launched<T>(cnrtQueue_t, T *);
typedef void (*Kernel)(float *);
cnrtDim3_t one = {1, 1, 1};
NAMED(pasted, *p += 1;)
#line 900 "elsewhere.inc"
__mlu_entry__ void moved(float *p) { *p = 3; }
namespace { __mlu_global__ void hidden(float *p) { *p = 4; } }
static __mlu_global__ void own(float *p) { *p = 5; }
namespace v2 { template <class T, int N> __mlu_global__ void number(T *p) { *p = N; } }
struct Class { static __mlu_global__ void member(float *p) { *p = 7; } };
template <class T> __mlu_global__ void by_template(T *p) { *p = 8; }
template void v2::number<float, 6>(float *);
INSTANCE_OF(other, half)
LITERAL(float)
template <class T> __mlu_global__ void by_function(T *p) { *p = 9; }
template <class T> void launched(cnrtQueue_t q, T *p) { by_template<<<one, cnrtFuncTypeBlock, q>>>(p); }
INSTANCE(float)
int main() {
  cnrtQueue_t q; cnrtQueueCreate(&q);
  float *p, found; cnrtMalloc(&p, 4);
  auto show = [&] { int code = cnrtQueueSync(q); cnrtMemcpy(&found, p, 4, cnrtMemcpyDevToHost); printf("%d:%g ", code, found); };
  for (Kernel k : {pasted_made, moved, hidden, own, v2::number<float, 6>, Class::member}) { k<<<one, cnrtFuncTypeBlock, q>>>(p); show(); }
  launched(q, p); show();
  std::function<void(float *)> call = [&](auto *x) { by_function<<<one, cnrtFuncTypeBlock, q>>>(x); };
  call(p); show();
  in_header<<<one, cnrtFuncTypeBlock, q>>>(p); show();
  literal<float><<<one, cnrtFuncTypeBlock, q>>>(p); show();
}
"""


def test_no_kernel_is_lost_on_its_way(cncc, native, tmp_path):
    """Macros, names pasted together, unnamed namespaces, classes, headers, templates that the real C++ library or a statement without the kernel's word instantiates."""
    (tmp_path / "kernels.h").write_text(
        "__mlu_global__ void in_header(float *p) { *p = 10; }\n"
        "template <class T> __mlu_global__ void other(T *p) { *p = 11; }\n"
        "#define INSTANCE_OF(name, T) template void name<T>(T *);\ntemplate void other<char>(char *);\n"
        "template <class T> __mlu_global__ void literal(T *p) { *p = 11; }\n#define LITERAL(T) template void literal<T>(T *);\n"
    )
    (tmp_path / "kernels.mlu").write_text(KERNELS)

    assert cncc("kernels.mlu", "-o", "kernels") == ""
    assert native.run(tmp_path / "kernels").stdout == "".join(f"0:{n} " for n in range(2, 12))


def test_a_kernel_that_only_the_host_has_is_an_error(cncc, tmp_path):
    """Where the front end does not see a kernel that clang registers the object is not written, and what it met is said."""
    (tmp_path / "two.mlu").write_text(
        "#ifdef __mlusim_native__\n__mlu_global__ void k(int *p) { *p = 1; }\n#endif\n__mlu_global__ void l(int *p) { *p = 2; }\n"
    )
    said = cncc("-c", "two.mlu", code=1)

    assert (
        f"{tmp_path}/two.mlu:1:1: error: the host's compiler has this kernel and the device's does not see how: k"
        in said
    )
    assert not (tmp_path / "two.o").exists()


def test_what_is_embedded_follows_every_file(cncc, tmp_path):
    """Compiled again it comes from the cache, warnings too; a changed header or macro makes another one."""
    (tmp_path / "k.h").write_text("#define N 4\n")
    (tmp_path / "k.mlu").write_text(
        '#include "k.h"\n__mlu_entry__ void k(int *p) { p[0] = N + M; }\nstatic __mlu_func__ void f(int *p) { memcpy(p, p + 1, 4); }\n'
    )
    seen = []
    for macro, header in (("-DM=1", 4), ("-DM=1", 4), ("-DM=2", 4), ("-DM=2", 5)):
        (tmp_path / "k.h").write_text(f"#define N {header}\n")
        said = cncc("-c", "k.mlu", macro)
        assert said.count("warning: f does not translate") == 1
        seen.append(_payload(tmp_path / "k.o"))
    assert seen[0] == seen[1]
    assert len(set(seen)) == 3


def test_a_program_of_another_state_or_board_says_so(cncc, native, tmp_path):
    """What was compiled for another architecture, or by another version, is one sentence at its first launch."""
    (tmp_path / "add.mlu").write_text(ADD)
    (tmp_path / "main.mlu").write_text(MAIN)
    cncc("--bang-mlu-arch=mtp_592", "add.mlu", "main.mlu", "-o", "main")
    done = native.run(tmp_path / "main")
    assert (
        "the program was compiled for mtp_592, and this board has __BANG_ARCH__ 372; compile it with"
        in done.stderr
    )
    assert native.run(tmp_path / "main", MLUSIM_BOARD="MLU590-H8").stdout == "4.5 3.5\n"
    content = (tmp_path / "main").read_bytes()
    (tmp_path / "main").write_bytes(
        content.replace(b'"mlusim": "', b'"mlusim": "9', 1).replace(b'"schema": "', b'"schema":"', 1)
    )
    done = native.run(tmp_path / "main", MLUSIM_BOARD="MLU590-H8")
    assert "the program was compiled with mlusim 9" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_shared_library_and_the_sanitizer_of_the_host(cncc, native, toolkit, tmp_path):
    """``-shared`` makes a library of kernels that a plain program links; ``-g`` and coverage flags compile."""
    (tmp_path / "add.mlu").write_text(ADD)
    plain = MAIN.replace("__nram__ float nram_buffer[8];\n", "")
    (tmp_path / "main.cpp").write_text(plain)
    cncc("-shared", "-fPIC", "-g", "add.mlu", "-o", "libadd.so", "-Wall", "-Werror")
    cncc(
        "main.cpp",
        "-L.",
        "-ladd",
        f"-Wl,-rpath,{tmp_path}",
        "-o",
        "main",
        "-Wall",
        "-Werror",
        "-lcnrt",
        "-lm",
        "-lstdc++",
    )
    assert native.run(tmp_path / "main").stdout == "4.5 3.5\n"


def test_cards_are_shown_as_scripts_read_them(tmp_path, monkeypatch, capsys):
    """The version is behind the last colon of the first line; a card is chosen with -c; boards are those that programs have."""
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "mlusim.conf").write_text("python\nMLU370-X4\n")
    assert cnmon.main(["version"], tmp_path) == 0
    assert re.fullmatch(r" v\d+\.\d+\.\d+", capsys.readouterr().out.splitlines()[0].rpartition(":")[2])
    monkeypatch.setenv("MLUSIM_BOARD", "MLU370-X4, MLU590-H8")
    assert cnmon.main(["info", "-c", "1", "-t"], tmp_path) == 0
    out = capsys.readouterr().out
    assert re.findall(r"Product Name +: (.*)", out) == ["MLU590-H8"]
    assert re.findall(r"DDR ECC Err Count +: (.*)", out) == ["N/A"]

    assert cnmon.main(["info", "-c", "2"], tmp_path) == 2
    said = capsys.readouterr()
    assert said.out == "Card 2: not existed\n"
    assert "there is no card 2; the cards are 0 to 1" in said.err


def test_cards_are_counted_and_placed_as_public_scripts_do_it(tmp_path, monkeypatch, capsys):
    """Memories and the version in the table, a line of a list, and what stands behind headings of ``info``, whose first line scripts skip."""
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "mlusim.conf").write_text("python\nMLU370-X4\n")
    monkeypatch.setenv("MLUSIM_BOARD", "MLU220-M2,MLU590-H8")

    def lines(*words):
        assert cnmon.main([*words], tmp_path) == 0
        return capsys.readouterr().out.splitlines()

    table, listed, known = lines(), lines("-l"), lines("info", "-m")
    at = [n for n, line in enumerate(known) if "Physical Memory Usage" in line]

    assert {80} == set(map(len, table))
    assert 2 == len(re.findall(r"\d+ MiB/ \d+ MiB", "\n".join(table)))
    assert [cnmon.DRIVER] == [line.split()[2] for line in table if "CNMON" in line]
    assert [1, 1] == [line.count("MLU") - line.count("MLUSIM") for line in listed if "UUID" in line]
    assert [["Card", "0"], "Card" in known[0]] == [known[1].split(), False]
    assert [["Used", "0"], ["Used", "0"]] == [known[n + 2].replace(":", "").split()[:2] for n in at]
    assert ["00", "01"] == [line.split()[-1] for line in known if "Bus num" in line]


def test_the_folder_is_made_again_and_moved(toolkit, tmp_path):
    """Made again it is the same, nothing is written; moved it works; where other files are it is not made."""
    folder = tmp_path / "one"
    make(folder, find_board("MLU370-X4"))
    times = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    make(folder, find_board("MLU370-X4"))
    assert times == {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    moved = folder.rename(tmp_path / "two")
    (tmp_path / "k.mlu").write_text("__mlu_entry__ void k() {}\n")
    subprocess.run([moved / "bin" / "cncc", "-c", tmp_path / "k.mlu", "-o", tmp_path / "k.o"], check=True)
    shown = subprocess.run(
        [moved / "bin" / "cnmon", "info"], capture_output=True, text=True, check=True
    ).stdout
    assert [line.partition(": ")[2] for line in shown.splitlines() if "Product Name" in line] == ["MLU370-X4"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("")
    with pytest.raises(UsageError, match="has other files in it and is not a toolkit"):
        make(tmp_path / "mine", find_board("MLU370-X4"))


def _payload(path):
    """What the first image of an object holds."""
    content = path.read_bytes()
    at = content.index(image.MAGIC) + 16
    return content[at : at + int.from_bytes(content[at - 8 : at], "little")]


def test_a_damaged_record_is_one_sentence(cncc, tmp_path):
    """Whatever is changed in an image, reading it gives a module or the one error."""
    (tmp_path / "add.mlu").write_text(ADD)
    cncc("-c", "add.mlu", "-o", "add.o")
    payload, chance = _payload(tmp_path / "add.o"), random.Random(3)
    assert image_module.read(payload).symbols
    for _ in range(100):
        broken = bytearray(payload)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        with contextlib.suppress(UsageError):
            image_module.read(bytes(broken[: chance.randint(0, len(broken))]))


def test_libraries_are_compiled_with_clangs_own_headers(tmp_path, monkeypatch):
    """The clang of the wheel does not find them by itself."""
    seen = []

    def kept(clang):
        seen.append(clang)
        raise UsageError("enough")

    monkeypatch.setattr(toolkit_folder, "kept_libraries", kept)
    with pytest.raises(UsageError, match="enough"):
        make(tmp_path / "neuware", find_board("MLU370-X4"))
    assert compiler.host_compiler().headers in seen[0]


def test_a_file_that_may_not_grow_is_one_sentence(cncc, toolkit, tmp_path):
    """Of clang's, of ours, and of the folder, which is finished when it is made again."""
    (tmp_path / "add.mlu").write_text(ADD)
    cncc("-c", "add.mlu", "-o", "add.o")  # into the cache
    driver = toolkit / "bin" / "cncc"
    for blocks in (1, 8):
        line = f"ulimit -f {blocks} && exec {driver} -g -c add.mlu -o add.o"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == f"cncc: error: {TOO_LARGE}\n"

    words = f"{sys.executable} -m mlusim toolkit {tmp_path / 'folder'}"
    line = f"ulimit -f 16 && exec {words}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{tmp_path / 'folder'} cannot be made: File too large; it takes" in done.stderr
    assert subprocess.run(words.split(), capture_output=True, check=False).returncode == 0


def test_architectures_without_a_board_are_left_out_beside_a_known_one(cncc, tmp_path):
    """A build that also names newer boards is compiled for those that there are, with one warning; device code alone is a file, too."""
    (tmp_path / "k.mlu").write_text("__mlu_entry__ void k(int *p) { *p = 1; }\n")
    newer = ("--bang-mlu-arch=mtp_613,mtp_617", "--bang-arch=compute_60", "--cnas-path=/opt/cnas")

    said = cncc("-Werror", "--bang-fatbin-only", "k.mlu", "--bang-mlu-arch=mtp_592,mtp_372", *newer)

    known = "device code is made for mtp_592, mtp_372 alone"
    assert said == f"cncc: warning: no board here has mtp_613, mtp_617, compute_60; {known}\n"
    content = (tmp_path / "k.cnfatbin").read_bytes()
    assert content.startswith(image.MAGIC)
    assert (
        content.count(b"MLU590-H8") + content.count(b"MLU370-X4") == 1
    )  # of mtp_592 the first board of the catalogue
    assert "give one of mtp_220" in cncc("-c", "k.mlu", *newer, code=2)
    sentence = (
        "--bang-cnbin-only writes code of one architecture, not of mtp_592, mtp_372; give --bang-fatbin-only"
    )
    assert sentence in cncc("--bang-cnbin-only", "k.mlu", "--bang-mlu-arch=mtp_592,mtp_372", code=2)


MODULES = r"""
#include <cn_api.h>
#include <cstdio>
#include <initializer_list>
int main() {
  CNmodule m; CNkernel k; CNqueue q; CNaddr p; int h = 0, v = 7;
  cnInit(0); cnCreateQueue(&q, 0); cnMalloc(&p, 4);
  printf("%d\n", cnModuleLoad("k.cnfatbin", &m));
  for (const char *name : {"_Z3PutPii", "Put"}) {
    int found = cnModuleGetKernel(m, name, &k); ++v;
    void *args[] = {&p, &v};
    int launched = cnInvokeKernel(k, 1, 1, 1, CN_KERNEL_CLASS_BLOCK, 0, q, args, nullptr);
    cnQueueSync(q); cnMemcpyDtoH(&h, p, 4); printf("%d %d %d\n", found, launched, h);
  }
  bool refused = cnModuleGetKernel(m, "Get", &k); printf("%d %d\n", refused, cnQueueSync(nullptr));
  const char vendor[32] = "\177ELF";
  cnModuleLoadFatBinary(vendor, &m); cnModuleLoad("nowhere", &m);
}
"""


def test_device_code_of_a_file_is_loaded_and_launched(cncc, native, tmp_path):
    """A module's kernels by their mangled and plain names; other names, other files and a file that is not there are one sentence each."""
    (tmp_path / "k.mlu").write_text("__mlu_entry__ void Put(int *p, int v) { *p = v; }\n")
    cncc("--bang-fatbin-only", "k.mlu")
    done = native.run(native.compile(MODULES, needs=("cndrv", "cnrt")))

    assert done.stdout == "0\n0 0 8\n0 0 9\n1 0\n"
    name, vendor, nowhere = done.stderr.splitlines()
    assert "without the kernel Get; it has _Z3PutPii" in name
    assert "cnModuleLoadFatBinary is given no device code of the simulator" in vendor
    assert "cnModuleLoad cannot read nowhere" in nowhere


def test_flags_of_the_linker_are_no_error_where_files_are_compiled(cncc, tmp_path):
    """``--shared`` and flags that only a linker uses are silent under ``-Werror``; `-lbangc` links."""
    (tmp_path / "k.mlu").write_text("__mlu_entry__ void k(int *p) { *p = 1; }\n")
    (tmp_path / "m.cpp").write_text("int m() { return 1; }\n")

    strict = ("-Wall", "-Werror", "-fPIC", "-flto", "-static-libstdc++")

    assert cncc("--shared", "k.mlu", "m.cpp", "-lbangc", *strict, "-o", "libk.so") == ""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("zig: error: linker command failed\n", "cncc: error: linker command failed\n"),
        ("clang++-19: warning: no\nk.mlu:1:1: error: no\n", "cncc: warning: no\nk.mlu:1:1: error: no\n"),
        (
            "\x1b[1m/usr/bin/clang-22: \x1b[0m\x1b[0;1;31merror: \x1b[0mno",
            "\x1b[1mcncc: \x1b[0m\x1b[0;1;31merror: \x1b[0mno",
        ),
        ("clang.mlu:3:1: error: no\nzig: 5\n", "clang.mlu:3:1: error: no\nzig: 5\n"),
    ],
)
def test_sentences_of_the_compiler_bear_the_drivers_name(said, expected):
    """Clang calls itself by the name of its file, in colour, too; sources keep their names."""
    assert compiler.in_own_name(said) == expected


def test_a_missing_run_time_is_named_with_its_package():
    """By what the linker says and the flags of the link; where GCC has a library that offers the same, that is linked in front."""
    lacks = "ld: cannot find /lib/libclang_rt.asan.a: No such file\nld: cannot find /lib/libclang_rt.asan_cxx.a: No such file\n"
    words = ["k.o", "-fsanitize=address,leak", "-g"]

    assert compiler.with_gcc(lacks, words) == ["-lasan", "-llsan", "k.o", "-g"]
    assert compiler.with_gcc(lacks, ["k.o", "-fsanitize=thread"]) is None
    assert compiler.with_gcc(lacks, [*words, "--coverage"]) is None
    assert compiler.with_gcc("ld: undefined reference to `f'", words) is None
    for text, flags, sentence in (
        (lacks, ["-fsanitize=thread"], "the run-time of -fsanitize=thread is part of clang"),
        (
            "ld.lld: error: cannot open /x/libclang_rt.profile.a",
            ["--coverage"],
            "the run-time of --coverage is part of",
        ),
        ("ld: cannot find -lomp: No such file", ["-fopenmp"], "install libomp-dev"),
        ("k.mlu:1:10: fatal error: 'omp.h' file not found", ["-fopenmp"], "install libomp-dev"),
        ("k.mlu:1:10: fatal error: 'omp.h' file not found", [], "which the flag -fopenmp asks for"),
        ("ld.lld: error: unable to find library -lcnnl_core", [], "libcnnl_core is part of a project"),
        ("ld: cannot find -lcnrt", ["-static"], "leave -static out"),
    ):
        said = compiler.missing_run_times(text, flags)
        assert said.startswith("cncc: error: "), said
        assert [1, True] == [said.count("\n"), sentence in said]
    assert compiler.missing_run_times("ld: cannot find -lnothing", []) == ""


@pytest.mark.parametrize(
    "place", ["linux/libclang_rt.profile-{}.a", "{}-unknown-linux-gnu/libclang_rt.profile.a"]
)
def test_the_place_of_the_run_time_of_profiles_is_never_empty(tmp_path, place):
    """A build names the file; a clang's own library for this machine is copied there, or a linker says what to install."""
    headers = tmp_path / "22" / "include"
    headers.mkdir(parents=True)
    assert compiler.run_time_of_profiles(str(headers)).startswith(b'ASSERT(0, "the run-time of profiles')
    for machine in ("i386", platform.machine()):
        library = tmp_path / "22" / "lib" / place.format(machine)
        library.parent.mkdir(parents=True, exist_ok=True)
        library.write_text(f"!<arch>{machine}\n")

    assert f"!<arch>{platform.machine()}\n".encode() == compiler.run_time_of_profiles(str(headers))


def test_a_signal_leaves_no_folder_and_no_compiler(toolkit, tmp_path):
    """Ended while clang runs, ``cncc`` ends clang and removes what it made."""
    (tmp_path / "22" / "include").mkdir(parents=True)
    (tmp_path / "scratch").mkdir()
    for name in ("begun", "never"):
        os.mkfifo(tmp_path / name)
    clang = tmp_path / "clang"
    clang.write_text(
        f"#!/bin/sh\n[ $1 = -print-resource-dir ] && echo {tmp_path}/22 && exit\necho $$ > {tmp_path}/begun\nread one < {tmp_path}/never\n"
    )
    clang.chmod(0o755)
    (tmp_path / "m.cpp").write_text("")
    environment = os.environ | {"MLUSIM_CLANG": str(clang), "TMPDIR": str(tmp_path / "scratch")}
    words = [str(toolkit / "bin" / "cncc"), "m.cpp", "-o", "m"]
    with subprocess.Popen(words, cwd=tmp_path, env=environment) as running:
        number = int((tmp_path / "begun").read_text())
        running.terminate()
        code = running.wait()

    assert [code, list((tmp_path / "scratch").iterdir())] == [128 + signal.SIGTERM, []]
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


@pytest.mark.parametrize(("name", "ends"), [("TERM", SystemExit), ("INT", KeyboardInterrupt)])
def test_a_signal_while_a_compiler_starts_comes_behind_its_start(name, ends):
    """What has to be ended by it is known then, and the handlers are those of before."""
    before, steps = signal.getsignal(signal.SIGTERM), []
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

    def start():
        with signals_held():
            signal.raise_signal(signal.Signals[f"SIG{name}"])
            steps.append("started")
        steps.append("not ended")

    try:
        with ended_in_order(), pytest.raises(ends):
            start()
    finally:
        signal.signal(signal.SIGINT, usual)

    assert ["started"] == steps
    assert before == signal.getsignal(signal.SIGTERM)


@pytest.mark.parametrize("number", ["TERM", "HUP", "QUIT", "XCPU", "VTALRM", "PROF", "USR1", "USR2"])
def test_every_signal_that_ends_a_process_ends_it_in_order(number):
    """Those of a terminal, of limits of the shell, of timers, and of other programs leave by an exception, by which folders are removed."""
    wanted = signal.Signals[f"SIG{number}"]
    # A shell that runs the tests in the background may ignore some of them, and what is ignored stays so.
    before = signal.signal(wanted, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit) as ended, ended_in_order():
            signal.raise_signal(wanted)
    finally:
        signal.signal(wanted, before)

    assert 128 + wanted == ended.value.code


@pytest.mark.parametrize(
    ("stub", "name"),
    [
        ("_Z19__device_stub__CopyIfEvPT_PKS0_i", "Copy<float>"),
        ("_Z19__device_stub__CopyIDF16_EvPT_PKS0_i", "Copy<half>"),
        ("_Z19__device_stub__CopyIDF16bEvPT_PKS0_i", "Copy<bfloat16_t>"),
        ("_ZN1a19__device_stub__CopyIN3c104HalfEEEvPT_", "a::Copy<c10::Half>"),
        ("no_name", "no_name"),
    ],
)
def test_a_stub_has_the_name_of_its_kernel(stub, name):
    """As a template's instance is asked for, also with the types that older libraries cannot read."""
    assert name == image.name_of(stub)
