"""Parses a translation unit: its declarations at file scope, compiler errors that affect a single body, and references of a function."""

import linecache
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from mlusim.bangc import prelude
from mlusim.bangc.errors import Diagnostic, SourceError, excerpt_of
from mlusim.bangc.parse.library import (
    ClangDiagnostic,
    ClangLocation,
    ClangTree,
    Cursor,
    Library,
    library,
)
from mlusim.bangc.parse.nodes import END, FUNCTIONS, REFERRING, CursorReader, Declaration, Node
from mlusim.bangc.parse.precompiled import Headers, headers
from mlusim.bangc.parse.sources import (
    Options,
    SourceTexts,
    digest,
    included_texts,
    instantiated_in_macros,
    macro_definitions,
    read,
)
from mlusim.bangc.parse.trial import bounded
from mlusim.bangc.parse.type_reader import block
from mlusim.counted import counted
from mlusim.errors import UsageError
from mlusim.isa.prototypes import ANNOTATION
from mlusim.isa.table import FORMS_REPLACED, REPLACED
from mlusim.near import near

# Compiler errors inside the body of one function: the other functions of the file are valid.
#
# A syntax error, or one outside all bodies, affects the whole file.

_SEMANTIC = "Semantic Issue"  # the library's category of errors beyond the grammar
_FATAL = 4  # the library's severity of errors that end the parse
DEDUCED = "AUTO"  # a result type deduced from the function's body
_INSTANCE = "in instantiation of "
_SCOPES = frozenset(
    (
        "NAMESPACE",
        "LINKAGE_SPEC",
        "UNEXPOSED_DECL",
        "STRUCT_DECL",
        "CLASS_DECL",
        "CLASS_TEMPLATE",
        "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION",
    )
)
_TEMPLATES = frozenset(("CLASS_TEMPLATE", "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"))
_KERNEL, _DEVICE = "CUDAGLOBAL_ATTR", "CUDADEVICE_ATTR"
_UNKNOWN = re.compile(r"use of undeclared identifier '(\w+)'")
_UNRESOLVED = "OVERLOADED_DECL_REF"  # a name whose overload is not chosen; never in a valid call


@frozen
class BrokenCall:
    """One such error; ``instance`` is the only specialisation with the error, in the compiler's spelling, or ""."""

    diagnostic: Diagnostic
    instance: str


def instance_of(error: ClangDiagnostic) -> str:
    """Return the specialisation that was being instantiated at *error*; "" if the error is in the source itself."""
    for note in error.children:
        text = str(note.spelling)
        if text.startswith(_INSTANCE):
            return text.partition("'")[2].rpartition("'")[0]
    return ""


def outside(errors: Sequence[Any], root: object, files: Container[str]) -> list[Any]:
    """Return the *errors* outside the bodies of functions in *files*, below *root*."""
    bodies = list(_bodies(root, files)) if errors else []
    return [
        error
        for error in errors
        if error.category_name != _SEMANTIC
        or error.severity >= _FATAL
        or error.location.file is None
        or not any(_within(body, error.location) for body in bodies)
    ]


def _within(body: Cursor, place: ClangLocation) -> bool:
    """Return whether *place* is in the extent *body*; the bindings' ``in`` ignores some columns."""
    first, last = body.start, body.end
    return bool(
        first.file is not None
        and first.file.name == place.file.name
        and (first.line, first.column) <= (place.line, place.column) <= (last.line, last.column)
    )


def _bodies(cursor: Cursor, files: Container[str]) -> Iterator[Any]:
    """Yield the bodies of functions and methods whose type does not depend on the body.

    If a body with an error has a deduced type, the compiler silently omits the calls of it in other
    functions.
    """
    for child in cursor.get_children():
        file = child.location.file
        if file is None or file.name not in files:
            continue
        kind = child.kind.name
        if kind in _SCOPES:
            yield from _bodies(child, files)
        elif child.is_definition():
            body = block(child)
            if body is not None and child.result_type.kind.name != DEDUCED:
                yield body.extent


