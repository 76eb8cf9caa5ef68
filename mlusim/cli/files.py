"""Files of the user: arrays read from ``.npz``, results written whole or not at all."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mlusim.errors import UsageError

Arrays = dict[str, np.ndarray[Any, Any]]


def read_arrays(name: str) -> Arrays:
    """The arrays of the ``.npz`` file *name*, by key, in the byte order of this machine.

    Raises `UsageError` for a file that is missing, no ``.npz``, broken, truncated, or that holds
    anything but numbers; Python objects are never unpickled.
    """
    path = Path(name)
    if not path.is_file():
        raise UsageError(
            f"{name} is {'a directory' if path.is_dir() else 'no file'}; --inputs takes an .npz file"
        )
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            found = None if isinstance(stored, np.ndarray) else _all_of(stored)
    except PermissionError:
        raise UsageError(f"{name} cannot be read: permission denied") from None
    except Exception as error:  # noqa: BLE001 - a broken file makes NumPy raise anything
        raise UsageError(
            f"{name} is no readable .npz file ({_brief(error)}); write it with numpy.savez"
        ) from None
    if found is None:
        raise UsageError(f"{name} holds one array without a name; store it with numpy.savez(file, input=...)")
    return {key: _numbers(name, key, array) for key, array in found.items()}


def _all_of(stored: Any) -> Arrays:
    with stored:
        return {key: stored[key] for key in stored.files}


def _numbers(name: str, key: str, array: np.ndarray[Any, Any] | bytes) -> np.ndarray[Any, Any]:
    if not isinstance(array, np.ndarray):  # NumPy hands out a member that is no array as its bytes
        raise UsageError(f"{key} in {name} is no array; write the file with numpy.savez")
    if array.dtype.kind in "OSUV":
        raise UsageError(f"{key} in {name} is of dtype {array.dtype}; store an array of numbers")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def write_arrays(name: str, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write *arrays* to the ``.npz`` file *name*, whole or not at all."""
    write(name, lambda file: np.savez(file, **dict[str, Any](arrays)))


def write_text(name: str, text: str) -> None:
    """Write *text* to the file *name*, whole or not at all."""
    write(name, lambda file: file.write(text.encode()))


def check_writable(*names: str | None) -> None:
    """Raise `UsageError` now for a file that could not be written later; None is no file."""
    for name in names:
        if name is not None and _regular(name):
            beside = _beside(name)
            try:
                beside.touch()
            except OSError as error:
                raise UsageError(f"{name} cannot be written: {_brief(error)}") from None
            finally:
                beside.unlink(missing_ok=True)


def write(name: str, fill: Callable[[BinaryIO], Any]) -> None:
    """Let *fill* write the file *name*: beside it first, then renamed, so that nothing is ever half-written.

    A path that exists and is no regular file (a device, a pipe) is written directly.  Raises
    `UsageError` where the system refuses.
    """
    regular = _regular(name)
    target = _beside(name) if regular else Path(name)
    try:
        with target.open("wb") as file:
            fill(file)
        if regular:
            target.replace(Path(name).resolve())
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {_brief(error)}") from None
    finally:
        if regular:
            target.unlink(missing_ok=True)


def _regular(name: str) -> bool:
    """Whether *name* is, or would become, a regular file; a directory or a path below none is refused."""
    path = Path(name)
    if path.is_dir():
        raise UsageError(f"{name} is a directory; name a file in it")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise UsageError(f"{name} cannot be written: there is no directory {folder}")
    return not path.exists() or path.is_file()


def _beside(name: str) -> Path:
    """Where the file *name* is written before it gets its name."""
    path = Path(name).resolve()
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _brief(error: Exception) -> str:
    """The reason alone, without the paths and codes around it."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if "pickle" in text:
        return "it holds no plain arrays"
    return " ".join(text.split())[:120]
