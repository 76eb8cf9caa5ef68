"""The compiler of host code: a clang that knows CUDA's two sides, found on the machine or in the ``ziglang`` wheel."""

import functools
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
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