def broken_in(declaration: Declaration, errors: Iterable[BrokenCall]) -> Diagnostic | None:
    """Return the first of *errors* inside the body of *declaration*, or None.

    A specialisation that cannot be distinguished from a broken one of the same template counts as broken.
    """
    errors = tuple(errors)
    if not errors or declaration.from_prelude:
        return None
    name = declaration.qualified
    if declaration.invalid:
        mine = [e for e in errors if e.instance == name]
        return _with_names(mine[0] if mine else errors[0], mine)
    inside = [e for e in errors if declaration.surrounds(e.diagnostic)]
    for error in inside:
        other = error.instance and error.instance != name and _plain(error.instance) == _plain(name)
        if not other:
            return _with_names(error, [e for e in inside if e.instance == error.instance])
    body = declaration.body if inside else None
    return inside[0].diagnostic if body is not None and _unresolved(body) else None


def _with_names(first: BrokenCall, all_: Sequence[BrokenCall]) -> Diagnostic:
    """Return the diagnostic of *first*, with the other unknown names in *all_* added to its message."""
    unknown = [m[1] for e in all_ if (m := _UNKNOWN.match(e.diagnostic.message))]
    first_name = _UNKNOWN.match(first.diagnostic.message)
    more = [name for name in dict.fromkeys(unknown) if first_name is None or name != first_name[1]]
    if not more:
        return first.diagnostic
    either = "not known" if first_name is None else "not known either"
    return evolve(first.diagnostic, message=f"{first.diagnostic.message} ({either}: {', '.join(more)})")


def _plain(name: str) -> str:
    """Return a name without template arguments."""
    depth, letters = 0, []
    for letter in name:
        depth += letter == "<"
        if depth == 0:
            letters.append(letter)
        depth -= letter == ">"
    return "".join(letters)


def _unresolved(node: Node) -> bool:
    return node.kind == _UNRESOLVED or any(map(_unresolved, node.children))


HELPING = "__mlusim_"  # prefix of helper functions that reveal hidden callees
REQUEST = "mlusim_request_"
MOST_FUNCTIONS = 1 << 14
"""Limit of functions in a file; each takes a millisecond, and the vendor's largest sources have some hundred."""
_ERROR = 3  # the library's severity of errors
_ON = 0x200  # continue parsing after a missing header
_NOTES = 3  # number of notes shown per error
_MARK = b"__attribute__((global)) "  # marks an explicit instantiation as a kernel's
NOT_ALIKE = "target attributes do not match"
"""The compiler's note on an explicit instantiation of a kernel without the kernel attribute."""
_INSTANTIATED = re.compile(r"explicit instantiation of '(?:\w+::)*(\w+)")
_QUALIFIED = re.compile(rb"(?:\w+\s*::\s*)*\Z")
_NAMED = re.compile(
    r"(?:undeclared identifier|unknown type name|no matching function for call to|reference to __host__ function) '(\w+)'"
)
_GUESS = re.compile(r"'(?P<name>\w+)'(?P<between>[^';]*); did you mean '(?P<guess>\w+)'\?")


@define(eq=False)
class ParsedFile:
    """The declarations of a file.

    ``functions`` are its own definitions except templates, ``templates`` its templates, and ``requested`` the
    kernels requested by name.
    """

    path: str
    reader: CursorReader
    functions: tuple[Declaration, ...]
    templates: tuple[Declaration, ...]
    requested: Mapping[str, Declaration]
    # Helper functions that call template methods which the library does not show.
    named: Mapping[str, Declaration]
    includes: Mapping[str, str]
    broken: tuple[BrokenCall, ...] = ()  # errors that affect a single function each
    # Files with unmarked explicit instantiations of kernels, by path: their texts with the attribute added.
    marked: Mapping[str, str] = field(factory=dict)

    def text_of(self, path: str) -> str:
        """Return the text of a file that was read."""
        return self.reader.sources.of(path)

    @cached_property
    def macros(self) -> Mapping[str, str]:
        """The macros of the file and its includes; of each name the first definition."""
        macros: dict[str, str] = {}
        for path in self.includes:
            macros = macro_definitions(self.text_of(path)) | macros
        return macros


