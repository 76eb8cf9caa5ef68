"""Confinement of a candidate's process: limits of time, memory and files, no network, no other process, no files of others.

A limit that the system cannot impose is skipped and reported: `Confinement` is a part of each verdict.
"""

import contextlib
import ctypes
import os
import platform
import resource
import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import asdict, frozen

_NEWUSER, _NEWNET, _NEWNS = 0x10000000, 0x40000000, 0x20000  # of unshare(2)
_NO_NEW_PRIVILEGES, _SUBREAPER, _DUMPABLE = 38, 36, 4  # of prctl(2)
# The system calls of Landlock, and one of mounts, the same on every architecture.
_CREATE, _ADD, _RESTRICT, _SET_MOUNT = 444, 445, 446, 442
# By machine: the numbers of pivot_root and capset.
_PIVOT = {"x86_64": (155, 126), "aarch64": (41, 91)}
_CAPABILITIES = 0x20080522  # the version of capset's words
_FILES_OF_OTHERS = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: access to files of other users, which Landlock's rules restrict
_BIND, _RECURSIVE, _SLAVE, _DETACH = 4096, 16384, 1 << 19, 2  # of mount(2) and umount2(2)
_READ_ONLY, _NO_SETUID, _HERE, _ALL_BELOW = 1, 2, -100, 0x8000  # of mount_setattr(2)
_VERSION = 1  # the flag that asks for the version of Landlock
_BENEATH = 1  # a rule about what lies beneath a folder
_PATH = os.O_RDONLY | getattr(os, "O_PATH", 0) | getattr(os, "O_CLOEXEC", 0)
# The rights of Landlock, by the version that introduced them: bits 0 to 12, links and renames to other
# folders, truncation, devices.
_RIGHTS = {1: 0x1FFF, 2: 0x2000, 3: 0x4000, 5: 0x8000}
_READS, _READ_DIR, _WRITE_FILE, _TRUNCATE = (
    0xD,
    0x8,
    0x2,
    0x4000,
)  # reads: to execute, to read a file, to list a folder
_TCP, _TCP_SINCE = 0x3, 4
_SCOPES, _SCOPES_SINCE = 0x3, 6  # sockets that have no file, and signals
DEVICES = ("/dev/null", "/dev/zero")  # the devices that may be written
OPEN_FILES = 256
MOST_FILES, DEEPEST = 20_000, 12  # of a candidate's folder: paths that are deeper may become too long
WITHOUT_END = 1 << 62


@frozen
class Confinement:
    """The limits imposed on a candidate.

    Each is True if imposed: no network; no ``files`` outside of its folder, except reading compilers and libraries;
    no access to other ``processes``; no process that it ``starts``.
    """

    network: bool = False
    files: bool = False
    processes: bool = False
    starts: bool = False

    def with_native(self, filtered: bool) -> tuple[bool, bool, bool, bool]:
        """Return the limits of native code, whose system calls may be *filtered*: modes and times of files are changed without opening them."""
        return self.network or filtered, self.files and filtered, self.processes or filtered, filtered

    def to_json(self) -> dict[str, bool]:
        """Return the limits as plain data."""
        return asdict(self)

    @property
    def missing(self) -> str:
        """Return a phrase with the powers that the system could not take from candidates; "" if it took all."""
        words = {
            "network": "use the network",
            "files": "read or change files of this user",
            "processes": "signal processes of this user",
            "starts": "start processes",
        }
        return " and ".join(text for name, text in words.items() if not getattr(self, name))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def without_network() -> bool:
    """Remove the network from this process and its future children; return whether the system permits that.

    To be called in a process with one thread, before it imports modules that start others.
    """
    if sys.platform != "linux":
        return False
    user, group = os.getuid(), os.getgid()
    try:
        if _libc().unshare(_NEWUSER | _NEWNET) != 0:
            return False
    except AttributeError:  # another library of C
        return False
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with contextlib.suppress(OSError):  # without a map the process only sees itself as another user
            Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
    return True


def adopt_orphans() -> None:
    """Become the parent of all descendants of a child that outlive it, so that they can be ended with the candidate."""
    if sys.platform == "linux":
        _libc().prctl(_SUBREAPER, 1, 0, 0, 0)


