"""No name of a kernel is one of ours: whatever the generated Python and C call their own, the sources may call theirs."""

import ast
import keyword
from pathlib import Path

import numpy as np
import pytest
from engines import NATIVE, run

import mlusim
from mlusim.bangc import names, render
from mlusim.engine.contract import BUILT_INS
from mlusim.memory.space import DIRECTIONS

_OF_CPP = frozenset(
    [
        "and",
        "assert",
        "bool",
        "break",
        "case",
        "class",
        "continue",
        "else",
        "except",
        "false",
        "float",
        "for",
        "if",
        "int",
        "not",
        "or",
        "return",
        "true",
        "try",
        "while",
    ]
)
"""What C++ has a meaning for itself, and the macro ``assert``."""
OURS = sorted(
    {
        *(name for name in keyword.kwlist if name.islower() and len(name) < 6), "None", "True",
        "setattr", "max", "print", "type", "self", "local", "constant", "fixed", "mlu", "m", "t_1", "v_t_1", "f_", "restrict",
        "memmove", "abs", "_c_x", "_c_1", "_c_t", "_c_v_a", "_c_as_int32", "_c_fixed", "_c_local", "_c_rest", "v_c_x",
        "float32", "here", "n\N{MIDDLE DOT}", "\N{CJK UNIFIED IDEOGRAPH-6570}", "\N{LATIN SMALL LIGATURE FI}", "fi",
    }
    - _OF_CPP
)  # fmt: skip
LINKED = [name for name in OURS if name.startswith("_c_") or name in ("None", "setattr", "self", "local")]
"""Those that no function of the C library has."""


def _uses(n, name):  # each in a namespace, as a structure must not be called as a variable beside it
    """A function that uses *name* for a structure, a member, an NRAM array, a function, a parameter and variables."""
    return f"""
    namespace t{n} {{ struct {name} {{ int a; }}; __mlu_func__ int f(int x) {{ {name} s = {{x}}; {name} t = s; t.a++; return t.a * 10 + s.a; }} }}
    namespace m{n} {{ struct S {{ int {name}; float z; }};
      __mlu_func__ int f(int x) {{ S s = {{x, 2}}; S t = s; t.{name} += 1; S *p = &t; return p->{name} * 10 + s.{name} + (int)t.z; }} }}
    namespace v{n} {{ __nram__ int {name}[2]; __mlu_func__ int f(int x) {{ {name}[1] = x; return {name}[1] + 3; }} }}
    namespace f{n} {{ __mlu_func__ int {name}(int {name}) {{ int r = {name} / -3; {{ int {name} = r + 1; r += {name}; }} return r; }} }}
    namespace l{n} {{ __mlu_func__ int f(int x) {{ int {name} = x; const int &r = {name}; float {name}_f = (float){name} * 0.5f;
      return r + (int){name}_f + {name} / (x - 9); }} }}
    __mlu_func__ int f{n}_(int x) {{ return t{n}::f(x) + m{n}::f(x) + v{n}::f(x) + f{n}::{name}(x) + l{n}::f(x); }}
    """


def _expected(x):
    quotient = -(x // 3)
    return 11 * x + 10 + 11 * x + 12 + x + 3 + 2 * quotient + 1 + x + x // 2 - x // (9 - x)


def test_names_of_generated_code_are_free_for_kernels(load):
    """As a structure, a member, an NRAM array, a function, a parameter, a variable, and a function with the linkage of C."""
    text = "".join(_uses(n, name) for n, name in enumerate(OURS))
    text += "".join(
        f'extern "C" __mlu_func__ int {name}(int x) {{ return x + {n}; }}\n' for n, name in enumerate(LINKED)
    )
    calls = "".join(f"o[{n}] = f{n}_(x);" for n in range(len(OURS)))
    calls += "".join(f"o[{len(OURS) + n}] = {name}(x);" for n, name in enumerate(LINKED))
    kernel = load(f"#include <bang.h>\n{text}__mlu_entry__ void K(int *o, int x) {{ {calls} }}")["K"]
    wanted = [_expected(7)] * len(OURS) + [7 + n for n in range(len(LINKED))]

    for engine in ("python", NATIVE):
        _, [out] = run(kernel, [np.zeros(len(wanted), np.int32), 7], engine)
        found = out.tolist()
        assert [] == [name for name, a, b in zip([*OURS, *LINKED], wanted, found, strict=True) if a != b]


@pytest.mark.parametrize("name", ["mlu", "None", "_c_x", "taskId2", "int32"])
def test_a_kernel_and_its_parameters_have_any_name(load, name):
    """A parameter, by which arguments are shown, and the kernel itself."""
    kernel = load(
        f"#include <bang.h>\n__mlu_entry__ void K(int *{name}) {{ {name}[0] = 5; }}\n"
        f'extern "C" __mlu_entry__ void k_{name}(int *o, int x) {{ o[0] = x; }}'
    )
    out = mlusim.Device().empty(1, np.int32)
    out.device.launch(kernel["K"], args=(out,), engine="python")

    assert [name] == kernel["K"].parameters
    assert [5] == out.device.get(out).tolist()


def test_a_variable_may_hide_what_the_device_gives(load):
    """The variable in its block, the device's number before it."""
    kernel = load(
        "#include <bang.h>\n__mlu_entry__ void K(int *o) { int a = taskDim + 4; { int taskDim = a * 2; a += taskDim; int NRAM2NRAM = 3; a += NRAM2NRAM; } o[0] = a; }"
    )["K"]

    for engine in ("python", NATIVE):
        assert [18] == run(kernel, [np.zeros(1, np.int32)], engine)[1][0].tolist()


def test_the_names_of_the_device_are_known():
    """What code reads of the core, and the directions of its copies."""
    assert [] == [name for name in (*BUILT_INS, *(d.name for d in DIRECTIONS)) if not names.taken(name)]


def test_what_renderings_name_in_python_is_known_to_be_theirs():
    """Each name that a rendering writes itself begins as ours do, or is a word of C++."""
    own = set()
    for file in Path(render.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            first = node.args[0] if node.args else None
            if node.func.attr in ("call", "name", "target") and isinstance(first, ast.Constant):
                own.add(first.value)

    assert {"bool", "float", "int"} == {name for name in own if not name.startswith(names.OWN)}
