"""The subjects of a search: each names its parameters and its landmarks, and runs one call."""

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from attrs import evolve, frozen

from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import DType
from mlusim.check.checking import CheckJob, check_arrays
from mlusim.check.findings import Checked
from mlusim.check.kernel_calls import check_call
from mlusim.document import members
from mlusim.errors import StatusError, UsageError, said
from mlusim.formula.expr import Var, walk
from mlusim.fuzz.corpus import BUNDLE, KeptCall
from mlusim.fuzz.draws import Landmarks, landmarks, memory_limits, whole_constants
from mlusim.operators.registry import find_operator
from mlusim.operators.spec import Scalar, Tensor
from mlusim.programs.argument_forms import AskedCall, Criterion
from mlusim.programs.argument_values import ArgumentScope
from mlusim.programs.expectation import expectation_of
from mlusim.programs.kernel_call import CallProgram, KernelCall, SourceCall
from mlusim.programs.other_calls import HostFunctionCall, PythonCall

Array = np.ndarray[Any, Any]


@frozen(eq=False)
class TriedCall:
    """The result of one call; ``refused`` is the sentence of a host function that refuses the call."""

    checked: Checked
    refused: str = ""


class OpenSubject:
    """A subject in the process that runs it."""

    def name(self, board: str) -> str:
        """Return the subject's name in stored calls."""
        raise NotImplementedError

    def parameters(self, board: str) -> tuple[str, ...]:
        """Return the names of its parameters."""
        raise NotImplementedError

    def needed(self, board: str) -> tuple[str, ...]:
        """Return the parameters that have no default."""
        return self.parameters(board)

    def usual(self, board: str) -> Mapping[str, DType]:
        """Return the element types of its pointers, by parameter, where they are declared."""
        del board
        return {}

    def marks(self, board: str) -> Landmarks:
        """Return the numbers that are significant for the subject."""
        raise NotImplementedError

    def limit(self, random: Random, board: str, name: str, numbers: Mapping[str, int]) -> int | None:
        """Return the largest value of *name* that fits a plan, with *numbers* of the other variables; None if no plan has this variable."""
        del random, board, name, numbers
        return None

    def settled(
        self, board: str, texts: Mapping[str, str], arrays: Mapping[str, Array]
    ) -> tuple[Mapping[str, str], Mapping[str, Array]]:
        """Return the texts and arrays of a call in the form in which they are stored."""
        del board
        return texts, arrays

    def run(
        self, call: KeptCall, arrays: Mapping[str, Array], checkers: tuple[str, ...], *, plans: bool
    ) -> TriedCall:
        """Run *call* under *checkers* and compare it with the reference; with *plans* its plan is inferred."""
        raise NotImplementedError


# -- kernels of BANG C -----------------------------------------------------------------------------