def confined(folder: str, readable: Sequence[str], *, network: bool) -> Confinement:
    """Let this process and its children write to *folder* alone and read only *readable*; return the limits that the system imposes.

    *network* says whether the network was removed before.  Native code also needs `seccomp.filtered`.
    """
    if sys.platform != "linux":
        return Confinement(network)
    libc = _libc()
    libc.prctl(_DUMPABLE, 0, 0, 0, 0)  # other processes of this user cannot access this one's memory
    _own_tree(libc, folder, readable)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    version = _restricted(libc, folder, readable)
    _drop_capabilities(libc)
    return Confinement(network, version > 0, version >= _SCOPES_SINCE)


def _restricted(libc: ctypes.CDLL, folder: str, readable: Iterable[str]) -> int:
    """Restrict files by Landlock's rules; return Landlock's version, 0 if the system has none."""
    version = libc.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)
    if version < 1:
        return 0
    rights = sum(bits for since, bits in _RIGHTS.items() if since <= version)
    tcp = _TCP if version >= _TCP_SINCE else 0
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    told = struct.pack("<QQQ", rights, tcp, scopes)
    told = told[: 24 if scopes else 16 if tcp else 8]
    rules = libc.syscall(_CREATE, told, ctypes.c_size_t(len(told)), 0)
    if rules < 0:
        return 0
    written = rights & (_WRITE_FILE | _TRUNCATE)
    for path, legal in (
        (folder, rights),
        *((d, written) for d in DEVICES),
        *((readable_path, _READS) for readable_path in readable),
    ):
        with contextlib.suppress(OSError):
            place = os.open(path, _PATH)
            of_file = legal if Path(path).is_dir() else legal & ~_READ_DIR
            libc.syscall(_ADD, rules, _BENEATH, struct.pack("<Qi", of_file, place), 0)
            os.close(place)
    held = libc.syscall(_RESTRICT, rules, 0) == 0
    os.close(rules)
    return int(version) if held else 0


def _own_tree(libc: ctypes.CDLL, folder: str, readable: Iterable[str]) -> bool:
    """Hide all files except *folder* and *readable* from this process; return whether the system permits that.

    Landlock prevents opening a file, but not querying its size and times, or sending to a socket with a path.
    """
    numbers = _PIVOT.get(platform.machine())
    if numbers is None or libc.unshare(_NEWNS) != 0:
        return False
    try:
        _check(libc.mount(b"none", b"/", None, _RECURSIVE | _SLAVE, None))
        root = tempfile.mkdtemp(dir=folder)  # the mount of the new tree covers it
        _check(libc.mount(b"tmpfs", root.encode(), b"tmpfs", 0, b"size=4m,mode=755"))
        # Programs find themselves by /proc/self/exe; Landlock blocks the rest of /proc.
        for path in _apart(["/proc", *readable]):
            _bind(libc, path, root, only_read=path not in DEVICES)
        _bind(libc, folder, root, only_read=False)
        old = Path(root) / ".old"
        old.mkdir()
        _check(libc.syscall(numbers[0], root.encode(), str(old).encode()))
        os.chdir("/")
        _check(libc.umount2(b"/.old", _DETACH))
        Path("/.old").rmdir()
        os.chdir(folder)
    except OSError:
        return False
    return True


def _apart(paths: Iterable[str]) -> Iterator[str]:
    """Yield *paths* and the targets of links among them, without paths inside others of them."""
    every = {spelled for path in paths for spelled in (str(Path(path)), str(Path(path).resolve()))}
    for path in sorted(every):
        if not any(str(above) in every for above in Path(path).parents) or Path(path).parent == Path("/"):
            yield path


