"""The compiler driver: a program of kernels and host code, compiled as its own build says."""

import subprocess

import pytest

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


def test_a_moved_program_runs_without_its_sources(cncc, native, tmp_path):
    """The form is in the program; a kernel's device function of another file is found in that file's."""
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
    cncc("one.mlu", "two.mlu", "main.mlu", "-o", "main", "-Wall", "-Werror")
    for name in ("one", "two", "main"):
        (tmp_path / f"{name}.mlu").unlink()
    (tmp_path / "elsewhere").mkdir()
    moved = (tmp_path / "main").rename(tmp_path / "elsewhere" / "program")

    assert native.run(moved).stdout == "14.5 13.5\n"


def test_what_does_not_translate_is_said_at_compile_time(cncc, tmp_path):
    """A kernel that the front end does not take is a warning with its line; clang's own errors come alone."""
    (tmp_path / "bad.mlu").write_text('__mlu_entry__ void k(float *p) {\n  printf("%f", *p);\n}\n')
    said = cncc("-c", "bad.mlu", "-Wall", "-Werror")
    assert f"{tmp_path}/bad.mlu:2:3: warning: k does not translate: printf is a function of the host" in said
    assert '\n  printf("%f", *p);\n  ^' in said
    (tmp_path / "worse.mlu").write_text("__mlu_entry__ void k(float *p) {\n  *p = undeclared;\n}\n")
    said = cncc("-c", "worse.mlu", code=1)
    assert said.count("undeclared identifier 'undeclared'") == 1
    assert not (tmp_path / "worse.o").exists()
