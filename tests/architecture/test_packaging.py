"""What an installed mlusim has: every file it reads, and every package it imports."""

import ast
import importlib.metadata
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from import_graph import nodes_of

from mlusim.installing import install_command, missing_packages

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = {"mlusim": "mlusim", "ops": "mlusim.ops"}


def test_every_data_file_is_packaged():
    """Whatever is not Python and lies in a package is taken into the wheel by a pattern, and every pattern takes some."""
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
            if path.is_relative_to(ROOT / "mlusim" / "toolkit" / "torch" / "python"):
                continue  # it runs in Pythons that have PyTorch
            for node in nodes_of(path):
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
        *extras["tune"],
        *extras["completion"],
        *extras["bangc"],
        *extras["triton"],
    ]

    names = {line.partition(">")[0] for line in declared}
    modules = {"libclang": "clang"}  # where the package is called otherwise
    assert {modules.get(name, name) for name in names} == imported() - {"pytest"}


def test_no_two_test_files_share_a_name():
    """Folders of tests are not packages, so pytest imports each file by its bare name."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]

    assert [] == sorted({name for name in names if names.count(name) > 1})


FROM_AN_INDEX = re.compile(r"""pip install ['"]?mlusim(?!\w)(?!(\[[\w,]+\])? @ )""")


def test_no_text_installs_mlusim_from_an_index():
    """The name is on none: a checkout, a wheel or an address is what works."""
    files = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    texts = [
        ROOT / name
        for name in files
        if Path(name).suffix in {".md", ".py", ".toml", ".yml", ".ts", ".json", ".ipynb"}
    ]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in texts
        if path.exists() and path != Path(__file__)
        for line in path.read_text(encoding="utf-8").splitlines()
        if FROM_AN_INDEX.search(line)
    ]

    assert [] == found
    assert FROM_AN_INDEX.search('pip install "mlusim[bangc]"')
    assert not FROM_AN_INDEX.search('pip install "mlusim[bangc] @ git+https://HOST/TEAM/mlusim.git"')


@pytest.mark.parametrize("extra", ["report", "native", "tui", "dask", "bangc"])
def test_the_command_of_an_extra_names_its_packages(extra):
    """It holds where mlusim was installed from anywhere; where nothing says what the extra holds, the checkout does."""
    assert shlex.split(install_command(extra)) == [
        "pip",
        "install",
        *PROJECT["project"]["optional-dependencies"][extra],
    ]


def test_a_checkout_that_was_never_installed_is_named(monkeypatch):
    """There is no list of packages, but a folder to install."""

    def unknown(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", unknown)

    assert install_command("bangc") == f"pip install -e '{ROOT}[bangc]'"
    assert str(missing_packages("a source in BANG C", "bangc", "libclang")) == (
        f"a source in BANG C needs libclang; install it with `pip install -e '{ROOT}[bangc]'`"
    )
