"""Sources with a ``main``: compiled once, run natively, and what is said of those that go wrong."""

import json
import sys

import pytest

from mlusim.bangc import cache
from mlusim.cli.main import main
from mlusim.errors import UsageError
from mlusim.programs.argument_forms import AskedCall
from mlusim.programs.native_program import HostProgram
from mlusim.toolkit import built, compiler

MAIN = r"""#include <cnrt.h>
#include <cstdio>
#include <thread>
#include "scale.h"
int main(int argc, char **argv) {
  float host[FACTORS] = {1, 2}, *device;
  cnrtQueue_t queue;
  CNRT_CHECK(cnrtQueueCreate(&queue));
  CNRT_CHECK(cnrtMalloc((void **)&device, sizeof host));
  CNRT_CHECK(cnrtMemcpy(device, host, sizeof host, cnrtMemcpyHostToDev));
  scale(device, argc > 1 && argv[1][0] == 'w' ? 9999 : FACTORS, queue);
  if (argc == 1) CNRT_CHECK(cnrtQueueSync(queue));
  cnrtMemcpy(host, device, sizeof host, cnrtMemcpyDevToHost);  // read
  std::thread([&] { printf("%s %g\n", argv[0], host[1]); }).join();
  fflush(stdout);
  if (argc > 1 && argv[1][0] == 'c') return *(volatile int *)8;
  cnrtFree(device);
  return argc > 1 && argv[1][0] == 'e' ? 7 : 0;
}
"""
HEADER = "#include <cnrt.h>\nvoid scale(float *x, int n, cnrtQueue_t queue);\n"
KERNEL = r"""#include <bang.h>
#include "scale.h"
__nram__ float piece[64];
__mlu_entry__ void Scale(float *x, int n) {
  __memcpy(piece, x, n * sizeof(float), GDRAM2NRAM);  // fault
  __bang_mul_scalar(piece, piece, 3.0f, 64);
  __memcpy(x, piece, n * sizeof(float), NRAM2GDRAM);
}
void scale(float *x, int n, cnrtQueue_t queue) {
  cnrtDim3_t dim = {1, 1, 1};
  Scale<<<dim, cnrtFuncTypeBlock, queue>>>(x, n);
}
"""
FILES = ("lab.mlu", "kernel.mlu", "-I", "headers", "-D", "FACTORS=2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A program of two files and a header."""
    home = tmp_path_factory.mktemp("lab")
    (home / "headers").mkdir()
    (home / "headers" / "scale.h").write_text(HEADER)
    (home / "lab.mlu").write_text(MAIN)
    (home / "kernel.mlu").write_text(KERNEL)
    return home


@pytest.fixture
def here(folder, monkeypatch):
    """The folder as the working directory."""
    monkeypatch.chdir(folder)
    return folder


def _line(text, of):
    return next(n for n, line in enumerate(of.splitlines(), 1) if text in line)


def test_a_program_of_several_files_runs_as_it_does_elsewhere(here, capfd):
    """With the real C++ library, its words and exit status; what it does wrong is said, and its end by a signal."""
    codes = [main(["run", *FILES, *words]) for words in ([], ["--", "e"], ["--", "w"], ["--", "c"])]
    said = capfd.readouterr()

    assert codes == [0, 7, 3, 139]
    assert said.out == f"{here}/lab.mlu 6\n" * 2 + f"{here}/lab.mlu 2\n" + f"{here}/lab.mlu 6\n"
    assert f"kernel.mlu:{_line('// fault', KERNEL)}" in said.err
    assert "the program was ended by SIGSEGV" in said.err


def test_nothing_is_compiled_twice(here, capfd, monkeypatch):
    """What was built is taken again, until a file, a header or a macro is another."""
    assert main(["run", *FILES]) == 0
    made = []
    monkeypatch.setattr(built, "main", lambda words, _: made.append(words) or 1)
    assert main(["run", *FILES]) == 0
    assert made == []
    assert main(["run", *FILES[:-1], "FACTORS=3"]) == 2
    (here / "headers" / "scale.h").write_text(HEADER + "// changed\n")
    assert main(["run", *FILES]) == 2
    (here / "headers" / "scale.h").write_text(HEADER)

    assert main(["run", *FILES]) == 0
    assert [words[-3].endswith("lab.mlu") for words in made] == [True, True]
    assert "lab.mlu, kernel.mlu cannot be compiled" in capfd.readouterr().err


def test_the_other_verbs_watch_it(here, capfd):
    """Findings of the host and of kernels at their lines, launches with their times, places in kernels."""
    assert main(["check", *FILES, "--only", "memcheck", "--json", "--", "e"]) == 1
    findings = json.loads(capfd.readouterr().out)["findings"]
    (found,) = [one for one in findings if one["id"] == "hostcheck-read-without-sync"]
    assert (found["line"], found["file"]) == (_line("// read", MAIN), f"{here}/lab.mlu")

    assert main(["debug", *FILES, "--command", "break Scale", "--command", "run"]) == 0
    assert "Breakpoint 1, Scale" in capfd.readouterr().out
    assert main(["what-if", *FILES, "--board", "MLU370-X8", "--json"]) == 0
    assert [row["how"] for row in json.loads(capfd.readouterr().out)["rows"]] == ["recorded", "re-timed"]


def test_what_does_not_compile_is_said_in_the_compilers_words(tmp_path, monkeypatch, capfd):
    """With file, line and caret, for host and device; without a compiler it is one sentence."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.mlu").write_text("int main() {\n  return wrong;\n}\n")
    assert main(["run", "bad.mlu"]) == 2
    said = capfd.readouterr().err.splitlines()
    assert said[0] == "error: bad.mlu cannot be compiled"
    assert said[1].startswith(f"{tmp_path}/bad.mlu:2:10: error: use of undeclared identifier 'wrong'")

    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.setenv(compiler.CHOICE, "")
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["run", "bad.mlu"]) == 2
    (sentence,) = capfd.readouterr().err.splitlines()
    assert sentence.startswith("error: no clang for host code was found; install clang 19")


def test_main_may_be_in_no_file(tmp_path):
    """A comment is not a main, and kernels alone need no compiler."""
    (tmp_path / "k.mlu").write_text("// main() is elsewhere\n__mlu_entry__ void K(int *x) { x[0] = 1; }\n")
    program = HostProgram(AskedCall((str(tmp_path / "k.mlu"),)))

    assert not program.has_main
    with pytest.raises(UsageError, match="cannot be compiled"):
        program.run(())


def test_what_was_compiled_is_cleaned_away(tmp_path, monkeypatch):
    """With the translations, as `mlusim compile --clean` does."""
    monkeypatch.setenv("MLUSIM_CACHE", str(tmp_path))
    (tmp_path / "host").mkdir(mode=0o700)
    (tmp_path / "host" / "program").touch()
    cache.clean()

    assert list(tmp_path.iterdir()) == []