@contextmanager
def parsed(path: str, options: Options, requests: Sequence[str] = ()) -> Iterator[ParsedFile]:
    """Parse a file, which can be read within the block only; *requests* are kernel instantiations such as ``K<float>``.

    Raises `SourceError` with all compiler errors unless each is inside the body of a function, and
    `UsageError` for a file that cannot be read.
    """
    clang = library()
    sources = SourceTexts()
    source = sources.of(path)
    texts = {path: source, **dict(included_texts(path, source, options.include))}
    asked = "".join(f"\nstatic auto {REQUEST}{n} = &{name};" for n, name in enumerate(requests))
    read_otherwise = {path: source + asked + "\n"}
    tree, supply = _tree(clang, path, read_otherwise, options)
    places = _unmarked(clang, tree, texts | read_otherwise)
    if places:  # device C++ requires the kernel attribute there, the vendor's compiler does not
        clang.dispose(tree)
        unmarked = texts | read_otherwise
        read_otherwise |= {
            file: _marked(text, places[file]) for file, text in unmarked.items() if file in places
        }
        tree, supply = _tree(clang, path, read_otherwise, options)
    try:
        broken = _broken(path, source, requests, tree, vouched=options.vouched)
        reader = CursorReader(clang, (str(prelude.INCLUDE), supply.directory), supply.rows, sources, path)
        unit = _unit(path, source, requests, reader, tree, options)
        unit.broken = broken
        unit.marked = {file: read_otherwise[file] for file in places if file in read_otherwise}
        _ends(unit)
        yield unit
    finally:
        clang.dispose(tree)


def _unmarked(clang: Library, tree: ClangTree, texts: Mapping[str, str]) -> dict[str, set[int]]:
    """Return where explicit instantiations of kernels lack the attribute: byte offsets by file; *texts* are the files read.

    The library gives the location of a name in a file; for a name in a macro's body, only that of the
    invocation.
    """
    places: dict[str, set[int]] = {}
    for error in tree.diagnostics:
        place = clang.spelled(error.location)
        if place is None or not any(NOT_ALIKE in str(note.spelling) for note in error.children):
            continue
        named = _INSTANTIATED.search(str(error.spelling))
        name = named[1].encode() if named else b""
        line = texts.get(place[0], "").encode()[place[1] :].partition(b"\n")[0]
        written = [place] if re.match(name + rb"\b", line) else instantiated_in_macros(texts, line, name)
        for path, offset in written:
            places.setdefault(path, set()).add(offset)
    return places


def _marked(text: str, offsets: Iterable[int]) -> str:
    """Return *text* with the kernel attribute inserted before the names at *offsets*; line numbers stay."""
    content = text.encode()
    for offset in sorted(offsets, reverse=True):
        qualified = _QUALIFIED.search(content, 0, offset)
        start = offset if qualified is None else qualified.start()
        content = content[:start] + _MARK + content[start:]
    return content.decode()


def _broken(
    path: str, source: str, wanted: Sequence[str], tree: ClangTree, *, vouched: bool
) -> tuple[BrokenCall, ...]:
    """Return the compiler errors if each is inside the body of a function; for a *vouched* file, those that are.

    Raises `SourceError` otherwise; errors outside bodies come first.
    """
    errors = [d for d in tree.diagnostics if d.severity >= _ERROR]
    calls, instance = [], ""
    for d in errors:  # the compiler names an instance once, with its first error
        instance = instance_of(d) or instance
        calls.append(BrokenCall(_diagnostic(d, path, source, wanted), instance))
    apart = [] if vouched else outside(errors, tree.cursor, {path, *_included(tree)})
    if apart:
        first = [call.diagnostic for d, call in zip(errors, calls, strict=True) if d in apart]
        rest = [call.diagnostic for d, call in zip(errors, calls, strict=True) if d not in apart]
        raise SourceError((*first, *rest))
    return tuple(calls)


def _ends(unit: ParsedFile) -> None:
    """Pass the requested destructors to the reader."""
    for name, helping in unit.named.items():
        body = helping.body
        called = None if body is None else body.children[0].children[0]
        if name.startswith(END) and called is not None and called.decl is not None:
            unit.reader.ends[name.removeprefix(END)[:-1]] = called.decl


def _tree(clang: Library, path: str, texts: Mapping[str, str], options: Options) -> tuple[ClangTree, Headers]:
    """Return the parsed file and its supplied headers; *texts* replace the contents of files."""
    supply = headers(clang, options.board, options.standard)
    tree = _parsed(clang, path, texts, supply, options)
    if tree is None or any("precompiled" in d.spelling for d in tree.diagnostics):
        if tree is not None:
            clang.dispose(tree)
        supply = headers(clang, options.board, options.standard, cached=False)  # the kept header is not taken
        tree = _parsed(clang, path, texts, supply, options)
    return tree, supply


