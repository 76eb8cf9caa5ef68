"""``cncc``: compiles BANG C and C++ for the simulator, with the flags of the vendor's compiler.

clang compiles host code, in its CUDA mode; the front end translates device code, and the result is embedded in the
object.
"""

import errno
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, evolve, field

import mlusim
from mlusim.arch.board import Board
from mlusim.arch.catalog import BOARDS, find_board
from mlusim.bangc import ir, prelude
from mlusim.bangc.errors import Diagnostic, SourceError, diagnostic_of
from mlusim.bangc.ir.text import module_text
from mlusim.bangc.parse import trial
from mlusim.bangc.parse.sources import Options
from mlusim.bangc.translate import translate
from mlusim.counted import plural
from mlusim.errors import MlusimError, UsageError
from mlusim.lazy import lazy
from mlusim.toolkit import compiler, image
from mlusim.toolkit.ending import ended_in_order, run_compiler
from mlusim.toolkit.flags import FLAGS, FlagUse, GivenFlag, architecture, standard, taken
from mlusim.toolkit.image import EmbeddedImage, ImageSource

if TYPE_CHECKING:
    from mlusim.bangc import making
    from mlusim.bangc.parse import unit
else:
    # A cached image needs neither parser nor lowering.
    making, unit = lazy("mlusim.bangc.making", "mlusim.bangc.parse.unit")

