"""Loads libclang, and adds functions that its Python bindings lack."""

import ctypes
import functools
import os
from collections.abc import Iterator
from typing import Any

from mlusim.errors import UsageError
from mlusim.installing import missing_packages

BINARY = (
    "?", ".*", "->*", "*", "/", "%", "+", "-", "<<", ">>", "<=>", "<", ">", "<=", ">=", "==", "!=",
    "&", "^", "|", "&&", "||", "=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|=", ",",
)  # fmt: skip
UNARY = (
    "?", "x++", "x--", "++x", "--x", "&", "*", "+", "-", "~", "!", "__real", "__imag", "__extension__", "co_await",
)  # fmt: skip
# The bindings of libclang have no types: these aliases say which kind of object is meant.
Cursor = Any
ClangType = Any
ClangTree = Any  # a TranslationUnit
ClangLocation = Any
ClangDiagnostic = Any
_INT, _FLOAT = 1, 2  # kinds of an evaluation's result


class Library:
    """The loaded library: ``ci`` are its Python bindings, ``lib`` its C functions."""

    def __init__(self, ci: Any) -> None:
        self.ci = ci
        self.lib: Any = ci.conf.lib
        self.index = ci.Index.create(excludeDecls=True)  # those of the supplied headers are not walked
        self._declare()
        version: ClangString = ctypes.CFUNCTYPE(ClangString)(("clang_getClangVersion", self.lib))()
        self.full_version = version.text(self.lib)
        digits = self.full_version.partition("version ")[2].partition(".")[0]
        self.version = int(digits) if digits.isdigit() else 0

    def _declare(self) -> None:
        """Declare types to the bindings, and function signatures to ctypes, that the bindings lack."""
        for number, name in ((32, "FLOAT16"), (39, "BFLOAT16")):
            try:
                self.ci.TypeKind.from_id(number)
            except ValueError:
                setattr(self.ci.TypeKind, name, self.ci.TypeKind(number))
        lib, cursor = self.lib, self.ci.Cursor
        for name in ("clang_getCursorBinaryOperatorKind", "clang_getCursorUnaryOperatorKind"):
            getattr(lib, name).argtypes = [cursor]
            getattr(lib, name).restype = ctypes.c_int
        lib.clang_Cursor_getVarDeclInitializer.argtypes = [cursor]
        lib.clang_Cursor_getVarDeclInitializer.restype = cursor
        lib.clang_getCursorPrintingPolicy.argtypes = [cursor]
        lib.clang_getCursorPrintingPolicy.restype = ctypes.c_void_p
        lib.clang_PrintingPolicy_dispose.argtypes = [ctypes.c_void_p]
        lib.clang_Cursor_Evaluate.argtypes = [cursor]
        lib.clang_Cursor_isDynamicCall.argtypes = [cursor]
        lib.clang_Cursor_isDynamicCall.restype = ctypes.c_int
        lib.clang_Cursor_Evaluate.restype = ctypes.c_void_p
        for name, result in (
            ("getKind", ctypes.c_int),
            ("getAsLongLong", ctypes.c_longlong),
            ("getAsUnsigned", ctypes.c_ulonglong),
            ("getAsDouble", ctypes.c_double),
            ("isUnsignedInt", ctypes.c_uint),
        ):
            function = getattr(lib, f"clang_EvalResult_{name}")
            function.argtypes, function.restype = [ctypes.c_void_p], result
        lib.clang_EvalResult_dispose.argtypes = [ctypes.c_void_p]

    def dispose(self, tree: ClangTree) -> None:
        """Free a parsed tree, of which no cursor is used any more.

        The bindings would do so in a finaliser, at any garbage collection. It takes milliseconds, which
        may be in the middle of a kernel, and a Ctrl-C at that time would be lost.
        """
        handle, tree.obj, tree._as_parameter_ = tree.obj, None, None
        tree.__class__ = self.ci.ClangObject  # a class without a finaliser
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("clang_disposeTranslationUnit", self.lib))(handle)

    def printed(self, cursor: Cursor) -> str:
        """Return the library's text of a declaration, with macros expanded and arguments of attributes."""
        policy = self.lib.clang_getCursorPrintingPolicy(cursor)
        print_ = ctypes.CFUNCTYPE(ClangString, self.ci.Cursor, ctypes.c_void_p)(
            ("clang_getCursorPrettyPrinted", self.lib)
        )
        text: ClangString = print_(cursor, policy)
        self.lib.clang_PrintingPolicy_dispose(policy)
        return text.text(self.lib)

    def template(self, cursor: Cursor) -> Any:
        """Return the template of which *cursor* is a specialisation, or None."""
        template = self.lib.clang_getSpecializedCursorTemplate(cursor)
        if template is not None:
            template._tu = cursor._tu
        return template

    def spelled(self, place: ClangLocation) -> tuple[str, int] | None:
        """Return the file and byte offset at which the text of *place* is written, also within a macro; None without a file."""
        file, (line, column, offset) = self.ci.c_object_p(), (ctypes.c_uint() for _ in range(3))
        pointers = [ctypes.byref(output) for output in (file, line, column, offset)]
        self.lib.clang_getSpellingLocation(place, *pointers)
        return (str(self.ci.File(file).name), offset.value) if file else None

    def used(self, owner: Cursor) -> Iterator[Any]:
        """Yield the declarations inherited by ``using`` in a class; in a template instance, those of the instance."""
        for child in owner.get_children():
            if child.kind.name == "USING_DECLARATION":
                for named in child.get_children():
                    if named.kind.name == "OVERLOADED_DECL_REF":
                        count = self.lib.clang_getNumOverloadedDecls(named)
                        yield from (self.lib.clang_getOverloadedDecl(named, n) for n in range(count))

    def evaluate(self, cursor: object) -> int | float | None:
        """Return the value of a constant expression or variable; None if it is not a constant number."""
        lib = self.lib
        result = lib.clang_Cursor_Evaluate(cursor)
        if not result:
            return None
        try:
            kind = lib.clang_EvalResult_getKind(result)
            if kind == _INT:
                unsigned = lib.clang_EvalResult_isUnsignedInt(result)
                get = lib.clang_EvalResult_getAsUnsigned if unsigned else lib.clang_EvalResult_getAsLongLong
                return int(get(result))
            return float(lib.clang_EvalResult_getAsDouble(result)) if kind == _FLOAT else None
        finally:
            lib.clang_EvalResult_dispose(result)


