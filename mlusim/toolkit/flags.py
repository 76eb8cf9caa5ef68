"""The flags of ``cncc`` and how each is handled; flags that are not in the table are passed to clang."""

from collections.abc import Mapping, Sequence
from enum import Enum

from attrs import frozen

from mlusim.arch.catalog import ARCHES, find_board
from mlusim.errors import UsageError
from mlusim.near import near


class FlagUse(Enum):
    """How the driver handles a flag."""

    ARCH = "names an architecture of the device"
    MODE = "says what is made"
    INPUT = "names what is read"
    OUTPUT = "names what is made"
    BOTH = "goes to clang, and to the translation of device code"
    HOST = "goes to clang"
    LINK = "goes to the linker"
    ASKED = "is answered"
    NOTHING = "is taken, and does nothing here"


class FlagShape(Enum):
    """How a flag carries its value."""

    ALONE = "{0}"
    EQUALS = "{0}=VALUE"
    NEXT = "{0} VALUE"
    EITHER = "{0} VALUE, {0}VALUE"


@frozen
class CompilerFlag:
    """One flag: its spelling, the shape of its value, how it is handled, and why."""

    spelling: str
    shape: FlagShape
    use: FlagUse
    meaning: str

    @property
    def shown(self) -> str:
        """The flag with its value, as typed by users."""
        return self.shape.value.format(self.spelling)


