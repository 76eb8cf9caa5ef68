"""Programs of BANG C with a main of their own: what they compute, and what is said of those that go wrong."""

import signal

import pytest

from mlusim import Observer
from mlusim.arch.catalog import find_board
from mlusim.errors import Fault, MlusimError, UsageError
from mlusim.observe.collect import collecting
from mlusim.programs.host_program import HostProgram
from mlusim.programs.kernel_call import Sources

KERNEL = """\
__nram__ float buffer[512];
__mlu_entry__ void Twice(float *dst, const float *src, int n) {
  __memcpy(buffer, src, n * sizeof(float), GDRAM2NRAM);
  __bang_add(buffer, buffer, buffer, n);
  __memcpy(dst, buffer, n * sizeof(float), NRAM2GDRAM);
}
"""
HEADERS = "#include <algorithm>\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n#include <iostream>\n#include <iomanip>\n#include <string>\n#include <vector>\n"


@pytest.fixture
def execute(tmp_path, capsys):
    """Execute a program: ``execute(body of main, *words)`` gives its exit status and what it printed."""

    def executed(body, *words, before="", observe=()):
        path = tmp_path / "lab.mlu"
        path.write_text(f"{HEADERS}{KERNEL}{before}\nint main(int argc, char **argv) {{\n{body}\n}}\n")
        program = HostProgram(Sources((str(path),), find_board("MLU370-X4")), words)
        try:
            program.run(observe)
            status = 0
        except SystemExit as leaving:
            status = leaving.code
        return status, capsys.readouterr().out, program.launches

    executed.path = tmp_path / "lab.mlu"
    return executed


def line_of(fault):
    """The line of the body that a fault is at."""
    return fault.line - (HEADERS + KERNEL).count("\n") - 2


def test_a_launch_without_a_queue_goes_to_the_default_one(execute):
    """``<<<dim, type>>>`` is ``<<<dim, type, nullptr>>>``."""
    body = """\
float host[2] = {1.5f, 2}, *memory;
CNRT_CHECK(cnrtMalloc((void **)&memory, 8)); CNRT_CHECK(cnrtMemcpy(memory, host, 8, cnrtMemcpyHostToDev));
cnrtDim3_t dim = {1, 1, 1};
Twice<<<dim, cnrtFuncTypeBlock%s>>>(memory, memory, 2);
CNRT_CHECK(cnrtQueueSync(nullptr)); CNRT_CHECK(cnrtMemcpy(host, memory, 8, cnrtMemcpyDevToHost));
printf("%%g %%g", host[0], host[1]);"""
    for queue in ("", ", nullptr"):
        status, printed, launches = execute(body % queue)
        assert (status, printed, len(launches)) == (0, "3 4", 1)


def test_a_program_launches_and_measures_predicted_time(execute):
    """Memory, copies, a launch and notifiers: the result is right, and the time is the launch's."""
    status, printed, launches = execute("""\
cnrtQueue_t queue; cnrtNotifier_t start, end;
CNRT_CHECK(cnrtSetDevice(0)); CNRT_CHECK(cnrtQueueCreate(&queue));
CNRT_CHECK(cnrtNotifierCreate(&start)); CNRT_CHECK(cnrtNotifierCreate(&end));
std::vector<float> host(256, 1.5f);
float *src = nullptr, *dst = nullptr;
CNRT_CHECK(cnrtMalloc((void **)&src, 1024)); CNRT_CHECK(cnrtMalloc((void **)&dst, 1024));
CNRT_CHECK(cnrtMemcpy(src, host.data(), 1024, cnrtMemcpyHostToDev));
cnrtDim3_t dim = {1, 1, 1};
CNRT_CHECK(cnrtPlaceNotifier(start, queue));
Twice<<<dim, cnrtFuncTypeBlock, queue>>>(dst, src, 256);
CNRT_CHECK(cnrtPlaceNotifier(end, queue)); CNRT_CHECK(cnrtQueueSync(queue));
CNRT_CHECK(cnrtMemcpy(host.data(), dst, 1024, cnrtMemcpyDevToHost));
float us = 0; CNRT_CHECK(cnrtNotifierDuration(start, end, &us));
printf("%g %.4f\\n", host[255], us);
cnrtFree(src); cnrtFree(dst); cnrtQueueDestroy(queue);
return argc;""")

    assert (1, ["Twice"]) == (status, [launch.kernel for launch in launches])
    assert f"3 {launches[0].time_us:.4f}\n" == printed


