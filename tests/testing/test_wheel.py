"""A wheel of mlusim in an environment of its own: one top-level package, and verbs that work beside any folder."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = (
    "pyproject.toml",
    "setup.py",
    "README.md",
    "LICENSE",
    "mlusim",
    "ops",
    "docs/reference/rules",
    "examples/first",
)


def done(*words, cwd):
    """Run a program that must succeed."""
    ran = subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True, check=False)

    assert 0 == ran.returncode, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the sources as they are."""
    folder = tmp_path_factory.mktemp("wheel")
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    build = "from setuptools import build_meta; print(build_meta.build_wheel('.'))"
    return folder / done(sys.executable, "-c", build, cwd=folder).splitlines()[-1]


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A Python that has the wheel, and the dependencies of this one without its packages in the making."""
    home = tmp_path_factory.mktemp("venv")
    done(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin" / "python"


@pytest.fixture
def team(tmp_path):
    """A folder whose own package is called ``ops``."""
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "__init__.py").write_text("OURS = True\n")
    return tmp_path


def test_one_package_is_installed(wheel):
    """Nothing else comes to the top level; the operators, their data and the typed markers are inside."""
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.partition("/")[0] for name in names}

    assert {"mlusim"} == {name for name in top if not name.endswith(".dist-info")}
    assert {"mlusim/ops/tin_shift/kernel.py", "mlusim/ops/py.typed", "mlusim/py.typed"} <= set(names)
    assert {"mlusim/rule_pages/racecheck-read-after-write.md", "mlusim/first_kernel/gelu.mlu"} <= set(names)


def test_verbs_work_in_a_folder_with_its_own_ops(python, team):
    """They list and run the operators; the folder's own package stays what it is; so does it from Python."""
    listed = done(python, "-m", "mlusim", "ops", cwd=team)
    ran = done(python, "-m", "mlusim", "run", "tin_shift_forward", "--case", "golden_document", cwd=team)
    code = "import ops, mlusim; from mlusim import ops as ours; print(ops.OURS, ours.catalog.__name__)"

    assert "three_interpolate_backward" in listed
    assert "IO efficiency" in ran
    assert "True mlusim.ops.catalog" == done(python, "-c", code, cwd=team).strip()


def test_the_repository_works_beside_another_ops_too(team):
    """The editable installation reaches its own folder, whatever the current one holds."""
    code = "import ops; from mlusim import ops as ours; print(ops.OURS, ours.catalog.__name__)"

    assert "tin_shift_forward" in done(sys.executable, "-m", "mlusim", "ops", cwd=team)
    assert "True mlusim.ops.catalog" == done(sys.executable, "-c", code, cwd=team).strip()


def test_the_repository_s_ops_are_the_operators(tmp_path):
    """`import ops` from the root of the repository: the package that the entry point names, not a copy."""
    code = (
        "import ops, mlusim; from mlusim.operators.registry import operators; "
        "print(ops is mlusim.ops, all(o is operators()[o.name] for o in ops.catalog.OPERATORS))"
    )

    assert "True True" == done(sys.executable, "-c", code, cwd=ROOT).strip()
    assert "True True" == done(sys.executable, "-c", code, cwd=tmp_path).strip()
