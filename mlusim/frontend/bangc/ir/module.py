"""Functions and modules of the intermediate form."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import Factory, define

from mlusim.frontend.bangc.ir.names import Global, Local, Span, TranslationProblem
from mlusim.frontend.bangc.types import Record, Type

if TYPE_CHECKING:
    from mlusim.frontend.bangc.ir.expressions import Expr
    from mlusim.frontend.bangc.ir.statements import Statement

REST = "_c_rest"  # the arguments behind the parameters, in a function that takes some


@define(eq=False)
class Function:
    """One function of the sources, or one specialisation of a template.

    ``name`` is the display name, ``f<float>``; ``symbol`` the mangled one.  ``kind`` is "kernel",
    "device" or "host".  Parameters come first in ``locals``.  Where ``problem`` is set the body is
    empty and a call of it is a fault with that sentence.  ``owner`` is the class of a method, whose
    first parameter is ``this``.
    """

    name: str
    symbol: str
    kind: str
    parameters: tuple[Local, ...]
    locals: tuple[Local, ...]
    result: Type
    body: "tuple[Statement, ...]"
    span: Span
    problem: TranslationProblem | None = None
    external: bool = False  # declared here, defined in another file: found by symbol when linked
    variadic: bool = False  # takes more arguments than it has parameters
    hosted: "Span | None" = None  # where the body of a function of the host is, which only its compiler reads
    scope: str = ""  # the namespaces and classes around it, with "::" behind each

    @property
    def definition(self) -> tuple[str, str, int]:
        """Return the key that tells it from every other function: static ones of two files share a symbol."""
        return self.symbol, self.span.file, self.span.line


@define(eq=False)
class TranslationUnit:
    """One translation unit: its functions and variables by symbol, in the order in which they are met."""

    path: str
    functions: dict[str, Function] = Factory(dict)
    globals: dict[str, Global] = Factory(dict)
    initialisers: "dict[str, Expr]" = Factory(dict)  # of host variables whose value is no constant, by symbol
    records: dict[str, Record] = Factory(dict)
    enumerations: Mapping[str, Mapping[str, int]] = Factory(dict)  # numbers by name, by the name of the type
    includes: Mapping[str, str] = Factory(dict)  # path of everything read -> digest of its content
