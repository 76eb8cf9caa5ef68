"""Names of the driver's libraries, from plain C++ programs: devices, queues, host functions, numbers, older names."""

import re
import subprocess

import pytest

from mlusim.arch.catalog import find_board
from mlusim.bangc.prelude import DRIVER
from mlusim.toolkit.folder import LIBRARIES
from mlusim.toolkit.server.__main__ import USAGE, main
from mlusim.toolkit.server.protocol import ATTRIBUTES
from mlusim.toolkit.server.queues import NativeQueue

HEADERS = {"cnrt": "cnrt.h", "cndrv": "cn_api.h", "cndev": "cndev.h", "cnpapi": "cnpapi.h"}
OWN = {"__cudaRegisterFunction", "cudaLaunchKernel"}  # inline

DEVICES = r"""
#include "cn_api.h"
#include "cndev.h"
int main() {
  unsigned count;
  cnrtGetDeviceCount(&count);
  for (unsigned i = 0; i < count; ++i) {
    cnrtDeviceProp_t p;
    CNRT_CHECK(cnrtGetDeviceProperties(&p, i));
    int cores;
    cnDeviceGetAttribute(&cores, CN_DEVICE_ATTRIBUTE_MAX_CORE_COUNT_PER_CLUSTER, i);
    cndevDDRInfo_t ddr;
    cndevGetDDRInfo(&ddr, i);
    printf("%s %d %d %d.%d\n", p.name, p.clusterCount, cores, ddr.bandWidth, ddr.bandWidthDecimal);
  }
  cnrtRet_t code = cnrtSetDevice(2);
  printf("%s\n", cnrtGetErrorName(code));
  int *a, *b, value = 7;
  CNdev device;
  CNRT_CHECK(cnrtMalloc(&a, 4));
  CNRT_CHECK(cnrtSetDevice(1));
  CNRT_CHECK(cnrtMalloc(&b, 4));
  CNRT_CHECK(cnrtMemcpy(a, &value, 4, cnrtMemcpyHostToDev));
  CNRT_CHECK(cnrtMemcpyPeer(b, 1, a, 0, 4));
  value = 0;
  CNRT_CHECK(cnrtMemcpy(&value, b, 4, cnrtMemcpyNoDirection));
  cnrtPointerAttributes_t attributes;
  cnrtPointerGetAttributes(&attributes, b);
  cnCtxGetDevice(&device);
  CNaddr first;
  cn_uint64_t bytes;
  cnGetMemAddressRange(&first, &bytes, (CNaddr)b + 2);
  printf("%d %d %d %d\n", value, attributes.device, (int)device, first == (CNaddr)b && bytes == 4);
}
"""
QUEUES = r"""
#include "cn_api.h"
#include <atomic>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <thread>
#include <vector>
static std::atomic<int> done{0};
static std::atomic<bool> counting{false};
static std::atomic<int> allocated{0};
void *operator new(size_t bytes) {
  allocated += counting;
  return malloc(bytes);
}
void operator delete(void *piece) noexcept { free(piece); }
void operator delete(void *piece, size_t) noexcept { free(piece); }
extern "C" int mprotect(void *at, size_t bytes, int how) noexcept {
  if (bytes >> 30) puts("the whole map is changed, byte by byte under valgrind");
  return syscall(SYS_mprotect, at, bytes, how);
}
static void slow(void *add) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  done += *(int *)add;
}
int main() {
  pthread_atfork([] { puts("the program forks"); }, nullptr, nullptr);
  cnrtQueue_t queue;
  cnrtCreateQueue(&queue);
  printf("started\n");  // without the program's handlers, or a sanitizer's: the simulator is not a child that goes on with it
  int add = 2;
  for (int i = 0; i < 5; ++i) cnrtInvokeHostFunc(queue, slow, &add);
  cnrtSyncQueue(queue);
  printf("%d\n", done.load());
  fflush(stdout);
  int status;
  if (fork() == 0) {  // whose threads are gone, and which has a device of its own
    cnrtInvokeHostFunc(queue, slow, &add);
    cnrtSyncDevice();
    counting = true;
    if (fork() == 0) _exit(allocated);  // a leak check would find what is made in place of what was there
    wait(&status);
    _exit(done.load() == 12 ? WEXITSTATUS(status) : 100);
  }
  wait(&status);
  printf("%d\n", status);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        int *d, value = 100 * t + i, back = -1;
        cnrtMalloc(&d, 4);
        cnrtMemcpy(d, &value, 4, cnrtMemcpyHostToDev);
        cnrtMemcpy(&back, d, 4, cnrtMemcpyDevToHost);
        wrong += back != value || cnrtFree(d) != cnrtSuccess;
      }
    });
  for (auto &thread : threads) thread.join();
  printf("%d\n", wrong.load());
  cnrtNotifier_t start, end;
  cnrtCreateNotifier(&start);
  cnNotifierDuration(start, start, nullptr);
  cnCreateNotifier(&end, 0);
  float us = -1;
  cnrtRet_t code = cnrtNotifierDuration(start, end, &us);
  printf("%s\n", cnrtGetErrorName(code));
  cnrtPlaceNotifier(start, queue), cnrtPlaceNotifier(end, nullptr);
  code = cnrtNotifierElapsedTime(start, end, &us);
  printf("%d %g\n", code, us);
  cnrtDestroyQueue(queue);
  code = cnrtQueueSync(queue);
  printf("%s\n", cnrtGetErrorName(code));
}
"""
NUMBERS = r"""
#include "cnrt.h"
#include <algorithm>
#include <cmath>
#include <cstring>
int main() {
  int wrong = 0;
  for (unsigned h = 0; h < 65536; ++h) {
    _Float16 half;
    unsigned short bits = h, back;
    memcpy(&half, &bits, 2);
    float f;
    cnrtConvertHalfToFloat(&f, bits);
    cnrtConvertFloatToHalf(&back, f);
    if (std::isnan((float)half)) wrong += !std::isnan(f) || (back & 0x7c00) != 0x7c00 || !(back & 0x3ff);
    else wrong += f != (float)half || back != bits;
    // the middle between two neighbours, and a little more
    float middle = f + (float)(f == 0 ? 0 : std::ldexp(1.0, std::max(-25, std::ilogb(f) - 11)));
    for (float one : {middle, std::nextafter(middle, 1e9f)}) {
      half = (_Float16)one;
      memcpy(&bits, &half, 2);
      cnrtConvertFloatToHalf(&back, one);
      if (!std::isnan(one)) wrong += back != bits;
    }
  }
  // whole arrays, with a rest and with NaNs, as one number at a time
  static unsigned short halves[65539], again[65539];
  static float floats[65539];
  for (int i = 0; i < 65539; ++i) halves[i] = (unsigned short)i;
  cnrtCastDataType_V2(halves, cnrtHalf, floats, cnrtFloat, 65539, nullptr, cnrtRounding_rn);
  cnrtCastDataType_V2(floats, cnrtFloat, again, cnrtHalf, 65539, nullptr, cnrtRounding_rn);
  for (int i = 0; i < 65539; ++i) {
    float f;
    unsigned short back;
    cnrtConvertHalfToFloat(&f, halves[i]);
    cnrtConvertFloatToHalf(&back, floats[i]);
    wrong += memcmp(&f, &floats[i], 4) != 0 || back != again[i];
  }
  float values[3] = {1.5f, -2.75f, 300.f};
  signed char bytes[3];
  unsigned short brain[3];
  cnrtCastDataType_V2(values, cnrtFloat, brain, cnrtBfloat, 3, nullptr, cnrtRounding_rm);
  cnrtCastDataType(values, CNRT_FLOAT32, bytes, CNRT_INT8, 2, nullptr);
  cnrtRet_t code = cnrtCastDataType(values, CNRT_FLOAT32, bytes, CNRT_INT4, 2, nullptr);
  printf("%d %x %d %d %s\n", wrong, brain[1], bytes[0], bytes[1], cnrtGetErrorName(code));
}
"""


