"""mlusim's own operators: the installed package ``mlusim.ops``, or the folder ``ops`` beside mlusim in the repository."""

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import mlusim
from mlusim.errors import UsageError

INSTALLED = "mlusim.ops"
REPOSITORY = "ops"
BESIDE = Path(mlusim.__file__).parents[1] / REPOSITORY / "__init__.py"


def package() -> ModuleType:
    """Import and return the package of the operators, under the name that it has in this Python.

    Another package called ``ops``, such as a team's own folder, is left alone.  Raises `UsageError` if neither
    exists.
    """
    if importlib.util.find_spec(INSTALLED) is not None:
        return importlib.import_module(INSTALLED)
    if not BESIDE.is_file():
        raise UsageError("the operators of mlusim are not installed; install mlusim again")
    if _found() == BESIDE:
        return importlib.import_module(REPOSITORY)
    return _loaded(BESIDE)


def owns(module: str) -> bool:
    """Return whether the module *module* belongs to the package of operators, under either of its two names."""
    top = module.partition(".")[0]
    return module.startswith(f"{INSTALLED}.") or (top == REPOSITORY and _found() == BESIDE)


def _found() -> Path | None:
    """Return the file of the package ``ops`` that this Python would import; None if there is none."""
    try:
        spec = importlib.util.find_spec(REPOSITORY)
    except (ImportError, ValueError):
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).resolve()


def _loaded(start: Path) -> ModuleType:
    """Load the package whose ``__init__.py`` is *start*, under the name that it has when it is installed."""
    spec = importlib.util.spec_from_file_location(
        INSTALLED, start, submodule_search_locations=[str(start.parent)]
    )
    assert isinstance(spec, ModuleSpec)
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[INSTALLED] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[INSTALLED]
        raise
    return module


def __getattr__(name: str) -> object:
    """Return ``OPERATORS``, which mlusim's entry point names; it is loaded at the first access."""
    if name == "OPERATORS":
        return importlib.import_module(".catalog", package().__name__).OPERATORS
    raise AttributeError(name)