def _parsed(clang: Library, path: str, texts: Mapping[str, str], supply: Headers, options: Options) -> Any:
    unsaved = {**prelude.supplied(), **supply.unsaved, **texts}
    flags, files = [*supply.flags, *options.flags], list(unsaved.items())
    how = _ON if options.vouched else 0
    try:
        with bounded() as alone:
            if alone:
                clang.lib.clang_toggleCrashRecovery(0)  # a crash ends the child
            return clang.index.parse(path, flags, unsaved_files=files, options=how)
    except clang.ci.TranslationUnitLoadError:
        if supply.unsaved:
            raise UsageError(f"{path} cannot be parsed; the parser gives no reason") from None
        return None


def _unit(
    path: str, source: str, wanted: Sequence[str], reader: CursorReader, tree: ClangTree, options: Options
) -> ParsedFile:
    functions: list[Declaration] = []
    templates, requested = [], {}
    included = [name for name in _included(tree) if not reader.is_prelude(name)]
    for cursor in _own(tree.cursor, path, frozenset(included), reader.library):
        kind = cursor.kind.name
        if kind == "FUNCTION_TEMPLATE" and cursor.is_definition():
            template = reader.declaration(cursor)
            if _source(cursor, path) or "global" in template.annotations:
                templates.append(template)
        elif kind in ("FUNCTION_DECL", "CXX_METHOD") and cursor.is_definition():
            if len(functions) == MOST_FUNCTIONS:  # before reading more of them
                raise UsageError(f"{path} defines more than {counted(MOST_FUNCTIONS, 'function')}; divide it")
            functions.append(reader.declaration(cursor))
        elif kind == "VAR_DECL" and cursor.spelling.startswith(REQUEST):
            target = _target(reader.declaration(cursor))
            if target is not None:
                requested[wanted[int(cursor.spelling.removeprefix(REQUEST))]] = target
    # For a file without functions, those of its headers, as when a compiler compiles a header.
    if options.vouched or not (functions or templates):
        kernels = map(reader.declaration, _kernels(tree.cursor, frozenset((path, *included))))
        functions = [*dict.fromkeys((*functions, *kernels))]
    named = {n: requested.pop(n) for n in [*requested] if n.startswith(HELPING)}
    includes = {path: digest(source)}
    for name in included:
        includes[name] = digest(reader.sources.of(name))
    return ParsedFile(path, reader, tuple(functions), tuple(templates), requested, named, includes)


def _included(tree: ClangTree) -> dict[str, None]:
    return dict.fromkeys(str(i.include) for i in tree.get_includes())


def _own(cursor: Cursor, path: str, below: Container[str], clang: Library) -> Iterator[Any]:
    """Yield the declarations at file scope of *path*, also in its namespaces, and the templates in the headers *below*.

    The library shows instances next to the template; instances of kernels and host functions belong to the
    file, wherever the template is.
    """
    for child in cursor.get_children():
        file = child.location.file
        if file is None or (file.name != path and file.name not in below):
            continue
        kind = child.kind.name
        if kind in ("NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL"):
            yield from _own(child, path, below, clang)
        elif (
            _source(child, path)
            or kind == "FUNCTION_TEMPLATE"
            # An instance of a template that is not a pure device function.
            or (
                kind == "FUNCTION_DECL"
                and clang.template(child) is not None
                and _DEVICE not in _attributes(child)
            )
        ):
            yield child


def _kernels(cursor: Cursor, files: Container[str]) -> Iterator[Any]:
    """Yield the kernels that *files* define, including those in classes and template instances."""
    for child in cursor.get_children():
        file = child.location.file
        if file is None or file.name not in files:
            continue
        kind = child.kind.name
        if kind in _SCOPES and kind not in _TEMPLATES:
            yield from _kernels(child, files)
        elif (
            kind in ("FUNCTION_DECL", "CXX_METHOD")
            and child.is_definition()
            and _KERNEL in _attributes(child)
        ):
            yield child


def _attributes(cursor: Cursor) -> set[str]:
    return {child.kind.name for child in cursor.get_children()}


def _source(cursor: Cursor, path: str) -> bool:
    """Return whether *cursor* is declared in the file itself or in an included ``.mlu``."""
    name = str(cursor.location.file.name)
    return name == path or name.endswith(".mlu")


def _target(variable: Declaration) -> Declaration | None:
    """Return the declaration whose address is the initial value of a request's variable."""
    node = variable.initialiser
    while node is not None:
        if node.kind == "DECL_REF_EXPR":
            return node.decl
        node = next(
            (c for c in reversed(node.children) if c.kind.endswith("_EXPR") or c.kind.endswith("OPERATOR")),
            None,
        )
    return None


