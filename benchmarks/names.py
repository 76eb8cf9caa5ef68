"""``python -m benchmarks names FOLDER... [--arch mtp_372] [--page FILE]``: the calls in sources that the table of the instruction set lacks.

Three kinds: unknown names, forms (a known name with a number of arguments that none of its prototypes takes), and
rows that the architecture lacks.  Sources are read as text, without comments and strings.  A name that the folder
itself defines or ``#define``s is not counted; code for other architectures is.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from mlusim.arch.catalog import BOARDS
from mlusim.bangc.prelude import INCLUDE
from mlusim.errors import UsageError
from mlusim.isa.prototypes import Prototype, all_prototypes
from mlusim.isa.table import ISA

ENDINGS, HEADERS = (".mlu", ".mluh"), (".h", ".hpp")
MADE = "lib64/mlusim.conf"  # marks a toolkit folder, whose headers are made from the table
OF_DEVICE = re.compile(r"\b__(?:mlu|bang)_")  # in a header that has code for the device
CALL = re.compile(r"\b(__[a-z]\w*)\s*(?:<[\w\s,]+>)?\s*\(")
DEFINED = re.compile(r"#\s*define\s+(\w+)|\b(__\w+)\s*\((?:[^(){};]|\([^(){};]*\))*\)\s*(?:const\s*)?\{")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
COMPILER = re.compile(
    r"__(?:attribute|asm|declspec|builtin\w*|typeof|alignof|has_\w+|launch_bounds|volatile|func|thread|restrict|is_\w+able|"
    r"pragma|nram|wram|ldram|mlu\w*|extension)(?:__)?"
)


@frozen
class Lack:
    """A lacking thing: its kind ("name", "form" or "architecture"), how often it is called, and where first."""

    kind: str
    text: str
    count: int
    place: str


@frozen
class Calls:
    """The calls of one name with one number of arguments in *places*."""

    name: str
    arguments: int
    places: tuple[str, ...]


def lacks(folder: Path, arch: str) -> list[Lack]:
    """Return everything that the sources below *folder* call and the table lacks on *arch*.  Raises `UsageError` for a folder without sources."""
    generated = [path.parents[1] for path in folder.rglob(MADE)]
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in ENDINGS + HEADERS
        and path.is_file()
        and not any(map(path.is_relative_to, generated))
    ]
    texts = {path: NOISE.sub(_blank, path.read_text(encoding="utf-8", errors="replace")) for path in files}
    texts = {p: text for p, text in texts.items() if p.suffix in ENDINGS or OF_DEVICE.search(text)}
    if not texts:
        raise UsageError(f"{folder} has no sources that end with {' or '.join(ENDINGS)}")
    defined = {name for text in texts.values() for pair in DEFINED.findall(text) for name in pair if name}
    prototypes = _known()
    number = next(board.arch.bang_arch for board in BOARDS.values() if board.arch.name == arch)
    return [
        lack for calls in _calls(texts, folder, defined) if (lack := _lack(calls, prototypes, arch, number))
    ]


def _blank(match: re.Match[str]) -> str:
    """Return as many line breaks as the match had, or an empty string literal for a string."""
    return '""' if match[0][0] == '"' else "\n" * match[0].count("\n") or " "


def _known() -> Mapping[str, list[Prototype]]:
    prototypes: defaultdict[str, list[Prototype]] = defaultdict(list)
    for prototype in all_prototypes():
        prototypes[prototype.spelling].append(prototype)
    for header in INCLUDE.rglob("*.h"):
        for name in re.findall(r"\b__\w+", header.read_text(encoding="utf-8")):
            prototypes.setdefault(name, [])
    return prototypes


def _calls(texts: Mapping[Path, str], folder: Path, defined: set[str]) -> Iterator[Calls]:
    places_of: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for path, text in texts.items():
        for match in CALL.finditer(text):
            name = match[1]
            if name in defined or COMPILER.fullmatch(name):
                continue
            count = _arguments(text, match.end())
            line = text.count("\n", 0, match.start()) + 1
            places_of[name, count].append(f"{path.relative_to(folder)}:{line}")
    for (name, count), places in sorted(places_of.items()):
        yield Calls(name, count, tuple(places))


def _arguments(text: str, at: int) -> int:
    """Return the number of arguments of the call whose opening parenthesis ends before *at*, -1 if it is never closed."""
    depth, count, seen = 1, 1, False
    for letter in text[at : at + 20000]:
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if not depth:
                return count if seen else 0
        elif letter == "," and depth == 1:
            count += 1
        seen = seen or not letter.isspace()
    return -1


def _lack(
    calls: Calls, prototypes_of: Mapping[str, Sequence[Prototype]], arch: str, number: int
) -> Lack | None:
    many, place = len(calls.places), calls.places[0]
    if calls.name not in prototypes_of:
        return Lack("name", f"`{calls.name}`", many, place)
    prototypes = prototypes_of[calls.name]
    if not prototypes:
        return None
    fitting = [prototype for prototype in prototypes if _takes(prototype, calls.arguments)]
    if not fitting:
        return Lack("form", f"`{calls.name}` with {calls.arguments} arguments", many, place)
    if not any(ISA[prototype.row].available(number) for prototype in fitting):
        return Lack("architecture", f"`{calls.name}` on {arch}", many, place)
    return None


def _takes(prototype: Prototype, count: int) -> bool:
    least = sum(not p.default for p in prototype.parameters)
    if any(p.type == "..." for p in prototype.parameters):
        return count >= least - 1
    return count == -1 or least <= count <= len(prototype.parameters)


def main(argv: Sequence[str] | None = None) -> int:
    """Print one table for all folders; return 1 if anything is lacking."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks names", description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="FOLDER[:ARCH]", help="sources, and their architecture")
    parser.add_argument("--arch", default="mtp_592", help="of the folders that name none (default: mtp_592)")
    args = parser.parse_args(argv)
    lacking = 0
    print("| sources | architecture | what | lacks | calls | first |\n| --- | --- | --- | --- | --- | --- |")
    try:
        for words in args.folders:
            path, _, arch = words.partition(":")
            folder = Path(path).resolve()
            for lack in lacks(folder, arch or args.arch):
                lacking += 1
                print(
                    f"| {folder.name} | {arch or args.arch} | {lack.kind} | {lack.text} | {lack.count} | {lack.place} |"
                )
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return int(lacking > 0)


if __name__ == "__main__":
    sys.exit(main())