def declared(header):
    """The functions that *header* declares."""
    text = re.sub(r"//.*", "", (DRIVER / header).read_text())
    return set(re.findall(r"\b((?:__)?[a-z]\w+)\([^;{}]*\);", text)) - OWN


@pytest.mark.parametrize("library", HEADERS)
def test_every_declared_name_is_there(libraries, library):
    """Whatever a header declares, its library has."""
    words = ["nm", "-D", "--defined-only", str(libraries / f"lib{library}.so")]
    symbols = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    there = {line.split()[-1] for line in symbols.splitlines()}

    assert library in LIBRARIES
    assert declared(HEADERS[library]) - there - {"cudaConfigureCall"} == set()


def test_every_attribute_has_an_answer():
    """An attribute that a header names is a row of the server's table."""
    text = (DRIVER / "cnrt.h").read_text() + (DRIVER / "cn_api.h").read_text()
    named = set(re.findall(r"X\((cnrtAttr\w+|CN_DEVICE_ATTRIBUTE_\w+), 0x\w+\)", text))

    assert {name for name in named if ATTRIBUTES[name](find_board("MLU370-X4")) < 0} == set()
    assert named == {name for name in ATTRIBUTES if not name.startswith("mlusim")}


MORE = r"""
#include "cn_api.h"
#define SHOW(x) printf("%d ", (int)(x))
static int seen;
static void look(void *p) { seen += *(int *)p; }
int main() {
  int *d, *e, host[24], back[24] = {};
  for (int i = 0; i < 24; ++i) host[i] = i;
  cnrtMalloc(&d, 4096), cnrtMalloc(&e, 4096);
  cnrtMemset(d, 0, 4096);
  SHOW(cnrtMemcpy2D(d, 32, host, 24, 16, 4, cnrtMemcpyHostToDev));
  SHOW(cnrtMemcpy2D(back, 16, d, 32, 16, 4, cnrtMemcpyDevToHost));
  for (int i = 0; i < 16; ++i) printf("%d,", back[i]); puts("");
  SHOW(cnrtMemcpy2D(d, 8, host, 24, 16, 4, cnrtMemcpyHostToDev));
  cnrtMemcpy3dParam_t p{};
  p.dst = d, p.dstPtr = {16, d, 12, 3}, p.src = host, p.srcPtr = {12, host, 12, 4}, p.extent = {2, 2, 8}, p.srcPos = {4, 1, 0}, p.dir = cnrtMemcpyHostToDev;
  cnrtMemset(d, 0, 4096);
  SHOW(cnrtMemcpy3D(&p)); cnrtMemcpy(back, d, 96, cnrtMemcpyDevToHost);
  for (int i = 0; i < 24; ++i) printf("%d,", back[i]); puts("");
  cnrtNotifier_t t, u; float ms;
  SHOW(cnrtNotifierCreateWithFlags(&t, CNRT_NOTIFIER_DISABLE_TIMING_ALL)); SHOW(cnrtNotifierCreateWithFlags(&u, 16)); SHOW(cnrtNotifierCreateWithFlags(&u, CNRT_NOTIFIER_INTERPROCESS | CNRT_NOTIFIER_DISABLE_TIMING_ALL));
  cnrtQueue_t q; cnrtQueueCreate(&q); cnrtPlaceNotifier(t, q); SHOW(cnrtWaitNotifier(t)); SHOW(cnrtNotifierElapsedTime(t, t, &ms)); puts("");
  cnrtTaskTopo_t topo; cnrtTaskTopoEntity_t entity; cnrtQueueCaptureStatus_t status;
  SHOW(cnrtQueueBeginCapture(q, cnrtQueueCaptureModeRelaxed)); SHOW(cnrtQueueIsCapturing(q, &status)); SHOW(status);
  host[0] = 7; SHOW(cnrtMemcpyAsync(d, host, 4, q, cnrtMemcpyHostToDev)); SHOW(cnrtMemcpyAsync(back, d, 4, q, cnrtMemcpyDevToHost)); cnrtInvokeHostFunc(q, look, back); SHOW(cnrtQueueSync(q));
  cnrtQueueCaptureMode mode = cnrtQueueCaptureModeRelaxed; size_t many; cnrtTaskTopoNode_t nodes[4];
  SHOW(cnrtThreadExchangeQueueCaptureMode(&mode)); SHOW(mode); cnrtThreadExchangeQueueCaptureMode(&mode); SHOW(mode);
  back[0] = 0; SHOW(cnrtQueueEndCapture(q, &topo)); SHOW(cnrtTaskTopoGetNodes(topo, nullptr, &many)); SHOW(many); many = 4; cnrtTaskTopoGetNodes(topo, nodes, &many); SHOW(many); SHOW(nodes[2] && !nodes[3]); SHOW(cnrtTaskTopoInstantiate(&entity, topo, nullptr, nullptr, 0)); SHOW(back[0]); SHOW(seen);
  cnrtTaskTopoEntityInvoke(entity, q); cnrtTaskTopoEntityInvoke(entity, q); SHOW(cnrtQueueSync(q)); SHOW(back[0]); SHOW(seen); SHOW(cnrtTaskTopoEntityDestroy(entity)); SHOW(cnrtTaskTopoDestroy(topo)); puts("");
  void *h; SHOW(cnrtAcquireMemHandle(&h, d)); CNdev dev; cnCtxGetDevice(&dev); SHOW(dev); int v; SHOW(cnDeviceGetAttribute(&v, (CNdevice_attribute)0x205, 0)); SHOW(v); SHOW(cnDeviceGetAttribute(&v, (CNdevice_attribute)0x999, 0));
  CNctxConfigParam c; SHOW(cnGetCtxConfigParam_pt(nullptr, (CNctxConfigParamType)2, &c)); SHOW(c.unionLimit); SHOW(cnrtDeviceGetAttribute(&v, (cnrtDeviceAttr_t)0x302, 0)); SHOW(v); SHOW(cnrtDeviceGetAttribute(&v, (cnrtDeviceAttr_t)0x777, 0)); puts("");
}
"""


