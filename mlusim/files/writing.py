"""Files written whole or not at all: to a temporary file in the same folder, under an unpredictable name, then renamed; and locks."""

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mlusim.errors import UsageError
from mlusim.files.reading import brief, path_of

WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class Unwritten(UsageError):
    """The system refused to write a file; ``kept`` is the file that holds its contents instead, None without one."""

    def __init__(self, message: str, rescued: Path | None = None) -> None:
        super().__init__(message)
        self.kept = rescued


def write_arrays(name: str, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write *arrays* to the ``.npz`` file *name*, as `write` does with *keep*."""
    write(name, lambda file: np.savez(file, **dict[str, Any](arrays)), keep=True)


def write_text(name: str, text: str, *, keep: bool = False) -> None:
    """Write *text* to the file *name* in UTF-8, as `write` does."""
    # A path or an error of the system may hold bytes that are not UTF-8; they are written as escapes.
    write(name, lambda file: file.write(text.encode("utf-8", "backslashreplace")), keep=keep)


def check_writable(*names: str | None) -> None:
    """Raise `UsageError` at once for a file that could not be written later; None stands for no file."""
    for name in names:
        target = None if name is None else _regular(name)
        if target is not None:
            try:
                beside, number = _beside(target)
                os.close(number)
                beside.unlink()
            except OSError as error:
                raise UsageError(f"{name} cannot be written: {brief(error)}") from None


def write(name: str, fill: Callable[[BinaryIO], Any], *, keep: bool = False) -> None:
    """Let *fill* write a temporary file beside the file *name*, flush it to the disk, and rename it to *name*.

    If the process is killed, the disk is full or *fill* fails, the old file stays.  A path that exists and is no
    regular file (a device, a pipe) is written directly.  Raises `Unwritten` if the system refuses; with
    *keep* the contents are then written to a temporary file, which the message names.
    """
    target = _regular(name)
    try:
        if target is None:
            with Path(name).open("wb") as file:
                fill(file)
        else:
            _replace(target, fill)
    except OSError as error:
        rescued = kept_elsewhere(name, fill) if keep else None
        instead = "" if rescued is None else f"; what was computed is in {rescued}"
        if keep and rescued is None:
            instead = f", and neither {' nor '.join(dict.fromkeys(_folders()))} takes what was computed"
        raise Unwritten(f"{name} cannot be written: {brief(error)}{instead}", rescued) from None


def _replace(target: Path, fill: Callable[[BinaryIO], Any]) -> None:
    beside, number = _beside(target)
    try:
        with os.fdopen(number, "wb") as file:
            fill(file)
            file.flush()
            with contextlib.suppress(FileNotFoundError):
                beside.chmod(stat.S_IMODE(target.stat().st_mode))
            os.fsync(number)
        beside.replace(target)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
    _settle(target.parent)


def _beside(target: Path) -> tuple[Path, int]:
    """Return a new file in the folder of *target* and its open descriptor; it follows no link and opens no existing file."""
    beside = target.with_name(f".mlusim-{os.urandom(12).hex()}.part")
    return beside, os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _settle(folder: Path) -> None:
    """Flush the renamed entry of *folder* to the disk, if the system can."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _regular(name: str) -> Path | None:
    """Return the file that *name* refers to or would create, with links resolved; None for a device or a pipe.

    Raises `UsageError` for a directory, for a path whose folder does not exist, and for a file that may not be
    written.
    """
    path = path_of(name)
    try:
        target = path.resolve()
        if target.is_dir():
            raise UsageError(f"{name} is a directory; name a file in it")
        if not target.parent.is_dir():
            raise UsageError(f"{name} cannot be written: there is no directory {target.parent}")
        if not target.exists():
            return target
        if not target.is_file():
            return None
        if not (target.stat().st_mode & WRITE_BITS and os.access(target, os.W_OK)):
            raise UsageError(f"{name} cannot be written: it is write-protected")
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{name} cannot be written: {brief(error)}") from None
    return target


def kept_elsewhere(name: str, fill: Callable[[BinaryIO], Any]) -> Path | None:
    """Let *fill* write a temporary file in place of *name* and return its path; None if no folder accepts it."""
    for folder in _folders():
        path = None
        try:
            number, text = tempfile.mkstemp(suffix=f"-{Path(name).name[-40:]}", prefix="mlusim-", dir=folder)
            path = Path(text)
            with os.fdopen(number, "wb") as file:
                fill(file)
        except OSError:
            if path is not None:
                with contextlib.suppress(OSError):
                    path.unlink()
            continue
        return path
    return None


def _folders() -> Iterable[str]:
    """Yield the folders for a file that cannot be written where the user asked."""
    with contextlib.suppress(OSError):
        yield tempfile.gettempdir()
    yield "/var/tmp"  # noqa: S108 - a name is made in it that cannot be foreseen
    with contextlib.suppress(RuntimeError):
        yield str(Path.home())


# -- locks: one process at a time reads, changes and writes a file, or holds it while it works -----------

PATIENCE = 60.0  # seconds; a change takes milliseconds, so that a process that holds the lock longer hangs
PAUSE = 0.02


@contextlib.contextmanager
def changing(name: str, patience: float = PATIENCE) -> Iterator[None]:
    """Keep other processes that use this function from changing the file *name*, or another file of its folder, during the block.

    The folder is locked, since the file itself is replaced.  A folder that cannot be opened, or a file system or
    system without locks, is not locked.  Raises `UsageError` after *patience* seconds of waiting; `math.inf` waits as
    long as the other process lives, since the system releases the locks of a process that ends.
    """
    folder = Path(name).resolve().parent
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        until = time.monotonic() + patience
        while not lock(number):
            if time.monotonic() > until:
                raise UsageError(f"{name} is being changed by another process for more than {patience:g} s")
            time.sleep(PAUSE)
        yield
    finally:
        os.close(number)


def lock(file: Any) -> bool:
    """Lock *file* (an open file or its descriptor) for this process; return False if another process holds it.

    Returns True if the system has no locks.  The lock is released when the file is closed or the process ends.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True
