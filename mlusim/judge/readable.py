"""The files outside of its own folder that the processes of a candidate may read: compilers, libraries, headers and its source."""

import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import mlusim
from mlusim.errors import UsageError
from mlusim.files.user_cache import user_cache
from mlusim.toolkit.compiler import host_compiler

_BELOW = (
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "include",
    "share",
)  # of a folder in which programs are installed
_SYSTEM = (
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives", "/etc/localtime",
    "/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/redhat-release",
    "/proc/cpuinfo", "/proc/meminfo", "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
)  # fmt: skip
# The parts of the user's cache that depend on mlusim and the compilers alone, and hold nothing of a user's
# sources.
_KEPT = ("isa", "toolkit", "zig", "host/toolkits", "bangc/*/", "torch/*/headers", "torch/*/toolkit", "torch/*/device-*")  # fmt: skip
HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".mluh", ".cuh", ".ipp", ".tpp"))
MOST_HEADERS = 1000


def readable(include: Sequence[str]) -> list[str]:
    """Return the files and folders that every candidate may read, with the folders in *include*."""
    roots = ["/", "/usr", "/usr/local", sys.prefix, sys.base_prefix, *_compilers()]
    paths = [str(Path(root) / name) for root in roots for name in _BELOW]
    paths += [str(Path(root) / "pyvenv.cfg") for root in roots[3:5]]
    paths += [str(Path(mlusim.__file__).parent), *_SYSTEM, *include]
    paths += [folder for folder in sys.path if Path(folder).name in ("site-packages", "dist-packages")]
    paths += [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    home = user_cache()
    if home is not None:
        paths += [str(path) for name in _KEPT for path in home.glob(name)]
    return [path for path in dict.fromkeys(paths) if Path(path).is_absolute() and Path(path).exists()]


def own(path: str) -> list[str]:
    """Return the source at *path* and the headers in its folder: other files in the folder are not the candidate's.

    A link is a header only if it leads to one in that folder: a candidate may come with links to anything.
    """
    folder = Path(path).parent
    with os.scandir(folder) as entries:
        headers = (entry.path for entry in entries if _is_header(Path(entry.path), folder.resolve()))
        return [path, *itertools.islice(headers, MOST_HEADERS)]


def _is_header(path: Path, folder: Path) -> bool:
    if path.suffix not in HEADERS or not path.is_file():  # nor is a link that leads to itself
        return False
    target = path.resolve()
    return target.parent == folder and target.suffix in HEADERS


def _compilers() -> Iterator[str]:
    try:
        words = host_compiler().argv
    except UsageError:  # host functions report it
        return
    yield str(Path(words[0]).parents[1])
    yield str(Path(words[0]).resolve().parents[1])
