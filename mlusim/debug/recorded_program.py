"""The program that a recording holds or names: an operator's call, a script in a folder of its own, BANG C sources."""

import shutil
import tempfile
import weakref
from pathlib import Path

from mlusim.debug.recorded import KernelCallFacts, MainFacts, OperatorFacts, ScriptFacts
from mlusim.debug.recording import Recording, of_sources, untrusted
from mlusim.errors import UsageError
from mlusim.files.paths import brief
from mlusim.operators.registry import find_operator
from mlusim.programs.operator_program import OperatorProgram
from mlusim.programs.program import Program, ScriptProgram


def program_in(recording: Recording) -> Program:
    """Return the program that a recording debugs.  Raises `UsageError` for code that may not run, and for sources that are missing."""
    stored = recording.stored
    if not isinstance(stored, OperatorFacts) and not recording.trusted:
        raise UsageError(untrusted(recording))
    if isinstance(stored, ScriptFacts):
        return _stored_script(stored)
    arrays = {key.removeprefix("input."): array for key, array in recording.arrays.items()}
    if isinstance(stored, KernelCallFacts | MainFacts):
        program: Program = of_sources().source_program(stored, arrays, recording.name)
        return program
    return OperatorProgram(
        find_operator(stored.operator),
        arrays,
        stored.params,
        stored.board,
        stored.seed,
        stored.effects,
        stored.case,
        stored.checks,
    )


def _stored_script(facts: ScriptFacts) -> Program:
    """Return the script in a folder of its own, which goes when the program does."""
    folder = Path(tempfile.mkdtemp(prefix="mlusim-replay-"))
    sources = facts.sources
    program = ScriptProgram(str(folder / next(iter(sources))), facts.arguments, facts.checks)
    weakref.finalize(program, shutil.rmtree, folder, ignore_errors=True)
    try:
        for name, source in sources.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(source, encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise UsageError(
            f"the script of the recording cannot be written to {folder}: {brief(error)}"
        ) from None
    return program
