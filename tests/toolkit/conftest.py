"""A folder with the driver's libraries, and programs of C++ that are compiled against it."""

import os
import shutil
import subprocess
import sys

import pytest

from mlusim.arch.catalog import find_board
from mlusim.bangc.prelude import DRIVER
from mlusim.toolkit.folder import kept_libraries, make


class Native:
    """Compiles and runs programs against the libraries in *folder*."""

    def __init__(self, folder):
        self.lib = folder / "lib64"

    def compile(self, source, *flags, needs=("cnrt",)):
        """The program of the C++ text *source*."""
        path = self.lib.parent / "host.cpp"
        path.write_text(source)
        program = path.with_suffix("")
        words = ["g++", "-g", "-O0", "-pthread", f"-I{DRIVER}", str(path), f"-L{self.lib}"]
        words += [*(f"-l{name}" for name in needs), f"-Wl,-rpath,{self.lib}", *flags, "-o", str(program)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return program

    def run(self, program, *words, **variables):
        """What it does in its folder: exit code, output, errors."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MLUSIM_")} | variables
        return subprocess.run(
            [str(program), *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.lib.parent,
            env=environment,
            timeout=300,
        )


@pytest.fixture(scope="session")
def libraries():
    """The driver's libraries, compiled once."""
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    return kept_libraries()


@pytest.fixture
def native(libraries, tmp_path):
    """A folder for programs with ``lib64`` as a toolkit has it, for an MLU370-X4."""
    lib = tmp_path / "lib64"
    shutil.copytree(libraries, lib)
    (lib / "mlusim.conf").write_text(f"{sys.executable}\nMLU370-X4\n")
    return Native(tmp_path)


@pytest.fixture(scope="session")
def toolkit(tmp_path_factory):
    """A toolkit folder for an MLU370-X4."""
    folder = tmp_path_factory.mktemp("toolkit") / "neuware"
    make(folder, find_board("MLU370-X4"))
    return folder