def test_classes_and_functions_of_the_libraries(execute):
    """Vectors, strings, streams, printf, new, sort and loops over elements give what a C++ compiler's program gives."""
    before = """\
struct Config { std::string name; std::vector<int> sizes; int n = 7; };
struct Link { int value; Link *next; };
std::vector<int> table(3, 5);
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int grown(std::vector<int> v) { v.push_back(1); return v.size(); }
static bool falling(const int &a, const int &b) { return a > b; }
"""
    _, printed, _ = execute(
        """\
std::vector<int> v = {5, 3, 9};
std::sort(v.begin(), v.end(), falling);
for (int &x : v) x *= std::stoul("2");
for (auto x : v) std::cout << x << ' ';
std::cout << std::setw(6) << std::fixed << std::setprecision(2) << 3.14159 << std::endl;
Config a; a.name = "one"; a.sizes.resize(2); Config b = a; b.name += "!"; b.sizes[0] = 4;
printf("%s %s %d %d %d %zu\\n", a.name.c_str(), b.name.c_str(), a.sizes[0], b.sizes[0], b.n, b.name.size());
Link *head = nullptr;
for (int i = 0; i < 3; ++i) { Link *link = new Link; link->value = i; link->next = head; head = link; }
for (Link *at = head; at;) { printf("%d,", at->value); Link *next = at->next; delete at; at = next; }
std::vector<std::vector<double>> rows(2, std::vector<double>(3, 0.1)); rows[1][2] += 1;
printf(" %.17g %d %d %d %05d|%-4s|%x\\n", rows[1][2], grown(v), (int)v.size(), table[2], 42, "ab", -1);
char text[8]; snprintf(text, sizeof(text), "%s", "cut off here"); puts(text);
printf("%d %d %s\\n", fib(12), rand(), argc > 1 ? argv[1] : "none");""",
        "word",
        before=before,
    )

    assert (
        "18 10 6   3.14\none one! 0 4 7 4\n2,1,0, 1.1000000000000001 4 3 5 00042|ab  |ffffffff\ncut off\n"
        "144 1804289383 word\n"
    ) == printed


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("int *p = (int *)malloc(8);\nfree(p);\nfree(p);", "free of 8 bytes from malloc at"),
        ("int *p = (int *)malloc(8);\nfree(p);\nreturn p[0];", "which was freed at"),
        ("int *p = (int *)malloc(8);\n\np[2] = 1;", "a store of 4 bytes at byte 8 of 8 bytes from malloc"),
        ("float *d = 0;\ncnrtMalloc((void **)&d, 64);\ncnrtMemset(d, 0, 65);", "legal: 64 bytes are there"),
        ("void *d; cnrtMalloc(&d, 64);\ncnrtFree(d);\ncnrtFree(d);", "cnrtFree of memory that was freed at"),
        ("float *d = 0; cnrtMalloc((void **)&d, 64);\n\nreturn d[0];", "the host cannot load through a device pointer"),
        ("float h[4]; float *d; cnrtMalloc((void **)&d, 64);\n\ncnrtMemcpy(h, d, 16, cnrtMemcpyHostToDev);", "order of its pointers"),
        ("\n\nputs(argv[argc + 1]);", "argv[2] is read, and the program has 1 word"),
        ("\n\nputs(argv[1]);", "through the null pointer"),
        ('\n\nprintf("%d\\n", 1.5);', "printf takes an integer for '%d' and is given a float"),
        ("\n\nabort();", "abort was called"),
        ('\n\nreturn std::stoi("-");', "'-' is no number, which std::stoi wants"),
        ('\n\nreturn std::stoi("x1");', "'x1' is no number, which std::stoi wants"),
        ('\n\nreturn (int)std::stof("1e39");', "1e39 is out of the range of std::stof"),
        ('\n\nreturn (int)std::stod("1e309");', "1e309 is out of the range of std::stod"),
        ('\n\nreturn std::stoi("2147483648");', "2147483648 is out of the range of std::stoi; legal: -2147483648 to 2147483647"),
        ("std::vector<int> v(3);\n\nreturn v[3];", "of the elements of a vector<int32>; legal: bytes 0 to 11"),
        ("int a = argc - 1;\n\nreturn 5 / a;", "a division of integers by zero"),
        ("float h[4]; float *d; cnrtMalloc((void **)&d, 16);\n\ncnrtMemcpy(d, h, 32, cnrtMemcpyHostToDev);", "a cnrtMemcpy of 32 bytes at byte 0 of h (16 bytes)"),
        ("unsigned x = 5; unsigned char *p = (unsigned char *)&x;\np[1] = 1;\nreturn p[4] + x;", "element 4 of a pointer to one variable is accessed"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_a_fault_at_its_line(execute, body, said):
    """One sentence with the file and the line of the program."""
    with pytest.raises(Fault) as caught:
        execute(body)

    assert said in str(caught.value)
    assert (3, "lab.mlu") == (line_of(caught.value), caught.value.file.rpartition("/")[2])


def test_endless_recursion_ends(execute):
    """A function that calls itself without end is a fault at its own line, no traceback."""
    with pytest.raises(Fault, match="calls itself without end.*lab.mlu:15"):
        execute("return deep(1);", before="static int deep(int n) { return deep(n + 1) + 1; }")


def test_what_cannot_be_launched_is_refused_at_its_line(execute):
    """A pointer of the host is no argument of a kernel, and 0 tasks are no grid."""
    launch = "cnrtDim3_t dim = {%s, 1, 1};\nTwice<<<dim, cnrtFuncTypeBlock, nullptr>>>(%s, nullptr, 1);"

    with pytest.raises(UsageError, match=r"float \* dst of Twice is given a pointer of the host.*lab.mlu:18"):
        execute("float h[4];" + launch % ("1", "h"))
    with pytest.raises(UsageError, match=r"dim.x = 0 is out of range.*lab.mlu:18"):
        execute(launch % ("0", "nullptr"))


def test_what_host_code_lacks_is_refused_with_a_caret(execute):
    """Destructors that would silently not be called, jumps into blocks and bit fields do not translate."""
    noisy = 'struct Noisy { unsigned n : 3; ~Noisy() { puts("end"); } };\n#include <vector>'
    inside = r"lab.mlu:19:\d+: main does not translate: Noisy in std::vector<Noisy> has a destructor(.|\n)*\^"

    with pytest.raises(MlusimError, match=inside):
        execute("\nstd::vector<Noisy> n;", before=noisy)
    with pytest.raises(MlusimError, match="end is in a block that this goto is not in"):
        execute("if (argc) goto end;\n{ end: return 1; }")
    with pytest.raises(MlusimError, match="n is a bit field"):
        execute("Noisy a;\nreturn a.n;", before=noisy)


def test_exit_status_and_errors_of_the_driver(execute):
    """exit() ends the program with its status; a call of the driver that fails returns its code and text."""
    status, printed, _ = execute("""\
cnrtRet_t ret = cnrtSetDevice(3);
printf("%s %d\\n", cnrtGetErrorStr(ret), cnrtGetLastError() == ret && cnrtGetLastError() == cnrtSuccess);
void *d; if (cnrtMalloc(&d, (size_t)1 << 60) != cnrtErrorNoMem) return 1;
exit(7);""")

    assert (7, "there is no such device 1\n") == (status, printed)


def test_bytes_that_the_host_copies_have_values(execute):
    """A kernel may read what the host has copied into a part of a tensor, and nothing behind it; later copies add to it."""
    _, _, launches = execute(
        """\
std::vector<float> host(64, 1.5f); float *src, *dst; cnrtDim3_t dim = {1, 1, 1};
cnrtMalloc((void **)&src, 1024); cnrtMalloc((void **)&dst, 1024);
for (int half = 0; half < 2; half++) {
  cnrtMemcpy(src + half * 64, host.data(), 256, cnrtMemcpyHostToDev);
  Twice<<<dim, cnrtFuncTypeBlock, nullptr>>>(dst, src, 64 + half * 64);
}
Twice<<<dim, cnrtFuncTypeBlock, nullptr>>>(dst, src, 129);
Twice<<<dim, cnrtFuncTypeBlock, nullptr>>>(dst, src + 129, 1);""",
        observe=("initcheck",),
    )

    stored = ["initcheck-undefined-stored"]
    assert [[], [], stored, stored] == [[f.id for f in launch.findings] for launch in launches]


def test_classes_of_the_program_and_containers(execute):
    """Constructors with initialisers, templates, maps, sets, arrays and members with values: as a C++ compiler has them."""
    before = """\
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
template <typename T> class Buffer {
 public:
  explicit Buffer(size_t n) : size_(n), data_(new T[n]()) {}
  T &operator[](size_t i) { return data_[i]; }
  T sum() const { T s = bias; for (size_t i = 0; i < size_; ++i) s += data_[i]; return s; }
  T bias = 2;
 private:
  size_t size_;
  T *data_;
};
struct Packed { int a[3]; double d; char name[8]; };
"""
    _, printed, _ = execute(
        """\
Buffer<float> buffer(4); buffer[1] = 1.5f; buffer[3] = 4;
std::map<std::string, int> counts; counts["b"] += 2; counts["a"] = 1;
std::set<int> seen = {1, 2}; seen.insert(2);
std::array<int, 4> four = {1, 2, 3}; four[3] = 9;
Packed one = {{1, 2, 3}, 2.5, "ab"}; Packed *many = (Packed *)malloc(2 * sizeof(Packed)); many[1] = one; many[1].a[2] = 7; many[1].d += 1;
std::stringstream words; words << "n=" << 4 << ' ' << std::hex << 255 << std::dec << ' ' << 1.0 / 3 << ' ' << true;
half h = (half)1.5f; unsigned short bits; memcpy(&bits, &h, 2);
printf("%g %d %zu %d %zu %d\\n", buffer.sum(), counts["b"], counts.size(), (int)seen.count(2), seen.size(), std::accumulate(four.begin(), four.end(), 0));
printf("%d %d %g %s %zu %x\\n", one.a[2], many[1].a[2], many[1].d, many[1].name, sizeof(Packed), bits);
printf("%s %zu\\n", words.str().c_str(), words.str().find("ff"));
free(many);""",
        before=before,
    )

    assert "7.5 2 2 1 2 15\n3 7 3.5 ab 32 3e00\nn=4 ff 0.333333 1 4\n" == printed


class Armed(Observer):
    """Has the interrupt key pressed when the process has worked some time behind a launch."""

    def launch_end(self, _launch):
        """Set the alarm, behind which only the host runs."""
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.1)


