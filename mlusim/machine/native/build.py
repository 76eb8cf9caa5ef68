"""From C text to a loaded library: the compiler, its flags, and the cache of compiled libraries."""

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mlusim.errors import MlusimError, Remark, UsageError
from mlusim.files.user_cache import FOLDER, SWEPT, make_own_folder, owned, sweep_due, user_cache
from mlusim.files.writing import changing
from mlusim.installing import install_command

CHOICE = "MLUSIM_CC"  # names a compiler, with arguments if it needs some
ZIG = "zig"  # the folder of the ziglang package's cache, beside the kernels
ZIG_FOLDER = "ZIG_GLOBAL_CACHE_DIR"  # names another one
ELF = b"\x7fELF"  # first bytes of a library that may end with a checksum; others are signed
LONGEST = 600  # seconds; no compiler runs longer
MAKING = "making-"  # prefix of folders in which a compiler works
LOCKS = "locks"  # has a folder of locks for each first two letters of a library's name
MOST_SECONDS = 30.0  # the longest wait of a process for another's compilation
MOST_BYTES = 256 << 20  # bytes of compiled kernels in the cache
NAMES = ("cc", "gcc", "clang")
FLAGS = (
    "-std=gnu11",
    "-fPIC",
    "-w",
    "-fwrapv",  # integers wrap, as on the device
    "-fno-strict-aliasing",
    "-ffp-contract=off",  # a contraction would skip a rounding
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
)
OPTIMISED = ("-O2", "-ftree-vectorize")  # unless the command sets the level
UNGUARDED = ("-fno-sanitize=undefined",)  # unless the command names a sanitizer: zig enables one by default
NEEDED = frozenset({"avx2", "f16c", "fma", "bmi1", "bmi2", "movbe"})  # features of a processor of x86-64-v3
FAST = ("-mavx2", "-mf16c", "-mfma", "-mbmi", "-mbmi2", "-mlzcnt", "-mmovbe", "-mpopcnt", "-msse4.2")
# Of one that vectors of 64 bytes do not slow down, as they do those before VBMI2.
WIDER = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vbmi2"})
AVX512 = ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl")
# AMD's family 25 (Zen 4) has its instructions, but works on vectors of 64 bytes in halves: those of 32 are faster.
HALVED = ("AuthenticAMD", "25")


_RUNNING: dict[int, str] = {}
"""The folder of each running compiler, by its process group."""

_ENDS: list[None] = []
"""One entry for each time that the compilers were abandoned."""


class BuildError(MlusimError):
    """Raised if no compiler was found, or if it failed; the message names it and quotes its output."""


class EngineWarning(Remark):
    """Warned if Python runs a launch instead of C; the message says why."""


