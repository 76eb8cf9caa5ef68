"""The results of translating a file: its form, its templates, and what was asked for by name."""

from attrs import define, frozen

from mlusim.frontend.bangc import ir


@frozen
class Template:
    """A function template of a file: its name, and whether it is a kernel's."""

    name: str
    kernel: bool


@define(eq=False)
class Translated:
    """A file's form, its templates, and the symbols of the instantiations that were asked for, by name."""

    form: ir.TranslationUnit
    templates: tuple[Template, ...]
    requested: dict[str, str]
