"""Names in generated Python: which are the code's own, and how what the sources name is called beside them.

Everything that code has for itself begins with `OWN`; no variable of the sources is called so, nor as a word of Python is.
In C each name of the sources has a letter and ``_`` in front, which says what it is.
"""

import keyword
import re

OWN = "_c_"
# The families below `OWN`: none begins as another does, and none as a function of the run-time.
LAYOUT, NUMBER, KEPT, VARIABLE, FUNCTION = (f"{OWN}{word}_" for word in ("as", "np", "kept", "v", "k"))
_OF_PYTHON = re.compile(r"__\w*__\Z")  # names that Python has a meaning for; those without are its keywords
# Numbers of the device, directions of copies.
_OF_DEVICE = re.compile(r"(task(Id|Dim)[XYZ]?|clusterId|clusterDim|coreId|coreDim|[A-Z]+2[A-Z]+)\Z")


def taken(name: str) -> bool:
    """Return whether generated Python has a use of its own for *name*."""
    return (
        name.startswith(OWN)
        or _OF_DEVICE.match(name) is not None
        or keyword.iskeyword(name)
        or _OF_PYTHON.match(name) is not None
    )


def free(name: str) -> str:
    """Return *name*, or a name like it that generated Python has no use for."""
    return f"v{name}" if taken(name) else name


def of_function(symbol: str) -> str:
    """Return the name of a function of the sources, whose *symbol* may be any word where it has the linkage of C."""
    return FUNCTION + symbol
