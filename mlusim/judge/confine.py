"""Confinement of a candidate's process: limits of time, memory and files, no network, no writing outside of its folder.

What the system does not permit is left out and reported: `Confinement` is a part of each verdict.
"""

import contextlib
import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

_NEWUSER, _NEWNET = 0x10000000, 0x40000000  # of unshare(2)
_NO_NEW_PRIVILEGES, _SUBREAPER, _DUMPABLE, _SECCOMP = 38, 36, 4, 22  # of prctl(2)
_FILTER = 2  # the mode of seccomp that takes a program
# By machine: its number of audit(7), and its system calls fork, vfork, clone, clone3.
_STARTING = {"x86_64": (0xC000003E, (57, 58), 56, 435), "aarch64": (0xC00000B7, (), 220, 435)}
_THREAD = 0x10000  # CLONE_THREAD
_OTHER_NUMBERS = 0x40000000  # from here on the calls of x32, which are the same under other numbers
# The system calls of Landlock, the same on every architecture.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1  # the flag that asks for the version of Landlock
_BENEATH = 1  # a rule about what lies beneath a folder
_PATH = os.O_RDONLY | getattr(os, "O_PATH", 0) | getattr(os, "O_CLOEXEC", 0)
# The rights of Landlock that change files, by the version that has them first: bits 1 (write) and 4 to 12, then 13 and 14.
_WRITES = {1: 0x1FF2, 2: 0x2000, 3: 0x4000}
_WRITE_FILE, _TRUNCATE = 0x2, 0x4000
_TCP, _TCP_SINCE = 0x3, 4
_SCOPES, _SCOPES_SINCE = 0x3, 6  # sockets that have no file, and signals
DEVICES = ("/dev/null", "/dev/zero", "/dev/tty")  # which may be written
OPEN_FILES = 256


