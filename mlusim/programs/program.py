"""What can be debugged: anything that runs, and hands its observers to every launch that it makes."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from attrs import field, frozen

from mlusim.arch.board import Board
from mlusim.machine.hub import attending
from mlusim.observe.names import observers_of
from mlusim.operators.runner import SUCCESS, attempt, judged
from mlusim.operators.spec import Operator


class Program(Protocol):
    """A program: its name, and a way to run it with observers."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Arrays of the host that `diff` may name."""
        ...

    def run(self, observe: Iterable[Any]) -> Any:
        """Run it once; every launch takes *observe*."""
        ...


@frozen
class FunctionProgram:
    """A Python function that takes the observers and launches kernels with them."""

    function: Callable[[tuple[Any, ...]], Any]

    @property
    def name(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__name__", "program"))

    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """None."""
        return {}

    def run(self, observe: Iterable[Any]) -> Any:
        """Call the function."""
        return self.function(tuple(observe))


@frozen(eq=False)
class OperatorProgram:
    """One call of an operator; its run is judged against the reference where it succeeds."""

    operator: Operator
    inputs: Mapping[str, np.ndarray[Any, Any]]
    params: Mapping[str, Any]
    board: str | Board = "MLU370-X4"
    seed: int | None = None
    effects: str = "late"
    case: str | None = None
    checks: tuple[str, ...] = field(default=())
    _arrays: dict[str, np.ndarray[Any, Any]] = field(factory=dict, init=False, repr=False)

    @property
    def name(self) -> str:
        """The operator's name, and the case's."""
        return self.operator.name + (f" {self.case}" if self.case else "")

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Inputs and reference under the names ``input.NAME`` and ``reference.NAME``, for comparisons."""
        if not self._arrays:
            self._arrays.update({f"input.{name}": np.asarray(value) for name, value in self.inputs.items()})
            self._arrays.update({f"reference.{name}": array for name, array in self._expected().items()})
        return self._arrays

    def _expected(self) -> dict[str, np.ndarray[Any, Any]]:
        params = {p.name: self.params.get(p.name, p.default) for p in self.operator.params}
        try:
            expected = self.operator.reference(self.inputs, params)
        except Exception:  # noqa: BLE001 - inputs that the host interface refuses have no reference
            return {}
        return {name: np.asarray(value) for name, value in expected.items()}

    def run(self, observe: Iterable[Any]) -> Any:
        """Call the host interface."""
        inputs = {name: np.array(value) for name, value in self.inputs.items()}
        done = attempt(
            self.operator,
            inputs,
            self.params,
            board=self.board,
            observe=(*self.checks, *observe),
            seed=self.seed,
            effects=self.effects,
        )
        return judged(done, self.inputs, self.params) if done.status == SUCCESS else done


@frozen(eq=False)
class ScriptProgram:
    """A Python script that launches kernels; it runs as ``__main__`` with *arguments* behind its name."""

    path: str
    arguments: tuple[str, ...] = ()
    checks: tuple[str, ...] = field(default=())
    _modules: list[ModuleType] = field(factory=list, init=False, repr=False)

    @property
    def name(self) -> str:
        """The file's name."""
        return Path(self.path).name

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """The script's own arrays, by the names of its variables, as they are now."""
        known = vars(self._modules[-1]) if self._modules else {}
        return {name: value for name, value in known.items() if isinstance(value, np.ndarray)}

    def run(self, observe: Iterable[Any]) -> Any:
        """Run the script as by itself, in a fresh ``__main__``; every launch that it makes takes the observers."""
        path = str(Path(self.path).resolve())
        code = compile(Path(path).read_bytes(), path, "exec")
        module = ModuleType("__main__")
        vars(module).update({"__file__": path, "__builtins__": __builtins__})
        self._modules[:] = [module]
        try:
            with (
                _in_place(module, [path, *self.arguments]),
                attending(observers_of((*self.checks, *observe))),
            ):
                exec(code, vars(module))  # noqa: S102 - the user's own script
        except SystemExit as leaving:
            if leaving.code:
                raise


@contextmanager
def _in_place(module: ModuleType, argv: list[str]) -> Iterator[None]:
    """While it lasts, *module* is what this process runs, so that pickles and processes of the script find it."""
    before, sys.modules["__main__"] = sys.modules["__main__"], module
    words, sys.argv = sys.argv, argv
    folder = str(Path(argv[0]).parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.argv = words
        if folder in sys.path:
            sys.path.remove(folder)
        if sys.modules.get("__main__") is module:
            sys.modules["__main__"] = before


def as_program(program: Program | Callable[[tuple[Any, ...]], Any]) -> Program:
    """*program*, or a `FunctionProgram` around a function."""
    run = getattr(program, "run", None)
    return program if run is not None else FunctionProgram(program)  # type: ignore[arg-type, return-value]
