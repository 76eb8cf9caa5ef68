"""Finding the BANG C sources that a recording names, and the program in them."""

import os
from collections.abc import Mapping
from pathlib import Path

from attrs import evolve, frozen

from mlusim.bangc.parse.sources import digest, read
from mlusim.debug.recorded import Arrays, AskedFacts, ExpectationFacts
from mlusim.errors import UsageError
from mlusim.files.reading import shown
from mlusim.operators.spec import Thresholds
from mlusim.programs.argument_forms import USUAL_CRITERION, AskedCall
from mlusim.programs.expectation import Expectation
from mlusim.programs.kernel_call import KernelCall
from mlusim.programs.native_program import HostProgram


@frozen
class FoundSources:
    """The call that is *asked* of the sources at their present paths: ``files`` by their names in the facts, and which ones have ``changed``."""

    asked: AskedCall
    files: Mapping[str, str]
    changed: tuple[str, ...]


def source_program(facts: AskedFacts, arrays: Arrays, recording: str) -> KernelCall | HostProgram:
    """Return the call or the ``main`` in the file *recording*, with the input *arrays*.

    Raises `UsageError` if sources are missing.
    """
    asked = found_sources(facts, recording).asked
    if facts.kind == "main":
        return HostProgram(asked)
    # The other arrays are the expected outputs.
    given = {key: array for key, array in arrays.items() if key in asked.arguments}
    return KernelCall(asked, given, expectation=_expectation(facts.expectation, arrays))


def _expectation(facts: ExpectationFacts | None, arrays: Arrays) -> Expectation | None:
    """Return the expected outputs in a recording, with their arrays."""
    if facts is None:
        return None
    given = {name: arrays[key.removeprefix("input.")] for name, key in facts.outputs.items()}
    return Expectation(facts.name, None, {}, Thresholds(facts.diff1, facts.diff2, facts.diff3), given)


def found_sources(facts: AskedFacts, recording: str) -> FoundSources:
    """Find the sources that the file *recording* names: in their old folder, beside the recording, or in the current folder.

    Raises `UsageError` with the names of the files that are in none of these.
    """
    folders = (Path(facts.folder), Path(recording).absolute().parent, Path.cwd())
    tried = [_looked_up(facts, folder) for folder in folders]
    best = max(tried, key=lambda files: (len(files), -len(_changed(facts, files))))
    missing = sorted(set(facts.digests) - set(best))
    if missing:
        names = ", ".join(shown(name)[:200] for name in missing[:8])
        names += f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise UsageError(
            f"{recording} was recorded from sources that are missing here: {names} of {shown(facts.folder)[:200]}; "
            "put them there, beside the recording, or into the current folder"
        )
    folder = folders[tried.index(best)]
    asked = evolve(
        facts.asked,
        program=tuple(best[name] for name in facts.asked.program),
        include=tuple(_directory(facts, folder, name) for name in facts.asked.include),
        criterion=USUAL_CRITERION,  # a function named by the file would be imported
    )
    return FoundSources(asked, best, _changed(facts, best))


def _places(facts: AskedFacts, folder: Path, name: str) -> tuple[str, str]:
    """Return the path of *name* if the sources are in *folder*, and its old path: a shared file may not have moved with the sources."""
    return os.path.normpath(folder / name), os.path.normpath(Path(facts.folder) / name)


def _looked_up(facts: AskedFacts, folder: Path) -> dict[str, str]:
    found = {}
    for name in facts.digests:
        place = next((p for p in _places(facts, folder, name) if Path(p).is_file()), None)
        if place is not None:
            found[name] = place
    return found


def _directory(facts: AskedFacts, folder: Path, name: str) -> str:
    here, there = _places(facts, folder, name)
    return here if Path(here).is_dir() else there


def _changed(facts: AskedFacts, files: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(name for name, path in files.items() if digest(read(path)) != facts.digests[name]))
