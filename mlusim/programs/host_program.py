"""A program of BANG C with a ``main`` of its own."""

from collections.abc import Iterable
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from mlusim.frontend.bangc.functions import codes_of_main
from mlusim.frontend.bangc.module import Module
from mlusim.machine.device import Device
from mlusim.machine.hub import attending
from mlusim.machine.launch import Launch
from mlusim.observe.names import observers_of
from mlusim.programs.source_files import source_facts

if TYPE_CHECKING:
    from mlusim.programs.kernel_call import Sources


@define(eq=False)
class HostProgram:
    """The ``main`` of BANG C sources, with *arguments* behind the program's name; a `Program`."""

    sources: "Sources"
    arguments: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    seed: int | None = None
    effects: str = "late"
    engine: str = "auto"
    launches: list[Launch] = field(factory=list, init=False)
    _module: Module | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The file's name."""
        return Path(self.sources.paths[0]).name

    @property
    def module(self) -> Module:
        """The sources, loaded once."""
        if self._module is None:
            self._module = self.sources.load()
            self._module.warn_of_broken()
        return self._module

    @property
    def host_codes(self) -> tuple[CodeType, ...]:
        """The code of its host functions, in whose lines a debugger can stop."""
        return codes_of_main(self.module)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """None: a program has its arrays in its own memory."""
        return {}

    def recorded(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """What a recording holds of it: its sources by name and digest, and its arguments; no arrays."""
        facts = {
            "kind": "main",
            "sources": source_facts(self.sources, self.module),
            "arguments": list(self.arguments),
            "checks": list(self.checks),
            "seed": self.seed,
            "effects": self.effects,
            "engine": self.engine,
        }
        return facts, {}

    def run(self, observe: Iterable[Any]) -> None:
        """Execute it from the beginning, on a new device.

        Raises `SystemExit` with its exit status where that is not 0, `Fault` for what the program or a kernel does
        wrong, and `UsageError` where the sources have no ``main``.
        """
        options = {"seed": self.seed, "effects": self.effects, "engine": self.engine}
        self.launches.clear()
        with attending(observers_of((*self.checks, *observe))):
            code = self.module.run_main(self.arguments, Device(self.sources.board), options, self.launches)
        if code:
            raise SystemExit(code)
