"""The places of PyTorch, the toolkit folder and the compiled device."""

import ctypes
import functools
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

OLDEST = (2, 6)
DEVICE = "mlusim_torch_device"
BUILT = "MLUSIM_TORCH_DEVICE"


def torch() -> ModuleType:
    """Import and return PyTorch.  Raises `ImportError` if it is missing or too old."""
    try:
        import torch as module  # noqa: PLC0415 - its absence is reported
    except ImportError as error:
        message = f"torch_mlu needs PyTorch {OLDEST[0]}.{OLDEST[1]} or newer, which cannot be imported ({error}); install it with `{sys.executable} -m pip install torch`"
        raise ImportError(message) from None
    version = tuple(int(part) for part in module.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST:
        message = f"torch_mlu needs PyTorch {OLDEST[0]}.{OLDEST[1]} or newer, and {module.__version__} is installed; install a newer one with `{sys.executable} -m pip install -U torch`"
        raise ImportError(message)
    if not getattr(
        module, "compiled_with_cxx11_abi", lambda: True
    )():  # the driver's library has the other texts
        message = f"torch_mlu needs a PyTorch with C++11's ABI, which this build of {module.__version__} is without; install 2.7 or newer with `{sys.executable} -m pip install -U torch`"
        raise ImportError(message)
    return module


@functools.cache
def home() -> Path:
    """Return the toolkit folder: the one that contains this package, the one in ``NEUWARE_HOME``, or that of mlusim's cache."""
    named = os.environ.get("NEUWARE_HOME")
    for folder in (Path(__file__).resolve().parents[2], *([Path(named)] if named else [])):
        if (folder / "lib64" / "mlusim.conf").exists():
            return folder
    try:
        from mlusim.toolkit.built import toolkit_folder  # noqa: PLC0415 - only without a toolkit folder
    except ImportError:
        message = "torch_mlu finds no toolkit folder of mlusim; make one with `mlusim toolkit DIR`, and name it in NEUWARE_HOME"
        raise ImportError(message) from None
    return toolkit_folder(os.environ.get("MLUSIM_BOARD", "").split(",")[0])


def include_paths() -> list[str]:
    """Return the folders of headers of PyTorch and of the device."""
    base = Path(str(torch().__file__)).parent / "include"
    return [str(base), str(base / "torch" / "csrc" / "api" / "include")]


def asked(**more: object) -> dict[str, Any]:
    """Send a request to mlusim's builder and return its reply.  Raises `RuntimeError`, with a sentence, if it fails."""
    base = Path(str(torch().__file__)).parent
    request = {
        "home": str(home()),
        "version": torch().__version__,
        "include": include_paths(),
        "python": sysconfig.get_paths()["include"],
        "stamp": str((base / "version.py").stat().st_mtime_ns),
        **more,
    }
    python = (home() / "lib64" / "mlusim.conf").read_text(encoding="utf-8").split("\n")[0]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    words = [python, "-P", "-m", "mlusim.toolkit.torch.builder"]
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that the toolkit names
            words, input=json.dumps(request), capture_output=True, text=True, check=False, env=environment
        )
    except OSError as error:
        message = f"{python}, which the toolkit folder {home()} names, cannot be run ({error.strerror}); make the folder again with `mlusim toolkit`"
        raise RuntimeError(message) from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        message = (
            f"mlusim cannot compile for PyTorch: {last}; make the folder {home()} again with `mlusim toolkit`"
        )
        raise RuntimeError(message)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def backend() -> ModuleType:
    """Return the compiled device; build it if there is none, or load the file in ``MLUSIM_TORCH_DEVICE``."""
    named = os.environ.get(BUILT)
    answer = {"path": named} if named else asked()
    if "error" in answer:
        shown = f"\n{answer['shown']}" if answer["shown"] else ""
        message = (
            f"torch_mlu cannot compile its device for PyTorch {torch().__version__}: {answer['error']}{shown}"
        )
        raise ImportError(message)
    ctypes.CDLL(str(home() / "lib64" / "libcnrt.so"), ctypes.RTLD_GLOBAL)
    ctypes.CDLL(answer["path"], ctypes.RTLD_GLOBAL)  # extensions use its functions
    return loaded(DEVICE, answer["path"])


def extension(path: str) -> ModuleType:
    """Return the extension module in the file *path*, ``NAME-STAMP.so``, made by the builder.  Raises `ImportError`.

    pybind11 reuses a module with the same full name; with the stamp, each content has its own name.
    """
    name, _, stamp = Path(path).stem.rpartition("-")
    return loaded(f"torch_mlu_extension_{stamp}.{name}", path)


def loaded(name: str, path: str) -> ModuleType:
    """Import the extension module *name* from the file *path*.  Raises `ImportError`."""
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
