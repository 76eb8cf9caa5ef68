"""Device code in files: the image in objects and in the cache, and the text of ``-S --bang-device-only``, which ``cnas`` reads.

An image is data: reading it runs none of it.  A JSON header is followed by the forms of the file, one for each
architecture.
"""

import contextlib
import ctypes
import functools
import importlib.util
import json
import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

import mlusim
from mlusim.arch.board import Board
from mlusim.bangc import cache, form_data, ir, prelude, types as t
from mlusim.bangc.errors import Diagnostic
from mlusim.bangc.form_data import Translated
from mlusim.bangc.ir.walk import walk
from mlusim.errors import UsageError

# Images in the cache, which are valid until one of their source files changes.

_SIZE = struct.Struct("<I")
_ROOT = Path(mlusim.__file__).parent
_WORD = re.compile(r"(?:\\.|[^\s\\])+")  # of a list of dependencies, in which blanks in names are escaped


@frozen
class ImageSource:
    """The input of device code: the file, the options of its parse, and the boards of its architectures.

    ``asked`` are kernels by name, as ``a::K<float>``, whose uses the host's compiler sees, but not the front end.
    """

    path: str
    include: tuple[str, ...]
    define: tuple[tuple[str, str | None], ...]
    boards: tuple[Board, ...]
    before: tuple[str, ...] = ()
    standard: str = prelude.LANGUAGE
    asked: tuple[str, ...] = ()


@frozen
class EmbeddedImage:
    """An image, the messages about its file, and the digests of all files that it depends on.

    ``refused`` are errors in kernels, in functions that other files may call, and in functions that these reach;
    ``warnings`` are the others.  ``kernels`` are the stubs of the kernels for the architecture of the host's
    compilation. ``no_kernel`` is true if the file has only device functions. ``defined`` are the symbols of device
    functions that other files may call, ``needed`` those that this file calls in others; ``launched`` has the names
    by which other compilers' objects refer to its kernels, each with the symbol that clang gives it.
    """

    content: bytes
    warnings: tuple[Diagnostic, ...]
    no_kernel: bool
    defined: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    includes: Mapping[str, str] = field(factory=dict)
    launched: tuple[tuple[str, str], ...] = ()
    refused: tuple[Diagnostic, ...] = ()
    kernels: tuple[str, ...] = ()


def kept(source: ImageSource) -> EmbeddedImage | None:
    """Return the cached image of *source*; None if there is none, or if a file has changed."""
    content = cache.read(_name(source))
    if content is None:
        return None
    try:
        embedded = unpack(content)
    # An incomplete file, or one of another version, is made again.
    except (struct.error, ValueError, TypeError, LookupError):
        return None
    fresh = all(digest(path) == stored for path, stored in embedded.includes.items())
    return embedded if fresh else None


def keep(source: ImageSource, embedded: EmbeddedImage) -> None:
    """Store *embedded*, the image of *source*, in the cache, if there is one."""
    cache.write(_name(source), pack(embedded))


def unpack(content: bytes) -> EmbeddedImage:
    """Parse *content*, made by `pack`.  Raises `ValueError`, `struct.error`, `TypeError` or `LookupError` for other bytes."""
    (size,) = _SIZE.unpack_from(content)
    head = json.loads(content[_SIZE.size : _SIZE.size + size])
    return EmbeddedImage(
        content[_SIZE.size + size :],
        _told(head["warnings"]),
        bool(head["no_kernel"]),
        tuple(head["defined"]),
        tuple(head["needed"]),
        dict(head["includes"]),
        tuple((name, stub) for name, stub in head["launched"]),
        _told(head["refused"]),
        tuple(head["kernels"]),
    )


def _told(diagnostics: list[list[Any]]) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(file, line, column, message, excerpt, tuple(notes))
        for file, line, column, message, excerpt, notes in diagnostics
    )


