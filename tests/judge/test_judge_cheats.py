"""Candidates with host functions that cheat or attack, and kernels that lean on their neighbours: what the verdicts say."""

import os
import platform
import resource
import shutil
import socket
import sys
import threading

import pytest
from judged import LOADS, REFERENCE, STORES, WORK, kernel

from mlusim.judge.confine import WITHOUT_END, Confinement, remove, room_for_device, stored
from mlusim.judge.judging import candidates, judge, task_of
from mlusim.judge.readable import own
from mlusim.judge.seccomp import filtered
from mlusim.programs.argument_forms import AskedCall

HEAD = "#include <cnrt.h>\n#include <map>\n#include <vector>\n"
CALL = "  cnrtDim3_t dim = {2, 1, 1};\n  Fused<<<dim, cnrtFuncTypeBlock, queue>>>(out, x, y, slope, n);\n  cnrtQueueSync(queue);\n"
FUNCTION = "void bang_func(float *out, const float *x, const float *y, float slope, int n, cnrtQueue_t queue) {\n%s}\n"
HOST = {
    # a result by pointer, from the second call on
    "keeps_by_pointer": HEAD
    + kernel()
    + "static std::map<void *, std::vector<float>> kept;\n"
    + FUNCTION
    % (
        "  std::vector<float> &known = kept[out];\n"
        "  if (known.size() == n) {\n"
        "    cnrtMemcpy(out, known.data(), n * sizeof(float), cnrtMemcpyHostToDev);\n"
        "    return;\n  }\n" + CALL + "  known.resize(n);\n"
        "  cnrtMemcpy(known.data(), out, n * sizeof(float), cnrtMemcpyDevToHost);\n"
    ),
    # the work on the host, and a kernel that only carries it
    "computes_on_the_host": HEAD
    + kernel(work="").replace("Fused", "Carry")
    + FUNCTION
    % (
        "  std::vector<float> a(n), b(n);\n"
        "  cnrtMemcpy(a.data(), (void *)x, n * sizeof(float), cnrtMemcpyDevToHost);\n"
        "  cnrtMemcpy(b.data(), (void *)y, n * sizeof(float), cnrtMemcpyDevToHost);\n"
        "  for (int i = 0; i < n; ++i) { a[i] = a[i] * slope + b[i]; }\n"
        "  float *made;\n  cnrtMalloc((void **)&made, n * sizeof(float));\n"
        "  cnrtMemcpy(made, a.data(), n * sizeof(float), cnrtMemcpyHostToDev);\n"
        "  cnrtDim3_t dim = {2, 1, 1};\n"
        "  Carry<<<dim, cnrtFuncTypeBlock, queue>>>(out, made, made, slope, n);\n"
        "  cnrtQueueSync(queue);\n  cnrtFree(made);\n"
    ),
    # the work on the host, in place of what a kernel has stored
    "refills_the_output": HEAD
    + kernel()
    + FUNCTION
    % (
        CALL + "  std::vector<float> a(n);\n"
        "  cnrtMemcpyAsync(a.data(), out, n * sizeof(float), queue, cnrtMemcpyDevToHost);\n"
        "  cnrtQueueSync(queue);\n"
        "  if (n == 300) { a[0] = a[0] * 1.0001f;\n"
        "    cnrtMemcpy(out, a.data(), n * sizeof(float), cnrtMemcpyHostToDev); }\n"
    ),
    # a queue and a clock of its own
    "other_queue": HEAD
    + 'extern "C" cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t, cnrtNotifier_t, float *us) { *us = 0; return cnrtSuccess; }\n'
    + kernel()
    + FUNCTION
    % (
        "  cnrtQueue_t own;\n  cnrtQueueCreate(&own);\n"
        + CALL.replace("queue>", "own>").replace("Sync(queue)", "Sync(own)")
        + "  cnrtQueueDestroy(own);\n"
    ),
    # a thread that does the work when the clock has stopped
    "lazy": HEAD
    + "#include <thread>\n#include <unistd.h>\n"
    + kernel()
    + FUNCTION % ("  std::thread([=] {\n  usleep(100000);\n" + CALL + "  }).detach();\n"),
    # everything that could harm the judge, and an early end that looks well
    "attacks": "#include <stdio.h>\n#include <stdlib.h>\n#include <cnrt.h>\n"
    'extern "C" { int getppid(); int fork(); int setsid(); int kill(int, int); int close(int); unsigned sleep(unsigned); int open(const char *, int);\n'
    "int socket(int, int, int); int connect(int, const void *, unsigned); }\n"
    + FUNCTION
    % (
        "  int server = 0;\n  char line[64];\n"
        '  snprintf(line, sizeof line, "/proc/%d/stat", getppid());\n'
        '  FILE *parent = fopen(line, "r");\n'
        '  if (parent) { fscanf(parent, "%*d (%*[^)]) %*c %d", &server); }\n'
        '  int file = open("REFERENCE", 1 | 1024);\n'  # O_WRONLY | O_APPEND
        "  unsigned char there[16] = {2, 0, PORT / 256, PORT % 256, 127, 0, 0, 1};\n"
        "  int network = connect(socket(2, 1, 0), there, 16);\n"
        "  int told = server > 1 ? kill(server, 15) : -1;\n"
        "  int started = 0;\n"
        "  for (int n = 0; n < 40; ++n) {\n"  # a fork bomb, as far as a test may go
        "    int child = fork();\n"
        "    if (child == 0) { setsid(); for (int i = 0; i < 256; ++i) { close(i); } for (;;) { sleep(1); } }\n"
        "    started += child > 0;\n  }\n"
        '  printf("{\\"verdict\\": \\"right\\"} file %d network %d signal %d started %d\\n", file, network, told, started);\n'
        "  fflush(stdout);\n  exit(0);\n"
    ),
}

