"""Files written whole or not at all: beside their place, under a name that cannot be foreseen, then renamed; and locks."""

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
    """A file that the system refused to write; ``kept`` is where its contents are instead, if anywhere."""

    def __init__(self, message: str, rescued: Path | None = None) -> None:
        super().__init__(message)
        self.kept = rescued


def write_arrays(name: str, arrays: Mapping[str, np.ndarray[Any, Any]], *, keep: bool = False) -> None:
    """Write *arrays* to the ``.npz`` file *name*, as `write` does."""
    write(name, lambda file: np.savez(file, **dict[str, Any](arrays)), keep=keep)


def write_text(name: str, text: str, *, keep: bool = False) -> None:
    """Write *text* to the file *name* in UTF-8, as `write` does."""
    # A path or an error of the system may hold bytes that are not UTF-8; they are shown, and the file is
    # written.
    write(name, lambda file: file.write(text.encode("utf-8", "backslashreplace")), keep=keep)


def check_writable(*names: str | None) -> None:
    """Raise `UsageError` now for a file that could not be written later; None stands for no file."""
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
    """Let *fill* write the file *name* beside its place, flush it to the disk, and rename it.

    A kill, a full disk or an error of *fill* leaves the file that was there.  A path that exists and is no
    regular file (a device, a pipe) is written directly.  Raises `Unwritten` where the system refuses; with
    *keep* the contents then go to a file in a folder for temporary files, which the sentence names.
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
    """Return a new file in the folder of *target*, open for writing; it follows no link and takes no file that exists."""
    beside = target.with_name(f".mlusim-{os.urandom(12).hex()}.part")
    return beside, os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _settle(folder: Path) -> None:
    """Bring the new name to the disk too, where the system can."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _regular(name: str) -> Path | None:
    """Return the file that *name* is or would become, behind links; None for a device or a pipe.

    Raises `UsageError` for a directory, for a path below none, and for a file that may not be written.
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
    """Return a new file in a folder for temporary files that *fill* has written instead of *name*; None: none takes it."""
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
    """Yield the folders in which a file can be kept that has no other place."""
    with contextlib.suppress(OSError):
        yield tempfile.gettempdir()
    yield "/var/tmp"  # noqa: S108 - a name is made in it that cannot be foreseen
    with contextlib.suppress(RuntimeError):
        yield str(Path.home())


# -- locks: one process at a time reads, changes and writes a file, or holds it while it works -----------

PATIENCE = 60.0  # seconds, where a change takes milliseconds: its holder hangs
PAUSE = 0.02


@contextlib.contextmanager
def changing(name: str, patience: float = PATIENCE) -> Iterator[None]:
    """Keep other processes from changing the file *name*, or another of its folder, this way in the block.

    The folder carries the lock, since the file itself is replaced.  A folder that cannot be opened, a file
    system or a system without locks has none.  Raises `UsageError` after *patience* seconds of waiting; with `math.inf`
    another process may take as long as it lives, since the system lets go of what a process holds when that ends.
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
    """Hold *file* (open, or its number) for this process alone; false where another has it.

    True where the system has no locks.  The system lets go when the file is closed, or the process ends.
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