@functools.cache
def compiler(choice: str | None, path: str | None) -> tuple[str, ...] | None:
    """Return the command of a C compiler: *choice* if given, else the first of the system's, else the ``ziglang`` package's.

    *path* is the search path, a parameter so that a change of it counts.  Return None if there is no compiler.
    """
    if choice:
        try:
            command = tuple(shlex.split(choice))
        except ValueError:  # an unclosed quotation
            return None
        return command if command and shutil.which(command[0], path=path) else None
    for name in NAMES:
        program = shutil.which(name, path=path)
        if program is not None:
            return (program,)
    if importlib.util.find_spec("ziglang") is not None:
        # By default zig uses every feature of this processor; `machine_flags` adds the wanted ones.
        return (sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline")
    return None


def available(environ: Mapping[str, str] = os.environ) -> tuple[str, ...] | None:
    """Return the compiler that a launch would use now, or None if there is none."""
    return compiler(environ.get(CHOICE), environ.get("PATH"))


def no_compiler(environ: Mapping[str, str] = os.environ) -> str:
    """Return a sentence that there is no compiler, and what to do."""
    if environ.get(CHOICE):
        why, instead = f"{CHOICE}={environ[CHOICE]} names no program", "name a C compiler, or unset it"
    else:
        why = f"no C compiler was found ({', '.join(NAMES)})"
        instead = f"install one, or `{install_command('native')}`"
    return f"{why}: the Python engine runs, many times slower; {instead}"


@functools.cache
def machine_flags() -> tuple[str, ...]:
    """Return the flags for this processor; none if it lacks a feature that the fast ones need."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ()
    # Reversed, so that the first processor is read last.
    lines = (line.partition(":") for line in reversed(text.splitlines()))
    facts = {name.strip(): value.strip() for name, _, value in lines}
    flags = set(facts.get("flags", "").split())
    if not flags >= NEEDED:
        return ()
    if not flags >= WIDER:
        return FAST
    halved = (facts.get("vendor_id"), facts.get("cpu family")) == HALVED
    return (*FAST, *AVX512, f"-mprefer-vector-width={256 if halved else 512}")


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of compiled kernels.  Raises `BuildError` if there is no folder."""
    return next(_folders(environ))


def _folders(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders that this user can write, at least one: the user's cache, and one in the folder of temporary files."""
    chosen, writable = user_cache(environ), False
    temporary = Path(tempfile.gettempdir()) / f"mlusim-{os.getuid() if hasattr(os, 'getuid') else 0}"
    for place in filter(None, (chosen, temporary)):
        with contextlib.suppress(OSError):
            make_own_folder(place)
            if os.access(place, os.W_OK) and owned(place):
                writable = True
                yield place
    if not writable:
        raise BuildError(
            f"{chosen or temporary} cannot be written, nor can a temporary folder; name one in {FOLDER}"
        )


def clean_cache(environ: Mapping[str, str] = os.environ) -> int:
    """Remove every compiled kernel, and the leftovers of killed compilers; return the number of kernels.

    The folder of a compiler that may still run stays.
    """
    removed, folder = 0, cache_folder(environ)
    for path in _compiled(folder):
        with contextlib.suppress(OSError):
            path.unlink()
            removed += path.suffix == ".so"
    _sweep(folder.glob(f"{MAKING}*"))
    (folder / SWEPT).unlink(missing_ok=True)
    for name in (ZIG, LOCKS):
        shutil.rmtree(folder / name, ignore_errors=True)
    return removed


def _compiled(folder: Path) -> Iterator[Path]:
    """Yield the kernels in *folder*, and their shared objects."""
    yield from folder.glob("*.so")
    yield from folder.glob("*.o")


def _sweep(left: Iterable[Path]) -> None:
    """Remove the folders in which no compiler can still be working."""
    for folder in left:
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < time.time() - LONGEST:
                shutil.rmtree(folder, ignore_errors=True)


def build(
    text: str, environ: Mapping[str, str] = os.environ, folder: Path | None = None, shared: str = ""
) -> Path:
    """Return the library compiled from *text*, from the cache, in *folder* if given, if it was compiled before.

    *shared* is C common to many libraries: it is compiled once, and linked with each.  The name is the digest of
    texts, flags and compiler.  A file appears under its name when it is complete; of two processes that need the same
    one, one waits for the other.  Raises `BuildError`.
    """
    command = available(environ)
    if command is None:
        raise BuildError(no_compiler(environ))
    flags = (
        *FLAGS,
        *_unless("-O", OPTIMISED, command),
        *_unless("-fsanitize", UNGUARDED, command),
        *machine_flags(),
    )
    cache = folder or cache_folder(environ)
    target = cache / f"{_digest(shared + text, command, flags)}.so"
    if _used(target):
        return target
    try:
        linked = []
        if shared:
            linked = [object_file := cache / f"{_digest(shared, command, flags)}.o"]
            with _alone(object_file):
                if not _used(object_file) or not _whole(object_file):
                    _compile(shared, command, (*flags, "-c"), object_file)
        with _alone(target):
            if not _used(target):
                _compile(text, command, (*flags, "-shared", *map(str, linked), "-lm"), target)
    except OSError as error:
        raise BuildError(
            f"a kernel's C cannot be compiled in {target.parent}: {error.strerror or error}; "
            f"make room there, or name another folder in {FOLDER}"
        ) from None
    _bound(target.parent, keep=target)
    return target


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Prevent other processes from compiling *target* in the block; after `MOST_SECONDS` of waiting for another one the block runs anyway."""
    place = target.parent / LOCKS / target.name[:2]
    place.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        with contextlib.suppress(UsageError):
            held.enter_context(changing(str(place / target.name), MOST_SECONDS))
        yield


def _used(path: Path) -> bool:
    """Return whether *path* exists, and mark it as just used, because the oldest files are removed first."""
    with contextlib.suppress(OSError):
        os.utime(path)
        return True
    return path.exists()


def load(text: str, environ: Mapping[str, str] = os.environ, shared: str = "") -> ctypes.PyDLL:
    """Compile *text*, or find it in the cache, link it with *shared*, and load it.  Raises `BuildError`.

    An incomplete library is compiled again, and so is one that another process removed; the second folder is used if
    programs in the first must not run, as in homes that are mounted that way.
    """
    why: OSError | None = None
    for folder in _folders(environ):
        try:
            path = build(text, environ, folder, shared)
            if not _whole(path):
                path.unlink(missing_ok=True)
                path = build(text, environ, folder, shared)
            return ctypes.PyDLL(str(path))
        except OSError as error:
            why = why or error  # report the first folder's, which the user should repair
    raise BuildError(
        f"the C of a kernel was compiled and cannot be loaded: {why}; name another folder in {FOLDER}, "
        f"or another compiler in {CHOICE}"
    )


def _whole(path: Path) -> bool:
    """Return whether a library is complete and this user's: a truncated one would crash the process."""
    if not owned(path):
        return False
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    if not content.startswith(ELF):
        return sys.platform == "darwin"  # on macOS the loader checks the signature
    body = content[: -len(_sum(b""))]
    return content == body + _sum(body)


def _sum(content: bytes) -> bytes:
    """Return the checksum that is appended to a library with this *content*; the loader ignores it."""
    return hashlib.sha256(content).digest()


def _unless(prefix: str, flags: tuple[str, ...], command: tuple[str, ...]) -> tuple[str, ...]:
    """Return *flags*, or none if a word of the *command* begins with *prefix*."""
    return () if any(word.startswith(prefix) for word in command) else flags


def _digest(text: str, command: tuple[str, ...], flags: tuple[str, ...]) -> str:
    program = shutil.which(command[0]) or command[0]
    try:
        status = Path(program).resolve().stat()
        # A compiler that was updated under the same name compiles again.
        stamp = (status.st_mtime_ns, status.st_size)
    except OSError:
        stamp = (0, 0)
    key = repr((command, stamp, flags, platform.machine()))
    return hashlib.sha256(f"{key}\n{text}".encode()).hexdigest()[:40]


def _compile(text: str, command: Sequence[str], flags: Sequence[str], target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=MAKING, dir=target.parent) as folder:
        source, library = Path(folder) / "kernel.c", Path(folder) / f"kernel{target.suffix}"
        source.write_text(text, encoding="utf-8")
        whole = (*command, str(source), *flags, "-o", str(library))
        try:
            environ = {ZIG_FOLDER: str(target.parent / ZIG), **os.environ}
            code, output = _run(whole, environ, folder)
        except OSError as error:
            raise BuildError(f"{shlex.join(command)} cannot be run: {error}") from None
        if code:
            said = output.strip().splitlines()
            wrong = next((line for line in said if "error" in line), said[0] if said else "it said nothing")
            raise BuildError(
                f"{shlex.join(command)} failed on the C of a kernel: {wrong}; name another compiler in {CHOICE}, "
                'or launch with engine="python"'
            )
        if not library.exists():
            raise BuildError(f"{shlex.join(command)} wrote no library; name another compiler in {CHOICE}")
        content = library.read_bytes()
        if content.startswith(ELF):
            library.write_bytes(content + _sum(content))
        library.chmod(0o700)  # whatever the umask: a file that others may write would not be loaded
        library.replace(target)


def _run(whole: Sequence[str], environ: Mapping[str, str], folder: str) -> tuple[int, str]:
    """Run a compiler for *folder*; return its exit code and its output."""
    before = len(_ENDS)
    with subprocess.Popen(  # noqa: S603 - the user's
        whole,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env=environ,
        process_group=0,  # a group for the compiler and its children
    ) as running:
        _RUNNING[running.pid] = folder
        if len(_ENDS) != before:  # `abandon` ran after the start but before the registration
            _stop(running.pid)
        try:
            output, errors = running.communicate()
        except BaseException:
            _stop(running.pid)
            raise
        finally:
            del _RUNNING[running.pid]
    return running.returncode, errors or output


def abandon() -> None:
    """End the running compilers and remove their folders, in a process that is about to end at once."""
    _ENDS.append(None)
    for group, folder in list(_RUNNING.items()):
        _stop(group)
        shutil.rmtree(folder, ignore_errors=True)


def _stop(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGTERM)  # on which compilers remove their files


def _bound(folder: Path, keep: Path) -> None:
    """Remove, at intervals, leftovers of compilers and the least recently used libraries beyond the limit."""
    if not sweep_due(folder):
        return
    libraries = []
    for path in _compiled(folder):
        with contextlib.suppress(OSError):
            status = path.stat()
            libraries.append((status.st_mtime_ns, status.st_size, path))
    # Zig keeps the objects but never finds them again, because their sources are renamed each time.
    objects = (path.parent for path in folder.glob(f"{ZIG}/o/*/kernel.o"))
    _sweep((*objects, *folder.glob(f"{MAKING}*")))
    total = sum(size for _, size, _ in libraries)
    for _, size, path in sorted(libraries):
        if total <= MOST_BYTES:
            return
        if path != keep:
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size