VERSION = "4.15.2"
"""The version of the vendor's compiler with these flags."""
FAILED, USAGE = 1, 2
BANG, PLAIN = (".mlu", ".mluh"), (".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".i", ".ii", ".s", ".S")
LANGUAGES = {"bang": ".mlu", "mlu": ".mlu", "c++": ".cpp", "c": ".c", "none": ""}
QUIET = (
    "-Wno-unknown-cuda-version",
    "-Wno-ignored-attributes",  # memory spaces on locals
    "-Wno-cuda-compat",  # a kernel that is inline
    "-Wno-undefined-internal",  # variables of a memory space that another file defines
    "-Wno-unused-but-set-variable",  # a warning that the vendor's clang does not have yet
    "-Wno-unused-but-set-parameter",
    "-Wno-unknown-pragmas",
    "-Wno-unknown-warning-option",
    "-Wno-unused-command-line-argument",  # flags for the linker, in a command that compiles and links
)
DEBUG = "-fdebug-default-version=4"
"""The version of debug information if the user's flags give none: valgrind 3.19 cannot read clang's default."""
STOPS = frozenset({"-E", "-M", "-MM", "-fsyntax-only"})
"""Modes that make no object."""
DEVICE_FILES = {"--bang-fatbin-only": ".cnfatbin", "--bang-cnbin-only": ".cnbin"}
"""Modes that write only device code, with the suffixes of their files."""
FOLDERS = frozenset({"-I", "-isystem", "-iquote", "-idirafter"})
FULL = b"No space left on device"
TOO_LARGE = "what is made is larger than a file may be here; raise the limit of the shell, `ulimit -f`"
_NO_KERNEL = "_ZL35__device_stub____mlusim_no_kernel__v"  # from the header of that name
_OWN_HEADERS = (
    *("stdint.h", "cstdint", "bits/c++config.h", "Python.h"),
    *(
        "torch/extension.h",
        "ATen/ATen.h",
        "torch/torch.h",
        "pybind11/pybind11.h",
    ),
)
UNTRANSLATED = "--mlusim-untranslated"
IMAGE = "image"  # its name among the temporary files
DEPTH = 10  # nested files of flags


@define
class CompileCommand:
    """The parsed command line."""

    inputs: list[tuple[str, str]] = field(factory=list)  # each file, with the suffix of its language
    # The linker's arguments, in order; a number refers to an input.
    link: list[str | int] = field(factory=list)
    flags: list[str] = field(factory=list)  # clang's
    include: list[str] = field(factory=list)
    define: list[tuple[str, str | None]] = field(factory=list)
    before: list[str] = field(factory=list)  # headers included before the source
    architectures: list[str] = field(factory=list)
    unknown: list[str] = field(factory=list)  # unknown names among the architectures
    modes: set[str] = field(factory=set)
    output: str | None = None
    shown: bool = False
    dry: bool = False

    @property
    def linking(self) -> bool:
        """Return whether a program or a library is to be linked."""
        return not self.modes & {"-c", "-S", *STOPS, *DEVICE_FILES}


def main(argv: Sequence[str], home: Path) -> int:
    """Execute the command with the flags *argv*, for the toolkit folder *home*; return the exit code."""
    try:
        with ended_in_order():
            return _main(list(argv), home)
    except SourceError as error:
        for diagnostic in error.diagnostics:
            _tell(diagnostic, "error")
        return FAILED
    except MlusimError as error:
        sys.stderr.write(f"cncc: error: {error}\n")
        return USAGE
    except OSError as error:
        if error.errno == errno.EFBIG:
            sys.stderr.write(f"cncc: error: {TOO_LARGE}\n")
            return USAGE
        where = "" if error.filename is None else f"{error.filename}: "
        sys.stderr.write(f"cncc: error: {where}{error.strerror or error}\n")
        return USAGE
    except KeyboardInterrupt:
        return 130


def _main(argv: list[str], home: Path) -> int:
    words = list(_expanded(argv))
    if "--version" in words or words == ["-v"]:
        sys.stdout.write(
            f"cncc: v{VERSION} (mlusim {mlusim.__version__})\n{compiler.host_compiler().argv[0]}\n"
        )
        return 0
    if "--help" in words or "-print-flags" in words:
        sys.stdout.write("".join(f"{f.shown:34} {f.meaning}\n" for f in FLAGS))
        return 0
    command = read(words)
    if not command.inputs and not any(
        isinstance(word, str) and not word.startswith("-") for word in command.link
    ):
        raise UsageError("no input files; name a source, as in `cncc -c kernel.mlu -o kernel.o`")
    if "--bang-device-only" in command.modes and command.linking:
        raise UsageError("--bang-device-only makes no program; give -c for an object, or -S for text")
    if command.output and not command.linking and len(command.inputs) > 1:
        raise UsageError(f"-o {command.output} is one file and {len(command.inputs)} are made; leave it out")
    if command.unknown:
        _tell_unknown(command)
    return CompilerDriver(command, home, compiler.host_compiler()).run()


def _tell_unknown(command: CompileCommand) -> None:
    """Warn of unknown architectures beside known ones.  Raises `UsageError` if no architecture is known."""
    if not command.architectures:
        architecture(command.unknown[0])
    names, others = ", ".join(dict.fromkeys(command.unknown)), ", ".join(dict.fromkeys(command.architectures))
    sys.stderr.write(f"cncc: warning: no board here has {names}; device code is made for {others} alone\n")


def _expanded(words: Sequence[str], depth: int = 0) -> Iterator[str]:
    """Yield *words*, with ``@file`` replaced by the words in the file."""
    for word in words:
        if not word.startswith("@") or not Path(word[1:]).is_file():
            yield word
            continue
        if depth == DEPTH:
            raise UsageError(f"{word} leads back to itself; take it out of its file")
        try:
            inside = shlex.split(Path(word[1:]).read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(f"{word} is not a list of flags: {error}") from None
        yield from _expanded(inside, depth + 1)


def read(words: Sequence[str]) -> CompileCommand:
    """Parse the command line *words*.  Raises `UsageError` for unknown flags."""
    command = CompileCommand()
    language, at = "", 0
    while at < len(words):
        word = words[at]
        spelled = taken(words, at)
        if spelled is not None:
            at += len(spelled.words)
            if spelled.flag.spelling == "-x":
                language = LANGUAGES.get(spelled.value, f".{spelled.value}")
            else:
                _take(command, spelled)
        elif word.startswith("-") and word != "-":
            at += 1
            command.flags.append(word)
            command.link.append(word)
        else:
            at += 1
            _file(command, word, language)
    return command


def _file(command: CompileCommand, word: str, language: str) -> None:
    ending = language or Path(word).suffix
    if ending in BANG or ending in PLAIN or word == "-":
        if word != "-" and not Path(word).is_file():
            raise UsageError(f"{word}: there is no such file")
        command.link.append(len(command.inputs))
        command.inputs.append((word, ending))
    else:
        command.link.append(word)  # an object, a library or a script for the linker


def _take(command: CompileCommand, spelled: GivenFlag) -> None:
    use, name = spelled.flag.use, spelled.flag.spelling
    if use is FlagUse.ARCH:
        _take_architectures(command, spelled.value.split(","))
    elif use is FlagUse.MODE:
        command.modes.add(name)
        if name.endswith("-shared"):
            command.link.append(name)
        elif name in STOPS:
            command.flags.append(name)
    elif use is FlagUse.OUTPUT:
        command.output = spelled.value
    elif use is FlagUse.LINK:
        command.link += spelled.words
    elif use is FlagUse.ASKED:
        command.shown = True
        command.dry |= name == "-###"
    elif use in (FlagUse.BOTH, FlagUse.HOST):
        command.flags += spelled.words
        _note(command, name, spelled.value)


def _take_architectures(command: CompileCommand, names: Sequence[str]) -> None:
    for name in names:
        try:
            command.architectures.append(architecture(name))
        except UsageError:
            command.unknown.append(name)


def _note(command: CompileCommand, name: str, value: str) -> None:
    """Record a flag that the translation of device code needs, too."""
    if name in FOLDERS:
        command.include.append(value)
    elif name == "-include":
        command.before.append(value)
    elif name == "-D":
        macro, equals, text = value.partition("=")
        command.define.append((macro, text if equals else None))
    elif name == "-U":
        command.define = [
            definition for definition in command.define if definition[0].partition("(")[0] != value
        ]


class CompilerDriver:
    """Executes one *command* for the toolkit folder *home* with *clang*."""

    def __init__(self, command: CompileCommand, home: Path, clang: compiler.Compiler) -> None:
        self.command, self.home, self.clang = command, home, clang
        self.board = find_board((home / "lib64" / "mlusim.conf").read_text(encoding="utf-8").split("\n")[1])
        names = dict.fromkeys(command.architectures or [self.board.arch.name])
        self.boards = [self._board(name) for name in names]
        self.scratch = Path()  # the folder of the files of one run

    def _board(self, arch: str) -> Board:
        return (
            self.board
            if self.board.arch.name == arch
            else next(b for b in BOARDS.values() if b.arch.name == arch)
        )

    def run(self) -> int:
        """Compile, then link if requested; return the exit code."""
        command = self.command
        with tempfile.TemporaryDirectory(prefix="cncc-") as scratch:
            self.scratch, objects = Path(scratch), []
            for number, (path, ending) in enumerate(command.inputs):
                target = self._target(path, number)
                code = self._compile(path, ending, target)
                if code:
                    return code
                objects.append(target or "")
            return self._link(objects) if command.linking else 0

    def _target(self, path: str, number: int) -> str | None:
        """Return the output file for an input; None if clang chooses it, or writes to the terminal."""
        command = self.command
        if command.linking:
            return str(self.scratch / f"{number}-{Path(path).stem}.o")
        if command.output or command.modes & STOPS:
            return command.output
        alone = [ending for mode, ending in DEVICE_FILES.items() if mode in command.modes]
        return Path(path).stem + (alone or [".s" if "-S" in command.modes else ".o"])[0]

    def _compile(self, path: str, ending: str, target: str | None) -> int:
        command = self.command
        modes = [m for m in ("-c", "-S") if m in command.modes] or (["-c"] if command.linking else [])
        if command.modes & DEVICE_FILES.keys():
            return self._device_file(path, ending, target)
        if ending not in BANG:
            language = ["-x", "c"] if ending == ".c" else []
            include = [
                "-nobuiltininc",
                "-isystem",
                self.clang.headers,
                "-isystem",
                str(self.home / "include"),
            ]
            openmp = compiler.header_of_openmp(command.flags)
            words = [*include, *openmp, DEBUG, *command.flags, *QUIET[-2:], *modes, *language, path]
            return self._call([*words, *(["-o", target] if target else [])])
        if "--bang-device-only" in command.modes and not command.modes & STOPS:
            return self._device_only(path, target)
        return self._with_kernels(path, target, modes)

    def _with_kernels(self, path: str, target: str | None, modes: Sequence[str]) -> int:
        """Compile a file with kernels to *target*, with the image of its device code embedded."""
        command, source = self.command, self._source(path)
        if command.modes & {"-E", "-M", "-MM", "--bang-host-only"} or command.dry:
            return self._host(source, self._bang(path, target, modes, ()))
        try:
            embedded = self._image(source)
        except SourceError:  # clang's errors come first, if it has any
            code = self._call(self._bang(path, os.devnull, modes, ()))
            if code == 0:
                raise
            return code
        code = self._host(source, self._bang(path, target, modes, self._embedding(embedded)))
        lost = self._lost(embedded, target) if code == 0 else ()
        if lost:  # the host's compiler sees more kernels, with the real C++ headers
            embedded = self._image(evolve(source, asked=tuple(map(image.name_of, lost))))
            code = self._host(source, self._bang(path, target, modes, self._embedding(embedded)))
            lost = self._lost(embedded, target) if code == 0 else ()
        if code == 0:
            self._judge(source, embedded, lost, target)
        return code

    def _host(self, source: ImageSource, words: Sequence[str]) -> int:
        """Compile the host's side of *source* with clang's arguments *words*; return the exit code.

        As in the front end, explicit instantiations of kernels need not repeat the ``__mlu_global__`` qualifier.
        """
        code, said = self._ran(words)
        if code and unit.NOT_ALIKE in said:
            with unit.parsed(source.path, _options(source, source.boards[0])) as read:
                texts = [(self._spellings(path), text) for path, text in read.marked.items()]
            if texts:
                code, said = self._ran([compiler.overlay(texts, self.scratch), *words])
        return self._said(code, said, words)

    def _spellings(self, path: str) -> list[str]:
        """Return the absolute paths by which clang may open the file that is *path* in the front end."""
        inputs = [spelling for spelling, _ in self.command.inputs if str(Path(spelling).resolve()) == path]
        folders = [(spelling, str(Path(spelling).resolve())) for spelling in self.command.include]
        below = [
            str(Path(spelling, Path(path).relative_to(real)))
            for spelling, real in folders
            if Path(path).is_relative_to(real)
        ]
        return list(dict.fromkeys(map(os.path.abspath, [path, *inputs, *below])))  # with links unresolved

    def _embedding(self, embedded: EmbeddedImage) -> list[str]:
        """Return the flags that make clang embed *embedded* in the object."""
        blob = self.scratch / IMAGE
        blob.write_bytes(embedded.content)
        # In the place of device code for CUDA's run-time, which the driver's library implements.
        more = ["-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(blob)]
        more += self._included("mlusim_no_kernel.h") if embedded.no_kernel else []
        links = _links(embedded, ".globl" if "--bang-device-only" in self.command.modes else ".weak")
        more += [f"-D__mlusim_links__={links}", *self._included("mlusim_links.h")] if links else []
        return more

    def _lost(self, embedded: EmbeddedImage, target: str | None) -> list[str]:
        """Return the stubs of kernels that clang compiled in *target* and that *embedded* lacks."""
        if target is None or not Path(target).is_file() or self.command.modes & STOPS:
            return []
        return sorted(image.stubs_in(Path(target).read_bytes()) - {*embedded.kernels, _NO_KERNEL})

    def _judge(
        self, source: ImageSource, embedded: EmbeddedImage, lost: Sequence[str], target: str | None
    ) -> None:
        """Report what does not translate.  Raises `SourceError`, and removes *target*, if a kernel would be missing at its launch."""
        refused = (*embedded.refused, *_reasons(source, lost))
        lenient = UNTRANSLATED in self.command.modes
        for diagnostic in (*embedded.warnings, *(refused if lenient else ())):
            _tell(diagnostic, "warning")
        if refused and not lenient:
            if target is not None and target != os.devnull:
                Path(target).unlink(missing_ok=True)
            raise SourceError(refused)

    def _included(self, name: str) -> list[str]:
        return ["-include", str(self.home / "include" / name)]

    def _bang(self, path: str, target: str | None, modes: Sequence[str], more: Sequence[str]) -> list[str]:
        """Return clang's arguments for a file with kernels."""
        command = self.command
        return [
            *("-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-nobuiltininc"),
            # Without CUDA's headers clang assumes an old version, whose launches push no configuration.
            *("-Xclang", "-target-sdk-version=11.0", *more),
            # Headers that find the language's own macro include CUDA's headers, as PyTorch's do.
            *("-U__CUDA__", "-D__mlusim_launches__"),
            *prelude.architecture_flags(self.boards[0]),
            *("-isystem", self.clang.headers, "-isystem", str(self.home / "include")),
            *("-include", str(self.home / "include" / "mlu.h")),
            *compiler.header_of_openmp(command.flags),
            DEBUG,
            *command.flags,
            f"-std={self._standard()}",  # the last counts
            "-fno-lto",  # kernels are looked up in the object
            *QUIET,
            *modes,
            path,
            *(["-o", target] if target else []),
        ]

    def _standard(self) -> str:
        """Return the C++ standard for files with kernels.  Raises `UsageError` for one that is not supported."""
        standards = [flag for flag in self.command.flags if flag.startswith(("-std=", "--std="))]
        return standard(standards[-1].partition("=")[2]) if standards else prelude.LANGUAGE

    def _call(self, words: Sequence[str]) -> int:
        """Run clang and print its output; return its exit code.  Raises as `_ran` does."""
        return self._said(*self._ran(words), words)

    def _said(self, code: int, said: str, words: Sequence[str]) -> int:
        """Print clang's output *said*, and a hint on missing packages; return the exit *code*."""
        sys.stderr.write(said)
        if code:
            sys.stderr.write(compiler.missing_run_times(said, words))
        return code

    def _ran(self, words: Sequence[str]) -> tuple[int, str]:
        """Run clang; return its exit code and its output.  Raises `UsageError` if the disk is full, which clang would report as its own crash."""
        colours = ["-fcolor-diagnostics"] if sys.stderr.isatty() else []
        line = [*self.clang.argv, *colours, *words]
        if self.command.shown:
            sys.stderr.write(f"{shlex.join(line)}\n")
            sys.stderr.flush()
        if self.command.dry:
            return 0, ""
        code, said = run_compiler(line)
        if code and FULL in said:
            target = line[line.index("-o") + 1] if "-o" in line else "what is made"
            raise UsageError(
                f"no space is left on the disk for {target}, or for files in {tempfile.gettempdir()}"
            )
        if code == -signal.SIGXFSZ:  # clang would ask for a bug report
            raise UsageError(TOO_LARGE)
        text = compiler.in_own_name(said.decode(errors="replace"))
        if code < 0:
            sys.stderr.write(text)
            raise UsageError(f"{self.clang.argv[0]} was ended by a signal: {signal.strsignal(-code)}")
        return code, text

    # -- device code -----------------------------------------------------------------------------

    def _source(self, path: str) -> ImageSource:
        ours, command = self.home / "include", self.command
        folders = [str(Path(name).resolve()) for name in command.include]
        # The front end has its own versions of the headers of C, C++, PyTorch and Python.
        searched = [
            name
            for name in folders
            if name != str(ours.resolve()) and not any(Path(name, header).exists() for header in _OWN_HEADERS)
        ]
        before = [str(Path(name).resolve()) if Path(name).exists() else name for name in command.before]
        return ImageSource(
            str(Path(path).resolve()),
            tuple(dict.fromkeys(searched)),
            tuple(command.define),
            tuple(self.boards),
            tuple(before),
            self._standard(),
        )

    def _image(self, source: ImageSource) -> EmbeddedImage:
        """Make the image of *source* to embed.  Raises `SourceError` if the file does not parse."""
        embedded = image.kept(source)
        if embedded is None:
            making.prepare(source.boards, source.standard)
            content = trial.in_child(source.path, lambda: image.pack(_made_of(source)))
            embedded = _made_of(source) if content is None else image.unpack(content)
            image.keep(source, embedded)
        return embedded

    def _device_only(self, path: str, target: str | None) -> int:
        """Write only the device's side of a file: as text for ``-S``, as `cnas`'s object for ``-c``."""
        command = self.command
        if command.dry:
            return self._with_kernels(path, target, ["-S"])
        assembly = self.scratch / "device.s"
        code = self._with_kernels(path, str(assembly), ["-S"])
        if code:
            return code
        listing = assembly.read_text(encoding="utf-8")
        source = self._source(path)
        forms = ""
        for board in source.boards:
            form = image.device_side(translate(source.path, _options(source, board)).form)
            forms += f"// {board.arch.name}\n{module_text(form)}\n"
        text = image.text_of(forms, listing, path, [b.arch.name for b in self.boards])
        if "-S" in command.modes:
            Path(str(target)).write_text(text, encoding="utf-8")
            return 0
        assembly.write_text(text, encoding="utf-8")
        return self._call(["-x", "assembler", "-c", str(assembly), "-o", str(target)])

    def _device_file(self, path: str, ending: str, target: str | None) -> int:
        """Write only the device code of a file, in the format that objects embed."""
        command = self.command
        if ending not in BANG:
            raise UsageError(f"{path} has no device code; give a .mlu file, or -x bang")
        if "--bang-cnbin-only" in command.modes and len(self.boards) > 1:
            names = ", ".join(board.arch.name for board in self.boards)
            raise UsageError(
                f"--bang-cnbin-only writes code of one architecture, not of {names}; give --bang-fatbin-only"
            )
        code = self._with_kernels(path, str(self.scratch / "device.o"), ["-c"])
        if not (code or command.dry):
            Path(str(target)).write_bytes((self.scratch / IMAGE).read_bytes())
        return code

    # -- linking ---------------------------------------------------------------------------------

    def _link(self, objects: Sequence[str]) -> int:
        command = self.command
        lib = self.home / "lib64"
        words = [objects[word] if isinstance(word, int) else word for word in command.link]
        openmp = compiler.folders_of_openmp() if "-fopenmp" in words else ()
        ours = [
            *(f"-L{folder}" for folder in (lib, *openmp)),
            *("-lcnrt", f"-Wl,-rpath,{lib}", "-pthread", QUIET[-1], "-o", command.output or "a.out"),
        ]
        code, said = self._ran([*words, *ours])
        other = compiler.with_gcc(said, words) if code else None
        if other is not None:
            again, more = self._ran([*other, *ours])
            code, said = (again, more) if again == 0 else (code, said)
        return self._said(code, said, words)


def _links(embedded: EmbeddedImage, binding: str) -> str:
    """Return assembly with symbols for device functions, by which a linker selects members of archives.

    An undefined name such as ``_Z5twicePf.device`` is printed as ``twice(float*) [clone .device]``. The names by
    which other compilers' objects refer to the kernels have the given *binding*: weak in an object with host code.
    """
    offered = [
        f".weak {symbol}.device\\n.type {symbol}.device,%object\\n{symbol}.device: .byte 0"
        for symbol in embedded.defined
    ]
    needed = [f".quad {symbol}.device" for symbol in embedded.needed]
    lines = ['.pushsection .mlusim_device,\\"a\\",%progbits', *offered, ".popsection"] if offered else []
    if needed:  # writable, since another library may define the names
        lines += ['.pushsection .mlusim_needed,\\"aw\\",%progbits', *needed, ".popsection"]
    lines += [f"{binding} {name}\\n.set {name},{stub}" for name, stub in embedded.launched]
    text = "\\n".join(lines)
    return f'__asm__("{text}");' if lines else ""


def _tell(diagnostic: Diagnostic, kind: str) -> None:
    below = f"\n{diagnostic.below}" if diagnostic.below else ""
    sys.stderr.write(
        f"{diagnostic.file}:{diagnostic.line}:{diagnostic.column}: {kind}: {diagnostic.message}{below}\n"
    )


# The device code of a file, translated for each architecture.


def _options(source: ImageSource, board: Board) -> Options:
    return Options(
        source.include, source.define, board, vouched=True, before=source.before, standard=source.standard
    )


def _made_of(source: ImageSource) -> EmbeddedImage:
    forms = [
        image.device_side(making.made(source.path, _options(source, board), source.asked).form)
        for board in source.boards
    ]
    kinds = {f.kind for form in forms for f in form.functions.values() if not f.external}
    read = dict.fromkeys(path for form in forms for path in form.includes)
    refused, warnings = _problems(forms, source.path)
    return EmbeddedImage(
        image.write(source, forms),
        (*warnings, *_absent(forms, source.boards)),
        kinds == {"device"},
        tuple(dict.fromkeys(symbol for form in forms for symbol in image.offered(form, source.path))),
        tuple(dict.fromkeys(symbol for form in forms for symbol in image.wanted(form, source.path))),
        {path: image.digest(path) for path in read},
        tuple(image.launched(forms[0], source.path)),  # for the architecture of the host's compilation
        refused,
        tuple(image.stubs(forms[0])),
    )


def _problems(
    forms: Sequence[ir.TranslationUnit], path: str
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """Return everything that does not translate, without duplicates: first functions whose code is required, then the others."""
    needed, unneeded = dict[Diagnostic, None](), dict[Diagnostic, None]()
    for form in forms:
        required = image.required(form, path)
        for symbol, function in form.functions.items():
            if function.problem is not None:
                (needed if symbol in required else unneeded)[diagnostic_of(function)] = None
    return tuple(needed), tuple(diagnostic for diagnostic in unneeded if diagnostic not in needed)


def _absent(forms: Sequence[ir.TranslationUnit], boards: Sequence[Board]) -> Iterator[Diagnostic]:
    """Yield a warning for each kernel that exists for the first architecture, but not for another one."""
    for form, board in zip(forms[1:], boards[1:], strict=True):
        for symbol, function in forms[0].functions.items():
            if function.kind == "kernel" and not function.external and symbol not in form.functions:
                text = f"{function.name} is there for {boards[0].arch.name} and not for {board.arch.name}, where its launch is an error"
                yield Diagnostic(function.span.file, function.span.line, function.span.column, text)


def _reasons(source: ImageSource, lost: Sequence[str]) -> tuple[Diagnostic, ...]:
    """Return why the kernels *lost* have no device code: errors of the front end in *source* that clang did not report; () if none is lost."""
    if not lost:
        return ()
    names = ", ".join(map(image.name_of, lost))
    verb = plural(len(lost), "this kernel", "these kernels")
    first = Diagnostic(
        source.path, 1, 1, f"the host's compiler has {verb} and the device's does not see how: {names}"
    )
    with unit.parsed(source.path, _options(source, source.boards[0])) as read:
        return (first, *(broken.diagnostic for broken in read.broken))


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:], Path(sys.argv[1])))
