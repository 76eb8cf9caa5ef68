"""The C compiler of the native engine: which one, the cache, what goes wrong."""

import os
import select
import shlex
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from mlusim.files.user_cache import SWEPT, CacheWarning
from mlusim.machine.native import build as native
from mlusim.machine.native.build import (
    MOST_BYTES,
    BuildError,
    available,
    build,
    clean_cache,
    no_compiler,
)

FAKE = """\
import errno
import sys
with open(sys.argv[0] + ".calls", "a") as calls:
    calls.write("call\\n")
if "broken" in open([a for a in sys.argv if a.endswith(".c")][0]).read():
    print("kernel.c:1:1: error: unknown type name 'broken'", file=sys.stderr)
    sys.exit(1)
import os
with open(sys.argv[0] + ".zig", "w") as zig:
    zig.write(os.environ["ZIG_GLOBAL_CACHE_DIR"])
with open(sys.argv[sys.argv.index("-o") + 1], "wb") as made:
    made.write(b"\\x7fELF" + b"library" * 1000)
with open(sys.argv[0] + ".given", "w") as given:
    given.write(" ".join(sys.argv))
"""


@pytest.fixture
def environ(tmp_path):
    """A compiler that only writes that it was called, and a cache of its own."""
    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    return {"MLUSIM_CC": f"{sys.executable} {script}", "MLUSIM_CACHE": str(tmp_path / "cache"), "PATH": ""}


def calls(environ):
    """How often the compiler ran."""
    return len(Path(environ["MLUSIM_CC"].split()[-1] + ".calls").read_text().splitlines())


def test_what_was_compiled_is_kept(environ):
    """The same text is compiled once, another one again; nothing half-made is left."""
    first, second, other = (build(text, environ) for text in ("int a;", "int a;", "int b;"))

    assert first == second
    assert first != other
    assert calls(environ) == 2
    assert {first.name, other.name} == {p.name for p in first.parent.glob("*.so")}


def test_what_kernels_share_is_compiled_once(environ):
    """Two kernels take three compilations; a truncated object is compiled again, and cleaning counts kernels alone."""
    first = build("int a;", environ, shared="int s;")
    build("int b;", environ, shared="int s;")
    assert calls(environ) == 3

    (shared,) = first.parent.glob("*.o")
    os.truncate(shared, 10)
    build("int c;", environ, shared="int s;")

    assert calls(environ) == 5
    assert shared.stat().st_size > 10
    assert clean_cache(environ) == 3
    assert not shared.exists()


def test_a_library_that_others_may_write_is_compiled_again(environ):
    """It may hold anything; the compiler's umask does not count."""
    before = os.umask(0)
    try:
        path = build("int a;", environ)
    finally:
        os.umask(before)
    assert native._whole(path)
    path.chmod(0o777)

    with pytest.warns(CacheWarning, match=f"the cached file {path} is not read"):
        assert not native._whole(path)


def test_a_command_chooses_its_sanitizers(environ):
    """Undefined behaviour is not looked for, unless the command names a sanitizer."""
    given = Path(environ["MLUSIM_CC"].split()[-1] + ".given")
    build("int d;", environ)
    plain = given.read_text().split()
    build("int d;", {**environ, "MLUSIM_CC": environ["MLUSIM_CC"] + " -O1 -fsanitize=address,undefined"})
    guarded = given.read_text().split()

    assert "-fno-sanitize=undefined" in plain
    assert "-O2" in plain
    assert not {"-fno-sanitize=undefined", "-O2"} & set(guarded)


