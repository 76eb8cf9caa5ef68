"""The text that ``cncc -S --bang-device-only`` writes and ``cnas`` reads: the device's form for people, and an assembly for the linker.

Every line of the form is a comment of the assembly, so that the text as a whole is one.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.toolkit.record import STUB

MARK = "// cncc of mlusim wrote this: device code of "
END = "// end of device code"
_HEAD = re.compile(re.escape(MARK) + r"(?P<source>.*) for (?P<architectures>[\w, ]+)")
_LAUNCHED = re.compile(rf"^\s*\.set\s+(\S+?),\s*\S*{STUB}", re.MULTILINE)
_GLOBAL = re.compile(r"^\t\.globl\t(\S+).*\n", re.MULTILINE)


@frozen
class DeviceText:
    """A text that was read: the source that it was made of, and the architectures of its code."""

    source: str
    architectures: tuple[str, ...]


def written(form: str, assembly: str, source: str, architectures: Sequence[str]) -> str:
    """Return the text of *source*: its *form*, then the *assembly* of the host's side without the host's own functions and variables."""
    listing = "".join(f"{_comment(line)}\n" for line in form.splitlines())
    names = set(_LAUNCHED.findall(assembly))
    launching = _GLOBAL.sub(lambda g: g[0] if STUB in g[1] or g[1] in names else "", assembly)
    return f"{MARK}{Path(source).name} for {', '.join(architectures)}\n//\n{listing}\n{launching}{END}\n"


def _comment(line: str) -> str:
    return line if line.startswith("//") else f"// {line}".rstrip()


def read(path: Path) -> DeviceText:
    """Return the source and architectures of the text in the file *path*.

    Raises `UsageError` for a file that is none, or not whole; `OSError`.
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
