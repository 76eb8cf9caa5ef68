"""Which packages are installed: the folder ``ops`` of the repository becomes ``mlusim.ops``.

A package called ``ops`` on everybody's path would stand in the way of any team's folder of that name.  An
editable installation keeps it, so that ``import ops`` is the folder in which the operators are written.
"""

import sys

from setuptools import find_packages, setup

EDITABLE = "editable_wheel" in sys.argv
OWN = find_packages(include=["mlusim", "mlusim.*"])
OPERATORS = find_packages(include=["ops", "ops.*"])

if EDITABLE:
    setup(packages=[*OWN, *OPERATORS])
else:
    setup(packages=[*OWN, *(f"mlusim.{name}" for name in OPERATORS)], package_dir={"mlusim.ops": "ops"})
