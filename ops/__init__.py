"""Operators ported from their design documents, and the functions to run them.

``ops.run(name, inputs, params, board=...)`` runs one; ``ops.host`` holds the vendor-shaped host
functions; ``ops.catalog.OPERATORS`` lists all.  In the repository this is the package ``ops``; in an installed
mlusim it is ``mlusim.ops``; ``from mlusim import ops`` works in both.
"""

from mlusim.operators.runner import Run, run, run_case
from . import catalog, host

__all__ = ["Run", "catalog", "host", "run", "run_case"]
