"""Programs that can be debugged: anything that runs, and passes observers to every launch that it makes."""

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from attrs import field, frozen

from mlusim.errors import UsageError
from mlusim.kernel_frames import installed
from mlusim.machine.hub import attending
from mlusim.observe.names import observers_of

_TESTS = re.compile(r"^\s*(?:async )?def test_|^class Test", re.MULTILINE)


class Program(Protocol):
    """A program: its name, and a way to run it with observers."""

    @property
    def name(self) -> str: ...
    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]: ...
    def run(self, observe: Iterable[Any]) -> Any: ...


@frozen
class FunctionProgram:
    """A Python function that takes the observers and launches kernels with them."""

    function: Callable[[tuple[Any, ...]], Any]

    @property
    def name(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__name__", "program"))

    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Return no arrays: those of a function are unknown."""
        return {}

    def run(self, observe: Iterable[Any]) -> Any:
        """Call the function with the observers."""
        return self.function(tuple(observe))


@frozen(eq=False)
class ScriptProgram:
    """A Python script that launches kernels; it runs as ``__main__`` with *arguments* after its name."""

    path: str
    arguments: tuple[str, ...] = ()
    checks: tuple[str, ...] = field(default=())
    _modules: list[ModuleType] = field(factory=list, init=False, repr=False)
    loads_code = True

    @property
    def name(self) -> str:
        """The file's name."""
        return Path(self.path).name

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the script's own arrays, by the names of its variables, with their current contents."""
        variables = vars(self._modules[-1]) if self._modules else {}
        return {name: value for name, value in variables.items() if isinstance(value, np.ndarray)}

    def recorded(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the script for a recording: its text, and the texts of modules imported from its folder; no arrays."""
        facts = {
            "kind": "script",
            "name": self.name,
            "source": Path(self.path).read_text(encoding="utf-8"),
            "beside": _beside(Path(self.path).resolve()),
            "arguments": list(self.arguments),
            "checks": list(self.checks),
        }
        return facts, {}

    @property
    def untested(self) -> str:
        """Return a sentence about running a script's tests if it has tests and launched nothing; "" if it has none."""
        tests = _TESTS.search(Path(self.path).read_text(encoding="utf-8", errors="replace"))
        return (
            f"it has tests for pytest, and ran as a script; name it {self.path}:: to run them"
            if tests
            else ""
        )

    def run(self, observe: Iterable[Any]) -> Any:
        """Run the script as Python would, in a fresh ``__main__``; every launch that it makes has the observers."""
        path = str(Path(self.path).resolve())
        # From bytes: Python reads the encoding from the file's first lines.
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
            # As in Python itself, a script that exits with 0 has succeeded.
            if leaving.code:
                raise


def _beside(script: Path) -> dict[str, str]:
    """Return the text of every imported module from the script's folder, by its relative path."""
    texts = {}
    for module in tuple(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if (
            isinstance(file, str)
            and file.endswith(".py")
            and Path(file).resolve().is_relative_to(script.parent)
        ):
            path = Path(file).resolve()
            inside = path.relative_to(script.parent)
            if path != script and not installed(str(path)) and path.is_file():
                texts[inside.as_posix()] = path.read_text(encoding="utf-8")
    return texts


@contextmanager
def _in_place(module: ModuleType, argv: list[str]) -> Iterator[None]:
    """Make *module* the ``__main__`` of this process during the block, so that the script's pickles and processes find it."""
    before, sys.modules["__main__"] = sys.modules["__main__"], module
    words, sys.argv = sys.argv, argv
    folder = str(Path(argv[0]).parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.argv = words
        # The script may have removed the folder itself.
        if folder in sys.path:
            sys.path.remove(folder)
        if sys.modules.get("__main__") is module:
            sys.modules["__main__"] = before


def as_program(program: Program | Callable[[tuple[Any, ...]], Any]) -> Program:
    """Return *program*; a plain function is wrapped in a `FunctionProgram`."""
    run = getattr(program, "run", None)
    return program if run is not None else FunctionProgram(program)  # type: ignore[arg-type, return-value]


# -- a test of pytest, with the launches that it makes -------------------------------------------------


@frozen
class PytestProgram:
    """The pytest test *node*, or all tests of a file if it ends in ``::``, run in this process; *arguments* are pytest's."""

    node: str
    arguments: tuple[str, ...] = ()
    checks: tuple[str, ...] = field(default=())
    loads_code = True

    @property
    def name(self) -> str:
        """The test's pytest name."""
        return self.node

    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Return no arrays: those of a test are unknown."""
        return {}

    def run(self, observe: Iterable[Any]) -> None:
        """Run the test; pytest's output is written to standard error.

        Options in the project's configuration are ignored, since they may distribute tests over processes.  Raises
        `UsageError` if pytest is not installed, or finds no such test, and if the test fails.
        """
        try:
            import pytest  # noqa: PLC0415 - an optional package
        except ImportError:
            raise UsageError("a test needs pytest; install it with `pip install pytest`") from None
        words = [
            self.node.removesuffix("::"),
            "-q",
            "-o",
            "addopts=",
            "-p",
            "no:cacheprovider",
            *self.arguments,
        ]
        with attending(observers_of((*self.checks, *observe))), contextlib.redirect_stdout(sys.stderr):
            code = pytest.main(words)
        if code:
            said = "the test fails" if code == pytest.ExitCode.TESTS_FAILED else "pytest found no such test"
            raise UsageError(f"{self.node}: {said}; what pytest says is above")
