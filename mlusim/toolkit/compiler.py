"""The compiler of host code, a clang with CUDA support, from the machine or from the ``ziglang`` wheel; and the libraries that its flags need.

The wheel's clang has no run-time libraries: GCC's are linked instead, or a message names the package that has them.
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
"""The environment variable that names a clang, with arguments if necessary."""
OLDEST, NEWEST = 19, 30


@frozen
class Compiler:
    """The command for clang: ``argv`` begins it, ``headers`` is the folder of clang's own headers."""

    argv: tuple[str, ...]
    version: int
    headers: str


def overlay(texts: Iterable[tuple[Sequence[str], str]], folder: Path) -> str:
    """Return the flag that makes clang read each of *texts* in place of the file with its absolute paths; *folder* is for temporary files."""
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
    """Return the compiler of this machine.  Raises `UsageError` if there is none, or only older ones."""
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
        target = f"--target={platform.machine()}-linux-gnu"  # its default target is another C library
        yield (str(Path(wheel.origin).parent / "zig"), "clang", "--driver-mode=g++", target)


def _install() -> str:
    return f"install clang {OLDEST} or a newer one, or its wheel with `{install_command('native')}`"


def _asked(words: tuple[str, ...]) -> Compiler | None:
    """Return the clang that the command *words* runs; None if it is none."""
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
    if not headers.is_dir() and words[0].endswith("zig"):  # zig keeps the headers in its own folder
        headers = Path(words[0]).resolve().parent / "lib" / "include"
    return Compiler(words, int(number[0]), str(headers)) if headers.is_dir() else None


# -- libraries that flags need ---------------------------------------------------------------------------

CLANG = "clang-19 and libclang-rt-19-dev (Debian's names); cncc takes a clang++ of version 19 or later that is on the PATH"
"""The packages with a clang that includes run-time libraries."""
# GCC's run-time libraries have the functions that clang's code calls, except those for threads, whose names
# differ.
GCC: Mapping[str, str] = {"address": "-lasan", "undefined": "-lubsan", "leak": "-llsan"}
"""The GCC library that replaces clang's, by the value of -fsanitize."""
PROFILE = "lib/clang/11.1.0/lib/linux/libclang_rt.profile-x86_64.a"
"""The path in a toolkit folder at which builds expect the profile run-time; it contains the version of the vendor's clang."""
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
    """Return clang's output *said* with ``cncc`` in place of clang's own name."""
    return _COMPILER.sub(r"\1cncc", said)


def folders_of_openmp() -> Iterator[str]:
    """Yield the folders in which distributions have LLVM's OpenMP run-time, which linkers do not search."""
    for path in sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so"), reverse=True):
        yield str(path.parent)


def header_of_openmp(flags: Sequence[str]) -> list[str]:
    """Return the flags for a folder with ``omp.h``, searched last, if *flags* have OpenMP: LLVM's if there is one, otherwise GCC's."""
    patterns = ("llvm-*/lib/clang/*/include/omp.h", "gcc/*/*/include/omp.h") if "-fopenmp" in flags else ()
    paths = [path for pattern in patterns for path in sorted(Path("/usr/lib").glob(pattern), reverse=True)]
    return [word for path in paths[:1] for word in ("-idirafter", str(path.parent))]


def with_gcc(said: str, words: Sequence[str]) -> list[str] | None:
    """Return the *words* of a link with GCC's libraries in place of those of clang that are missing according to its output *said*.

    None if no such library is missing, or GCC has no replacement.
    """
    values = [v for w in words if w.startswith(_SANITIZE) for v in w.removeprefix(_SANITIZE).split(",")]
    others = any(_WANTS_RUN_TIME.match(w) and not w.startswith(_SANITIZE) for w in words)
    if "libclang_rt." not in said or others or not values or set(values) - GCC.keys():
        return None
    # Before all others, as the address sanitizer's run-time requires.
    return [*dict.fromkeys(GCC[v] for v in values), *(w for w in words if not w.startswith(_SANITIZE))]


def missing_run_times(said: str, words: Sequence[str]) -> str:
    """Return a sentence for each library or header that is missing according to clang's output *said*, and that a package or the user has; *words* was its command."""
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
    """Return the library for the place `PROFILE`: that of the clang whose headers are in the folder *headers*.

    If that clang has none, return a linker script that says what to install.
    """
    machine = platform.machine()  # the folder may have other machines', such as i386
    for pattern in (f"lib/*/libclang_rt.profile-{machine}.a", f"lib/{machine}*/libclang_rt.profile.a"):
        for path in sorted(Path(headers).parent.glob(pattern)):
            return path.read_bytes()
    text = f"the run-time of profiles is part of clang, and the clang that was found has none; install {CLANG}; make the toolkit folder again"
    return f'ASSERT(0, "{text}")\n'.encode()