_A, _E, _N, _S = FlagShape.ALONE, FlagShape.EQUALS, FlagShape.NEXT, FlagShape.EITHER
FLAGS: tuple[CompilerFlag, ...] = (
    CompilerFlag("--bang-mlu-arch", _E, FlagUse.ARCH, "an architecture, as mtp_592, or a board's name, as MLU270; several may be given, and unknown ones beside a known one are left out with a warning"),
    CompilerFlag("--bang-arch", _E, FlagUse.ARCH, "an architecture as its number, compute_20, compute_30 or compute_50"),
    CompilerFlag("-c", _A, FlagUse.MODE, "compile to objects and link nothing"),
    CompilerFlag("-S", _A, FlagUse.MODE, "write assembly of the host; with --bang-device-only the device's form as text, of which `cnas` makes an object"),
    CompilerFlag("-E", _A, FlagUse.MODE, "write the preprocessed source"),
    CompilerFlag("-fsyntax-only", _A, FlagUse.MODE, "look for errors and write nothing"),
    CompilerFlag("-M", _A, FlagUse.MODE, "write the dependencies and compile nothing"),
    CompilerFlag("-MM", _A, FlagUse.MODE, "the same without headers of the system"),
    CompilerFlag("--bang-device-only", _A, FlagUse.MODE, "with -S or -c: the device's side alone, kernels that objects of other compilers launch"),
    CompilerFlag("--bang-host-only", _A, FlagUse.MODE, "the host's side alone: kernels cannot be launched"),
    CompilerFlag("--mlusim-untranslated", _A, FlagUse.MODE, "only of mlusim: a kernel that does not translate is a warning and no error, and its launch is an error of its queue"),
    CompilerFlag("--bang-fatbin-only", _A, FlagUse.MODE, "a file of the device's code alone, for every architecture that is named"),
    CompilerFlag("--bang-cnbin-only", _A, FlagUse.MODE, "the same for one architecture"),
    CompilerFlag("-shared", _A, FlagUse.MODE, "link a shared library"),
    CompilerFlag("--shared", _A, FlagUse.MODE, "the same"),
    CompilerFlag("-o", _S, FlagUse.OUTPUT, "the file to write"),
    CompilerFlag("-I", _S, FlagUse.BOTH, "a folder of headers"),
    CompilerFlag("-isystem", _S, FlagUse.BOTH, "a folder of headers without warnings"),
    CompilerFlag("-iquote", _S, FlagUse.BOTH, "a folder of headers in quotes"),
    CompilerFlag("-idirafter", _S, FlagUse.BOTH, "a folder of headers behind the others"),
    CompilerFlag("-D", _S, FlagUse.BOTH, "define a macro"),
    CompilerFlag("-U", _S, FlagUse.BOTH, "forget a macro"),
    CompilerFlag("-std", _E, FlagUse.BOTH, "the standard of C++, for kernels c++11, c++14, c++17 or c++20, or gnu++ of them (default: c++17)"),
    CompilerFlag("--std", _E, FlagUse.BOTH, "the same"),
    CompilerFlag("-include", _N, FlagUse.BOTH, "a header before the source"),
    CompilerFlag("-MD", _A, FlagUse.HOST, "write the dependencies beside the object; -MMD, -MF, -MT, -MQ, -MP and -MG likewise"),
    CompilerFlag("-MF", _S, FlagUse.HOST, "the file of dependencies"),
    CompilerFlag("-MT", _S, FlagUse.HOST, "the target in it"),
    CompilerFlag("-MQ", _S, FlagUse.HOST, "the target in it, quoted for make"),
    CompilerFlag("-MJ", _S, FlagUse.HOST, "a file of the commands"),
    CompilerFlag("-x", _S, FlagUse.MODE, "the language of the files behind it: bang (or mlu), c++ or c"),
    CompilerFlag("-Xclang", _N, FlagUse.HOST, "a word for clang itself"),
    CompilerFlag("-Xpreprocessor", _N, FlagUse.HOST, "a word for the preprocessor"),
    CompilerFlag("-target", _N, FlagUse.HOST, "the host's system"),
    CompilerFlag("-L", _S, FlagUse.LINK, "a folder of libraries"),
    CompilerFlag("-l", _S, FlagUse.LINK, "a library, in its place among the files"),
    CompilerFlag("-Wl,", _A, FlagUse.LINK, "words for the linker, divided by commas"),
    CompilerFlag("-Xlinker", _N, FlagUse.LINK, "a word for the linker"),
    CompilerFlag("-T", _S, FlagUse.LINK, "a script for the linker"),
    CompilerFlag("-u", _S, FlagUse.LINK, "a symbol that is wanted"),
    CompilerFlag("-z", _S, FlagUse.LINK, "a keyword for the linker"),
    CompilerFlag("--version", _A, FlagUse.ASKED, "the version, first the one of the vendor's compiler that it stands for"),
    CompilerFlag("--help", _A, FlagUse.ASKED, "the flags"),
    CompilerFlag("-v", _A, FlagUse.ASKED, "show the commands that are run; alone, the version"),
    CompilerFlag("-###", _A, FlagUse.ASKED, "show the commands and run none"),
    CompilerFlag("-print-flags", _A, FlagUse.ASKED, "this table"),
    CompilerFlag("--neuware-path", _E, FlagUse.NOTHING, "the folder is the one that cncc lies in"),
    CompilerFlag("--no-neuware-version-check", _A, FlagUse.NOTHING, "there is one version"),
    CompilerFlag("--neuware-version-check", _A, FlagUse.NOTHING, "there is one version"),
    CompilerFlag("--cnas-path", _E, FlagUse.NOTHING, "device code has no other assembler"),
    CompilerFlag("-flto", _A, FlagUse.NOTHING, "each file is optimised by itself"),
    CompilerFlag("-Xbang-cnas", _N, FlagUse.NOTHING, "a word for the device's assembler"),
    CompilerFlag("-Xbang-cnlinker", _N, FlagUse.NOTHING, "a word for the device's linker"),
    CompilerFlag("-mllvm", _N, FlagUse.NOTHING, "a word for the code generator of the vendor's compiler; `mlusim check` has its sanitizer's checks"),
    CompilerFlag("-fbang-instrument-kernels", _A, FlagUse.NOTHING, "`mlusim profile` tells the time of kernels"),
    CompilerFlag("--bang-stack-on-ldram", _A, FlagUse.NOTHING, "the stack has a memory of its own"),
    CompilerFlag("--bang-wram-align64", _A, FlagUse.NOTHING, "WRAM is aligned to 64 bytes"),
    CompilerFlag("--bang-memcpy-opt", _A, FlagUse.NOTHING, "copies are taken as they stand"),
    CompilerFlag("--bang-single-arch", _A, FlagUse.NOTHING, "each architecture is translated by itself"),
    CompilerFlag("--bang-device-debug", _A, FlagUse.NOTHING, "lines of kernels are always kept; `mlusim debug` shows them"),
    CompilerFlag("-fbang-math", _A, FlagUse.NOTHING, "functions of mathematics are those of the instruction set"),
    CompilerFlag("--fatbin", _A, FlagUse.NOTHING, "every architecture that was named is in the object"),
)  # fmt: skip
"""The flags of the vendor's compiler that builds use, and the flags of clang that the driver examines."""

