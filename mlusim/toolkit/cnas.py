"""``cnas``: assembles the output of ``cncc -S --bang-device-only`` to an object, with the flags of the vendor's assembler."""

import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attrs import define, field

import mlusim
from mlusim.errors import MlusimError, UsageError
from mlusim.near import near
from mlusim.toolkit import image
from mlusim.toolkit.cncc import VERSION
from mlusim.toolkit.compiler import host_compiler
from mlusim.toolkit.flags import ASSEMBLER_FLAGS, CompilerFlag, FlagShape, FlagUse, architecture

FAILED, USAGE = 1, 2  # 1: the input is damaged; 2: the command or a file cannot be used
CPUS = {"x86_64": "x86_64", "x86-64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
"""The hosts that the flag ``--mcpu`` accepts, with the names that kernels report."""


@define
class AssemblerCommand:
    """The parsed command line."""

    inputs: list[str] = field(factory=list)
    output: str = ""
    architectures: list[str] = field(factory=list)
    asked: str = ""


def main(argv: Sequence[str]) -> int:
    """Execute the command with the flags *argv*; return the exit code."""
    try:
        return _main(read(argv))
    except MlusimError as error:
        sys.stderr.write(f"cnas: error: {error}\n")
    except OSError as error:
        sys.stderr.write(f"cnas: error: {error.filename or 'cnas'}: {error.strerror or error}\n")
    except KeyboardInterrupt:
        return 130  # 128 plus the number of SIGINT, as in shells
    return USAGE


def read(words: Sequence[str]) -> AssemblerCommand:
    """Parse the command line *words*.  Raises `UsageError` for unknown flags, and for a flag without its value."""
    command, left = AssemblerCommand(), list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word == "-":
            command.inputs.append(word)
            continue
        name, equals, value = word.partition("=")
        flag = next((f for f in ASSEMBLER_FLAGS if f.spelling == name), None)
        if flag is None:
            guess = near(name, [f.spelling for f in ASSEMBLER_FLAGS], 1)
            advice = f"did you mean {guess[0]}?" if guess else "see `cnas --help`"
            raise UsageError(f"there is no flag {name}; {advice}")
        if flag.shape is not FlagShape.ALONE and not equals:
            if not left:
                raise UsageError(f"{name} has no value; type {flag.shown}")
            value = left.pop(0)
        _take(command, flag, value)
    return command


def _take(command: AssemblerCommand, flag: CompilerFlag, value: str) -> None:
    if flag.use is FlagUse.INPUT:
        command.inputs.append(value)
    elif flag.use is FlagUse.OUTPUT:
        command.output = value
    elif flag.use is FlagUse.ARCH:
        command.architectures.append(architecture(value))
    elif flag.use is FlagUse.ASKED:
        command.asked = flag.spelling
    elif flag.spelling == "--mcpu" and CPUS.get(value) != platform.machine():
        raise UsageError(
            f"--mcpu {value} names another host than this machine, {platform.machine()}; leave the flag out"
        )


def _main(command: AssemblerCommand) -> int:
    if command.asked == "--version":
        sys.stdout.write(f"cnas: v{VERSION} (mlusim {mlusim.__version__})\n")
        return 0
    if command.asked:
        sys.stdout.write("".join(f"{f.shown:34} {f.meaning}\n" for f in ASSEMBLER_FLAGS))
        return 0
    if len(command.inputs) != 1:
        inputs = ", ".join(command.inputs) or "none"
        raise UsageError(
            f"one input is assembled at a time, and these were given: {inputs}; type `cnas -i kernel.s -o kernel.o`"
        )
    source = Path(command.inputs[0])
    text = image.read_text(source)
    for name in command.architectures:
        if name not in text.architectures:
            have = ", ".join(text.architectures)
            raise UsageError(
                f"{source} has code for {have}, not for {name}; compile {text.source} with --bang-mlu-arch={name}"
            )
    # In the current folder, like compilers.
    return _assembled(source, Path(command.output or source.with_suffix(".o").name))


def _assembled(source: Path, target: Path) -> int:
    """Write the object *target*, whole or not at all; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="cnas-") as scratch:
        object_file = Path(scratch) / "made.o"
        # With -x the name of the text may have any suffix.
        words = [*host_compiler().argv, "-x", "assembler", "-c", str(source), "-o", str(object_file)]
        done = subprocess.run(words, check=False, capture_output=True, text=True)  # noqa: S603 - that is what it is for
        if done.returncode:
            sys.stderr.write(
                f"cnas: error: {source} is damaged; write it again with `cncc -S --bang-device-only`\n"
            )
            return FAILED
        target.write_bytes(object_file.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