def _telling(diagnostics: Iterable[Diagnostic]) -> list[list[object]]:
    return [[d.file, d.line, d.column, d.message, d.excerpt, d.notes] for d in diagnostics]


def pack(embedded: EmbeddedImage) -> bytes:
    """Convert *embedded* to bytes."""
    head = {
        "warnings": _telling(embedded.warnings),
        "refused": _telling(embedded.refused),
        "kernels": embedded.kernels,
        "no_kernel": embedded.no_kernel,
        "defined": embedded.defined,
        "needed": embedded.needed,
        "includes": dict(embedded.includes),
        "launched": embedded.launched,
    }
    text = json.dumps(head).encode()
    return _SIZE.pack(len(text)) + text + embedded.content


def digest(path: str) -> str:
    """Return a digest of the contents of a file; "" if it cannot be read."""
    try:
        return blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


def unchanged(note: Path) -> bool:
    """Return whether the files have the digests stored in the file *note*."""
    try:
        files = json.loads(note.read_text(encoding="utf-8"))
        return all(digest(name) == stored for name, stored in files.items())
    except (OSError, ValueError, AttributeError):
        return False


def depends_of(path: Path) -> Iterator[str]:
    """Yield the absolute paths in a list of dependencies in make's format."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ").partition(": ")[2]
    for word in _WORD.findall(text):
        yield os.path.abspath(re.sub(r"\\(.)", r"\1", word).replace("$$", "$"))  # noqa: PTH100 - links stay


def remove_oldest(files: Iterable[Path], most: int) -> None:
    """Remove all of *files* except the *most* recently used ones, each with its note."""
    with contextlib.suppress(OSError):
        for file in sorted(files, key=lambda p: -p.stat().st_mtime_ns)[most:]:
            file.unlink(missing_ok=True)
            file.with_suffix(".json").unlink(missing_ok=True)


def _name(source: ImageSource) -> str:
    boards = ",".join(board.name for board in source.boards)
    parts = (
        source.path,
        repr(source.include),
        repr(source.define),
        boards,
        repr((source.before, source.standard, source.asked)),
        mlusim.__version__,
    )
    return f"{cache.FOLDER}/{cache.key_of(state(), *parts)}.ir"


@functools.cache
def state() -> str:
    """Return a digest of the front end, the instruction set and the parser's library."""
    return cache.stamp_of(_files())


def _files() -> Iterable[Path]:
    yield from (_ROOT / "bangc").rglob("*.py")
    yield from (_ROOT / "bangc").rglob("*.h")
    yield from (_ROOT / "mluops").glob("*.py")
    yield from (_ROOT / "isa").glob("*.py")
    yield from (_ROOT / "toolkit").glob("*.py")
    spec = importlib.util.find_spec("clang")
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        yield from Path(place).rglob("libclang*")


# The image itself.

MAGIC = b"MLUSIMR1"
"""The bytes before an image's length (u64) and contents."""
HEAD = struct.Struct("<I")
"""The length of the header, before the header."""
STUB = "__device_stub__"
"""clang's prefix to a kernel's name for the host function that launches the kernel."""
_LABEL = re.compile(rf'^"?([\w.$]*{STUB}[\w.$]*)"?:', re.MULTILINE)  # the definition of one in assembly
_SECTIONS_AT, _SECTION_COUNT_AT, _SYMTAB = 0x28, 0x3C, 2  # in an ELF header; a section's type
_PLACED, _FIRST_ADDRESS = 2, 0x400000  # ET_EXEC: a program with a fixed address, and the usual address
_SECTION, _SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")


def write(source: ImageSource, forms: Sequence[ir.TranslationUnit]) -> bytes:
    """Return an image of *source*, as clang embeds it, with everything that its kernels reach in *forms*, one for each board."""
    contents = [form_data.write(Translated(device_side(form), (), {})) for form in forms]
    head = {
        "mlusim": mlusim.__version__,
        "schema": form_data.schema(),
        "source": source.path,
        "include": source.include,
        "define": source.define,
        "boards": [board.name for board in source.boards],
        "bytes": [len(content) for content in contents],
    }
    text = json.dumps(head).encode()
    payload = b"".join([HEAD.pack(len(text)), text, *contents])
    return MAGIC + struct.pack("<Q", len(payload)) + payload