@frozen
class Confinement:
    """The limits of a candidate.

    Each is True where it holds: no network, no changes of ``files`` outside of its folder, no access to other ``processes``, no
    process that it ``starts``.
    """

    network: bool = False
    files: bool = False
    processes: bool = False
    starts: bool = False

    def to_json(self) -> dict[str, bool]:
        """Return the limits as plain data."""
        return asdict(self)

    @property
    def missing(self) -> str:
        """Return the powers that the system has not taken from candidates, in words; empty where it has taken all."""
        words = {
            "network": "use the network",
            "files": "change files of this user",
            "processes": "signal processes of this user",
            "starts": "start processes",
        }
        return " and ".join(text for name, text in words.items() if not getattr(self, name))


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def without_network() -> bool:
    """Take the network from this process and those that it starts; return whether the system permits that.

    For a process with one thread, before it imports what starts others.
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
        with contextlib.suppress(OSError):  # a map only changes which user the process takes itself for
            Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
    return True


def adopt_orphans() -> None:
    """Become the parent of all that a child leaves behind, so that none of it outlives its candidate."""
    if sys.platform == "linux":
        _libc().prctl(_SUBREAPER, 1, 0, 0, 0)


def confined(folder: str, *, network: bool) -> Confinement:
    """Let this process and its children write beneath *folder* alone; return what the system permits of that.

    *network* says whether the network was taken already.
    """
    if sys.platform != "linux":
        return Confinement(network)
    libc = _libc()
    version = libc.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)
    libc.prctl(_DUMPABLE, 0, 0, 0, 0)  # no other process of this user reads or changes this one's memory
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if version < 1:
        return Confinement(network)
    writes = sum(bits for since, bits in _WRITES.items() if since <= version)
    tcp = _TCP if version >= _TCP_SINCE else 0
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    told = struct.pack("<QQQ", writes, tcp, scopes)
    told = told[: 24 if scopes else 16 if tcp else 8]
    rules = libc.syscall(_CREATE, told, ctypes.c_size_t(len(told)), 0)
    if rules < 0:
        return Confinement(network)
    for path, rights in ((folder, writes), *((d, writes & (_WRITE_FILE | _TRUNCATE)) for d in DEVICES)):
        with contextlib.suppress(OSError):
            place = os.open(path, _PATH)
            libc.syscall(_ADD, rules, _BENEATH, struct.pack("<Qi", rights, place), 0)
            os.close(place)
    held = libc.syscall(_RESTRICT, rules, 0) == 0
    os.close(rules)
    return Confinement(network, held, held and bool(scopes))


def without_processes() -> bool:
    """Forbid this process and its threads to start others: `fork` fails; return whether the system permits that.

    Not a limit of their number: RLIMIT_NPROC counts all processes of a user, and none of root's; a cgroup is not the user's to make.
    """
    known = _STARTING.get(platform.machine()) if sys.platform == "linux" else None
    if known is None:
        return False
    arch, forks, clone, clone3 = known
    refused, unknown, allowed = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS, 0x7FFF0000
    load, equal, above, bits, leave = 0x20, 0x15, 0x35, 0x45, 0x06  # instructions of BPF on words
    program: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),  # the architecture of the call
        (equal, 1, 0, arch),
        (leave, 0, 0, refused),
        (load, 0, 0, 0),  # its number
        (above, 0, 1, _OTHER_NUMBERS),
        (leave, 0, 0, refused),
    ]
    for number in forks:
        program += [(equal, 0, 1, number), (leave, 0, 0, refused)]
    program += [(equal, 0, 1, clone3), (leave, 0, 0, unknown)]  # the library of C takes clone then
    program += [
        (equal, 0, 3, clone),
        (load, 0, 0, 16),  # its flags
        (bits, 1, 0, _THREAD),
        (leave, 0, 0, refused),
        (leave, 0, 0, allowed),
    ]
    words = b"".join(struct.pack("<HBBI", *one) for one in program)
    text = ctypes.create_string_buffer(words, len(words))
    whole = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(text)))
    libc = _libc()
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return bool(libc.prctl(_SECCOMP, _FILTER, whole, 0, 0) == 0)


def limited(seconds: float, memory: int, written: int) -> None:
    """Limit this process: *seconds* of CPU time, *memory* bytes beyond what it has, files of *written* bytes, no core dump.

    Memory that is shared, as a native program has that of its device, is counted by `resident`.
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
            with contextlib.suppress(ValueError, OSError):  # it is lower already
                hard = resource.getrlimit(number)[1] if name == "RLIMIT_FSIZE" else most
                resource.setrlimit(number, (most, hard))


def room_for_device(nbytes: int) -> None:
    """Let files be as large as the memory of a device, which a native program maps as one."""
    now, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    wanted = nbytes if most == resource.RLIM_INFINITY else min(nbytes, most)
    if resource.RLIM_INFINITY != now < wanted:
        resource.setrlimit(resource.RLIMIT_FSIZE, (wanted, most))


def _private() -> int:
    """Return the bytes of private memory that this process may write."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(text.partition("VmData:")[2].split()[0]) << 10
    return 1 << 30


def family(process: int) -> list[int]:
    """Return *process* and all processes that it has started, as far as the system shows them."""
    found = [process]
    for one in found:
        with contextlib.suppress(OSError, ValueError):
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text(encoding="ascii").split())
    return found


def resident(processes: Sequence[int]) -> int:
    """Return the bytes of memory that *processes* hold; shared bytes count once for each process."""
    total = 0
    for one in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{one}/statm").read_text(encoding="ascii").split()[1])
    return total * resource.getpagesize()


def stored(folder: str) -> int:
    """Return the bytes on the disk of all files beneath *folder*."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(place) / name).lstat().st_blocks * 512
    return total


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a candidate sees of those *given*: none that names a server or holds a word of the user's."""
    kept = ("PATH", "LANG", "LC_ALL", "HOME", "LD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONPATH")
    own = {k: v for k, v in given.items() if k in kept or k.startswith("MLUSIM_")}
    return own | {"MLUSIM_PARSE_TRIAL": "0", "OPENBLAS_NUM_THREADS": "1"}
