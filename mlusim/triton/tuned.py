"""A Triton kernel for `mlusim tune`: each candidate, with other constants, options, grid and arguments, is compiled to BANG C."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from mlusim.arch.catalog import find_board
from mlusim.document import members
from mlusim.errors import UsageError
from mlusim.machine.limits import Limit
from mlusim.near import near
from mlusim.operators.kept_work import sources_of
from mlusim.programs.argument_forms import AskedCall
from mlusim.programs.kernel_call import KernelCall
from mlusim.triton.calls import OPTIONS, TritonKernel
from mlusim.tune.space import ARGUMENT, Setting, Settings, TuneParameter, word_of
from mlusim.tune.tuning import TuneTask, files_word

CONSTANT, OPTION, GRID = "constexpr", "option", "grid"
"""Roles of settings, besides arguments: a constant, ``num_warps`` or ``num_stages``, the grid."""


@frozen
class TritonTask(TuneTask):
    """The data shared by all candidates of a Triton kernel."""

    triton: TritonKernel = field(kw_only=True)

    def call(self, settings: Settings, board: str) -> KernelCall:
        """Return the call with *settings* on *board*. Raises like `TritonKernel.call`."""
        kernel, arguments = _with(self.triton, self.asked.arguments, settings)
        around = members(self.asked, "seed", "effects", "engine", "draws")
        return kernel.call(arguments, find_board(board), **around)


def _with(
    kernel: TritonKernel, arguments: Mapping[str, str], settings: Settings
) -> tuple[TritonKernel, dict[str, str]]:
    """Return *kernel* and *arguments* with the values of *settings*."""
    values = {
        role: {setting.name: setting.value for setting in settings if setting.role == role}
        for role in (CONSTANT, OPTION, GRID, ARGUMENT)
    }
    options = {**kernel.options, **{name: int(text) for name, text in values[OPTION].items()}}
    constants = {**kernel.constants, **values[CONSTANT]}
    grid = values[GRID].get(GRID, kernel.grid)
    return evolve(kernel, constants=constants, grid=grid, options=options), {**arguments, **values[ARGUMENT]}


@frozen
class TunedTriton:
    """The kernel *triton* on *board*, called with *arguments*; *around* are further fields of `AskedCall`."""

    triton: TritonKernel
    arguments: Mapping[str, str]
    board: str
    around: Mapping[str, Any] = field(factory=dict)

    def parameters_of(self, words: Sequence[str]) -> tuple[TuneParameter, ...]:
        """Return the parameters in *words* of ``--param``.

        A name is a parameter of the kernel, ``num_warps``, ``num_stages`` or ``grid``. Raises `UsageError`
        for other names.
        """
        parameters = [self._parameter(word) for word in words]
        names = [parameter.name for parameter in parameters]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"--param gives {twice} twice; give it once, with all of its values")
        return tuple(parameters)

    def _parameter(self, text: str) -> TuneParameter:
        word = word_of(text)
        name, formals = word.name, self.triton.parameters()
        if word.macro:
            raise UsageError(f"-D{name} is a macro of BANG C; a Triton kernel takes --param {name}=...")
        if name in OPTIONS:
            odd = next((value for value in word.values if not value.isdigit()), None)
            if odd is not None:
                raise UsageError(f"--param {name} takes whole numbers, and {odd!r} is not one")
            return TuneParameter(name, OPTION, word.values)
        # A kernel may have a parameter of this name, which takes precedence.
        if name == GRID and name not in formals:
            return TuneParameter(name, GRID, word.values)
        if name not in formals:
            legal = [*formals, *OPTIONS, GRID]
            guess = near(name, legal, 1)
            hint = f"did you mean {guess[0]}?" if guess else f"there are {', '.join(legal)}"
            raise UsageError(f"--param {name}: {self.triton.called} has no parameter {name}; {hint}")
        for option, taken in (("--constexpr", self.triton.constants), ("--arg", self.arguments)):
            if name in taken:
                raise UsageError(f"--param and {option} both give {name}; leave the {option} out")
        return TuneParameter(name, CONSTANT if name in self.triton.constexprs() else ARGUMENT, word.values)

    def configurations(self) -> list[Settings]:
        """Return the configurations of the kernel's ``triton.autotune`` decorator; empty without one."""
        return [
            tuple(
                Setting(name, OPTION if name in OPTIONS else CONSTANT, str(value))
                for name, value in configuration
            )
            for configuration in self.triton.configurations()
        ]

    def task_of(self, wanted: Sequence[Settings], limit: Limit) -> TritonTask:
        """Return the task for trying *wanted*, with *limit* for each launch."""
        path = Path(self.triton.path)
        # Triton's cache key covers the functions that the kernel calls, in any file.
        digests = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest(),
            "": self.triton.function.cache_key,
        }
        asked = AskedCall(
            (self.triton.path,),
            self.triton.called,
            arguments=self.arguments,
            board=self.board,
            **self.around,
        )
        texts = [*self.arguments.values(), *asked.criterion.expect.values()]
        texts += [setting.value for settings in wanted for setting in settings]
        sources = f"{sources_of(())}-{files_word(digests, texts, asked.criterion)}"
        return TritonTask(asked, sources, limit=limit, triton=self.triton)
