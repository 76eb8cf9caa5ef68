"""Failing calls in a folder: each with its arrays, and with the command that makes it again; later runs try them first."""

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
    """A call that has failed, what was found, and the command that asks for it again.

    Files among its arguments are in the folder of the call.
    """

    asked: AskedCall
    found: str
    command: str = ""

    def facts(self) -> dict[str, Any]:
        """Return what tells it from other calls, but for its arrays."""
        asked = self.asked
        around = members(asked, "dim", "kind", "board", "effects", "arguments")
        return {"kernel": asked.called, "schedule": asked.seed, **around}


@frozen
class CorpusState:
    """How far a search has come: a digest of all that it depends on, its seed, and how many calls were tried."""

    word: str
    seed: int
    done: int


@frozen
class Corpus:
    """A folder of failing calls."""

    folder: Path = field(converter=Path)

    def place(self, call: KeptCall, arrays: Mapping[str, Array]) -> Path:
        """Return the folder for *call*, named after its kernel and a digest of what it is given."""
        # By contents, so that a call that is found again goes to the folder that it has.
        word = hashlib.sha256(json.dumps(call.facts(), sort_keys=True).encode())
        for name in sorted(arrays):
            word.update(arrays[name].tobytes())
        kernel = "".join(letter if letter.isalnum() else "_" for letter in call.asked.called)
        return self.folder / f"{kernel}-{word.hexdigest()[:8]}"

    def add(self, place: Path, call: KeptCall, arrays: Mapping[str, Array], *, bundled: bool = False) -> None:
        """Write *call* and its arrays to its *place*, *bundled* ones to one file besides."""
        place.mkdir(parents=True, exist_ok=True)
        if bundled:
            write(str(place / BUNDLE), lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]
        for name, array in arrays.items():
            write(str(place / f"{name}.npy"), lambda file, array=array: np.save(file, array))  # type: ignore[misc]
        write_text(str(place / CALL), json_text(asdict(call)))

    def calls(self) -> Iterator[tuple[Path, KeptCall]]:
        """Yield the calls that are kept, by the names of their folders.  Raises `UsageError` for a broken file."""
        for path in sorted(self.folder.glob(f"*/{CALL}")):
            yield path.parent, _read(path, KeptCall)

    def arrays(self, place: Path, call: KeptCall) -> dict[str, Array]:
        """Return the arrays of *call*, which is kept in *place*."""
        return {
            name: read_array(str(place / f"{name}.npy"), "it belongs to the call beside it")
            for name, text in call.asked.arguments.items()
            if text.removeprefix("host:").removeprefix("inout:") == f"{name}.npy"
        }

    def state(self) -> CorpusState | None:
        """Return how far the last search came; None where there was none."""
        path = self.folder / STATE
        return _read(path, CorpusState) if path.exists() else None

    def note(self, state: CorpusState) -> None:
        """Keep how far a search has come."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(str(self.folder / STATE), json_text(asdict(state)))


def _read(path: Path, kind: object) -> Any:
    try:
        document = read_json(str(path), "a file of `mlusim fuzz`; remove it")
        return typed(kind, _renewed(document) if kind is KeptCall else document, path.name)
    except TypeError as error:
        raise UsageError(f"{path} is not a file of `mlusim fuzz`: {error}; remove it") from None


def _renewed(document: Any) -> Any:
    """Return the *document* of a call as this version writes it: earlier ones had no files in it, and the parts of a call beside each other."""
    if not isinstance(document, Mapping) or "asked" in document:
        return document
    names = ("kernel", "dim", "kind", "board", "effects", "arguments")
    asked = plain(asdict(AskedCall(("",)))) | {name: document.get(name) for name in names}
    return {"asked": asked | {"seed": document.get("schedule")}, **document}
