"""Failing calls stored in a folder, each with its arrays and the command that repeats it; later runs try them first."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import asdict, field, frozen

from mlusim.document import json_text, members, plain
from mlusim.errors import UsageError
from mlusim.files.arrays import read_array
from mlusim.files.reading import read_json, typed
from mlusim.files.writing import write, write_text
from mlusim.programs.argument_forms import AskedCall

Array = np.ndarray[Any, Any]
CALL, STATE = "call.json", "state.json"
BUNDLE = "inputs.npz"  # all arrays of a call, as `mlusim check OP --inputs` takes them


@frozen
class KeptCall:
    """A call that failed, its fault, and the command that repeats it.

    File names among its arguments are relative to the folder of the call.
    """

    asked: AskedCall
    found: str
    command: str = ""

    def facts(self) -> dict[str, Any]:
        """Return everything that distinguishes the call from others, except its arrays."""
        asked = self.asked
        around = members(asked, "dim", "kind", "board", "effects", "arguments")
        return {"kernel": asked.called, "schedule": asked.seed, **around}


@frozen
class CorpusState:
    """The progress of a search: a digest of everything that it depends on, its seed, and the number of calls tried."""

    word: str
    seed: int
    done: int


@frozen
class Corpus:
    """A folder of failing calls."""

    folder: Path = field(converter=Path)

    def place(self, call: KeptCall, arrays: Mapping[str, Array]) -> Path:
        """Return the folder for *call*, named after its kernel and a digest of its arguments and *arrays*."""
        # By contents, so that a call that fails again is stored in the same folder.
        word = hashlib.sha256(json.dumps(call.facts(), sort_keys=True).encode())
        for name in sorted(arrays):
            word.update(arrays[name].tobytes())
        kernel = "".join(letter if letter.isalnum() else "_" for letter in call.asked.called)
        return self.folder / f"{kernel}-{word.hexdigest()[:8]}"

    def add(self, place: Path, call: KeptCall, arrays: Mapping[str, Array], *, bundled: bool = False) -> None:
        """Write *call* and its arrays to the folder *place*; with *bundled* also all arrays to one file."""
        place.mkdir(parents=True, exist_ok=True)
        if bundled:
            write(str(place / BUNDLE), lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]
        for name, array in arrays.items():
            write(str(place / f"{name}.npy"), lambda file, array=array: np.save(file, array))  # type: ignore[misc]
        write_text(str(place / CALL), json_text(asdict(call)))

    def calls(self) -> Iterator[tuple[Path, KeptCall]]:
        """Yield the stored calls with their folders, in the order of the folders' names.  Raises `UsageError` for a broken file."""
        for path in sorted(self.folder.glob(f"*/{CALL}")):
            yield path.parent, _read(path, KeptCall)

    def arrays(self, place: Path, call: KeptCall) -> dict[str, Array]:
        """Return the arrays of *call*, which is stored in *place*."""
        return {
            name: read_array(str(place / f"{name}.npy"), "it belongs to the call beside it")
            for name, text in call.asked.arguments.items()
            if text.removeprefix("host:").removeprefix("inout:") == f"{name}.npy"
        }

    def state(self) -> CorpusState | None:
        """Return the progress of the last search; None if there was none."""
        path = self.folder / STATE
        return _read(path, CorpusState) if path.exists() else None

    def note(self, state: CorpusState) -> None:
        """Store the progress of a search."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(str(self.folder / STATE), json_text(asdict(state)))


def _read(path: Path, kind: object) -> Any:
    try:
        document = read_json(str(path), "a file of `mlusim fuzz`; remove it")
        return typed(kind, _renewed(document) if kind is KeptCall else document, path.name)
    except TypeError as error:
        raise UsageError(f"{path} is not a file of `mlusim fuzz`: {error}; remove it") from None


def _renewed(document: Any) -> Any:
    """Return the *document* of a call in the format of this version; earlier versions had no list of files, and no object for the call."""
    if not isinstance(document, Mapping) or "asked" in document:
        return document
    names = ("kernel", "dim", "kind", "board", "effects", "arguments")
    asked = plain(asdict(AskedCall(("",)))) | {name: document.get(name) for name in names}
    return {"asked": asked | {"seed": document.get("schedule")}, **document}
