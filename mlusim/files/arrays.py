"""Reading arrays from ``.npz`` and ``.npy`` files: only the requested ones, and no more bytes than their shapes say."""

import contextlib
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from mlusim.counted import counted
from mlusim.errors import UsageError
from mlusim.files.reading import brief, refuse_no_file, shown

Array = np.ndarray[Any, Any]
# Larger than any tensor of a case, and smaller than what makes a host swap.
LARGEST = 4 << 30
"""Bytes of the largest array that is unpacked."""

_SUFFIX = ".npy"
WRITE = "write it with numpy.savez"


class ArrayFile:
    """The arrays of an open ``.npz`` file *name*, by their names; none is unpacked before `read` asks for it."""

    def __init__(self, name: str, archive: zipfile.ZipFile, kind: str, hint: str) -> None:
        self.name = name
        self._archive = archive
        self._kind, self._hint = kind, hint
        self.members = {
            info.filename.removesuffix(_SUFFIX): info for info in archive.infolist() if not info.is_dir()
        }

    def read(self, member: str, largest: int = LARGEST) -> Array:
        """Return the array *member*, of at most *largest* bytes; raises `UsageError` for one that is broken or larger."""
        told = f"{shown(member)} in {self.name}"
        info = self.members[member]
        with _sentences(self.name, self._kind, self._hint), self._archive.open(info) as packed:
            if not info.filename.endswith(_SUFFIX) or not packed.peek(1).startswith(npy.MAGIC_PREFIX):  # type: ignore[attr-defined]
                raise UsageError(f"{told} is not an array; write the file with numpy.savez")
            return _array(packed, told, info.file_size, largest)


@contextlib.contextmanager
def open_arrays(name: str, wanted: str, kind: str = ".npz file", hint: str = WRITE) -> Iterator[ArrayFile]:
    """Open the ``.npz`` file *name*; raises `UsageError`, which ends in *wanted*, for any other kind of file."""
    path = refuse_no_file(name, wanted)
    with contextlib.ExitStack() as stack:
        with _sentences(name, kind, hint):
            file = stack.enter_context(path.open("rb"))
            # np.load would return the array of a .npy file without a name; its use would be unknown.
            if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
                raise UsageError(
                    f"{name} holds one array without a name; store it with numpy.savez(file, input=...)"
                )
            if not zipfile.is_zipfile(file):
                raise UsageError(f"{name} is not a readable {kind} (it holds no plain arrays); {hint}")
            archive = stack.enter_context(zipfile.ZipFile(file))
            arrays = ArrayFile(name, archive, kind, hint)
        yield arrays


def read_arrays(
    name: str, wanted: str, check: Callable[[Iterable[str]], None] | None = None
) -> dict[str, Array]:
    """Return all arrays of the ``.npz`` file *name* by their names, in the byte order of this machine.

    *check* is called with the names before anything is unpacked.  Raises `UsageError` for a file that is
    missing, no ``.npz``, broken or truncated, and for a member that is anything but numbers.
    """
    with open_arrays(name, wanted) as stored:
        if check is not None:
            check(stored.members)
        return {key: _numbers(name, key, stored.read(key)) for key in stored.members}


def read_member(name: str, member: str | None, wanted: str) -> Array:
    """Return the array *member* of the ``.npz`` file *name*, or its only one; raises `UsageError` as `read_arrays` does."""
    with open_arrays(name, wanted) as stored:
        names = ", ".join(shown(key) for key in stored.members) or "nothing"
        if member is None and len(stored.members) == 1:
            (member,) = stored.members
        if member is None:
            raise UsageError(f"{name} holds {names}; name one array, as {name}:NAME")
        if member not in stored.members:
            raise UsageError(f"{name} holds no {shown(member)}; it holds {names}")
        return _numbers(name, member, stored.read(member))


def _numbers(name: str, key: str, array: Array) -> Array:
    if array.dtype.kind in "OSUV":
        raise UsageError(f"{shown(key)} in {name} is of dtype {array.dtype}; store an array of numbers")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def read_array(name: str, wanted: str) -> Array:
    """Return the array of the ``.npy`` file *name*; raises `UsageError`, which ends in *wanted*, if the file is not one."""
    path = refuse_no_file(name, wanted)
    if not path.stat().st_size:
        raise UsageError(f"{name} is empty; write it with numpy.save")
    with _sentences(name, ".npy file", "write it with numpy.save"), path.open("rb") as file:
        return _array(file, name, path.stat().st_size, LARGEST)


def _array(file: IO[bytes], told: str, size: int, largest: int) -> Array:
    """Return the array of *size* bytes that *file* holds; its header must describe no more bytes than that."""
    version = npy.read_magic(file)
    head = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = head(file)
    # An array of objects is a pickle, and reading a pickle runs code from the file.
    if dtype.hasobject:
        raise UsageError(f"{told} holds Python objects; store an array of numbers")
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > largest:
        raise UsageError(f"{told} has {counted(nbytes, 'byte')} by its shape; at most {largest:,} are read")
    truncated = f"{told} is truncated: its shape {list(shape)} needs {counted(nbytes, 'byte')}"
    if size < nbytes:
        raise UsageError(truncated)
    # Not np.load: it allocates by the shape before it checks that the file has so many bytes.
    raw = bytearray(nbytes)
    view, got = memoryview(raw), 0
    while got < nbytes and (count := file.readinto(view[got:])):  # type: ignore[attr-defined]
        got += count
    if got < nbytes:
        raise UsageError(truncated)
    flat: Array = np.frombuffer(raw, dtype) if nbytes else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


@contextlib.contextmanager
def _sentences(name: str, kind: str, hint: str) -> Iterator[None]:
    """Turn any exception that the readers raise for a broken file into a `UsageError`."""
    try:
        yield
    except UsageError:
        raise
    except MemoryError:
        raise UsageError(f"{name} holds more than the memory of this host") from None
    except Exception as error:  # noqa: BLE001 - a broken file makes them raise anything
        raise UsageError(f"{name} is not a readable {kind} ({brief(error)}); {hint}") from None
