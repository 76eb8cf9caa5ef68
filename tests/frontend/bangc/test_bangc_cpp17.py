"""Small programs of legal C++17, which this machine's own compiler takes: both engines give its values."""

import re
from pathlib import Path

import pytest
from cplusplus import answer, expected
from engines import NATIVE

_TEXT = (Path(__file__).parent / "data" / "cpp17.txt").read_text()
PROGRAMS = dict(re.findall(r"^//// (.*)\n((?:(?!////).*\n)+)", _TEXT, re.MULTILINE))
"""Each has ``run(long long *o)``, which fills up to `_EACH` numbers."""
_EACH = 16
_INCLUDES = "".join(
    f"#include <{name}>\n" for name in ("cstdint", "cstring", "initializer_list", "tuple", "utility")
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The whole text, each program in a namespace, and what C++ gives for all of them."""
    parts = [f"namespace p{n} {{\n{text}}}\n" for n, text in enumerate(PROGRAMS.values())]
    calls = "".join(f"p{n}::run(o + {_EACH * n});" for n in range(len(parts)))
    text = f"{_INCLUDES}{''.join(parts)}__mlu_entry__ void K(long long *o) {{ {calls} }}\n"
    return text, expected(tmp_path_factory.mktemp("host"), text, _EACH * len(parts))


@pytest.mark.parametrize("engine", ["python", NATIVE])
def test_legal_programs_give_what_cpp_gives(load, reference, engine):
    """All in one kernel; the names of the programs that differ, with both answers."""
    text, wanted = reference
    found = answer(load, text, len(wanted), engine=engine)
    assert isinstance(found, list), found
    each = [slice(_EACH * n, _EACH * (n + 1)) for n in range(len(PROGRAMS))]

    assert [] == [
        (n, wanted[s], found[s]) for n, s in zip(PROGRAMS, each, strict=True) if wanted[s] != found[s]
    ]
