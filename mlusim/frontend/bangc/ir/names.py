"""The referents of nodes: pieces of source text, locals, variables at file scope."""

import re
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import define, frozen

if TYPE_CHECKING:
    from mlusim.frontend.bangc.types import Type


class Span(NamedTuple):
    """A piece of a source file: lines and columns count from 1, ``end_column`` is behind the last character."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Storage(Enum):
    """The storage of a local's bytes; see the module's text."""

    VALUE = "value"
    CELL = "cell"
    MEMORY = "memory"
    STATIC = "static"


@define(eq=False)
class Local:
    """A parameter or a variable of a function.

    ``name`` is unique in the function and safe as an identifier; ``source_name`` is what the
    programmer wrote; ``spelling`` the type as written.  ``space`` is "nram", "wram", "sram" or
    "ldram" for MEMORY.  With ``stack`` the source names no space: a compiler has the bytes on its stack.
    ``block`` is the statement at whose end the name goes out of scope; None: the function.  ``fixed`` names a static one that
    no store may change in a sentence; "" for what may change.  ``constant`` names one that is const and not static.
    """

    name: str
    source_name: str
    type: "Type"
    spelling: str
    span: Span
    storage: Storage = Storage.VALUE
    space: str = ""
    parameter: bool = False
    stack: bool = False
    home: str = ""  # of STATIC: what it is by, in every function that sees it
    block: Span | None = None
    fixed: str = ""
    constant: str = ""


@define(eq=False)
class Global:
    """A variable at file scope: memory of ``space``, or a host or constant variable where that is "".

    ``symbol`` is its mangled name, unique in the file.  ``initial`` are the values of its scalars in
    order of memory where it has an initialiser that is constant, None where it has none.  ``fixed`` names what
    no store may change in a sentence; "" for what may change.
    """

    name: str
    symbol: str
    type: "Type"
    space: str
    span: Span
    initial: "tuple[Any, ...] | None" = None
    fixed: str = ""
    alone: bool = True  # no other variable of the file has the name

    @property
    def alias(self) -> str:
        """A name that nothing else has."""
        return "_c_v_" + re.sub(r"\W", "_", self.symbol)


@frozen
class TranslationProblem:
    """Why something does not translate: the construct in two or three words, a sentence, the text with a caret."""

    construct: str
    message: str
    span: Span
    excerpt: str = ""

    def __str__(self) -> str:
        return f"{self.span}: {self.message}" + (f"\n{self.excerpt}" if self.excerpt else "")
