"""The BANG C sources that a recording names, found again; and the program that they are."""

import os
from collections.abc import Mapping
from pathlib import Path

from attrs import evolve, frozen

from mlusim.debug.recorded import Arrays, ExpectationFacts, KernelCallFacts, MainFacts, SourceFacts
from mlusim.errors import UsageError
from mlusim.files.reading import shown
from mlusim.frontend.bangc.parse.sources import digest, read
from mlusim.operators.spec import Thresholds
from mlusim.programs.expectation import Expectation
from mlusim.programs.kernel_call import AskedCall, KernelCall, kind_of
from mlusim.programs.native_program import HostProgram
from mlusim.report.json_values import members


@frozen
class FoundSources:
    """The sources of `SourceFacts` as they were found: ``files`` by the names of the facts, and those that have ``changed``."""

    sources: AskedCall
    files: Mapping[str, str]
    changed: tuple[str, ...]


def source_program(
    facts: KernelCallFacts | MainFacts, arrays: Arrays, recording: str
) -> KernelCall | HostProgram:
    """Return the call or the ``main`` that the file *recording* names, with the *arrays* that go in.

    Raises `UsageError` for sources that are missing.
    """
    sources = found_sources(facts.sources, recording).sources
    asked = evolve(sources, **members(facts, "checks", "seed", "effects", "engine"))
    if isinstance(facts, MainFacts):
        return HostProgram(evolve(asked, words=facts.arguments))
    asked = evolve(
        asked, kind=kind_of(facts.type).name, **members(facts, "kernel", "dim", "arguments", "draws")
    )
    # The others are what outputs are compared with.
    given = {key: array for key, array in arrays.items() if key in facts.arguments}
    return KernelCall(asked, given, expectation=_expectation(facts.expectation, arrays))


def _expectation(facts: ExpectationFacts | None, arrays: Arrays) -> Expectation | None:
    """Return the expectation that a recording has, with its arrays."""
    if facts is None:
        return None
    given = {name: arrays[key.removeprefix("input.")] for name, key in facts.outputs.items()}
    return Expectation(facts.name, None, {}, Thresholds(facts.diff1, facts.diff2, facts.diff3), given)


def found_sources(facts: SourceFacts, recording: str) -> FoundSources:
    """Return the sources that the file *recording* names: from their old folder, beside the recording, or from the current folder.

    Raises `UsageError` with the names of those that are in none of the three.
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
    sources = AskedCall(
        tuple(best[name] for name in facts.paths),
        board=facts.board,
        include=tuple(_directory(facts, folder, name) for name in facts.include),
        define=dict(facts.define),
    )
    return FoundSources(sources, best, _changed(facts, best))


def _places(facts: SourceFacts, folder: Path, name: str) -> tuple[str, str]:
    """Return the path of *name* if the sources are in *folder*, and its old path: a file that several sources share may not have moved."""
    return os.path.normpath(folder / name), os.path.normpath(Path(facts.folder) / name)


def _looked_up(facts: SourceFacts, folder: Path) -> dict[str, str]:
    found = {}
    for name in facts.digests:
        place = next((p for p in _places(facts, folder, name) if Path(p).is_file()), None)
        if place is not None:
            found[name] = place
    return found


def _directory(facts: SourceFacts, folder: Path, name: str) -> str:
    here, there = _places(facts, folder, name)
    return here if Path(here).is_dir() else there


def _changed(facts: SourceFacts, files: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(name for name, path in files.items() if digest(read(path)) != facts.digests[name]))