def test_copies_of_rows_flags_captured_queues_and_numbers(native):
    """Rows and planes with pitches, notifiers without a time, a queue's work done twice, numbers as the vendor's headers have them."""
    done = native.run(native.compile(MORE, needs=("cndrv", "cnrt")))

    rows, planes, flags, capture, numbers = done.stdout.splitlines()
    assert rows == "0 0 0,1,2,3,6,7,8,9,12,13,14,15,18,19,20,21,"
    assert planes == "100006 0 4,5,0,0,7,8,0,0,0,0,0,0,16,17,0,0,19,20,0,0,0,0,0,0,"
    assert flags == "0 100006 0 0 100006 "
    assert capture == "0 0 1 0 0 100360 0 0 2 0 0 3 3 1 0 0 0 0 7 14 0 0 "
    assert numbers == "0 0 0 8 100006 0 32 0 786432 632009 "
    assert "no time can be asked of a notifier" in done.stderr


def test_several_boards(native):
    """Devices of different boards, copies between them, and a number that is not a device's."""
    done = native.run(
        native.compile(DEVICES, needs=("cndrv", "cndev", "cnrt")), MLUSIM_BOARD="MLU370-X4,MLU590-H8"
    )

    assert done.stdout.splitlines() == [
        "MLU370-X4 8 4 307.2",
        "MLU590-H8 12 4 2048.0",
        "cnrtErrorNoDevice",
        "7 1 1 1",
    ]
    assert "there is no device 2; 2 are there" in done.stderr