def device_side(form: ir.TranslationUnit) -> ir.TranslationUnit:
    """Return *form* without its host side: kernels, device functions, and what they reach, with the types that a debugger shows."""
    variables: dict[str, ir.Global] = {}
    reached = _closure(form, [s for s, f in form.functions.items() if f.kind != "host"], variables)
    functions = {s: f for s, f in form.functions.items() if s in reached}
    types = _types(
        [v.type for f in functions.values() for v in f.locals] + [v.type for v in variables.values()]
    )
    return evolve(
        form,
        functions=functions,
        globals={s: g for s, g in form.globals.items() if s in variables},
        initialisers={s: e for s, e in form.initialisers.items() if s in variables},
        structs={name: struct for name, struct in form.structs.items() if struct in types},
    )


def _types(roots: Sequence[t.Type]) -> set[t.Type]:
    """Return *roots*, the types that they point to, and those of their elements and members."""
    types: set[t.Type] = set()
    work = list(roots)
    while work:
        kind = work.pop()
        if kind in types:
            continue
        types.add(kind)
        if isinstance(kind, t.Pointer):
            work.append(kind.to)
        elif isinstance(kind, t.Array):
            work.append(kind.of)
        elif isinstance(kind, t.Struct):
            work += [field.type for field in kind.fields]
    return types


def required(form: ir.TranslationUnit, source: str) -> frozenset[str]:
    """Return the symbols of the functions whose code is required: the kernels, functions for other files, and everything that these reach."""
    return _closure(form, [*_kernels(form), *offered(form, source)], {})


def stubs(form: ir.TranslationUnit) -> list[str]:
    """Return the stubs of the kernels that *form* defines."""
    return [stub_of(form.functions[symbol]) for symbol in _kernels(form)]


def _kernels(form: ir.TranslationUnit) -> list[str]:
    return [s for s, f in form.functions.items() if f.kind == "kernel" and not f.external]


def offered(form: ir.TranslationUnit, source: str) -> list[str]:
    """Return the symbols of the device functions that *source* defines for other files: neither static nor in a header."""
    functions = (
        f for f in form.functions.values() if f.kind == "device" and not f.external and f.span.file == source
    )
    # In mangled names, _ZL means static and _GLOBAL__N_ an anonymous namespace.
    return [f.symbol for f in functions if not f.symbol.startswith("_ZL") and "_GLOBAL__N_" not in f.symbol]


def launched(form: ir.TranslationUnit, source: str) -> list[tuple[str, str]]:
    """Return the names by which other compilers' objects refer to the kernels of *source*, each with the symbol of the kernel's stub.

    These are the plain name, for a host that declares the kernel ``extern "C"``, and the mangled name, in which a
    half may also be the 16-bit integer that represents it on the host.  A name of two kernels, or of a function in
    the C library, is left out.
    """
    by_name: dict[str, set[str]] = {}
    for kernel in form.functions.values():
        shared = not (kernel.symbol.startswith("_ZL") or "_GLOBAL__N_" in kernel.symbol or "<" in kernel.name)
        if kernel.kind != "kernel" or kernel.external or kernel.span.file != source or not shared:
            continue
        stub, mangled = stub_of(kernel), symbol_of(kernel)
        plain = set() if kernel.scope else {kernel.name}
        for name in {mangled, mangled.replace("DF16_", "t")} | plain:  # _Float16 and unsigned short
            by_name.setdefault(name, set()).add(stub)
    return [
        (name, min(stubs)) for name, stubs in sorted(by_name.items()) if len(stubs) == 1 and not _of_c(name)
    ]


