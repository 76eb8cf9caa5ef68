"""Compiles PyTorch's device and its extensions with ``cncc``, including generated bindings; the results are cached.

PyTorch's headers take half a minute to parse, so that they are precompiled, and a file that needs only tensors
includes only those.
"""

import contextlib
import functools
import importlib.util
import io
import json
import os
import pickle
import re
import shlex
import shutil
import signal
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from attrs import evolve, frozen

from mlusim.arch.catalog import find_board
from mlusim.bangc import cache
from mlusim.errors import UsageError
from mlusim.files.user_cache import make_own_folder, owned, user_cache
from mlusim.toolkit import image
from mlusim.toolkit.cncc import main
from mlusim.toolkit.compiler import host_compiler
from mlusim.toolkit.ending import ended_in_order

# The binding of an extension's functions to Python, generated from declarations.

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# `describe` is weak: if no library defines it, tensors have no names.
_HEAD = """#include <torch/csrc/Exceptions.h>
#include <torch/extension.h>
#include <utility>
namespace mlusim_torch {
__attribute__((weak)) void describe(const at::Tensor &tensor, const std::string &name);
inline void name_one(const std::string &name, const at::Tensor &tensor) {
  if (describe) describe(tensor, name);
}
inline void name_one(const std::string &name, const std::vector<at::Tensor> &all) {
  for (size_t i = 0; i < all.size(); ++i) name_one(name + "[" + std::to_string(i) + "]", all[i]);
}
inline void name_one(const std::string &name, const std::optional<at::Tensor> &maybe) {
  if (maybe) name_one(name, *maybe);
}
template <class T> void name_one(const std::string &, const T &) {}
// The second of the two forms in which pybind11 gives a type, "@what it takes@what it is@".
inline std::string plain_type(const std::string &text) {
  std::string found;
  size_t part = 0;
  for (char letter : text) {
    if (letter == '@') part = (part + 1) % 3;
    else if (part != 1) found += letter;
  }
  return found;
}
template <class Caster> void take(Caster &caster, const char *function, const std::vector<std::string> &names, size_t at, pybind11::handle given) {
  if (caster.load(given, true)) return;
  std::string named = at < names.size() ? " (" + names[at] + ")" : "";
  throw pybind11::type_error(std::string(function) + ": argument " + std::to_string(at + 1) + named + " is " + Py_TYPE(given.ptr())->tp_name +
                             ", where " + plain_type(Caster::name.text) + " is expected");
}
// A function for Python: its tensors get the names of its parameters, and what it throws is a sentence.
template <class R, class... A, size_t... I>
void bind(pybind11::module_ &m, const char *name, R (*function)(A...), const std::vector<std::string> &names, const char *text, std::index_sequence<I...>) {
  m.def(
      name,
      [name, function, names](const pybind11::args &given) -> R {
        if (given.size() != sizeof...(A))
          throw pybind11::type_error(std::string(name) + " takes " + std::to_string(sizeof...(A)) + " argument" + (sizeof...(A) == 1 ? "" : "s") + ", and " +
                                     std::to_string(given.size()) + (given.size() == 1 ? " is" : " are") + " given");
        std::tuple<pybind11::detail::make_caster<A>...> casters;
        (take(std::get<I>(casters), name, names, I, given[I]), ...);
        HANDLE_TH_ERRORS
        if (names.size() == sizeof...(A)) (name_one(names[I], pybind11::detail::cast_op<A &>(std::get<I>(casters))), ...);
        try {
          return function(pybind11::detail::cast_op<A>(std::move(std::get<I>(casters)))...);
        } catch (const std::exception &) {
          throw;
        } catch (...) {
          throw std::runtime_error(std::string(name) + " throws something that is not std::exception");
        }
        END_HANDLE_TH_ERRORS_PYBIND
      },
      text);
}
template <class R, class... A> void bind(pybind11::module_ &m, const char *name, R (*function)(A...), const std::vector<std::string> &names, const char *text) {
  bind(m, name, function, names, text, std::index_sequence_for<A...>());
}
}  // namespace mlusim_torch
"""


