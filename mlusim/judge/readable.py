"""The files outside of its own folder that the processes of a candidate may read: compilers, libraries, headers and its source."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
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
)  # of a place where programs are installed
_SYSTEM = (
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives", "/etc/localtime",
    "/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/redhat-release",
    "/proc/cpuinfo", "/proc/meminfo", "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
)  # fmt: skip
# Of the user's cache what was made of mlusim and the compilers alone, and nothing of a user's sources.
_KEPT = ("isa", "toolkit", "zig", "host/toolkits", "bangc/*/", "torch/*/headers", "torch/*/toolkit", "torch/*/device-*")  # fmt: skip
HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".mluh", ".cuh", ".ipp", ".tpp"))
MOST_HEADERS = 1000


def readable(include: Sequence[str]) -> list[str]:
    """Return the files and folders that every candidate may read, among them those of the judge's own *include*."""
    roots = ["/", "/usr", "/usr/local", sys.prefix, sys.base_prefix, *_compilers()]
    found = [str(Path(root) / name) for root in roots for name in _BELOW]
    found += [str(Path(root) / "pyvenv.cfg") for root in roots[3:5]]
    found += [str(Path(mlusim.__file__).parent), *_SYSTEM, *include]
    found += [one for one in sys.path if Path(one).name in ("site-packages", "dist-packages")]
    found += [one for one in os.environ.get("LD_LIBRARY_PATH", "").split(":") if one]
    home = user_cache()
    if home is not None:
        found += [str(one) for name in _KEPT for one in home.glob(name)]
    return [*_there(found)]


def own(path: str) -> list[str]:
    """Return the source at *path* and the headers in its folder: other sources, and whatever else lies there, are not the candidate's."""
    found = [path]
    with os.scandir(Path(path).parent) as entries:
        headers = (one for one in entries if Path(one.name).suffix in HEADERS and one.is_file())
        found += [one.path for one, _ in zip(headers, range(MOST_HEADERS), strict=False)]
    return found


def _there(paths: Iterable[str]) -> Iterator[str]:
    for path in dict.fromkeys(paths):
        if Path(path).is_absolute() and Path(path).exists():
            yield path


def _compilers() -> Iterator[str]:
    try:
        words = host_compiler().argv
    except UsageError:  # which host functions say
        return
    yield str(Path(words[0]).parents[1])
    yield str(Path(words[0]).resolve().parents[1])
