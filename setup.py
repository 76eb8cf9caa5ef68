"""Which packages are installed: the folder ``ops`` of the repository becomes ``mlusim.ops``.

A package called ``ops`` on everybody's path would stand in the way of any team's folder of that name.  An
editable installation keeps it, so that ``import ops`` is the folder in which the operators are written.
The pages of the rules become ``mlusim/rule_pages``, for what `mlusim check` writes about them, and the kernel of the README
``mlusim/first_kernel``, for `mlusim demo`.
"""

import sys

from setuptools import find_packages, setup

BESIDE = {"mlusim.rule_pages": "docs/reference/rules", "mlusim.first_kernel": "examples/first"}
EDITABLE = "editable_wheel" in sys.argv
OWN = find_packages(include=["mlusim", "mlusim.*"])
OPERATORS = find_packages(include=["ops", "ops.*"])

if EDITABLE:
    setup(packages=[*OWN, *OPERATORS])
else:
    setup(
        packages=[*OWN, *(f"mlusim.{name}" for name in OPERATORS), *BESIDE],
        package_dir={"mlusim.ops": "ops", **BESIDE},
    )