def test_what_several_want_at_once_is_compiled_once(environ):
    """The others wait for the first, and find the same file under the same name."""
    made = []
    threads = [threading.Thread(target=lambda: made.append(build("int c;", environ))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert calls(environ) == 1
    assert len(set(made)) == 1
    assert made[0].read_bytes().startswith(b"\x7fELF" + b"library" * 1000)


def test_a_compiler_that_fails_is_quoted(environ):
    """Its first error, and what to do; nothing is kept but what carries the locks."""
    with pytest.raises(BuildError, match="unknown type name 'broken'; name another compiler in MLUSIM_CC"):
        build("broken", environ)

    assert [native.LOCKS] == [path.name for path in native.cache_folder(environ).glob("*")]


def test_a_program_that_compiles_nothing_is_named(environ):
    """The compiler ended with success, but wrote no library."""
    with pytest.raises(BuildError, match="wrote no library; name another compiler in MLUSIM_CC"):
        build("int i;", environ | {"MLUSIM_CC": f"{sys.executable} -c pass"})


def an_hour_later(folder):
    """Let the last look at what is kept in *folder* be long ago."""
    os.utime(folder / SWEPT, (0, 0))


def test_the_cache_is_bounded_and_cleaned(environ):
    """What was used last stays; cleaning removes the rest and says how many there were."""
    paths = [build(f"int x{n};", environ) for n in range(3)]
    for age, path in enumerate(paths):
        os.truncate(path, MOST_BYTES // 2)  # a hole, which takes no room on the disk
        os.utime(path, (age, age))
    paths.append(build("int x3;", environ))
    assert all(path.exists() for path in paths)  # it is looked through once an hour
    an_hour_later(paths[0].parent)
    paths.append(build("int x4;", environ))

    assert [False, False, True, True, True] == [path.exists() for path in paths]
    assert clean_cache(environ) == 3
    assert [] == list(paths[0].parent.glob("*.so"))


def test_what_compilers_leave_goes(environ):
    """The cache of zig lies beside the kernels, its objects do not pile up, nor do folders of compilers that were killed."""
    folder = build("int f;", environ).parent
    left = [folder / name for name in ("zig/o/old", "making-old", "zig/o/new", "making-new")]
    for n, path in enumerate(left):
        path.mkdir(parents=True)
        (path / "kernel.o").write_text("object")
        os.utime(path, (0, 0) if n < 2 else None)
    an_hour_later(folder)
    build("int g;", environ)

    assert str(folder / "zig") == Path(environ["MLUSIM_CC"].split()[-1] + ".zig").read_text()
    assert [False, False, True, True] == [path.exists() for path in left]
    assert clean_cache(environ) == 2
    assert [folder / "making-new"] == list(folder.iterdir())  # where a compiler may be at work


def test_a_compiler_that_is_abandoned_leaves_nothing(environ, tmp_path):
    """Its programs end with it, and its folder goes at once."""
    os.mkfifo(tmp_path / "begun")
    script = tmp_path / "cc"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {tmp_path}/begun\nwait\n")
    script.chmod(0o755)
    raised = []

    def compiled():
        with pytest.raises(BuildError) as found:
            build("int x;", {**environ, "MLUSIM_CC": str(script)})
        raised.append(found)

    thread = threading.Thread(target=compiled)
    thread.start()
    asleep = int((tmp_path / "begun").read_text())
    ends = os.pidfd_open(asleep)
    folders = list(native.cache_folder(environ).glob("making-*"))
    native.abandon()
    select.select([ends], [], [])  # until it has ended
    os.close(ends)
    thread.join()

    assert len(folders) == len(raised) == 1
    assert not folders[0].exists()


def test_no_compiler_is_said_in_one_sentence(tmp_path):
    """A name that is not a program; none at all, unless the ziglang package is there."""
    wrong = {"MLUSIM_CC": "no-such-compiler", "PATH": str(tmp_path)}

    assert available(wrong) is None
    assert available(wrong | {"MLUSIM_CC": "'gcc"}) is None
    assert "MLUSIM_CC=no-such-compiler names no program" in no_compiler(wrong)
    assert "pip install 'ziglang>=" in no_compiler({"PATH": str(tmp_path)})
    with pytest.raises(BuildError, match="names no program"):
        build("int a;", wrong | {"MLUSIM_CACHE": str(tmp_path)})


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files, a test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def test_a_library_that_cannot_be_loaded_is_tried_elsewhere(environ, temporary):
    """A folder may be mounted so that nothing in it is executed; where the temporary one does not help, one sentence says so."""
    path = build("int d;", environ)

    with pytest.raises(BuildError, match=f"{path}.*name another folder in MLUSIM_CACHE, or another compiler"):
        native.load("int d;", environ)
    assert [path.name] == [made.name for made in temporary.glob("*/*.so")]
    assert calls(environ) == 2


@pytest.mark.skipif(available() is None, reason="no C compiler")
def test_a_folder_without_programs_is_passed(environ, temporary, tmp_path):
    """The library comes from the temporary folder, and is compiled there once."""
    real, fake = tmp_path / "real", Path(environ["MLUSIM_CC"].split()[-1])
    real.write_text(f'#!/bin/sh\ncase "$*" in *{temporary}*) exec {shlex.join(available())} "$@";; esac\nexec {sys.executable} {fake} "$@"\n')  # fmt: skip
    real.chmod(0o700)
    environ = {**environ, "MLUSIM_CC": str(real)}
    twice = [native.load("int j;", environ) for _ in range(2)]

    assert [temporary] * 2 == [Path(one._name).parents[1] for one in twice]
    assert calls(environ | {"MLUSIM_CC": str(fake)}) == 1


@pytest.mark.skipif(available() is None, reason="no C compiler")
def test_a_library_that_another_process_removes_is_compiled_again(environ, temporary, monkeypatch):
    """Between its compilation and its loading, as another process that empties the cache does."""
    environ = {**environ, "MLUSIM_CC": shlex.join(available())}
    path = build("int k;", environ)
    look = native._whole
    monkeypatch.setattr(native, "_whole", lambda path: (path.unlink(), look(path))[1])

    assert native.load("int k;", environ)._name == str(path)
    assert path.exists()
    assert not temporary.exists()


@pytest.mark.parametrize("left", [0, 3, 4096, -1])
def test_a_library_that_lost_its_end_is_compiled_again(environ, temporary, left):
    """After a crash of the machine, say: to load it would end the process."""
    path = build("int h;", environ)
    whole = path.read_bytes()
    path.write_bytes(whole[:left])

    with pytest.raises(BuildError, match=path.name):
        native.load("int h;", environ)
    assert whole == path.read_bytes()


def test_a_full_disk_is_said(environ, no_file_larger):
    """What cannot be written is one sentence, for "auto" to run in Python; nothing half-made stays."""
    folder = native.cache_folder(environ)
    with (
        no_file_larger(64),
        pytest.raises(BuildError, match="File too large; make room there, or name another folder"),
    ):
        build("int e;" * 20, environ)

    assert [native.LOCKS] == [path.name for path in folder.iterdir()]


def test_a_compiler_may_write_what_it_likes_and_reads_nothing(environ, tmp_path):
    """Bytes that are not UTF-8 on its way, and no input of the user's."""
    wrapper = tmp_path / "wrapper.py"
    wrapper.write_text(
        "import os, sys\n"
        "sys.stdin.read()\n"
        "os.write(2, b'\\xff: error: no\\xefn\\n')\n"
        "if 'broken' in open([a for a in sys.argv if a.endswith('.c')][0]).read():\n"
        "    sys.exit(1)\n"
        "open(sys.argv[sys.argv.index('-o') + 1], 'wb').write(b'\\x7fELF')\n"
    )
    environ["MLUSIM_CC"] = f"{sys.executable} {wrapper}"

    assert build("int l;", environ).exists()
    with pytest.raises(BuildError, match="failed on the C of a kernel: \ufffd: error: no"):
        build("broken", environ)
