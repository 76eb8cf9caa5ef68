"""mlusim's own operators: ``mlusim.ops`` where it is installed, the folder ``ops`` beside it in the repository."""

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
    """Return the package of the operators, under whichever name this Python finds it.

    Another package called ``ops``, as a team's own folder, is left alone.  Raises `UsageError` where there
    are none.
    """
    if importlib.util.find_spec(INSTALLED) is not None:
        return importlib.import_module(INSTALLED)
    if not BESIDE.is_file():
        raise UsageError("the operators of mlusim are not installed; install mlusim again")
    if _found() == BESIDE:
        return importlib.import_module(REPOSITORY)
    return _loaded(BESIDE)


def owns(module: str) -> bool:
    """Return whether the module of this name is one of the package, under either of the names that the package may have."""
    top = module.partition(".")[0]
    return module.startswith(f"{INSTALLED}.") or (top == REPOSITORY and _found() == BESIDE)


def _found() -> Path | None:
    """Find the folder of the package ``ops`` of this Python; None: there is none, or it has no folder."""
    try:
        spec = importlib.util.find_spec(REPOSITORY)
    except (ImportError, ValueError):
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).resolve()


def _loaded(start: Path) -> ModuleType:
    """Return the package that begins at *start*, under the name that it has where it is installed."""
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
    """``OPERATORS``, which the entry point of mlusim names; found when it is asked for."""
    if name == "OPERATORS":
        return importlib.import_module(".catalog", package().__name__).OPERATORS
    raise AttributeError(name)
