"""Each bad input of ``torch_mlu`` that needs no PyTorch to be seen: one sentence, with what to do."""

import ctypes
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import mlusim.toolkit.torch.builder as building
from mlusim.toolkit.torch.builder import serve

PACKAGE = Path(building.__file__).parent / "python" / "torch_mlu"


def read(name, path):
    """A module of the package, by its file."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def place():
    """Where PyTorch and the toolkit are looked for."""
    return read("torch_mlu_place", PACKAGE / "_place.py")


@pytest.fixture
def extensions(place, monkeypatch):
    """What builds extensions, with nothing behind it."""
    package = ModuleType("torch_mlu")
    package._place = place
    monkeypatch.setitem(sys.modules, "torch_mlu", package)
    return read("torch_mlu_extension", PACKAGE / "utils" / "cpp_extension.py")


def test_no_pytorch(place, monkeypatch):
    """What is needed and how to get it."""
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(ImportError, match=r"needs PyTorch 2\.6 or newer, which cannot be imported .*; install it with `.* -m pip install torch`"):  # fmt: skip
        place.torch()


@pytest.mark.parametrize("version", ["2.5.1+cpu", "1.13.0"])
def test_a_pytorch_that_is_too_old(place, monkeypatch, version):
    """Which one is there."""
    torch = ModuleType("torch")
    torch.__version__ = version
    monkeypatch.setitem(sys.modules, "torch", torch)

    with pytest.raises(ImportError, match=rf"2\.6 or newer, and {version.replace('+', '.')} is installed; install a newer one"):  # fmt: skip
        place.torch()


def test_a_pytorch_with_other_strings(place, monkeypatch):
    """A build whose ABI is not the driver's is refused before anything is compiled for it."""
    torch = ModuleType("torch")
    torch.__version__, torch.compiled_with_cxx11_abi = "2.6.0+cu124", lambda: False
    monkeypatch.setitem(sys.modules, "torch", torch)

    with pytest.raises(ImportError, match=r"this build of 2\.6\.0\+cu124 is without; install 2\.7 or newer"):
        place.torch()


@pytest.mark.parametrize("version", ["2.6.0", "2.10.0a0+git1", "3.0"])
def test_a_pytorch_that_is_new_enough(place, monkeypatch, version):
    """Versions are numbers, not texts."""
    torch = ModuleType("torch")
    torch.__version__ = version
    monkeypatch.setitem(sys.modules, "torch", torch)

    assert place.torch() is torch


def test_no_compiler(monkeypatch, tmp_path):
    """The builder's answer is the sentence of the compiler that was not found."""
    monkeypatch.setenv("MLUSIM_CLANG", "/no/clang++")
    request = {"home": str(tmp_path), "version": "2.6.0", "include": [], "python": "", "stamp": ""}

    answer = json.loads(serve(json.dumps(request)))

    assert answer["error"].startswith(
        "MLUSIM_CLANG=/no/clang++ is not a clang that can be run; install clang"
    )
    assert "\n" not in answer["error"]


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ("/no/python\nMLU370-X4\n", "/no/python, which the toolkit folder .* names, cannot be run"),
        (
            "/bin/false\nMLU370-X4\n",
            "mlusim cannot compile for PyTorch: it says nothing; make the folder .* again",
        ),
    ],
)
def test_a_toolkit_whose_mlusim_is_gone(place, monkeypatch, tmp_path, conf, said):
    """Make it again."""
    torch = ModuleType("torch")
    torch.__version__, torch.__file__ = "2.6.0", str(tmp_path / "__init__.py")
    (tmp_path / "version.py").touch()
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "mlusim.conf").write_text(conf)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setenv("NEUWARE_HOME", str(tmp_path))

    with pytest.raises(RuntimeError, match=said):
        place.asked()


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda e: e.load_inline("x"), ValueError, "load_inline has no sources"),
        (lambda e: e.load_inline("x", "", "int a;", extra_ldflags="-lm -lz"), TypeError, "give a list: ['-lm', '-lz']"),
        (lambda e: e.load("x", "none.mlu"), FileNotFoundError, "none.mlu: there is no such file"),
        (lambda e: e.load("x", [], is_standalone=True), ValueError, "load makes modules; compile a program with cncc"),
    ],
)  # fmt: skip
def test_what_an_extension_is_made_of(extensions, call, kind, said):
    """Said before anything is compiled."""
    with pytest.raises(kind) as caught:
        call(extensions)

    assert said in str(caught.value)


def test_an_extension_without_a_module(extensions):
    """Where its module comes from, in place of a symbol of Python's."""
    said = extensions._unloadable({"name": "ops"}, "dynamic module does not define module export function (PyInit_ops)")  # fmt: skip

    assert said.startswith("extension 'ops' has no module: write PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)")


@pytest.mark.parametrize(
    "cause",
    [
        "/usr/bin/ld: cannot find -lno: No such file",
        "/usr/bin/ld: a.cpp:6: multiple definition of `PyInit_a'",
    ],
)
def test_the_first_error_is_the_cause(cause):
    """A linker's own sentence comes before that of the compiler that called it."""
    text = f"clang: error: linker command failed with exit code 1\n{cause}\n"

    assert cause == building._first_error(text)


def test_launches_reach_the_driver_where_cuda_is_loaded(toolkit):
    """The driver's library has every name that extensions are linked with in place of those of CUDA's run-time."""
    library = ctypes.CDLL(str(toolkit / "lib64" / "libcnrt.so"))

    assert building.WRAPPED
    for flag in building.WRAPPED:
        assert getattr(library, f"__wrap_{flag.partition('=')[2]}")


def test_headers_that_stand_on_each_other_are_precompiled_by_one_process(tmp_path, monkeypatch):
    """The lock that keeps other processes out is taken once: each header is made while the one below it is asked for."""
    monkeypatch.setenv("MLUSIM_CACHE", str(tmp_path / "cache"))
    home = tmp_path / "home"
    for name in ("include/cnrt.h", "lib64/libcnrt.so", "lib64/libcnnl.so"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("")
    (home / "lib64/mlusim.conf").write_text("0\nMLU370-X4\n")
    made = []

    def compiler(words, _):
        made.append(Path(words[-3]).name)
        Path(words[-1]).write_bytes(b"made")
        return 0

    monkeypatch.setattr(building, "main", compiler)
    place = building.TorchPlace(str(home), "2.6.0", (), "", "")
    for _ in range(2):
        building.TorchBuilder(place).prepare("torch::Tensor f(torch::Tensor x);")

    assert ["precompiled_tensors.h", "precompiled_bindings.h"] == made