def test_queues_threads_and_host_functions(native):
    """Host functions are done after a sync, threads take turns, a child loses no memory, and handles that are none are refused."""
    done = native.run(native.compile(QUEUES, needs=("cndrv", "cnrt")))

    assert done.stdout.splitlines() == [
        "started",
        "10",
        "the program forks",
        "0",
        "0",
        "cnrtErrorInvalidResourceHandle",
        "0 0",
        "cnrtErrorQueue",
    ]
    assert "this notifier was placed in no queue" in done.stderr


def test_halves_are_rounded_as_by_the_compiler(native):
    """Halves and their neighbours as the compiler rounds them; types that there are not are refused."""
    done = native.run(native.compile(NUMBERS))

    assert done.stdout == "0 c030 1 -2 cnrtErrorArgsInvalid\n"


def test_a_queue_that_waits_begins_later():
    """A queue that waits for another's notifier goes on when that is met."""
    first, second, last = NativeQueue(1), NativeQueue(2), NativeQueue(3)
    first._times.append(5.0)
    second.add((first, 1))
    last._times.append(7.0)
    last.add((second, 1))

    assert (second.at(1), last.at(2), second.steps) == (5.0, 7.0, 1)


def test_a_library_of_another_state_is_refused(capfd):
    """A program keeps the library that it was linked with; one whose requests look otherwise gets a sentence, not an answer that it misreads."""
    for words in ((), ("1",)):
        assert USAGE == main(["server", "3", "4", *words])
        assert "make the toolkit folder again with `mlusim toolkit`" in capfd.readouterr().err
