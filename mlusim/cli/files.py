"""Files of the user: arrays read from ``.npz``, results written whole or not at all."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mlusim.errors import UsageError

Arrays = dict[str, np.ndarray[Any, Any]]


def read_arrays(name: str) -> Arrays:
    """The arrays of the ``.npz`` file *name*, by key.

    Raises `UsageError` for a file that is missing, no ``.npz``, broken, truncated, or that holds
    Python objects, which are never unpickled.
    """
    path = Path(name)
    if not path.is_file():
        raise UsageError(
            f"{name} is {'a directory' if path.is_dir() else 'no file'}; --inputs takes an .npz file"
        )
    try:
        with np.load(path, allow_pickle=False) as stored:
            if not isinstance(stored, np.ndarray):
                return {key: stored[key] for key in stored.files}
    except PermissionError:
        raise UsageError(f"{name} cannot be read: permission denied") from None
    except Exception as error:  # noqa: BLE001 - a broken file makes NumPy raise anything
        raise UsageError(
            f"{name} is no readable .npz file ({_brief(error)}); write it with numpy.savez"
        ) from None
    raise UsageError(f"{name} holds one array without a name; store it with numpy.savez(file, input=...)")


def write_arrays(name: str, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write *arrays* to the ``.npz`` file *name*, whole or not at all."""
    write(name, lambda file: np.savez(file, **dict[str, Any](arrays)))


def write_text(name: str, text: str) -> None:
    """Write *text* to the file *name*, whole or not at all."""
    write(name, lambda file: file.write(text.encode()))


def check_writable(*names: str | None) -> None:
    """Raise `UsageError` now for a file that could not be written later; None is no file."""
    for name in names:
        if name is None:
            continue
        path = Path(name)
        if path.is_dir():
            raise UsageError(f"{name} is a directory; name a file in it")
        folder = path.resolve().parent
        if not folder.is_dir():
            raise UsageError(f"{name} cannot be written: there is no directory {folder}")
        target = path if path.exists() and not path.is_file() else folder
        if not os.access(target, os.W_OK):
            raise UsageError(f"{name} cannot be written: permission denied for {target}")


def write(name: str, fill: Callable[[BinaryIO], Any]) -> None:
    """Let *fill* write the file *name*: beside it first, then renamed, so that nothing is ever half-written.

    A path that exists and is no regular file (a device, a pipe) is written directly.  Raises
    `UsageError` where the system refuses.
    """
    check_writable(name)
    path = Path(name).resolve()
    direct = path.exists() and not path.is_file()
    beside = path if direct else path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            fill(file)
        if not direct:
            beside.replace(path)
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {_brief(error)}") from None
    finally:
        if not direct:
            beside.unlink(missing_ok=True)


def _brief(error: Exception) -> str:
    """The reason alone, without the paths and codes around it."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(text.split())[:120]