def test_the_interrupt_key_tells_the_line_of_the_host(execute):
    """A main without end is stopped in its own line, and its caller hears where that was."""
    usual = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    body = "float *d;\ncnrtMalloc((void **)&d, 64);\ncnrtDim3_t dim = {1, 1, 1};\nTwice<<<dim, cnrtFuncTypeBlock, nullptr>>>(d, d, 16);\n"
    try:
        with pytest.raises(KeyboardInterrupt) as stopped:
            execute(f"{body}long turns = 0;\nfor (;;)\n  turns += 1;", observe=[Armed()])
    finally:
        signal.signal(signal.SIGVTALRM, usual)
    (note,) = stopped.value.__notes__
    lines = execute.path.read_text().splitlines()

    assert note.startswith(f"at {execute.path}:")
    assert lines[int(note.split(":")[-1].split()[0]) - 1] in ("for (;;)", "  turns += 1;")


QUEUE = """\
cnrtQueue_t queue; CNRT_CHECK(cnrtQueueCreate(&queue)); cnrtNotifier_t done; CNRT_CHECK(cnrtNotifierCreate(&done));
std::vector<float> host(64, 1.5f); float *src = nullptr, *dst = nullptr; cnrtDim3_t dim = {1, 1, 1};
CNRT_CHECK(cnrtMalloc((void **)&src, 256)); CNRT_CHECK(cnrtMalloc((void **)&dst, 256));
CNRT_CHECK(cnrtMemcpy(src, host.data(), 256, cnrtMemcpyHostToDev));
"""
LAUNCH = "Twice<<<dim, cnrtFuncTypeBlock, queue>>>(dst, src, 64);\n"
BACK = "CNRT_CHECK(cnrtMemcpy(host.data(), dst, 256, cnrtMemcpyDevToHost));\n"


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        (LAUNCH + BACK, ["hostcheck-read-without-sync"]),
        (LAUNCH + "cnrtQueueSync(queue);\n" + BACK, []),
        (LAUNCH + "cnrtSyncDevice();\n" + BACK, []),
        (LAUNCH + "cnrtPlaceNotifier(done, queue); cnrtWaitNotifier(done);\n" + BACK, []),
        ("cnrtPlaceNotifier(done, queue);\n" + LAUNCH + "cnrtWaitNotifier(done);\n" + BACK, ["hostcheck-read-without-sync"]),
        (LAUNCH.replace("queue>>>", "nullptr>>>") + BACK, []),
        (LAUNCH + BACK.replace("host.data(), dst", "host.data(), src"), []),
        (
            LAUNCH + "cnrtMemcpyAsync(host.data(), dst, 256, queue, cnrtMemcpyDevToHost); cnrtQueueSync(queue);",
            [],
        ),
    ],
)  # fmt: skip
def test_a_result_is_read_behind_a_wait_for_its_queue(execute, body, rules):
    """A copy without one may come before the launch has stored anything."""
    with collecting() as collector:
        execute(QUEUE + body)

    assert rules == [finding.id for finding in collector.found]
    for finding in collector.found:
        assert finding.file == str(execute.path)
        assert "cnrtQueueSync" in finding.hint


