"""The typed stub is as the table says."""

import ast
import inspect

from manual.stub import BUILT_IN, MEMORY, STUB, stub_text
from mlusim.isa.table import ISA
from mlusim.machine.mlu import Mlu


def test_the_stub_is_fresh():
    """`python -m manual.stub` would write what is there."""
    assert stub_text() == STUB.read_text()


def test_the_stub_has_every_intrinsic_with_its_parameters():
    """Names, order, defaults and documentation of every row; nothing that does not exist."""
    [found] = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef)]
    methods = {m.name: m for m in found.body if isinstance(m, ast.FunctionDef)}

    assert set(methods) == set(ISA) | set(MEMORY) | {"__init__"}
    for name, row in ISA.items():
        arguments = methods[name].args
        names = [a.arg for a in arguments.args] + ([arguments.vararg.arg] if arguments.vararg else [])

        assert ["self", *(p.name for p in row.given)] == names
        assert sum(p.default is not inspect.Parameter.empty for p in row.given) == len(arguments.defaults)
        assert row.doc == ast.get_docstring(methods[name])
        assert all(a.annotation is not None for a in arguments.args[1:])


def test_the_stub_has_the_built_in_variables():
    """What the vendor calls built-in is an integer attribute here."""
    assert set(BUILT_IN) <= set(Mlu.__slots__)


def test_the_stub_has_the_longer_forms_too():
    """A name with two forms has two overloads: the operand more in front of the counts, and without it."""
    [found] = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef)]
    for name, row in ISA.items():
        forms = [node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == name]
        decorated = [[d.id for d in form.decorator_list] for form in forms]

        assert [["overload"], ["overload"]] == decorated if row.overload else [[]] == decorated
        if row.overload:
            longer = ISA[row.overload[0]]

            assert ["self", *(p.name for p in longer.given)] == [a.arg for a in forms[0].args.args]