def _diagnostic(d: ClangDiagnostic, path: str, source: str, wanted: Sequence[str]) -> Diagnostic:
    location = d.location
    file = str(location.file) if location.file else path
    line, column, message = location.line, location.column, str(d.spelling)
    last = source.count("\n") + 1
    if file == path and line > last and wanted:
        name = wanted[min(line - last - 1, len(wanted) - 1)]
        if REQUEST in message:
            message = "no template of that name takes these arguments"
        line, column = _template(source, name)
        return Diagnostic(
            path, line, column, f"there is no {name}: {message}", excerpt_of(source, line, column)
        )
    message = _instead(_GUESS.sub(_likely, message))
    text = source if file == path else read(file) if Path(file).is_file() else ""
    notes = [_note(c) for c in d.children if "candidate" in str(c.spelling)][:_NOTES]
    return Diagnostic(file, line, column, message, excerpt_of(text, line, column), tuple(notes))


def _instead(message: str) -> str:
    """Return *message* with a replacement if it is about a name that mlusim refuses on purpose."""
    unknown = _NAMED.search(message)
    instead = None if unknown is None else REPLACED.get(unknown[1]) or FORMS_REPLACED.get(unknown[1])
    return message if instead is None else f"{message.partition('; did you mean')[0]}; {instead}"


def _likely(guessed: re.Match[str]) -> str:
    """Keep the compiler's suggestion if the names are similar and both or neither are device names."""
    name, between, guess = guessed["name"], guessed["between"], guessed["guess"]
    similar = name.startswith("__") == guess.startswith("__") and near(name, [guess])
    return guessed[0] if similar else f"'{name}'{between}"


def _template(source: str, name: str) -> tuple[int, int]:
    """Return the line and column at which *source* declares the template for a request of *name*, else (1, 1)."""
    word = re.escape(name.partition("<")[0].rpartition("::")[2].strip())
    match = re.search(rf"^(?!\s*(?://|#)).*?(?<!\w)({word})\s*\(", source, re.MULTILINE)
    start = match.start(1) if match else 0
    return source.count("\n", 0, start) + 1, start - source.rfind("\n", 0, start)


def _note(d: ClangDiagnostic) -> str:
    """Return a note about a candidate: with its prototype for an intrinsic, with its location for a source function."""
    location = d.location
    if location.file is not None and Path(str(location.file)).name == prelude.INTRINSICS:
        line = linecache.getline(str(location.file), location.line)
        prototype = line.partition(ANNOTATION)[2].strip().rstrip(";")
        return f"note: {d.spelling}: {prototype}"
    return f"{_where(d)}note: {d.spelling}"


def _where(d: ClangDiagnostic) -> str:
    file = d.location.file
    if file is None or str(file).startswith(str(prelude.INCLUDE)):
        return ""
    return f"{file}:{d.location.line}:{d.location.column}: "


# The functions to which a function refers: by name, by call, or by creating objects.

_LAMBDA = 144  # LambdaExpr


@define(eq=False)
class _References:
    """The referenced functions, by identity, and the variables whose values remain to be examined."""

    reader: CursorReader
    functions: dict[int, Declaration] = field(factory=dict)
    variables: list[Any] = field(factory=list)

    def meet(self, cursor: Cursor) -> None:
        """Record the reference of *cursor*."""
        if cursor._kind_id == _LAMBDA:  # in template instances the library does not show its body
            self._keep(self.reader.declaration(cursor.type.get_declaration()).call_operator)
        if cursor._kind_id not in REFERRING:
            return
        named = self.reader.library.lib.clang_getCursorReferenced(cursor)
        if named is None:
            return
        named._tu = cursor._tu
        kind = self.reader.kinds[named._kind_id]
        if kind in FUNCTIONS:
            self._keep(self.reader.declaration(named))
        elif kind == "VAR_DECL":
            self.variables.append(named)

    def _keep(self, function: Declaration | None) -> None:
        if function is not None and not (function.from_prelude and function.definition is None):
            self.functions[id(function)] = function


def referred(reader: CursorReader, function: Declaration) -> list[Declaration]:
    """Return the functions referenced in the text of *function* and in the values of variables that it names."""
    references = _References(reader)
    reader.visit(function._cursor, references.meet)
    seen: set[int] = set()
    while references.variables:  # tables of functions
        variable = references.variables.pop()
        if id(reader.declaration(variable)) not in seen:
            seen.add(id(reader.declaration(variable)))
            reader.visit(variable, references.meet)
    return [*references.functions.values()]
