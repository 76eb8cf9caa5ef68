"""Tuning of native programs with other macros, words and environment variables: each candidate is a run of the whole program.

A candidate is right if the program exits with code 0, because the program checks its results itself.
"""

import contextlib
import hashlib
import io
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from mlusim.document import members, plain
from mlusim.errors import Fault, UsageError
from mlusim.machine.launch import Launch
from mlusim.machine.limits import Limit, limiting
from mlusim.operators.kept_work import sources_of
from mlusim.programs.argument_forms import AskedCall
from mlusim.programs.native_program import CommandProgram, HostProgram
from mlusim.report.explain import because
from mlusim.report.figures import shares
from mlusim.report.profiled import Profiled
from mlusim.tune.ranking import REFUSED, WRONG, mechanisms, out
from mlusim.tune.space import MACRO, Settings, TriedTask, TuneJob, filled, variables_set, with_macros


@frozen
class ProgramTask(TriedTask):
    """The data shared by all candidates of a program."""

    main: bool = True  # for BANG C sources; false for a compiled program
    threads: int | None = None

    def program(self, settings: Settings, board: str) -> HostProgram | CommandProgram:
        """Return the program with *settings* on *board*."""
        asked = evolve(
            self.asked, board=board, words=tuple(filled(word, settings) for word in self.asked.words)
        )
        if self.main:
            return with_macros(HostProgram(asked), {s.name: s.value for s in settings if s.role == MACRO})
        options = {**members(asked, "engine", "seed", "effects"), "threads": self.threads}
        return CommandProgram(asked.file, asked.words, (), (board,), options)

    def tried(self, job: TuneJob) -> dict[str, Any]:
        """Run one candidate in this process and return its document: whether the program succeeds, its time and bound."""
        outcome, profile, printed = job.empty(), Profiled(lines=False), io.StringIO()
        streams = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
        try:
            with limiting(self.limit), variables_set(job.settings), streams[0], streams[1]:
                self.program(job.settings, job.board).run([profile])
        except (Fault, UsageError) as error:
            outcome |= out(error)
        except SystemExit as leaving:
            # The first error of the driver, or else the last line of output.
            lines = [line.strip() for line in printed.getvalue().splitlines() if line.strip()]
            first = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), None)
            why = f"it ends with exit code {leaving.code}" + (f": {first or lines[-1]}" if lines else "")
            outcome |= {"verdict": WRONG, "right": False, "why": why}
        else:
            outcome |= {"right": True}
            outcome |= _timed(profile.launches) if profile.launches else {"verdict": REFUSED, "fits": False, "why": "it launches no kernel"}  # fmt: skip
        document: dict[str, Any] = plain(outcome)
        return document


def program_task(
    program: HostProgram | CommandProgram,
    wanted: Sequence[Settings],
    limit: Limit,
    board: str,
) -> ProgramTask:
    """Return the task for trying *wanted* of *program*, with *limit* for each launch."""
    if isinstance(program, HostProgram):
        macros = {setting.name: setting.value for setting in wanted[0] if setting.role == MACRO}
        digests = with_macros(program, macros).recorded()[0]["digests"]
        asked, threads = program.asked, None
    else:
        place = shutil.which(program.path) or program.path
        digests, options = hashlib.sha256(Path(place).read_bytes()).hexdigest(), dict(program.options)
        threads = options.pop("threads", None)
        asked = AskedCall((program.path,), board=board, words=program.arguments, **options)
    word = hashlib.sha256(repr(digests).encode()).hexdigest()[:16]
    files = f"{sources_of(())}-{word}"
    return ProgramTask(asked, files, None, limit, main=isinstance(program, HostProgram), threads=threads)


def _timed(launches: Sequence[Launch]) -> dict[str, Any]:
    """Return the combined facts of *launches*; the bound is that of the longest launch."""
    longest = max(launches, key=lambda launch: launch.time_us)
    io_share, compute = shares(launches)
    memory: dict[str, dict[str, int]] = {}
    for launch in launches:
        for name, use in launch.memory.items():
            most = max(use.high_water, memory.get(name, {}).get("high_water", 0))
            memory[name] = {"capacity": use.capacity, "high_water": most}
    return {
        "time_us": sum(launch.time_us for launch in launches),
        "time_band": [sum(launch.time_band[side] for launch in launches) for side in (0, 1)],
        "bound": longest.bound,
        "because": list(because(longest)),
        "io_efficiency": io_share,
        "compute_efficiency": compute,
        "memory": memory,
        "mechanisms": mechanisms(launches),
        "engine": longest.engine,
    }