def _bind(libc: ctypes.CDLL, path: str, root: str, *, only_read: bool) -> None:
    """Mount the file or folder *path* at the same path beneath *root*; a link is created again."""
    place = Path(root + path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if Path(path).is_symlink():
        place.symlink_to(Path(path).readlink())
        return
    place.mkdir(exist_ok=True) if Path(path).is_dir() else place.touch()
    _check(libc.mount(path.encode(), str(place).encode(), None, _BIND | _RECURSIVE, None))
    words = struct.pack("<QQQQ", (_READ_ONLY if only_read else 0) | _NO_SETUID, 0, 0, 0)
    _check(
        libc.syscall(_SET_MOUNT, _HERE, str(place).encode(), _ALL_BELOW, words, ctypes.c_size_t(len(words)))
    )


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Drop root's capabilities, except those for other users' files, which Landlock's rules restrict; children have no more."""
    numbers = _PIVOT.get(platform.machine())
    if numbers is not None and os.geteuid() == 0:
        words = struct.pack("<6I", _FILES_OF_OTHERS, _FILES_OF_OTHERS, 0, 0, 0, 0)
        libc.syscall(numbers[1], struct.pack("<Ii", _CAPABILITIES, 0), words)


def limited(seconds: float, memory: int, written: int) -> None:
    """Limit this process: *seconds* of CPU time, *memory* bytes more than it has now, files of *written* bytes, no core dump.

    Shared memory, such as a native program's memory of its device, is counted by `resident` instead.
    """
    for name, most in (
        ("RLIMIT_CPU", int(seconds) + 2),
        ("RLIMIT_DATA", _private() + memory),
        ("RLIMIT_FSIZE", written),
        ("RLIMIT_NOFILE", OPEN_FILES),
        ("RLIMIT_CORE", 0),
    ):
        number = getattr(resource, name, None)
        if number is not None:
            with contextlib.suppress(ValueError, OSError):  # the limit is lower already
                hard = resource.getrlimit(number)[1] if name == "RLIMIT_FSIZE" else most
                resource.setrlimit(number, (most, hard))


def room_for_device(nbytes: int) -> None:
    """Raise the limit of the size of a file to the memory of a device, which a native program maps as a file."""
    now, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    wanted = nbytes if most == resource.RLIM_INFINITY else min(nbytes, most)
    if resource.RLIM_INFINITY != now < wanted:
        resource.setrlimit(resource.RLIMIT_FSIZE, (wanted, most))


def _private() -> int:
    """Return the bytes of private writable memory of this process."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(text.partition("VmData:")[2].split()[0]) << 10
    return 1 << 30


def family(process: int) -> list[int]:
    """Return *process* and all its descendants, as far as the system lists them."""
    processes = [process]
    for number in processes:
        with contextlib.suppress(OSError, ValueError):
            processes += map(
                int, Path(f"/proc/{number}/task/{number}/children").read_text(encoding="ascii").split()
            )
    return processes


def resident(processes: Sequence[int]) -> int:
    """Return the bytes of memory that *processes* hold; shared bytes count once for each process."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return total * resource.getpagesize()


def stored(folder: str) -> int:
    """Return the bytes on the disk of all files beneath *folder*; `WITHOUT_END` if it has too many files or is nested too deeply."""
    total, count, waiting = 0, 0, [(folder, 0)]
    while waiting:
        place, depth = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                count += 1
                if count > MOST_FILES or depth > DEEPEST:
                    return WITHOUT_END
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, depth + 1))
    return total


def remove(folder: str) -> None:
    """Remove *folder* and its contents, however deeply nested, without following links.  Raises `OSError` if that is impossible."""
    folders, number = [Path(folder)], 0
    while folders:
        place = folders.pop()
        place.chmod(0o700)
        for entry in place.iterdir():
            if entry.is_symlink() or not entry.is_dir():
                entry.unlink()
                continue
            number += 1  # moved beside the other folders, so that no path gets too long
            entry.chmod(0o700)
            folders.append(entry.rename(Path(folder) / f".{number}"))
        if place != Path(folder):
            place.rmdir()
    Path(folder).rmdir()


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return those of *variables* that a candidate may see, which neither name a server nor hold a password."""
    harmless = (
        "PATH",
        "LANG",
        "LC_ALL",
        "HOME",
        "LD_LIBRARY_PATH",
        "SYSTEMROOT",
        "VIRTUAL_ENV",
        "PYTHONPATH",
    )
    seen = {k: v for k, v in variables.items() if k in harmless or k.startswith("MLUSIM_")}
    return seen | {"MLUSIM_PARSE_TRIAL": "0", "OPENBLAS_NUM_THREADS": "1"}
