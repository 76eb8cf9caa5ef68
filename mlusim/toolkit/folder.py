"""The toolkit folder (``bin``, ``include``, ``lib64``, ``cmake``, ``version.txt``), and the compilation of the driver's libraries in it."""

import contextlib
import hashlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mlusim.arch.board import Board
from mlusim.bangc import prelude
from mlusim.errors import UsageError
from mlusim.files.user_cache import FOLDER, OFF, make_own_folder, owned, user_cache
from mlusim.files.writing import changing
from mlusim.isa.prototypes import header_text
from mlusim.toolkit.compiler import PROFILE, host_compiler, run_time_of_profiles

HERE = Path(__file__).parent
INCLUDE = HERE / "include"
PYTHON = HERE / "torch" / "python"
"""Packages for Python programs that use the toolkit."""
NEUWARE = "4.6.2"
"""The version of the vendor's toolkit that builds expect."""
SHARED = (
    "mlu.h",
    "bang.h",
    "bang_fusor.h",
    "mlusim_math.h",
    "bang_device_functions.h",
    "bang_device_functions_extra.h",
)
"""Headers that the front end uses, too."""
_PROGRAM = """#!{python}
import sys
from pathlib import Path
sys.path[:0] = {path!r}
try:
    from mlusim.toolkit.{tool} import main
except ImportError as error:
    sys.exit(f"{tool}: error: {{error}}: mlusim is gone from {python}; make the folder again with `mlusim toolkit`")
sys.exit(main({arguments}))
"""
_ARGUMENTS = {
    "cncc": "sys.argv[1:], Path(__file__).resolve().parents[1]",
    "cnas": "sys.argv[1:]",
    "cnmon": "sys.argv[1:], Path(__file__).resolve().parents[1]",
}
"""The programs in ``bin``, and what the ``main`` of each is given."""


