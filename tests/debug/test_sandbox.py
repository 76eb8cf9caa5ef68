"""Expressions of the debugger compute; they reach neither the system nor what is behind the values."""

import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from mlusim.bang import float32
from mlusim.debug.look.evaluate import ask, parse
from mlusim.errors import UsageError

REFUSED = [
    "open('x', 'w')",
    "__import__('os').system('true')",
    "eval('1')",
    "exec('x = 1')",
    "getattr(data, 'size')",
    "globals()",
    "breakpoint()",
    "().__class__.__base__.__subclasses__()",
    "(lambda: 0).__globals__",
    "(n for n in ()).gi_frame.f_back.f_globals",
    "type(data).mro()",
    "os.system('true')",
    "system('true')",
    "sys.modules",
    "Path('x').write_text('y')",
    "opener('x')",
    "np.save('x', data)",
    "np.load('x')",
    "np.lib.npyio",
    "np.ctypeslib",
    "data.tofile('x')",
    "data.dump('x')",
    "data.ctypes",
    "[os.getcwd() for _ in range(2)]",
    "'{0.__class__}'.format(data)",
    "'{d.__class__}'.format_map({'d': data})",
    "str.format('{0.__class__}', data)",
    "[*map('{0.__class__}'.format, [data])]",
    "f'{data.__class__}'",
    "f'{1:{data.__class__}}'",
    "kept_format('{0.__class__}', data)",
    "mlusim.files",
    "mlusim.cli",
]
COMPUTED = {
    "len(data) + 1": 4,
    "sum(x * scale for x in data)": 12,
    "np.max(data)": 3,
    "np.linalg.norm([3, 4])": 5.0,
    "math.floor(2.5)": 2,
    "float32.size": 4,
    "double(4)": 8,
    "sorted(data)[-1]": 3,
    "hex(255)": "0xff",
    "isinstance(data, np.ndarray)": True,
    "[n for n in range(3) if n]": [1, 2],
}


def double(value):
    """A function of the program's own."""
    return 2 * value


@pytest.fixture
def frame():
    """A frame whose program has imported whatever a program imports."""
    import mlusim  # noqa: F401, PLC0415

    data, scale, system, opener, kept_format = np.array([1, 2, 3]), 2, os.system, open, str.format  # noqa: F841
    here = sys._getframe()
    assert here.f_globals["os"] is os
    assert callable(Path)
    assert float32.size == 4
    assert math.pi
    return here


@pytest.mark.parametrize("text", REFUSED)
def test_nothing_reaches_the_system(frame, text, tmp_path, monkeypatch):
    """A sentence, and no file."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError) as caught:
        ask(parse(text), frame, None).value  # noqa: B018 - what it evaluates is refused
    assert "\n" not in str(caught.value)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("text", COMPUTED)
def test_whatever_computes_is_there(frame, text):
    """Builtins, NumPy, mathematics, and the program's own names."""
    assert COMPUTED[text] == ask(parse(text), frame, None).value