def stub_of(kernel: ir.Function) -> str:
    """Return the symbol of the host function that launches *kernel*; it is the kernel's own symbol if the parser saw the host's side."""
    return kernel.symbol if STUB in kernel.symbol else STUB + kernel.symbol


def symbol_of(kernel: ir.Function) -> str:
    """Return the mangled name of *kernel* itself, with which clang registers it; names in it are preceded by their lengths."""
    name = kernel.name.partition("<")[0]
    of_stub, plain = (f"{len(word.encode())}{word}" for word in (STUB + name, name))
    return kernel.symbol.replace(of_stub, plain, 1).removeprefix(STUB)


def name_of(stub: str) -> str:
    """Return the name of the kernel with the mangled *stub*, as ``a::K<float>``; *stub* itself if it cannot be demangled."""
    try:
        demangle = ctypes.CDLL("libstdc++.so.6")["__cxa_demangle"]
    except (OSError, AttributeError):
        return stub
    demangle.restype = ctypes.c_void_p
    # Libraries of gcc 12 and older cannot demangle half and bfloat16: their letters are replaced by those of
    # types that kernels lack.
    demangled = demangle(stub.encode(), None, None, None) or demangle(
        stub.replace("DF16_", "Dh").replace("DF16b", "Dd").encode(), None, None, None
    )
    if not demangled:
        return stub.removeprefix(STUB)
    text = ctypes.cast(demangled, ctypes.c_char_p).value or b""
    ctypes.CDLL(None).free(ctypes.c_void_p(demangled))
    plain = (
        text.decode()
        .replace("(anonymous namespace)::", "")
        .replace("decimal64", "bfloat16_t")
        .replace("_Float16", "half")
    )
    return _name_in(plain.replace("std::bfloat16_t", "bfloat16_t")).replace(STUB, "")


def _name_in(signature: str) -> str:
    """Return the name in a *signature* such as ``void a::K<float>(float*)``."""
    depth, start = 0, 0
    for at, letter in enumerate(signature):
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter == " ":
            start = at + 1
        elif depth == 0 and letter == "(":
            return signature[start:at]
    return signature[start:]


def stubs_in(content: bytes) -> frozenset[str]:
    """Return the stubs of the kernels that clang compiled for the host in *content*, an object or assembly.

    Raises `UsageError` for other contents.
    """
    if content.startswith(b"\x7fELF"):
        return frozenset(name for name, _ in _symbols(content) if STUB in name)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise UsageError(
            "what clang made is neither an object nor assembly; leave out the flags that say so"
        ) from None
    return frozenset(_LABEL.findall(text))


def variable_at(elf: bytes, offset: int) -> str | None:
    """Return the name of the variable at *offset* from the load address of a 64-bit ELF file; None if there is none."""
    first = _FIRST_ADDRESS if struct.unpack_from("<H", elf, 16)[0] == _PLACED else 0
    return next((name for name, value in _symbols(elf) if value == offset + first), None)


def _symbols(elf: bytes) -> Iterator[tuple[str, int]]:
    """Yield the names and values of the symbols that a 64-bit ELF file defines."""
    (sections,) = struct.unpack_from("<Q", elf, _SECTIONS_AT)
    (count,) = struct.unpack_from("<H", elf, _SECTION_COUNT_AT)
    every = [_SECTION.unpack_from(elf, sections + _SECTION.size * number) for number in range(count)]
    for _, kind, _, _, start, size, strings, _, _, _ in every:
        if kind == _SYMTAB:
            names = every[strings][4]
            for at in range(start, start + size, _SYMBOL.size):
                name, _, _, section, value, _ = _SYMBOL.unpack_from(elf, at)
                if section:
                    first = names + name
                    yield elf[first : elf.index(0, first)].decode(), value


@functools.cache
def _of_c(name: str) -> bool:
    """Return whether the C library has *name*: host code that calls it would call the kernel's stub instead."""
    return any(hasattr(ctypes.CDLL(library), name) for library in ("libc.so.6", "libm.so.6"))


