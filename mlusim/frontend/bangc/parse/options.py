"""How a file is parsed, and a name for what it holds: known without a parser."""

import hashlib

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.frontend.bangc import prelude


@frozen
class Options:
    """How a file is parsed: include directories, definitions, the board.

    With *vouched* a compiler that has the real headers of host code accepts the file: what is an error here, and stands in no
    function of the device, is only unknown to the headers that stand in.
    """

    include: tuple[str, ...]
    define: tuple[tuple[str, str | None], ...]
    board: Board
    vouched: bool = False
    before: tuple[str, ...] = ()  # headers that are included first
    standard: str = prelude.LANGUAGE  # of C++

    @property
    def flags(self) -> list[str]:
        """As the compiler's flags, behind those of the supplied headers."""
        defines = [f"-D{name}" + ("" if value is None else f"={value}") for name, value in self.define]
        return [
            *(f"-I{directory}" for directory in self.include),
            "-isystem",
            str(prelude.STANDARD),
            *defines,
            *(word for header in self.before for word in ("-include", header)),
        ]


def digest(text: str) -> str:
    """Return a short name for the content of a file."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
