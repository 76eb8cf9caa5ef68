"""A plain C++ program with the driver's memory: it needs no compiler of kernels."""

import os
import signal
import subprocess

import pytest

HOST = r"""
#include "cnrt.h"
#include <cstring>
#include <unistd.h>
#include <vector>
int main(int argc, char **argv) {
  std::vector<float> a(1000, 1.5f), b(1000);
  float *d;
  CNRT_CHECK(cnrtMalloc((void **)&d, 4000));
  cnrtQueue_t queue;
  CNRT_CHECK(cnrtQueueCreate(&queue));
  CNRT_CHECK(cnrtMemcpyAsync(d, a.data(), 4000, queue, cnrtMemcpyHostToDev));
  CNRT_CHECK(cnrtMemcpyAsync(b.data(), d, 4000, queue, cnrtMemcpyDevToHost));
  CNRT_CHECK(cnrtQueueSync(queue));
  printf("%d\n", memcmp(a.data(), b.data(), 4000));
  cnrtRet_t code = cnrtMemcpy(d + 500, a.data(), 4000, cnrtMemcpyHostToDev);
  cnrtRet_t last = cnrtGetLastError();
  printf("%s %s %d\n", cnrtGetErrorName(code), cnrtGetErrorName(last), cnrtGetLastError());
  CNRT_CHECK(cnrtFree(d));
  printf("%s\n", cnrtGetErrorName(cnrtFree(d)));
  CNRT_CHECK(cnrtMalloc((void **)&d, 0));
  CNRT_CHECK(cnrtFree(d));
  unsigned char *poison;
  CNRT_CHECK(cnrtMalloc(&poison, 10));
  CNRT_CHECK(cnrtMemcpy(a.data(), poison, 10, cnrtMemcpyDevToHost));
  printf("%d\n", ((unsigned char *)a.data())[9]);
  void *large;
  CNRT_CHECK(cnrtMalloc(&large, 10ul << 30));
  size_t left, all;
  cnrtMemGetInfo(&left, &all);
  code = cnrtMalloc(&large, all);
  printf("%zu %s\n", (all - left) >> 20, cnrtGetErrorName(code));
  FILE *own = tmpfile();
  for (int times = 0; times < 2; ++times) {  // once as it is, once with a file of the program's where the simulator had its own
    std::vector<char> much(3 << 20, 'a' + times), back(much.size());
    char *at;
    CNRT_CHECK(cnrtMalloc((void **)&at, much.size() + 1));
    CNRT_CHECK(cnrtMemcpy(at + 1, much.data(), much.size(), cnrtMemcpyHostToDev));
    CNRT_CHECK(cnrtMemcpy(back.data(), at + 1, much.size(), cnrtMemcpyDevToHost));
    printf("%d %ld\n", much == back, (long)lseek(fileno(own), 0, SEEK_END));
    for (int file = 100; file < 300; ++file) dup2(fileno(own), file);
  }
}
"""
TOUCH = r"""
#include "cnrt.h"
int main() {
  int *d;
  cnrtMalloc(&d, 4000);
  return d[2];
}
"""
WAIT = r"""
#include "cnrt.h"
#include <unistd.h>
int main() {
  void *d;
  cnrtMalloc(&d, 4000);
  if (fork() == 0) { cnrtMalloc(&d, 100); puts("child"); fflush(stdout); }
  for (;;) pause();
}
"""


def test_memory_goes_there_and_back(native):
    """Copies keep the bytes, mistakes are returned with one sentence, and memory that is not touched costs nothing."""
    done = native.run(native.compile(HOST))

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "0",
        "cnrtErrorArgsInvalid cnrtErrorArgsInvalid 0",
        "cnrtErrorArgsInvalid",
        "255",
        "10240 cnrtErrorNoMem",
        "1 0",
        "1 0",
    ]
    long, twice, full = done.stderr.splitlines()
    assert "a copy writes 4000 bytes" in long
    assert "2000 bytes are left of 4000 bytes of cnrtMalloc at host.cpp:9 in main" in long
    assert "(called at host.cpp:16 in main)" in long
    assert "which was freed at host.cpp:19 in main" in twice
    assert "does not fit" in full
    assert (
        "; free what is not used any more, or name a board with more memory in MLUSIM_BOARD (called at"
        in full
    )


def test_the_first_error_may_end_the_program(native):
    """With MLUSIM_ERRORS=stop the program ends with 3 at the first error."""
    done = native.run(native.compile(HOST), MLUSIM_ERRORS="stop")

    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (3, "0\n", 1)


def test_a_host_that_reads_device_memory_is_told_whose(native):
    """The access ends the program as on a card, after a sentence."""
    done = native.run(native.compile(TOUCH))

    assert done.returncode == -signal.SIGSEGV
    assert "byte 8 of 4000 bytes of cnrtMalloc at host.cpp:5 in main" in done.stderr


@pytest.mark.parametrize("limit", ["-v 4000000", "-f 100"])
def test_a_limit_of_the_shell_is_a_sentence(native, limit):
    """Memory, or files, that are limited too much for the map of GDRAM end the program with a sentence."""
    done = native.run("sh", "-c", f"ulimit {limit} && exec {native.compile(TOUCH)}")

    assert done.returncode == 3
    assert "a limit of this shell" in done.stderr


def test_nothing_is_left_of_a_program_that_is_killed(native):
    """The program has a child with a simulator of its own; both simulators end when both are killed."""
    program = native.compile(WAIT)
    running = subprocess.Popen(
        [str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert running.stdout.readline() == "child\n"
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()

    assert running.stderr.read() == ""  # ends when no process has the other end, and a simulator has it
    running.stdout.close()
    running.stderr.close()


def test_debug_information_is_of_a_version_that_older_tools_read(libraries):
    """Valgrind 3.19 ends at what newer compilers write by themselves."""
    words = ["readelf", "--debug-dump=info", "--dwarf-depth=1", str(libraries / "libcnrt.so")]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert {line.split()[1] for line in said.splitlines() if line.strip().startswith("Version:")} == {"4"}
