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
SHARED = r"""
#include "cn_api.h"
#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
struct Info {
  cnrtIpcMemHandle memory;
  cnrtIpcNotifierHandle notifier;
  std::atomic<int> step, looked;
};
static void slow(void *info) { while (!((Info *)info)->looked) usleep(200); }
int main() {
  auto *info = (Info *)mmap(nullptr, sizeof(Info), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto until = [&](int step) { while (info->step != step) usleep(200); };
  const size_t many = 5000;  // over a page, from within one
  std::vector<char> host(many, 1);
  cnrtQueue_t queue;
  cnrtNotifier_t notifier;
  char *d, *other;
  if (fork() == 0) {
    cnrtQueueCreate(&queue);
    cnrtMalloc(&other, 300);  // so that addresses differ
    until(1);
    CNRT_CHECK(cnrtMapMemHandle((void **)&d, info->memory, 0));
    CNRT_CHECK(cnrtIpcOpenNotifierHandle(&notifier, info->notifier));
    printf("%s", cnrtQueryNotifier(notifier) == cnrtErrorNotReady ? "" : "met too early\n");
    info->looked = 1;
    CNRT_CHECK(cnrtQueueWaitNotifier(notifier, queue, 0));
    printf("%d\n", cnrtQueryNotifier(notifier));
    CNRT_CHECK(cnrtMemcpyAsync(host.data(), d, many, queue, cnrtMemcpyDevToHost));
    CNRT_CHECK(cnrtQueueSync(queue));
    printf("%d %d\n", host[0], host[many - 1]);
    CNRT_CHECK(cnrtMemset(d + 1, 7, many - 1));
    cnrtPointerAttributes_t about;
    cnrtPointerGetAttributes(&about, d);
    printf("%d %s\n", about.type == cnrtMemTypeDevice, cnrtGetErrorName(cnrtMemset(d + 1, 7, many)));
    cnrtRet_t freed = cnrtFree(d), given = cnrtAcquireMemHandle(&info->memory, d);
    printf("%s %s\n", cnrtGetErrorName(freed), cnrtGetErrorName(given));
    info->step = 2;
    until(3);
    CNRT_CHECK(cnrtMemcpy(host.data(), d, many, cnrtMemcpyDevToHost));  // which its process has freed
    CNRT_CHECK(cnrtUnMapMemHandle(d));
    given = cnrtMemset(d, 0, 1);
    printf("%d %s %s\n", host[1], cnrtGetErrorName(cnrtUnMapMemHandle(d)), cnrtGetErrorName(given));
    void *gone;
    printf("%s\n", cnrtGetErrorName(cnrtMapMemHandle(&gone, info->memory, 0)));
    CNRT_CHECK(cnrtNotifierDestroy(notifier));
    return 0;
  }
  cnrtQueueCreate(&queue);
  cnrtMalloc(&other, 1000);
  CNRT_CHECK(cnrtNotifierCreateWithFlags(&notifier, CNRT_NOTIFIER_DISABLE_TIMING_ALL | CNRT_NOTIFIER_INTERPROCESS));
  CNRT_CHECK(cnrtMalloc(&d, many));
  CNRT_CHECK(cnrtAcquireMemHandle(&info->memory, d));
  cnrtIpcMemHandle again;
  CNRT_CHECK(cnrtAcquireMemHandle(&again, d));
  cnrtRet_t mine = cnrtMapMemHandle((void **)&other, again, 0);
  CNRT_CHECK(cnrtIpcGetNotifierHandle(&info->notifier, notifier));
  CNRT_CHECK(cnrtMemcpyAsync(d, host.data(), many, queue, cnrtMemcpyHostToDev));
  CNRT_CHECK(cnrtInvokeHostFunc(queue, slow, info));
  CNRT_CHECK(cnrtPlaceNotifier(notifier, queue));
  info->step = 1;
  until(2);
  CNRT_CHECK(cnrtMemcpy(host.data(), d, many, cnrtMemcpyDevToHost));
  CNRT_CHECK(cnrtFree(d));
  info->step = 3;
  int status;
  wait(&status);
  printf("%d %d %d %d %s %d\n", host[0], host[1], host[many - 1], again == info->memory, cnrtGetErrorName(mine), status);
  CNRT_CHECK(cnrtNotifierDestroy(notifier));
  cnrtRet_t timed = cnrtNotifierCreateWithFlags(&notifier, CNRT_NOTIFIER_INTERPROCESS);
  printf("%s\n", cnrtGetErrorName(timed));
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


def test_processes_share_memory_and_notifiers(native):
    """Handles name memory and notifiers in another process: the same bytes at another address, until they are unmapped."""
    done = native.run(native.compile(SHARED, needs=("cndrv", "cnrt")))
    bad = "cnrtErrorArgsInvalid"

    assert done.stdout.splitlines() == [
        *("0", "1 1", f"1 {bad}", f"{bad} {bad}", f"7 {bad} {bad}", bad),
        *(f"1 7 7 1 {bad} 0", bad),
    ], done.stderr
    for said in (
        "4999 bytes are left of 5000 bytes of process ",
        "cnrtFree is given byte 0 of 5000 bytes of process ",
        "cnrtAcquireMemHandle is given byte 0 of 5000 bytes of process ",
        "which was freed at host.cpp:45 in main; unmap what cnrtMapMemHandle gave, once",
        "a handle whose memory was freed, or whose notifier was destroyed, in process ",
        "a handle of this process itself",
        "without CNRT_NOTIFIER_DISABLE_TIMING_ALL",
    ):
        assert said in done.stderr


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