def binding_text(declarations: str, functions: Mapping[str, str] | None) -> str:
    """Return C++ that binds *functions* with their docstrings, declared in *declarations*, to Python; None: the text has its own binding."""
    if functions is None:
        return f"#include <torch/extension.h>\n{declarations}\n"
    lines = [
        f'  mlusim_torch::bind(m, "{name}", &{name}, {{{", ".join(_quoted(parameter) for parameter in parameters(declarations, name))}}}, {_quoted(text)});'
        for name, text in functions.items()
    ]
    body = "\n".join(lines)
    return f"{_HEAD}{declarations}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{body}\n}}\n"


def light_text(declarations: str, functions: Mapping[str, str]) -> str:
    """Return C++ like `binding_text`, for functions whose types the device's library converts: parsing pybind11 takes most of a build."""
    lines = [
        f'mlusim_torch::bound<&{name}>("{name}", {{{", ".join(_quoted(parameter) for parameter in parameters(declarations, name))}}}, {_quoted(text)})'
        for name, text in functions.items()
    ]
    listed = ", \\\n  ".join(lines)
    return f"#include <torch/extension.h>\n#include <mlusim_torch_binding.h>\n{declarations}\nMLUSIM_MODULE({listed})\n"


def parameters(declarations: str, function: str) -> list[str]:
    """Return the names of the parameters of *function*, without unnamed ones."""
    plain = _COMMENT.sub(" ", declarations)
    match = re.search(rf"\b{re.escape(function)}\s*\(", plain)
    if match is None:
        return []
    names = []
    for declaration in _divided(plain[match.end() :]):
        # A name follows its type: a single word is a type.
        word = re.search(
            r"[\w>&*\]]\s*\b([A-Za-z_]\w*)\s*(?:\[\s*\])?$", declaration.partition("=")[0].rstrip()
        )
        if word is not None:
            names.append(word[1])
    return names


def _divided(text: str) -> list[str]:
    """Split *text* at commas, up to the closing parenthesis."""
    depth, parts = 0, [""]
    for letter in text:
        if depth == 0 and letter == ")":
            break
        depth += letter in "(<[{"  # declarations have < for templates only
        depth -= letter in ")>]}"
        if depth == 0 and letter == ",":
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\{c}" if c in '"\\' else "\\n" if c == "\n" else c for c in text) + '"'


HERE = Path(__file__).parent
DRIVER = HERE.parent / "lib"
FOLDER = "torch"
"""The folder for PyTorch in the cache."""
MOST_FOLDERS = 4
"""The cached configurations of PyTorch, toolkit and board, the most recently used ones: each has about 100 MiB of precompiled headers."""
IN_USE = 3600.0
"""Seconds after its last use in which a configuration is not removed, since running processes may read it."""
MOST_LIBRARIES = 256
"""The cached extensions, the most recently used ones."""
LIBRARIES = ("c10", "torch_cpu", "torch", "torch_python")
"""PyTorch's own libraries, which are loaded before."""
STREAM = ("-include", "framework/core/MLUStream.h")
"""Flags for sources that are texts: public ones use the current stream without including its header."""
WRAPPED = tuple(
    f"-Wl,--wrap=__cuda{name}"
    for name in (
        *("RegisterFatBinary", "RegisterFatBinaryEnd", "UnregisterFatBinary", "RegisterVar"),
        *("PushCallConfiguration", "PopCallConfiguration"),
    )
)
"""Linker flags that direct launches to the driver's library, since PyTorch brings CUDA's run-time with the same names."""
CLOSED = ("-Wl,--push-state,--as-needed", "-lcnnl", "-Wl,--pop-state")
"""Linker flags for the closed library, which comes with torch_mlu, for extensions that call it."""
LINES = "-gline-tables-only"
"""The flag by which findings name the C++ line of a mistake."""
TENSORS, BINDINGS, WHOLE = "tensors", "bindings", "whole"
_BEFORE: Mapping[str, str] = {BINDINGS: TENSORS}  # the precompiled header that another one includes
_CALLED = re.compile(  # in a binding, or in the Python API
    r"\b(?:py|pybind11)::|\bPYBIND11_MODULE|\bTORCH_LIBRARY|\bTHP[A-Z]\w*|\bPy(?:_|[A-Z])\w*"
)
_MORE = re.compile(
    r"\btorch::(?:nn|optim|jit|data|serialize|autograd|python|cuda|distributed|load|save|manual_seed)\b"
    r"|#\s*include\s*<torch/(?!extension\.h|torch\.h|types\.h|all\.h|script\.h>)"
)
# Flags that a precompiled header must be compiled with, too.
_FORMED = ("-std=", "--std", "-f", "-m", "--bang-mlu-arch=", "--bang-arch=")
_LEVEL = re.compile(r"-O\w*")  # a header is for one level; more than -O1 is not worth another
_Share = tuple[list[str | Exception], list[str], str]  # results, commands, compilers' output
_ERROR = re.compile(r"error:|undefined reference|multiple definition|cannot find|unable to find")


