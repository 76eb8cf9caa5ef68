"""A Triton kernel for `mlusim fuzz`: each drawn call is compiled to BANG C for its types."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from mlusim.arch.catalog import find_board
from mlusim.check.kernel_calls import check_call
from mlusim.fuzz.corpus import KeptCall
from mlusim.fuzz.draws import Landmarks, memory_limits, whole_constants
from mlusim.fuzz.subjects import FuzzedCall, OpenSubject, TriedCall, located
from mlusim.programs.expectation import Expectation, expectation_of
from mlusim.triton.calls import TritonKernel

Array = np.ndarray[Any, Any]


@frozen
class FuzzedTriton(FuzzedCall):
    """The kernel *triton* with the request *asked*; its constants are macros, which formulas may use."""

    triton: TritonKernel = field(kw_only=True)

    def words(self, call: KeptCall, place: Path) -> list[str]:
        """Return the words of `mlusim check` for *call*, whose arrays are in the folder *place*."""
        # The words of the kernel include its grid and constants, so there is no --dim and no -D.
        words = [
            *self.triton.words(),
            *(w for n, text in located(call, place) for w in ("--arg", f"{n}={text}")),
        ]
        return evolve(call.asked, program=tuple(words), kernel=None, arguments={}, define={}).typed()

    def opened(self) -> "OpenTriton":
        """Return the object that calls the kernel in this process."""
        return OpenTriton(self.triton, expectation_of(self.asked.criterion, "expect"))


class OpenTriton(OpenSubject):
    """Calls a Triton kernel in this process."""

    def __init__(self, triton: TritonKernel, expected: Expectation | None) -> None:
        self._triton, self._expected = triton, expected

    def name(self, board: str) -> str:
        """Return the name of the function."""
        del board
        return self._triton.called

    def parameters(self, board: str) -> tuple[str, ...]:
        """Return the names of the parameters that are not constants."""
        del board
        return tuple(name for name in self._triton.parameters() if name not in self._triton.constants)

    def needed(self, board: str) -> tuple[str, ...]:
        """Return the names of the parameters without default."""
        usual = self._triton.defaults()
        return tuple(name for name in self.parameters(board) if name not in usual)

    def marks(self, board: str) -> Landmarks:
        """Return interesting values for drawing: the constants, the integers in the file, and the sizes of memories."""
        constants = [int(text) for text in self._triton.constants.values() if text.isdigit()]
        return Landmarks((*constants, *whole_constants(self._triton.path)), memory_limits(find_board(board)))

    def run(
        self, call: KeptCall, arrays: Mapping[str, Array], checkers: tuple[str, ...], *, plans: bool
    ) -> TriedCall:
        """Run *call* as `mlusim check` does."""
        # Compiled for each draw: its types, and integers equal to 1, determine the compiled kernel.
        asked = call.asked
        program = self._triton.call(
            asked.arguments, find_board(asked.board), arrays, seed=asked.seed, effects=asked.effects
        )
        return TriedCall(check_call(program, self._triton.path, checkers, self._expected, plans=plans))