def wanted(form: ir.TranslationUnit, source: str) -> list[str]:
    """Return the symbols of device functions in other files that the functions of *source* need."""
    first = [f.symbol for f in form.functions.values() if f.kind == "kernel"]
    reached = sorted(_closure(form, [*first, *offered(form, source)], {}))
    return [
        symbol
        for symbol in reached
        if form.functions[symbol].external and form.functions[symbol].kind == "device"
    ]


def _closure(
    form: ir.TranslationUnit, symbols: Sequence[str], variables: dict[str, ir.Global]
) -> frozenset[str]:
    """Return *symbols* and everything that those functions reach; add variables at file scope to *variables*."""
    reached: set[str] = set()
    seen: set[str] = set()
    work = list(symbols)
    while work:
        symbol = work.pop()
        if symbol not in form.functions or symbol in reached:
            continue
        reached.add(symbol)
        work += _reached(form.functions[symbol].body, variables)
        for name in variables.keys() - seen:  # initial values may refer to functions
            seen.add(name)
            work += _reached(form.initialisers.get(name), variables)
    return frozenset(reached)


def _reached(node: object, variables: dict[str, ir.Global]) -> Iterator[str]:
    """Yield the symbols of functions in *node*; add variables at file scope to *variables*."""
    for part in walk(node):
        if isinstance(part, ir.GlobalPlace):
            variables[part.variable.symbol] = part.variable
        elif isinstance(part, ir.Call | ir.FunctionAddress):
            yield part.symbol
        elif isinstance(part, ir.Dispatch):
            yield from part.targets.values()


# The text that ``cncc -S --bang-device-only`` writes and ``cnas`` reads: the device's form for people,
# followed by assembly for the linker.
#
# Every line of the form is a comment, so that the whole text is valid assembly.

MARK = "// cncc of mlusim wrote this: device code of "
END = "// end of device code"
_HEAD = re.compile(re.escape(MARK) + r"(?P<source>.*) for (?P<architectures>[\w, ]+)")
# Older versions of clang write ``.set name, stub``, newer ones ``name = stub``.
_LAUNCHED = re.compile(rf"^\s*(?:\.set\s+)?([\w.$]+)\s*[,=]\s*\S*{STUB}", re.MULTILINE)
_GLOBAL = re.compile(r"^\t\.globl\t(\S+).*\n", re.MULTILINE)


@frozen
class DeviceText:
    """A parsed text: its source file, and the architectures of its code."""

    source: str
    architectures: tuple[str, ...]


def text_of(form: str, assembly: str, source: str, architectures: Sequence[str]) -> str:
    """Return the text of *source*: its *form*, then the *assembly* of the host's side without the host's own symbols."""
    comments = (line if line.startswith("//") else f"// {line}".rstrip() for line in form.splitlines())
    listing = "".join(f"{comment}\n" for comment in comments)
    names = set(_LAUNCHED.findall(assembly))
    launching = _GLOBAL.sub(lambda g: g[0] if STUB in g[1] or g[1] in names else "", assembly)
    return f"{MARK}{Path(source).name} for {', '.join(architectures)}\n//\n{listing}\n{launching}{END}\n"


def read_text(path: Path) -> DeviceText:
    """Parse the text in the file *path*.

    Raises `UsageError` for another kind of file, or an incomplete one; `OSError`.
    """
    content = path.read_bytes()
    head = _HEAD.fullmatch(content.partition(b"\n")[0].decode(errors="replace"))
    if head is None:
        raise UsageError(
            f"{path} was not written by `cncc -S --bang-device-only` of mlusim; write it from its .mlu with that command"
        )
    if not content.endswith(f"{END}\n".encode()):
        raise UsageError(f"{path} is not whole; write it again with `cncc -S --bang-device-only`")
    return DeviceText(head["source"], tuple(head["architectures"].split(", ")))