# system calls of x86_64 that reach out of a candidate: each with its arguments
OUT = {
    "stat": '4, "REFERENCE", buffer', "open": '2, "REFERENCE", 0', "append": '2, "REFERENCE", 1025', "shadow": '2, "/etc/shadow", 0',
    "cmdline": '2, "/proc/1/cmdline", 0', "self": '2, "/proc/self/cmdline", 0', "folder": '2, "/", 0200000', "shm": '2, "/dev/shm/x", 0102, 0600',
    "tmp": '2, "/tmp/mlusim-x", 0102, 0600', "chmod": '90, "REFERENCE", 0777', "fchmodat": '268, -100, "REFERENCE", 0777', "fchmodat2": '452, -100, "REFERENCE", 0777, 0',
    "chown": '92, "REFERENCE", 1, 1', "utimensat": '280, -100, "REFERENCE", 0, 0', "setxattr": '188, "REFERENCE", "user.x", "1", 1, 0',
    "getxattr": '191, "REFERENCE", "user.x", buffer, 9', "link": '86, "REFERENCE", "linked"', "through a link": '2, "symbolic", 0', "mkfifo": '133, "fifo", 010600, 0',
    "rename": '82, "REFERENCE", "mine"', "unlink": '87, "REFERENCE"', "truncate": '76, "REFERENCE", 0', "inotify": "294, 0", "handle": "304, -100, buffer, 0",
    "fork": "57", "vfork": "58", "clone": "56, 17, 0, 0, 0, 0", "clone3": "435, 0, 0", "ptrace": "101, 16, parent, 0, 0", "read memory": "310, parent, 0, 0, 0, 0, 0",
    "write memory": "311, parent, 0, 0, 0, 0, 0", "pidfd": "434, parent, 0", "kill": "62, parent, 0", "kill all": "62, -1, 0", "tkill": "200, parent, 0",
    "limit": "302, parent, 7, 0, 0", "priority": "141, 0, parent, 19", "socket": "41, 1, 1, 0", "network": "41, 2, 1, 0", "pair": "53, 1, 2, 0, buffer",
    "uring": "425, 8, buffer", "shmget": "29, 77, 4096, 0600", "msgget": "68, 77, 0600", "semget": "64, 77, 1, 0600", "mq": '240, "q", 0102, 0600, 0',
    "key": '248, "user", "a", "b", 1, -3', "mount": '165, 0, "/", 0, 32, 0', "unshare": "272, 0x10000000", "chroot": '161, "."', "bpf": "321, 0, buffer, 128",
    "perf": "298, buffer, parent, -1, -1, 0", "userfault": "323, 0", "terminal": '16, 0, 0x5412, "x"', "owner of signals": "72, 0, 8, parent",
    "by other numbers": "0x40000000 + 39", "unknown": "500",
}  # fmt: skip
WAYS_OUT = (
    HEAD + "#include <stdio.h>\n" + 'extern "C" long syscall(long, ...);\n' + kernel()
    + FUNCTION
    % (
        '  static int once;\n  static char buffer[4096];\n  long parent = syscall(110);\n  if (once++ == 0) {\n  syscall(88, "REFERENCE", "symbolic");\n'
        + "".join(f'  if (syscall({call}) >= 0) printf("OUT {name}\\n");\n' for name, call in OUT.items())
        + '  if (syscall(2, "own", 0102, 0600) < 0) printf("OUT nothing of its own\\n");\n  fflush(stdout);\n  }\n' + CALL
    )
)  # fmt: skip
KERNELS = {
    "good": kernel(),
    "includes_a_header": '#include "body.h"\n',
    # the file of another candidate
    "includes_another": '#include "good.mlu"\n',
    # `#line` directives that claim another file
    "blames_another": '#line 1 "good.mlu"\n' + kernel(work=""),
    # float in the precision of half
    "half_precision": kernel(
        work="  __nram__ half c[256];\n  __nram__ half d[256];\n"
        "  __bang_float2half_rn(c, a, 256);\n  __bang_half2float(a, c, 256);\n"
        "  __bang_float2half_rn(d, b, 256);\n  __bang_half2float(b, d, 256);\n" + WORK,
        loads="  __bang_write_value(a, 256, 0.0f);\n  __bang_write_value(b, 256, 0.0f);\n" + LOADS,
    ),
    # what the other task has left: right in one order alone
    "races": kernel(stores=STORES + "\n  if (taskId == 0) { out[n - 1] = out[n - 1]; }"),
    # on-chip memory that was never written
    "reads_what_was_left": kernel(loads="  __memcpy(a, x + begin, count * sizeof(float), GDRAM2NRAM);\n"),
    # beyond the input, where the other one lies
    "reads_its_neighbour": kernel(
        loads="  __memcpy(a, x + begin, count * sizeof(float), GDRAM2NRAM);\n  __memcpy(b, x + n + begin, count * sizeof(float), GDRAM2NRAM);\n"
    ),
    # an output that is right where NaN is compared with nothing
    "not_a_number": kernel(work="  a[0] = 0.0f / 0.0f;\n"),
    # a file that never ends
    "reads_for_ever": '#include "/dev/zero"\n' + kernel(),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the reference."""
    made = tmp_path_factory.mktemp("cheats")
    (made / "reference.py").write_text(REFERENCE)
    (made / "body.h").write_text(kernel())
    return made


def _judged(folder, sources):
    paths = []
    for name, text in sources.items():
        (folder / f"{name}.mlu").write_text(text.replace("REFERENCE", str(folder / "reference.py")))
        paths.append(str(folder / f"{name}.mlu"))
    task = task_of(str(folder / "reference.py"), AskedCall((), board="MLU370-X4", seed=5), seconds=600.0)
    return dict(zip(sources, judge(candidates(task, paths), workers=1), strict=True))


@pytest.fixture(scope="module")
def verdicts(folder):
    """The verdict of each kernel."""
    return _judged(folder, KERNELS)


@pytest.mark.parametrize(
    ("name", "verdict", "said"),
    [
        ("half_precision", "wrong", "as if they were computed in half"),
        ("blames_another", "wrong", "wrong there"),
        ("races", "wrong", "racecheck"),
        ("reads_what_was_left", "wrong", "initcheck"),
        ("reads_its_neighbour", "fault", "past its end"),
        ("not_a_number", "wrong", "is nan and"),
        ("reads_for_ever", "untranslated", "/dev/zero"),
    ],
)
def test_kernels_that_lean_on_something(verdicts, name, verdict, said):
    """Each is caught, or its verdict says what is odd about it."""
    found = verdicts[name]

    assert found["verdict"] == verdict
    assert said in str((found["error"], found["notes"], found["findings"]))


def test_files_that_a_candidate_reads_are_named(verdicts, folder):
    """Its headers are; what others have handed in it does not see, where the system can hide that."""
    found = verdicts["includes_another"]

    assert verdicts["good"]["includes"] == []
    assert verdicts["includes_a_header"]["includes"] == [str(folder / "body.h")]
    if found["confinement"]["files"]:
        assert found["verdict"] == "untranslated"
        assert "'good.mlu'" in found["error"]
    else:
        assert found["includes"] == [str(folder / "good.mlu")]


def test_links_that_are_named_like_headers(tmp_path):
    """Only those to headers beside the source are: others would let a candidate read any file of the judge's user."""
    folder = tmp_path / "candidates"
    folder.mkdir()
    for name in ("mine.mlu", "body.h", "other.mlu"):
        (folder / name).write_text("")
    (tmp_path / "secret.h").write_text("")
    targets = {
        "alias.hpp": "body.h",
        "of_other.h": "other.mlu",
        "up.h": "../secret.h",
        "itself.h": "itself.h",
        "no.h": "nothing",
    }
    for name, target in targets.items():
        (folder / name).symlink_to(target)

    source, *headers = own(str(folder / "mine.mlu"))

    assert str(folder / "mine.mlu") == source
    assert [str(folder / "alias.hpp"), str(folder / "body.h")] == sorted(headers)


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
def test_a_process_that_starts_none():
    """Its threads run, and whatever would start a process fails in it."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        told = "held" if filtered(os.getpid()) else "not held"
        try:
            os.fork()
            told += ", forked"
        except PermissionError:
            told += ", no fork"
        ran = []
        thread = threading.Thread(target=lambda: ran.append(1))
        thread.start()
        thread.join()
        os.write(writes, f"{told}, threads {len(ran)}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    told = os.read(reads, 100).decode()
    assert told in ("held, no fork, threads 1", "not held, forked, threads 1")


def test_what_the_system_lacks_is_said():
    """Rules about files alone do not hold for modes and times, nor a filter without rules for contents."""
    rules, whole = Confinement(files=True), Confinement(True, True, True)

    assert Confinement(*rules.with_native(False)).missing == (
        "use the network and read or change files of this user and signal processes of this user and start processes"
    )
    assert Confinement(*Confinement().with_native(True)).missing == "read or change files of this user"
    assert Confinement(*whole.with_native(True)).missing == ""


def test_a_folder_that_is_too_deep(tmp_path):
    """It counts as too large, and goes with all that is in it; what a link leads to stays."""
    victim, place = tmp_path / "victim", tmp_path / "deep"
    victim.mkdir(mode=0o750)
    top = here = os.open(tmp_path, os.O_RDONLY)
    for name in ["deep"] + ["x" * 100] * 80:  # a path longer than the system takes
        os.mkdir(name, dir_fd=here)
        last, here = here, os.open(name, os.O_RDONLY, dir_fd=here)
        if last != top:
            os.close(last)
    os.symlink(victim, "link", dir_fd=here)
    os.close(here)

    assert stored(str(victim)) == 0
    assert stored(str(place)) == WITHOUT_END
    remove(str(place))
    assert [one.name for one in tmp_path.iterdir()] == ["victim"]
    assert victim.stat().st_mode & 0o777 == 0o750
    os.close(top)


@pytest.mark.skipif(shutil.which("g++") is None, reason="host functions need a compiler")
def test_host_functions_that_cheat(folder, verdicts):
    """What is kept, computed on the host or claimed is caught, and nothing outside of the candidate is touched."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        texts = {**HOST, "ways_out": WAYS_OUT} if platform.machine() == "x86_64" else HOST
        found = _judged(folder, {name: text.replace("PORT", port) for name, text in texts.items()})

    ways_out = found.pop("ways_out", None)
    if ways_out is not None and all(ways_out["confinement"].values()):
        assert (ways_out["verdict"], ways_out["printed"]) == ("right", "")
    assert {name: one["verdict"] for name, one in found.items()} == {
        "keeps_by_pointer": "wrong",
        "computes_on_the_host": "wrong",
        "refills_the_output": "wrong",
        "other_queue": "right",
        "lazy": "wrong",
        "attacks": "refused",
    }
    assert "launches nothing in draw 2 of case n=512" in found["keeps_by_pointer"]["error"]
    assert "copies x, y to the host before its last launch" in found["computes_on_the_host"]["error"]
    assert "changes out after its last kernel" in found["refills_the_output"]["error"]
    assert found["refills_the_output"]["cases"][0]["right"]  # which only looks at its output
    assert found["other_queue"]["time_us"] == pytest.approx(verdicts["good"]["time_us"])
    assert "launches nothing" in found["lazy"]["error"]
    assert "exit(0)" in found["attacks"]["error"]
    told, held = found["attacks"]["printed"], found["attacks"]["confinement"]
    assert '{"verdict": "right"}' in told
    for name, word in (
        ("files", "file -1"),
        ("network", "network -1"),
        ("processes", "signal -1"),
        ("starts", "started 0"),
    ):
        assert word in told or not held[name], told
    assert (folder / "reference.py").read_text() == REFERENCE


@pytest.mark.parametrize(("now", "then"), [(-1, []), (1 << 30, [(1 << 35, -1)]), (1 << 36, [])])
def test_the_room_for_a_device_only_grows(monkeypatch, now, then):
    """A limit that is no limit, or larger, stays what it is."""
    told = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (now, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: told.append(limits))
    room_for_device(1 << 35)

    assert then == told