@frozen
class FuzzedCall:
    """A call of a kernel or a host function as a template for draws; *case* are the file and the name of the case that has its reference."""

    asked: AskedCall
    case: tuple[str, str] | None = None
    operators: tuple[str, ...] = ()
    bundled: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The source files of the call."""
        return self.asked.program

    def words(self, call: KeptCall, place: Path) -> list[str]:
        """Return the words of `mlusim check` for *call*, whose arrays are in *place*."""
        asked = evolve(call.asked, arguments=dict(located(call, place)))
        # By its case if the case has the reference: a reference module beside the file of cases is found only
        # that way.
        if self.case is not None:
            path, name = self.case
            asked = evolve(asked, program=(path, "--case", name), criterion=Criterion())
        return asked.typed()

    def opened(self) -> OpenSubject:
        """Return the subject for use in this process."""
        kind = HostFunctionCall if self.asked.function is not None else KernelCall
        call: CallProgram = kind(self.asked)
        if self.asked.file.endswith(".py"):
            call = PythonCall(self.asked)
            call.loaded()  # once for all boards
        return OpenCall(call)


def located(call: KeptCall, place: Path) -> Iterator[tuple[str, str]]:
    """Yield the arguments, with paths of array files in the folder *place*."""
    for name, text in call.asked.arguments.items():
        file = f"{name}.npy"
        alone = text.removeprefix("host:").removeprefix("inout:") == file
        yield name, f"{text.removesuffix(file)}{place / file}" if alone else text


# -- operators -------------------------------------------------------------------------------------


@frozen
class FuzzedOperator:
    """An operator; the digest of a search includes its sources."""

    asked: AskedCall
    files: tuple[str, ...] = ()
    bundled: bool = True

    @property
    def operators(self) -> tuple[str, ...]:
        """The name of the operator."""
        return self.asked.program

    def words(self, call: KeptCall, place: Path) -> list[str]:
        """Return the words of `mlusim check` for *call*, whose arrays are in *place*."""
        words = [*self.asked.program, "--inputs", str(place / BUNDLE)]
        for name, text in call.asked.arguments.items():
            if text != f"{name}.npy":
                words += ["--set", f"{name}={text}"]
        return evolve(call.asked, program=tuple(words), arguments={}).typed()

    def opened(self) -> "OpenOperator":
        """Return it for this process."""
        return OpenOperator(self.asked.file)


class OpenOperator(OpenSubject):
    """An operator whose host function is called."""

    def __init__(self, name: str) -> None:
        self._operator = find_operator(name)

    def name(self, board: str) -> str:
        """Return the name of the operator."""
        del board
        return self._operator.name

    def parameters(self, board: str) -> tuple[str, ...]:
        """Return the names of its inputs and parameters."""
        del board
        named: tuple[Tensor | Scalar, ...] = (*self._operator.inputs, *self._operator.params)
        return tuple(tensor.name for tensor in named)

    def needed(self, board: str) -> tuple[str, ...]:
        """Return the inputs that are not optional and the parameters without a default."""
        del board
        inputs = [tensor.name for tensor in self._operator.inputs if not tensor.optional]
        return (*inputs, *(p.name for p in self._operator.params if p.default is None))

    def marks(self, board: str) -> Landmarks:
        """Return the number of cores, and how many elements the memories hold."""
        place = find_board(board)
        return Landmarks((place.clusters * place.arch.cores_per_cluster,), memory_limits(place))

    def limit(self, random: Random, board: str, name: str, numbers: Mapping[str, int]) -> int | None:
        """Return the largest value of *name* in one of its plans, or the largest tile of a plan that covers *name*."""
        asked = [
            (plan, variable.name)
            for plan in self._operator.plans
            for variable in plan.variables.values()
            if variable.name == name
            or (
                variable.tile
                and variable.enough is not None
                and any(isinstance(part, Var) and part.name == name for part in walk(variable.enough))
            )
        ]
        if not asked:
            return None
        plan, variable = random.choice(asked)
        held = {
            n: numbers.get(n, max(v.low or 0, 1))
            for n, v in plan.region_variables.items()
            if not v.tile and n != variable
        }
        dtype = random.choice(plan.dtypes) if plan.dtypes else None
        try:
            largest: int | None = plan.largest(variable, board=board, dtype=dtype, **held).largest
        except UsageError:
            return None
        return largest

    def settled(
        self, board: str, texts: Mapping[str, str], arrays: Mapping[str, Array]
    ) -> tuple[Mapping[str, str], Mapping[str, Array]]:
        """Return every input as an array, since an operator's inputs are read from one file.  Raises `UsageError` for an invalid value."""
        scope = ArgumentScope(texts, {}, find_board(board))
        inputs, said_so = dict(arrays), dict(texts)
        for tensor in self._operator.inputs:
            if tensor.name not in texts or tensor.name in arrays:
                continue
            what = f"--arg {tensor.name}"
            value = scope.value(tensor.name, what)
            if value.is_null:
                del said_so[tensor.name]
                continue
            if not value.form.goes_in:
                raise UsageError(f"{what} is given {value.text!r}; an input takes an array that goes in")
            inputs[tensor.name] = scope.array(tensor.name, value, what)
            said_so[tensor.name] = f"{tensor.name}.npy"
        return said_so, inputs

    def run(
        self, call: KeptCall, arrays: Mapping[str, Array], checkers: tuple[str, ...], *, plans: bool
    ) -> TriedCall:
        """Call the host function and judge its outputs; a refusal is not a failure, since draws include values one past the limits."""
        del plans  # an operator declares its plans
        operator = self._operator
        asked = call.asked
        scope = ArgumentScope(asked.arguments, {}, find_board(asked.board))
        params = {
            p.name: _parameter(p, asked.arguments[p.name], scope)
            for p in operator.params
            if p.name in asked.arguments
        }
        job = CheckJob(operator.name, "", asked.board, checkers, seed=asked.seed, effects=asked.effects)
        try:
            return TriedCall(check_arrays(job, arrays, params))
        except StatusError as refusal:
            return TriedCall(Checked(operator.name, board=asked.board), said(refusal))
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - host functions and references are the operator's
            told = f"it ended with {type(error).__name__}: {said(error)}"
            return TriedCall(Checked(operator.name, board=asked.board, problem=told))