ASSEMBLER_FLAGS: tuple[CompilerFlag, ...] = (
    CompilerFlag("-i", _N, FlagUse.INPUT, "the text to read, as `cncc -S --bang-device-only` writes it; it may stand without the flag"),
    CompilerFlag("-o", _N, FlagUse.OUTPUT, "the object to write (default: the name of the text with .o, in this folder)"),
    CompilerFlag("--mlu-arch", _N, FlagUse.ARCH, "an architecture that the text must have code for"),
    CompilerFlag("--mcpu", _N, FlagUse.HOST, "the host, x86_64 or aarch64: that of this machine"),
    CompilerFlag("--device-only", _A, FlagUse.NOTHING, "there is no other side"),
    *(CompilerFlag(f"-O{level}", _A, FlagUse.NOTHING, "`cncc` has optimised the text") for level in range(4)),
    CompilerFlag("-g", _A, FlagUse.NOTHING, "lines of kernels are always kept"),
    CompilerFlag("--version", _A, FlagUse.ASKED, "the version"),
    CompilerFlag("--help", _A, FlagUse.ASKED, "this table"),
)  # fmt: skip
"""The flags of ``cnas``."""

ARCHITECTURES: Mapping[str, str] = {
    "compute_10": "mtp_220",
    "compute_20": "mtp_270",
    "compute_30": "mtp_372",
    "compute_50": "mtp_592",
}
"""The architectures by their older numbers."""
# An unknown flag is passed to clang, which would report one of these with a misleading message.
VENDORS = ("--bang", "-fbang", "-Xbang", "--neuware", "--cnas", "-bang")
"""The beginnings of flags that only the vendor's compiler has: unknown ones are refused."""
STANDARDS: Mapping[str, str] = {
    "11": "11",
    "0x": "11",
    "14": "14",
    "1y": "14",
    "17": "17",
    "1z": "17",
    "20": "20",
    "2a": "20",
}
"""The C++ standards that the vendor's compiler supports and its headers can be parsed in, with older names."""
_BY_SPELLING: Mapping[str, CompilerFlag] = {flag.spelling: flag for flag in FLAGS}
# Flags whose value may follow without a blank, as -DNAME; the value of -Wl, follows a comma.
_JOINED = tuple(flag for flag in FLAGS if flag.shape is FlagShape.EITHER or flag.spelling == "-Wl,")


@frozen
class GivenFlag:
    """A flag of a command line with its value; ``words`` are the original words."""

    flag: CompilerFlag
    value: str
    words: tuple[str, ...]


def taken(words: Sequence[str], at: int) -> GivenFlag | None:
    """Parse the flag in the table that begins at *words[at]*; return None for a flag of clang.

    Raises `UsageError` for an unknown flag of the vendor's compiler, and for a flag without its value.
    """
    word = words[at]
    name, equals, value = word.partition("=")
    flag = _BY_SPELLING.get(word)
    if flag is not None:
        if flag.shape in (FlagShape.NEXT, FlagShape.EITHER):
            if at + 1 == len(words):
                raise UsageError(f"{word} has no value; type {flag.shown}")
            return GivenFlag(flag, words[at + 1], (word, words[at + 1]))
        if flag.shape is FlagShape.EQUALS:
            raise UsageError(f"{word} has no value; type {flag.shown}")
        return GivenFlag(flag, "", (word,))
    # -D NAME=1 and -DNAME=1 contain an `=` that does not belong to the flag.
    flag = _BY_SPELLING.get(name) if equals else None
    if flag is not None and flag.shape is not FlagShape.EITHER:
        return GivenFlag(flag, value, (word,))
    for joined in _JOINED:
        if word.startswith(joined.spelling):
            return GivenFlag(joined, word.removeprefix(joined.spelling), (word,))
    if word.startswith(VENDORS):
        guess = near(name, [f.spelling for f in FLAGS if f.spelling.startswith(VENDORS)], 1)
        hint = f"did you mean {_BY_SPELLING[guess[0]].shown}?" if guess else "see `cncc --help`"
        raise UsageError(f"there is no flag {word}; {hint}")
    return None


def standard(value: str) -> str:
    """Return the C++ standard for kernels that *value* names.  Raises `UsageError` for any other value."""
    family, plus, year = value.partition("++")
    if family not in ("c", "gnu") or not plus or year not in STANDARDS:
        names = ", ".join(f"c++{year}" for year in dict.fromkeys(STANDARDS.values()))
        raise UsageError(f"kernels are not compiled with -std={value}; give one of {names}, or its gnu++")
    return f"{family}++{STANDARDS[year]}"


def architecture(value: str) -> str:
    """Return the architecture that *value* names: by its own name, an older number, or a board.  Raises `UsageError`."""
    plain = value.strip()
    if plain in ARCHES:
        return plain
    if plain in ARCHITECTURES:
        return ARCHITECTURES[plain]
    try:
        return find_board(plain).arch.name
    except UsageError:
        names = ", ".join([*ARCHES, *ARCHITECTURES])
        raise UsageError(f"{value!r} is not an architecture; give one of {names}, or a board") from None