@pytest.mark.parametrize("use", [BACK, LAUNCH, "cnrtMemset(dst, 0, 256);"], ids=["copy", "launch", "set"])
def test_memory_that_was_freed_is_a_finding_of_the_host(execute, use):
    """A copy, a launch or a set may use it."""
    with collecting() as collector, pytest.raises(Fault, match="that was freed") as caught:
        execute(QUEUE + "cnrtFree(dst);\n" + use)
    collector.add(caught.value)

    assert ["hostcheck-use-after-free"] == [finding.id for finding in collector.found]


def test_memory_is_named_by_its_line_and_hints_are_spelled_in_c(execute):
    """A finding says which cnrtMalloc the bytes come from, and how BANG C writes what helps."""
    with collecting() as collector:
        execute(QUEUE + LAUNCH + BACK)
    wrong = "__nram__ float near[64];\n__mlu_entry__ void Far(float *x) { __bang_add(x, near, near, 64); }\n"
    with pytest.raises(Fault) as caught:
        execute(QUEUE + "Far<<<dim, cnrtFuncTypeBlock, queue>>>(dst);", before=wrong)
    line = (HEADERS + KERNEL + QUEUE).count("\n") + 1

    assert f"reads 256 bytes of cnrtMalloc at lab.mlu:{line}, which" in collector.found[0].message
    assert "copy it there with __memcpy first" == caught.value.hint