def _parameter(parameter: Scalar, text: str, scope: ArgumentScope) -> Any:
    """Return the value of a parameter of an operator.  Raises `UsageError` for an invalid text."""
    what = f"--arg {parameter.name}"
    if parameter.type is str:
        return text
    if parameter.type is float:
        try:
            return float(text)
        except ValueError:
            raise UsageError(f"{what} is given {text!r}; give a number") from None
    return parameter.type(scope.whole(parameter.name, what))


# -- kernels and host functions --------------------------------------------------------------------


class OpenCall(OpenSubject):
    """A kernel or a host function whose arguments are texts; it is loaded once for each board."""

    def __init__(self, call: CallProgram) -> None:
        self._file = call.asked.file
        self._expected = expectation_of(call.asked.criterion, "expect")
        self._base = functools.cache(lambda board: call.asking(board=board))

    def name(self, board: str) -> str:
        """Return the name in the sources."""
        return self._base(board).called

    def parameters(self, board: str) -> tuple[str, ...]:
        """Return the names of its parameters."""
        return self._base(board).parameters()

    def needed(self, board: str) -> tuple[str, ...]:
        """Return the parameters that have no default and do not follow from the rest of the call."""
        return self._base(board).needed()

    def usual(self, board: str) -> Mapping[str, DType]:
        """Return the element types of its pointers, by parameter, without those of ``void *``."""
        return self._base(board).usual()

    def marks(self, board: str) -> Landmarks:
        """Return the landmarks of the sources."""
        base = self._base(board)
        if isinstance(base, SourceCall):
            return landmarks(base.module, find_board(board))
        return Landmarks(whole_constants(self._file), memory_limits(find_board(board)))

    def run(
        self, call: KeptCall, arrays: Mapping[str, Array], checkers: tuple[str, ...], *, plans: bool
    ) -> TriedCall:
        """Run it as `mlusim check` does; a status other than success of a host function is a refusal."""
        asked = call.asked
        program = self._base(asked.board).given_arrays(
            asked.arguments, arrays, **members(asked, "dim", "seed", "effects")
        )
        try:
            return TriedCall(check_call(program, self._file, checkers, self._expected, plans=plans))
        except StatusError as refusal:
            return TriedCall(Checked(self._file, board=asked.board), said(refusal))


FuzzSubject = FuzzedCall | FuzzedOperator
"""The description of a subject, which can be sent to another process: ``asked`` is the call without the draws, ``files`` are its sources.

``bundled`` says that the command of a call names one file with all its arrays.
"""
