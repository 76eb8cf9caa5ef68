"""The compiler of host code: a clang that knows CUDA's two sides, found on the machine or in the ``ziglang`` wheel; the libraries that its flags need.

The clang of that wheel has no run-time libraries of its own: GCC's link in their place, or a sentence says which package has them.
"""

import functools
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.installing import install_command

CHOICE = "MLUSIM_CLANG"
"""The variable that names a clang, with arguments if it needs some."""
OLDEST, NEWEST = 19, 30


@frozen
class Compiler:
    """How clang is called for C++: ``argv`` begins a command, ``headers`` is the folder of clang's own headers."""

    argv: tuple[str, ...]
    version: int
    headers: str


def overlay(texts: Iterable[tuple[Sequence[str], str]], folder: Path) -> str:
    """Return the flag by which clang reads each of *texts* in place of the file with its absolute paths; *folder* has what it needs."""
    roots = []
    for number, (paths, text) in enumerate(texts):
        place = folder / f"overlay-{number}"
        place.write_text(text, encoding="utf-8", errors="surrogateescape")
        roots += [{"type": "file", "name": path, "external-contents": str(place)} for path in paths]
    table = folder / "overlay.json"
    table.write_text(
        json.dumps({"version": 0, "use-external-names": False, "roots": roots}), encoding="utf-8"
    )
    return f"-ivfsoverlay{table}"


def host_compiler() -> Compiler:
    """Return the compiler of this machine.  Raises `UsageError` where there is none, or none that is new enough."""
    return _found(os.environ.get(CHOICE), os.environ.get("PATH"))


@functools.cache
def _found(choice: str | None, path: str | None) -> Compiler:
    if choice:
        return _chosen(choice)
    older = ""
    for words in _candidates(path):
        compiler = _asked(words)
        if compiler is not None and compiler.version >= OLDEST:
            return compiler
        if compiler is not None:
            older = f" ({words[0]} is clang {compiler.version}, which lacks numbers of the device)"
    raise UsageError(f"no clang for host code was found{older}; {_install()}")


def _chosen(choice: str) -> Compiler:
    try:
        compiler = _asked(tuple(shlex.split(choice)))
    except ValueError:
        raise UsageError(f"{CHOICE}={choice} has a quotation that does not end; name a clang++") from None
    if compiler is None:
        raise UsageError(f"{CHOICE}={choice} is not a clang that can be run; {_install()}")
    if compiler.version < OLDEST:
        raise UsageError(
            f"{CHOICE}={choice} is clang {compiler.version}, which lacks numbers of the device; {_install()}"
        )
    return compiler


def _candidates(path: str | None) -> Iterator[tuple[str, ...]]:
    for name in ("clang++", *(f"clang++-{n}" for n in range(NEWEST, OLDEST - 1, -1))):
        program = shutil.which(name, path=path)
        if program is not None:
            yield (program,)
    wheel = importlib.util.find_spec("ziglang")
    if wheel is not None and wheel.origin:
        target = f"--target={platform.machine()}-linux-gnu"  # its own default is another C library
        yield (str(Path(wheel.origin).parent / "zig"), "clang", "--driver-mode=g++", target)


def _install() -> str:
    return f"install clang {OLDEST} or a newer one, or its wheel with `{install_command('native')}`"


def _asked(words: tuple[str, ...]) -> Compiler | None:
    """Return the clang that *words* call; None where they call none."""
    try:
        done = subprocess.run(  # noqa: S603 - the compiler that was named or found
            [*words, "-print-resource-dir"], capture_output=True, text=True, check=False
        )
    except (OSError, IndexError):
        return None
    place = Path(done.stdout.strip())
    number = re.match(r"\d+", place.name)
    if done.returncode or number is None:
        return None
    headers = place / "include"
    if not headers.is_dir() and words[0].endswith("zig"):  # which keeps them beside itself
        headers = Path(words[0]).resolve().parent / "lib" / "include"
    return Compiler(words, int(number[0]), str(headers)) if headers.is_dir() else None


# -- libraries that its flags need -----------------------------------------------------------------------

