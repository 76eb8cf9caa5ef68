"""Which source makes which of the driver's libraries, and how they are compiled."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from mlusim.errors import UsageError
from mlusim.files.locking import changing
from mlusim.files.user_cache import FOLDER, OFF, make_own_folder, own, user_cache
from mlusim.frontend.bangc import prelude

SOURCES = Path(__file__).parent
INCLUDE = prelude.DRIVER
LIBRARIES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "cnrt": (("wire", "kernels", "cnrt", "cnrt_numbers"), ()),
        "cndrv": (("cndrv",), ("cnrt",)),
        "cndev": (("cndev",), ("cnrt",)),
        "cnpapi": (("cnpapi",), ("cnrt",)),
        "cnbin": (("cnbin",), ()),
        "cnml": (("cnml",), ()),
        "cnnl": (("cnnl",), ("cnrt",)),
        "cnnl_extra": (("cnnl_extra",), ("cnnl",)),
    }
)
"""Each library with the names of its sources, and of the libraries that it needs; in the order in which they are linked."""
FLAGS = ("-std=c++17", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra")


def digest(compiler: Sequence[str]) -> str:
    """Return a digest that tells one state of the libraries from another: their sources, the headers, the *compiler* and its flags."""
    found = hashlib.sha256(repr((tuple(compiler), FLAGS, dict(LIBRARIES))).encode())
    for path in sorted([*SOURCES.glob("*.cpp"), *SOURCES.glob("*.h"), *INCLUDE.glob("cn*.h")]):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()[:20]


def build_libraries(directory: str | os.PathLike[str], compiler: Sequence[str] = ("g++",)) -> list[Path]:
    """Compile the driver's libraries with *compiler* into *directory*; their paths.

    Each is put in its place whole, so that programs that run with an older one keep it.  Raises `UsageError`, with what
    the compiler says, where it fails.
    """
    into = Path(directory)
    into.mkdir(parents=True, exist_ok=True)
    made = []
    with tempfile.TemporaryDirectory(dir=into, prefix=".making-") as folder:
        for name, (sources, needs) in LIBRARIES.items():
            target = Path(folder) / f"lib{name}.so"
            words = [
                *(*compiler, *FLAGS, "-shared", f"-Wl,-soname,lib{name}.so", "-Wl,-rpath,$ORIGIN"),
                *(f"-I{INCLUDE}", f"-I{SOURCES}", f"-L{folder}", "-o", str(target)),
                *(str(SOURCES / f"{source}.cpp") for source in sources),
                *(f"-l{other}" for other in needs),
                "-ldl",
            ]
            _run(words)
            target.chmod(0o755)  # whatever the umask: a file that others may write is not used again
            made.append(target)
        return [Path(shutil.move(target, into / target.name)) for target in made]


def kept_libraries(compiler: Sequence[str] = ("g++",)) -> Path:
    """Return the folder of the user's cache with the libraries as *compiler* makes them, compiled where it has none.

    Raises `UsageError` where the compiler fails, or where there is no cache.
    """
    home = user_cache()
    if home is None:
        raise UsageError(
            f"the driver's libraries need a folder to be kept in; set {FOLDER} to one, not to {OFF!r}"
        )
    folder = home / "toolkit" / digest(compiler)
    if not _complete(folder, home):
        make_own_folder(folder)
        with changing(str(folder / "lib")):
            if not _complete(folder, home):
                build_libraries(folder, compiler)
    return folder


def _complete(folder: Path, home: Path) -> bool:
    made = [folder / f"lib{name}.so" for name in LIBRARIES]
    return all(path.exists() and own(path, home) for path in made)


def _run(words: Sequence[str]) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - the compiler that was named
    except OSError as error:
        raise UsageError(f"{words[0]} cannot be run: {error.strerror}; name a C++ compiler") from None
    if done.returncode:
        raise UsageError(f"{words[0]} does not compile the driver's libraries: {done.stderr.strip()}")