def make(directory: Path, board: Board) -> None:
    """Make the toolkit folder *directory* for *board*; each file is written whole.

    Raises `UsageError` if there is no compiler, if the folder has other contents, or if it is not writable.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; name a folder")
    if directory.is_dir() and any(directory.iterdir()) and not (directory / "lib64" / "mlusim.conf").exists():
        raise UsageError(f"{directory} has other files in it and is not a toolkit; name a new folder")
    clang = host_compiler()
    with _libraries((*clang.argv, "-nobuiltininc", "-isystem", clang.headers)) as libraries:
        try:
            for name, text in _texts(board).items():
                _put(directory / name, text.encode(), runs=name.startswith("bin/"))
            for name in LIBRARIES:
                content = (libraries / f"lib{name}.so").read_bytes()
                _put(directory / "lib64" / f"lib{name}.so", content, runs=True)
            _put(directory / PROFILE, run_time_of_profiles(clang.headers))
        except OSError as error:
            raise UsageError(
                f"{directory} cannot be made: {error.strerror}; it takes about 1 MiB of disk"
            ) from None


@contextlib.contextmanager
def _libraries(compiler: Sequence[str]) -> Iterator[Path]:
    """Yield the folder with the driver's libraries: in the user's cache, or a temporary one if there is no cache."""
    try:
        cached = kept_libraries(compiler) if user_cache() is not None else None
    except OSError:  # a cache that cannot be written
        cached = None
    if cached is not None:
        yield cached
        return
    with tempfile.TemporaryDirectory(prefix="mlusim-") as folder:
        build_libraries(folder, compiler)
        yield Path(folder)


def _texts(board: Board) -> Mapping[str, str]:
    path = [entry for entry in sys.path if entry and (Path(entry) / "mlusim").is_dir()]
    values = {"python": sys.executable, "path": path[:1]}  # the first is where mlusim is imported from
    texts = {
        "lib64/mlusim.conf": f"{sys.executable}\n{board.name}\n",  # first: it identifies a begun folder
        **{
            f"bin/{tool}": _PROGRAM.format(**values, tool=tool, arguments=arguments)
            for tool, arguments in _ARGUMENTS.items()
        },
        "include/mlusim_intrinsics.h": header_text(),
        "cmake/modules/FindBANG.cmake": (HERE / "cmake" / "FindBANG.cmake").read_text(encoding="utf-8"),
        "lib64/libbangc.so": "/* Code of the device that the vendor's compiler calls; kernels have none of it here. */\n",
        "version.txt": f"Neuware Version {NEUWARE}\n",
    }
    public = sorted(
        (prelude.INCLUDE / "core").glob("*.h")
    )  # included by host functions of the public library
    texts |= {f"include/mluops/core/{path.name}": path.read_text(encoding="utf-8") for path in public}
    texts |= {
        f"python/{path.relative_to(PYTHON)}": path.read_text(encoding="utf-8")
        for path in sorted((PYTHON / "torch_mlu").rglob("*.py"))
    }
    shared = [prelude.INCLUDE / name for name in SHARED]
    headers = (*shared, *sorted(prelude.DRIVER.glob("*.h")), *sorted(INCLUDE.rglob("*.h")))
    return texts | {f"include/{path.name}": path.read_text(encoding="utf-8") for path in headers}


def _put(path: Path, content: bytes, *, runs: bool = False) -> None:
    """Write a file in one step, unless it has these contents already; programs that have the old one open keep it."""
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".making-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o755 if runs else 0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


# The driver's libraries: the sources of each, and the compiler's flags.

SOURCES = HERE / "lib"
LIBRARIES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cnrt": (("wire", "guards", "capture", "shared", "kernels", "cnrt", "cnrt_numbers"), ()),
    "cndrv": (("cndrv",), ("cnrt",)),
    "cndev": (("cndev",), ("cnrt",)),
    "cnpapi": (("cnpapi",), ("cnrt",)),
    "cnbin": (("cnbin",), ()),
    "cnml": (("cnml",), ()),
    "cnnl": (("cnnl",), ("cnrt",)),
    "cnnl_extra": (("cnnl_extra",), ("cnnl",)),
}
"""Each library with its sources, and the libraries that it needs; in the order of linking."""
LIBRARY_FLAGS = (
    *("-std=c++17", "-O2", "-gdwarf-4", "-g1"),  # debug information that valgrind 3.19 can read
    *("-fPIC", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra"),
)


def digest_of_libraries(compiler: Sequence[str]) -> str:
    """Return a digest of everything that the libraries depend on: their sources, the headers, the *compiler* and its flags."""
    digest = hashlib.sha256(repr((tuple(compiler), LIBRARY_FLAGS, dict(LIBRARIES))).encode())
    for path in sorted([*SOURCES.glob("*.cpp"), *SOURCES.glob("*.h"), *prelude.DRIVER.glob("cn*.h")]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:20]


def build_libraries(directory: str | os.PathLike[str], compiler: Sequence[str] = ("g++",)) -> list[Path]:
    """Compile the driver's libraries with *compiler* to *directory*; return their paths.

    Each file is replaced in one step, so that running programs keep an older one.  Raises `UsageError`, with the
    compiler's output, if compiling fails.
    """
    into = Path(directory)
    into.mkdir(parents=True, exist_ok=True)
    targets = []
    with tempfile.TemporaryDirectory(dir=into, prefix=".making-") as folder:
        for name, (sources, needs) in LIBRARIES.items():
            target = Path(folder) / f"lib{name}.so"
            words = [
                *(*compiler, *LIBRARY_FLAGS, "-shared", f"-Wl,-soname,lib{name}.so", "-Wl,-rpath,$ORIGIN"),
                *(f"-I{prelude.DRIVER}", f"-I{SOURCES}", f"-L{folder}", "-o", str(target)),
                *(str(SOURCES / f"{source}.cpp") for source in sources),
                *(f"-l{other}" for other in needs),
                "-ldl",
            ]
            _run(words)
            target.chmod(0o755)  # whatever the umask: a file that others may write is not used
            targets.append(target)
        return [Path(shutil.move(target, into / target.name)) for target in targets]


def kept_libraries(compiler: Sequence[str] = ("g++",)) -> Path:
    """Return the folder of the user's cache with the libraries as compiled by *compiler*; compile them if it has none.

    Raises `UsageError` if the compiler fails, or if there is no cache.
    """
    home = user_cache()
    if home is None:
        raise UsageError(
            f"the driver's libraries need a folder to be kept in; set {FOLDER} to one, not to {OFF!r}"
        )
    folder = home / "toolkit" / digest_of_libraries(compiler)
    if not _complete(folder, home):
        make_own_folder(folder)
        with changing(
            str(folder / "lib"), math.inf
        ):  # another process is compiling them, which takes minutes on a loaded machine
            if not _complete(folder, home):
                build_libraries(folder, compiler)
    return folder


def _complete(folder: Path, home: Path) -> bool:
    libraries = [folder / f"lib{name}.so" for name in LIBRARIES]
    return all(path.exists() and owned(path, home) for path in libraries)


def _run(words: Sequence[str]) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - the compiler that was named
    except OSError as error:
        raise UsageError(f"{words[0]} cannot be run: {error.strerror}; name a C++ compiler") from None
    if done.returncode:
        raise UsageError(f"{words[0]} does not compile the driver's libraries: {done.stderr.strip()}")