CLANG = "clang-19 and libclang-rt-19-dev (Debian's names); cncc takes a clang++ of version 19 or later that is on the PATH"
"""The packages with a clang that has its run-time libraries."""
# What GCC's run-time libraries offer is what clang's code calls, but for threads, whose copies have names of their own.
GCC: Mapping[str, str] = {"address": "-lasan", "undefined": "-lubsan", "leak": "-llsan"}
"""By value of -fsanitize, the library of GCC that links in place of clang's."""
PROFILE = "lib/clang/11.1.0/lib/linux/libclang_rt.profile-x86_64.a"
"""The place in a toolkit folder where builds look for the run-time of profiles; its folder has the vendor's version of clang."""
_SANITIZE = "-fsanitize="
_WANTS_RUN_TIME = re.compile(r"-fsanitize=|-fprofile|-fcoverage|--coverage|-fxray|-fcs-profile")
_MISSING = re.compile(
    r"(?:cannot find|unable to find library|cannot open|fatal error:) [^\n]*?(libclang_rt\.|-lomp\b|-lcnnl_core\b|-lcnrt\b|'omp\.h')"
)
_COLOUR = r"(?:\x1b\[[0-9;]*m)*"
_COMPILER = re.compile(
    rf"^({_COLOUR})[^\s:]*(?:zig|clang)[^\s:/]*(?=: {_COLOUR}(?:fatal |)(?:error|warning|note|remark):)",
    re.MULTILINE,
)


def in_own_name(said: str) -> str:
    """Return what clang *said*, its own sentences under the name of ``cncc``."""
    return _COMPILER.sub(r"\1cncc", said)


def folders_of_openmp() -> Iterator[str]:
    """Yield the folders in which distributions have LLVM's run-time of OpenMP, where a linker does not look."""
    for path in sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so"), reverse=True):
        yield str(path.parent)


def header_of_openmp(flags: Sequence[str]) -> list[str]:
    """Return the words for a folder with ``omp.h``, behind all others, if *flags* have OpenMP: one of LLVM's if there is one, else GCC's."""
    patterns = ("llvm-*/lib/clang/*/include/omp.h", "gcc/*/*/include/omp.h") if "-fopenmp" in flags else ()
    paths = [path for pattern in patterns for path in sorted(Path("/usr/lib").glob(pattern), reverse=True)]
    return [word for path in paths[:1] for word in ("-idirafter", str(path.parent))]


def with_gcc(said: str, words: Sequence[str]) -> list[str] | None:
    """Return the *words* of a link with GCC's libraries in place of those of clang that it *said* are missing.

    None where nothing of the kind is missing, or GCC has nothing for it.
    """
    values = [v for w in words if w.startswith(_SANITIZE) for v in w.removeprefix(_SANITIZE).split(",")]
    others = any(_WANTS_RUN_TIME.match(w) and not w.startswith(_SANITIZE) for w in words)
    if "libclang_rt." not in said or others or not values or set(values) - GCC.keys():
        return None
    # In front of all others: the run-time of addresses refuses to come later.
    return [*dict.fromkeys(GCC[v] for v in values), *(w for w in words if not w.startswith(_SANITIZE))]


def missing_run_times(said: str, words: Sequence[str]) -> str:
    """Return a sentence for each library or header that clang *said* is missing and a package or the user has; *words* are those it was given."""
    names = dict.fromkeys(match[1] for match in _MISSING.finditer(said))
    return "".join(f"cncc: error: {_sentence(name, words)}\n" for name in names)


def _sentence(name: str, words: Sequence[str]) -> str:
    if name == "'omp.h'" and "-fopenmp" not in words:
        return "omp.h is part of OpenMP, which the flag -fopenmp asks for"
    if name in ("-lomp", "'omp.h'"):
        return "-fopenmp needs LLVM's libomp; install libomp-dev (Debian's name), or leave the flag out"
    if name == "-lcnnl_core":
        return "libcnnl_core is part of a project, not of the toolkit; name its folder with -L, or link cnnl with -lcnnl"
    if name == "-lcnrt":
        return "the driver's libraries are shared ones; leave -static out"
    flags = ", ".join(dict.fromkeys(w for w in words if _WANTS_RUN_TIME.match(w)))
    return f"the run-time of {flags} is part of clang, and the clang that was found has none; install {CLANG}"


def run_time_of_profiles(headers: str) -> bytes:
    """Return the library to put in the place `PROFILE`: that of the clang whose own headers are in the folder *headers*.

    Where that clang has none, it is a script by which a linker says what to install.
    """
    machine = platform.machine()  # beside others, as i386
    for pattern in (f"lib/*/libclang_rt.profile-{machine}.a", f"lib/{machine}*/libclang_rt.profile.a"):
        for path in sorted(Path(headers).parent.glob(pattern)):
            return path.read_bytes()
    text = f"the run-time of profiles is part of clang, and the clang that was found has none; install {CLANG}; make the toolkit folder again"
    return f'ASSERT(0, "{text}")\n'.encode()