class TorchBuildError(UsageError):
    """The sources do not compile; ``shown`` is the compiler's output."""


@frozen
class TorchPlace:
    """A PyTorch installation: its version, its headers, and Python's; *home* is the toolkit folder for its extensions."""

    home: str
    version: str
    include: tuple[str, ...]
    python: str
    stamp: str

    @property
    def board(self) -> str:
        """The board of the toolkit, which determines the sizes of memories in headers."""
        return find_board(
            (Path(self.home) / "lib64" / "mlusim.conf").read_text(encoding="utf-8").split("\n")[1]
        ).name

    @functools.cached_property
    def key(self) -> str:
        """Return a digest of PyTorch, the compiler, the headers and the board."""
        clang = host_compiler()
        ours = cache.stamp_of([*HERE.glob("*.h"), *(HERE / "include").rglob("*.h")])
        identity = repr((self.version, self.include, self.python, self.stamp, clang, self.board))
        return cache.key_of(identity, *(path.read_bytes() for path in self.headers()), ours)

    def headers(self) -> list[Path]:
        """Return the headers of the toolkit."""
        return sorted(path for path in (Path(self.home) / "include").rglob("*.h"))


@frozen
class ExtensionSources:
    """The sources of an extension *name*: files, folders of headers, arguments of the compilers and the linker.

    *functions* are called by Python and have docstrings; they are declared in the text *cpp*; *output* is the
    target, "" for the cache.
    """

    name: str
    bang: tuple[str, ...] = ()
    cpp: str = ""
    functions: Mapping[str, str] | None = None
    files: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    cxx_flags: tuple[str, ...] = ()
    bang_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    output: str = ""


def torch_package() -> Path:
    """Return the folder of this Python's PyTorch.  Raises `UsageError` if it is not installed."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        raise UsageError(
            f"it needs PyTorch, which is not installed; install it with `{sys.executable} -m pip install torch`"
        )
    return Path(spec.origin).parent


def installed(home: str) -> TorchPlace:
    """Return this Python's PyTorch installation, for the toolkit folder *home*.  Raises `UsageError` if it is not installed."""
    base = torch_package()
    version = re.search(r"__version__ = '([^']+)'", (base / "version.py").read_text(encoding="utf-8"))
    folders = (str(base / "include"), str(base / "include" / "torch" / "csrc" / "api" / "include"))
    stamp = str((base / "version.py").stat().st_mtime_ns)
    return TorchPlace(home, version[1] if version else "", folders, sysconfig.get_paths()["include"], stamp)


