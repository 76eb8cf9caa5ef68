"""Names in generated Python: reserved names, and how names of the sources are made distinct from them.

Names that the generator introduces begin with `OWN`; no variable of the sources keeps such a name, or the
name of a Python keyword. In C, every name of the sources has a prefix, a letter and ``_``, which tells its
kind.
"""

import keyword
import re

OWN = "_c_"
# The name families below `OWN`: none is a prefix of another, or of a run-time function.
LAYOUT, NUMBER, KEPT, VARIABLE, FUNCTION = (f"{OWN}{word}_" for word in ("as", "np", "kept", "v", "k"))
_OF_PYTHON = re.compile(r"__\w*__\Z")  # names with a special meaning in Python; the others are keywords
# Built-in numbers of the device, and copy directions.
_OF_DEVICE = re.compile(r"(task(Id|Dim)[XYZ]?|clusterId|clusterDim|coreId|coreDim|[A-Z]+2[A-Z]+)\Z")


def taken(name: str) -> bool:
    """Return whether generated Python reserves *name*."""
    return (
        name.startswith(OWN)
        or _OF_DEVICE.match(name) is not None
        or keyword.iskeyword(name)
        or _OF_PYTHON.match(name) is not None
    )


def free(name: str) -> str:
    """Return *name*, or a similar name that generated Python does not reserve."""
    return f"v{name}" if taken(name) else name


def of_function(symbol: str) -> str:
    """Return the Python name of a source function; with C linkage its *symbol* may be any word."""
    return FUNCTION + symbol
