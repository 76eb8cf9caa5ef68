"""The packages of mlusim's extras, and the one command that installs them; the files that lie beside the package in a checkout.

The name mlusim is on no public index, so no sentence asks for ``mlusim[extra]`` from one.
"""

import importlib.util
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mlusim.errors import UsageError
from mlusim.lazy import lazy

if TYPE_CHECKING:
    from importlib import metadata
else:
    (metadata,) = lazy("importlib.metadata")

PROJECT = "mlusim"
_MODULES = {"libclang": "clang"}  # where the package is called otherwise
_CHECKOUT = Path(__file__).resolve().parents[1]


def shipped(installed: str, in_checkout: str) -> Path | None:
    """Return the file *installed* in the package, or the one *in_checkout* beside it; None if it is in neither."""
    places = (_CHECKOUT / PROJECT / installed, _CHECKOUT / in_checkout)
    return next((path for path in places if path.is_file()), None)


def install_command(extra: str) -> str:
    """Return the command that installs the packages of *extra*, whether mlusim comes from a checkout or a wheel."""
    return _command(extra, _requirements(extra))


def missing_packages(what: str, extra: str, package: str = "") -> UsageError:
    """Return the error that *what* needs packages of *extra* that are not installed, *package* one of them: all at once."""
    lacking = [line for line in _requirements(extra) if _name(line) == package or not _there(_name(line))]
    names = ", ".join(_name(line) for line in lacking) or package
    it = "them" if len(lacking) > 1 else "it"
    return UsageError(f"{what} needs {names}; install {it} with `{_command(extra, lacking)}`")


def _command(extra: str, lines: list[str]) -> str:
    if not lines:  # nothing says what the extra holds: a checkout that was never installed
        return f"pip install -e {shlex.quote(f'{_CHECKOUT}[{extra}]')}"
    return f"pip install {shlex.join(lines)}"


def _requirements(extra: str) -> list[str]:
    """Return the requirements of *extra* as the installed project declares them."""
    try:
        declared = metadata.requires(PROJECT) or []
    except metadata.PackageNotFoundError:
        return []
    wanted = re.compile(rf"(.*?)\s*;\s*extra == [\"']{extra}[\"']")
    return [match[1] for line in declared if (match := wanted.fullmatch(line))]


def _name(requirement: str) -> str:
    return re.split(r"[\s<>=!~\[;]", requirement, maxsplit=1)[0]


def _there(name: str) -> bool:
    module = _MODULES.get(name, name)
    if module in sys.modules:
        return sys.modules[module] is not None
    return importlib.util.find_spec(module) is not None