def header_for(text: str, *, binds: bool = False) -> str:
    """Return the precompiled header for the source *text*; *binds* is true if Python calls it."""
    if _MORE.search(text):
        return WHOLE
    return BINDINGS if binds or _CALLED.search(text) else TENSORS


class TorchBuilder:
    """Builds for the PyTorch at *place*; ``commands`` are the executed commands, ``said`` is the compiler's warnings.

    With *room* all results are written there, and the cache, which has the headers, is not changed.
    """

    def __init__(self, place: TorchPlace, room: Path | None = None) -> None:
        self.place = place
        self.commands: list[str] = []
        self.said = ""
        self.folder, self._base = _folder(place.key) if room is None else _lent(place.key, room)
        self.toolkit = self.folder / "toolkit"
        self._is_alone = False

    def backend(self) -> str:
        """Return the library of the device."""
        sources = sorted((HERE / "backend").glob("*.cpp"), key=lambda path: -path.stat().st_size)
        texts = [path.read_bytes() for path in sorted([*(HERE / "backend").iterdir(), *DRIVER.glob("*.h")])]
        texts.append(repr(LIBRARIES).encode())
        target = self.folder / f"device-{cache.key_of(*texts)}" / "mlusim_torch_device.so"
        with self._alone():
            if not self._kept(target):
                flags = [f"-I{DRIVER}", f"-I{HERE / 'backend'}", "-DMODULE_NAME=mlusim_torch_device"]
                texts_of = [path.read_text(encoding="utf-8") for path in sources]
                kinds = [BINDINGS if _CALLED.search(text) else TENSORS for text in texts_of]
                for kind in dict.fromkeys(kinds):
                    self._precompiled(kind, flags)
                objects = self._all(
                    [
                        functools.partial(self._object, str(path), kind, flags)
                        for path, kind in zip(sources, kinds, strict=True)
                    ]
                )
                self._link(objects, [], target)
        return str(target)

    def prepare(self, text: str) -> None:
        """Precompile the headers for a source *text* and its binding.  Raises `TorchBuildError`."""
        with self._alone():
            for kind in {header_for(text), BINDINGS}:
                self._precompiled(kind, [])

    def extension(self, sources: ExtensionSources) -> str:
        """Build an extension and return its library.  Raises `TorchBuildError`, with the compiler's output in ``shown``."""
        with self._alone():
            pass  # to make sure that the toolkit is there
        files = [self._file(sources.name, number, text) for number, text in enumerate(sources.bang)]
        inline = evolve(sources, bang_flags=(*STREAM, *sources.bang_flags))
        own_name = bool(sources.output) or sources.functions is None or "TORCH_EXTENSION_NAME" in sources.cpp
        name = sources.name.rpartition(".")[2] if own_name else "extension"
        named = f"-DTORCH_EXTENSION_NAME={name}"
        compiled: list[Callable[[], str]] = [
            functools.partial(self._compiled, path, inline, named) for path in files
        ]
        compiled += [functools.partial(self._compiled, path, sources, named) for path in sources.files]
        if sources.cpp or sources.functions:
            compiled.append(lambda: self._light(sources, named) or self._binding(sources, named))
        objects = self._all(compiled)
        if sources.output:
            target = Path(sources.output)
        else:
            linked = repr((WRAPPED, sources.link_flags))
            stamp = cache.key_of(*(Path(object_path).read_bytes() for object_path in objects), linked)
            target = self.folder / "extensions" / f"{name}-{stamp}.so"
        if sources.output or not self._kept(target):
            self._link(objects, sources.link_flags, target)
            image.remove_oldest((self.folder / "extensions").glob("*.so"), MOST_LIBRARIES)
        return str(target)

    # -- files -----------------------------------------------------------------------------------

    def _file(self, name: str, number: int, text: str, ending: str = ".mlu") -> str:
        """Return a file with *text*, the same for the same text, so that findings can show its lines."""
        word = re.sub(r"\W+", "_", name) or "extension"
        path = self.folder / "sources" / cache.key_of(text)[:12] / f"{word}{number or ''}{ending}"
        if not self._kept(path):
            cache.put(path, text.encode())
        return str(path)

    def _compiled(self, path: str, sources: ExtensionSources, named: str, text: str | None = None) -> str:
        bang = Path(path).suffix in (".mlu", ".mluh")
        flags = list(sources.bang_flags if bang else sources.cxx_flags)
        content = Path(path).read_text(encoding="utf-8", errors="replace") if text is None else text
        kind = header_for(content, binds=text is not None)
        names = [named] if path.endswith("binding.cpp") or "TORCH_EXTENSION_NAME" in content else []
        return self._object(path, kind, [*(f"-I{folder}" for folder in sources.include), *flags, *names])

    def _binding(self, sources: ExtensionSources, named: str) -> str:
        path = self._file("binding", 0, binding_text(sources.cpp, sources.functions), ".cpp")
        return self._compiled(path, sources, named, sources.cpp)

    def _light(self, sources: ExtensionSources, named: str) -> str:
        """Return the object of a binding without pybind11; "" if the functions need pybind11, which is remembered."""
        if not sources.functions or sources.output or header_for(sources.cpp) != TENSORS:
            return ""
        path = self._file("binding", 0, light_text(sources.cpp, sources.functions), ".cpp")
        refused = Path(path).with_suffix(".refused")
        if self._kept(refused):
            return ""
        flags = [*(f"-I{folder}" for folder in sources.include), *sources.cxx_flags, named]
        try:
            return self._object(path, TENSORS, flags)
        except TorchBuildError:
            cache.put(refused, b"")
            return ""

    def _all(self, calls: Sequence[Callable[[], str]]) -> list[str]:
        """Return the results of *calls*, which run compilers; child processes on other processors do a share each.

        Raises the exception of the first call that fails.
        """
        count = min(os.cpu_count() or 1, len(calls)) if hasattr(os, "fork") else 1
        shares = [functools.partial(self._share, calls[number::count]) for number in range(count)]
        with ended_in_order(), contextlib.ExitStack() as children:
            beside = [children.enter_context(_Child(share)) for share in shares[1:]]
            parts = [shares[0](), *(child.result() for child in beside)]
        for _, commands, said in parts[1:]:
            self.commands += commands
            self.said += said
        results = [parts[number % count][0][number // count] for number in range(len(calls))]
        for result in results:
            if isinstance(result, Exception):
                raise result
        return [str(result) for result in results]

    def _share(self, calls: Sequence[Callable[[], str]]) -> _Share:
        """Return the result or exception of each of *calls*, with the commands that they ran and the compilers' output."""
        commands, said = len(self.commands), len(self.said)
        results = list[str | Exception]()
        for call in calls:
            try:
                results.append(call())
            except (UsageError, OSError) as error:
                results.append(error)
        return results, self.commands[commands:], self.said[said:]

    def _kept(self, path: Path) -> bool:
        return path.exists() and owned(path, self._base)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from building for the same PyTorch during the block; such blocks may be nested."""
        if self._is_alone:  # a second lock on the same file would wait for the first
            yield
            return
        make_own_folder(self.folder)
        with (self.folder / ".lock").open("w") as file:
            with contextlib.suppress(ImportError, OSError):  # a system without locks
                import fcntl  # noqa: PLC0415 - not on every system

                fcntl.flock(file, fcntl.LOCK_EX)
            self._take_toolkit()
            self._is_alone = True
            try:
                yield
            finally:
                self._is_alone = False

    def _take_toolkit(self) -> None:
        """Copy the files needed for compilation: toolkit folders come and go, and a precompiled header names the one that it was made from."""
        home = Path(self.place.home)
        lib = home / "lib64"
        for path in (*self.place.headers(), lib / "mlusim.conf", lib / "libcnrt.so", lib / "libcnnl.so"):
            copy, content = self.toolkit / path.relative_to(home), path.read_bytes()
            if not self._kept(copy) or copy.read_bytes() != content:
                cache.put(copy, content)

    # -- the compiler ----------------------------------------------------------------------------

    def _words(self, kind: str, flags: Sequence[str]) -> list[str]:
        """Return the arguments for every file, and those of *flags* that also affect a precompiled header."""
        formed = [flag for flag in flags if flag.startswith(_FORMED)]
        levels = [flag for flag in flags if _LEVEL.fullmatch(flag)]
        level = "-O0" if levels and levels[-1] == "-O0" else "-O1"
        folders = ["-I" + str(HERE / "include"), *(["-I" + str(HERE / "slim")] if kind != WHOLE else [])]
        standard = [] if any(flag.startswith(("-std=", "--std")) for flag in formed) else ["-std=c++17"]
        return [
            *("-x", "bang", "-fPIC", "-w", level, *standard, *formed, *folders),
            *(word for folder in (*self.place.include, self.place.python) for word in ("-isystem", folder)),
        ]

    def _precompiled(self, kind: str, flags: Sequence[str]) -> Path:
        before = _BEFORE.get(kind)
        first = [] if before is None else _stands_on(self._precompiled(before, flags))
        words = self._words(WHOLE, flags)
        target = self.folder / "headers" / f"{kind}-{cache.key_of(*words)}.pch"
        if not self._kept(target):
            with self._alone():
                if not self._kept(target):
                    emit = ["-fpch-instantiate-templates", *first, "-Xclang", "-emit-pch"]
                    source = str(HERE / f"precompiled_{kind}.h")
                    self._make(["--bang-host-only", "-c", *words, *emit, source], target)
        return target

    def _object(self, path: str, kind: str, flags: Sequence[str]) -> str:
        """Return the object of a file; compile it if the file or its includes have changed."""
        words = self._words(kind, flags)
        content = Path(path).read_bytes()
        bang = Path(path).suffix in (".mlu", ".mluh")
        key = cache.key_of(
            path, content, kind, repr((words, LINES, list(flags))), image.state() if bang else ""
        )
        target = self.folder / "objects" / f"{key}.o"
        note = target.with_suffix(".json")
        if self._kept(target) and self._kept(note) and image.unchanged(note):
            os.utime(target)
            return str(target)
        header = self._precompiled(kind, flags)
        plain = [flag for flag in flags if not flag.startswith(_FORMED) and not _LEVEL.fullmatch(flag)]
        sides = [LINES] if bang else ["--bang-host-only", LINES]
        with tempfile.TemporaryDirectory() as scratch:
            depends = f"{scratch}/depends"
            self._make(
                [*sides, "-c", *words, *plain, *_stands_on(header), "-MMD", "-MF", depends, path], target
            )
            read = {
                dependency: image.digest(dependency)
                for dependency in image.depends_of(Path(depends))
                if not dependency.endswith(".pch")
            }
        cache.put(note, json.dumps(read).encode())
        image.remove_oldest(target.parent.glob("*.o"), MOST_LIBRARIES)
        return str(target)

    def _link(self, objects: Sequence[str], flags: Sequence[str], target: Path) -> None:
        libraries = [f"-L{Path(self.place.include[0]).parent / 'lib'}", *(f"-l{name}" for name in LIBRARIES)]
        self._make(["-shared", *objects, *WRAPPED, *libraries, *CLOSED, *flags], target)

    def _make(self, words: Sequence[str], target: Path) -> None:
        """Make *target* with ``cncc``; it is replaced in one step.  Raises `TorchBuildError`."""
        make_own_folder(target.parent)
        said = io.StringIO()
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".making-")
        os.close(handle)
        try:
            self.commands.append(shlex.join(["cncc", *words, "-o", str(target)]))
            with contextlib.redirect_stderr(said):
                code = main([*words, "-o", temporary], self.toolkit)
            if code:
                error = TorchBuildError(_first_error(said.getvalue()))
                error.shown = said.getvalue().rstrip("\n")
                raise error
            Path(temporary).chmod(0o700)
            Path(temporary).replace(target)
        finally:
            Path(temporary).unlink(missing_ok=True)
        self.said += said.getvalue()


class _Child:
    """A child process that calls *share*; without a result of the child, this process calls it."""

    def __init__(self, share: Callable[[], _Share]) -> None:
        self._share = share
        self._running = False

    def __enter__(self) -> Self:
        """Begin."""
        self._file = tempfile.TemporaryFile()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the child runs no code of other threads
            self._number = os.fork()
        if self._number == 0:
            try:
                pickle.dump(self._share(), self._file)
                self._file.flush()
            finally:
                os._exit(0)
        self._running = True
        return self

    def result(self) -> _Share:
        """Wait for the end of the child; return its result."""
        os.waitpid(self._number, 0)
        self._running = False
        self._file.seek(0)
        try:
            share: _Share = pickle.load(self._file)  # noqa: S301 - written by our own child
        except EOFError:
            share = self._share()
        return share

    def __exit__(self, *_: object) -> None:
        """End the child if its result is no longer needed."""
        if self._running:
            os.kill(self._number, signal.SIGTERM)
            os.waitpid(self._number, 0)
        self._file.close()


def _stands_on(header: Path) -> list[str]:
    return ["-Xclang", "-include-pch", "-Xclang", str(header)]


def _folder(key: str) -> tuple[Path, Path]:
    base = user_cache()
    if base is not None:
        with contextlib.suppress(OSError):
            folder = base / FOLDER / key
            make_own_folder(folder)
            os.utime(folder)  # used now: the least recently used ones are removed
            folders = sorted(((old.stat().st_mtime, old) for old in folder.parent.iterdir()), reverse=True)
            for used, old in folders[MOST_FOLDERS:]:
                if time.time() - used > IN_USE:
                    shutil.rmtree(old, ignore_errors=True)
            return folder, base
    # There is no cache: it has to outlive this process.
    room = Path(tempfile.mkdtemp(prefix="mlusim-torch-"))
    return room, room


def _lent(key: str, room: Path) -> tuple[Path, Path]:
    """Make a folder in *room* with links to the cache's headers and toolkit, which take long to make."""
    folder, base = room / FOLDER, user_cache()
    make_own_folder(folder)
    for name in ("headers", "toolkit"):
        if base is not None and not (folder / name).exists():
            (folder / name).symlink_to(base / FOLDER / key / name)
    return folder, room


def _first_error(text: str) -> str:
    """Return the first error in a compiler's output, as a sentence."""
    lines = [line for line in text.splitlines() if _ERROR.search(line)]
    lines.sort(key=lambda line: "linker command failed" in line)  # the linker has given the reason before
    return lines[0].strip() if lines else (text.strip().splitlines() or ["the compiler says nothing"])[-1]


def serve(text: str) -> str:
    """Perform the request *text* (JSON); return the reply with the path, or with an error and the compiler's output."""
    asked = json.loads(text)
    place = TorchPlace(
        asked["home"], asked["version"], tuple(asked["include"]), asked["python"], asked["stamp"]
    )
    try:
        builder = TorchBuilder(place)
        extension = asked.get("extension")
        if extension is None:
            path = builder.backend()
        else:
            fields = {name: tuple(v) if isinstance(v, list) else v for name, v in extension.items()}
            path = builder.extension(ExtensionSources(**fields))  # type: ignore[arg-type]
    except UsageError as error:
        return json.dumps({"error": str(error), "shown": error.shown})
    except OSError as error:
        return json.dumps({"error": f"{error.filename or 'a file'}: {error.strerror or error}", "shown": ""})
    return json.dumps({"path": path, "commands": builder.commands, "said": builder.said})


if __name__ == "__main__":
    sys.stdout.write(serve(sys.stdin.read()))
