"""What an installed mlusim has: every file it reads, and every package it imports."""

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = {"mlusim": "mlusim", "ops": "mlusim.ops"}


def test_every_data_file_is_packaged():
    """Whatever is no Python and lies in a package is taken into the wheel by a pattern, and every pattern takes some."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]
    for package, installed in PACKAGES.items():
        there = {p for p in (ROOT / package).rglob("*") if p.is_file() and p.suffix not in {".py", ".pyc"}}
        taken = [set((ROOT / package).glob(pattern)) for pattern in patterns[installed]]

        assert all(taken)
        assert there == set.union(*taken)


def imported():
    """The packages from elsewhere that ours import anywhere."""
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - set(PACKAGES)


def test_what_is_imported_is_declared_and_the_reverse():
    """The dependencies and the extras that a user may want are what the code imports; only the plugin needs pytest."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    declared = [
        *project["dependencies"],
        *extras["report"],
        *extras["tui"],
        *extras["dask"],
        *extras["bangc"],
    ]

    names = {line.partition(">")[0] for line in declared}
    modules = {"libclang": "clang"}  # where the package is called otherwise
    assert {modules.get(name, name) for name in names} == imported() - {"pytest"}


def test_no_two_test_files_share_a_name():
    """Folders of tests are no packages, so pytest imports each file by its bare name."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]

    assert [] == sorted({name for name in names if names.count(name) > 1})