class ClangString(ctypes.Structure):
    """A string of the library, which can be read once."""

    _fields_ = (("data", ctypes.c_void_p), ("flags", ctypes.c_uint))

    def text(self, lib: Any) -> str:
        """Return the text, and release the string in the library."""
        get = ctypes.CFUNCTYPE(ctypes.c_char_p, ClangString)(("clang_getCString", lib))
        text = (get(self) or b"").decode()
        ctypes.CFUNCTYPE(None, ClangString)(("clang_disposeString", lib))(self)
        return text


@functools.cache
def library() -> Library:
    """Return the library that ``MLUSIM_LIBCLANG`` names, or that of the ``libclang`` package.

    Raises `UsageError` if it is missing or cannot be loaded.
    """
    try:
        import clang.cindex as ci  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_packages("a source in BANG C", "bangc", "libclang") from None
    chosen = os.environ.get("MLUSIM_LIBCLANG")
    if chosen and not ci.Config.loaded:
        ci.Config.set_library_file(chosen)
    try:
        return Library(ci)
    except (ci.LibclangError, OSError) as error:
        what = f"MLUSIM_LIBCLANG = {chosen}" if chosen else "the installed libclang"
        raise UsageError(f"{what} cannot be loaded: {str(error).splitlines()[0]}") from None
