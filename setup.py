"""Which packages are installed: the folder ``ops`` of the repository becomes ``mlusim.ops``.

A package called ``ops`` on everybody's path would stand in the way of any team's folder of that name.  An
editable installation keeps it, so that ``import ops`` is the folder in which the operators are written.
The pages of the rules become ``mlusim/rule_pages``, for what `mlusim check` writes about them.
"""

import sys

from setuptools import find_packages, setup

EDITABLE = "editable_wheel" in sys.argv
OWN = find_packages(include=["mlusim", "mlusim.*"])
OPERATORS = find_packages(include=["ops", "ops.*"])

if EDITABLE:
    setup(packages=[*OWN, *OPERATORS])
else:
    setup(
        packages=[*OWN, *(f"mlusim.{name}" for name in OPERATORS), "mlusim.rule_pages"],
        package_dir={"mlusim.ops": "ops", "mlusim.rule_pages": "docs/reference/rules"},
    )
