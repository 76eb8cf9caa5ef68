"""One translation unit of a module: its intermediate form, and its functions as Python where they are wanted."""

import ast

from attrs import define, field

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.render.context import Uses
from mlusim.frontend.bangc.render.functions import Rendered, initial, render


@define(eq=False)
class File:
    """A file that was lowered; ``rendered`` grows as functions are wanted."""

    form: ir.TranslationUnit
    rendered: dict[tuple[str, bool, bool], Rendered] = field(factory=dict)
    initials: dict[str, tuple[ast.expr, Uses]] = field(factory=dict)

    def function(self, symbol: str, *, deep: bool = False, checked: bool = False) -> Rendered:
        """Return the function called *symbol*, rendered.

        A *deep* one calls itself and looks how often it is inside itself; a *checked* one reports values that change
        without a word.
        """
        key = symbol, deep, checked
        found = self.rendered.get(key)
        if found is None:
            found = self.rendered[key] = render(self.form.functions[symbol], deep=deep, checked=checked)
        return found

    def initial(self, symbol: str) -> tuple[ast.expr, Uses] | None:
        """Return the value of a host variable at file scope that is no constant, and what it refers to; None without one."""
        expression = self.form.initialisers.get(symbol)
        if expression is None:
            return None
        found = self.initials.get(symbol)
        if found is None:
            found = self.initials[symbol] = initial(self.form.globals[symbol], expression)
        return found
