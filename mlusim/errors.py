"""The exceptions of mlusim.

::

    MlusimError
    ├── UsageError           what a caller got wrong: names, shapes, files, options   (exit code 2)
    │   └── LaunchError      a launch that the board would refuse
    ├── StatusError          a host interface that did not return success
    └── Fault                what the simulated machine could not do                  (exit code 3)
        ├── MemoryFault      an access that no memory answers
        │   ├── OutOfBounds      outside an allocation
        │   │   └── Ended            in memory of a task, launch or tensor that has ended
        │   ├── OutOfMemory      more than fits
        │   ├── WrongSpace       a pointer into another memory than the instruction takes
        │   └── ReadOnly         a store to a tensor that the host passed as const, or to a constant
        ├── RuleFault        an operand that breaks a rule of its instruction
        │   └── Outside          an mlu that is used outside its own task
        ├── Unsupported      an instruction or a copy that the architecture lacks
        ├── LimitReached     a launch that went on beyond its limit
        └── SyncFault        barriers that can never complete
            ├── Divergence       a participant left without arriving
            └── Deadlock         no task can go on
"""

import functools
import importlib
import os
import sysconfig
from pathlib import Path
from typing import Any

_OPERATORS = str(Path(__file__).resolve().parents[1] / "ops") + os.sep
_PACKAGES = tuple({sysconfig.get_path(kind) + os.sep for kind in ("purelib", "platlib")})


_CELLS: list[str] = []


class MlusimError(Exception):
    """The root of every error that mlusim raises on purpose; its text is one sentence or two.

    ``shown`` is what a terminal shows beneath the first sentence as it stands: a line of source with its caret.
    ``printed`` are the lines of ``__bang_printf`` of the launch that ended with it, as long as nothing else has shown them.
    """

    shown: str = ""
    printed: tuple[str, ...] = ()

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows instead of a traceback."""
        lines: list[str] = _notebook().traceback_of(self)
        return lines


class Remark(RuntimeWarning):
    """A warning of mlusim's own, which the command line tells as a note."""


class UsageError(MlusimError):
    """Something that the caller can put right: an unknown name, a wrong shape, a broken file."""


class LaunchError(UsageError):
    """A launch that the board would refuse: its dimensions, its kind or its arguments."""


class StatusError(MlusimError):
    """A host interface returned something else than success; `status` says what."""

    def __init__(self, status: object, message: str) -> None:
        super().__init__(message)
        self.status = status


class Fault(MlusimError):
    """A fault: an operation that the simulated machine could not do.

    Attributes: ``task`` (its taskId or None), ``intrinsic`` (vendor spelling), ``operand``
    (parameter name), ``address`` (device address), ``nbytes`` (bytes of the access), ``declared``
    (file and line where the memory is declared), ``space`` (memory space), ``legal`` (the legal
    range in words), ``file`` and ``line`` of the kernel, ``hint`` (what to do), ``findings`` (what the
    observers of the launch had found until then), ``read`` (the accesses whose values led to it), ``rule`` (the id of
    the finding that it is, where that is not known by its kind).
    With ``ends_launch`` the launch ends with it even if the kernel catches it.
    """

    ends_launch = False
    tells_waits = False  # the message says where tasks wait, and so the place

    def __init__(
        self,
        message: str,
        *,
        intrinsic: str | None = None,
        operand: str | None = None,
        address: int | None = None,
        nbytes: int | None = None,
        declared: tuple[str, int] | None = None,
        space: str | None = None,
        legal: str | None = None,
        hint: str | None = None,
        task: int | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.intrinsic = intrinsic
        self.operand = operand
        self.address = address
        self.nbytes = nbytes
        self.declared = declared
        self.space = space
        self.legal = legal
        self.hint = hint
        self.task = task
        self.file = file
        self.line = line
        self.findings: tuple[Any, ...] = ()
        self.read: tuple[Any, ...] = ()
        self.rule: str | None = None

    def _repr_html_(self) -> str:
        shown: str = _notebook().html_of(self)
        return shown

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        del include, exclude
        return {"text/plain": _notebook().text_of(self), "text/html": self._repr_html_()}

    def __str__(self) -> str:
        parts = [f"{self.intrinsic}: {self.message}" if self.intrinsic else self.message]
        if self.legal is not None:
            parts.append(f"legal: {self.legal}")
        if self.hint is not None:
            parts.append(self.hint)
        text = "; ".join(parts)
        where = [] if self.task is None else [f"task {self.task}"]
        if self.file is not None:
            name = shown_file(self.file)
            if not (self.tells_waits and f" at {name}:" in text):
                where.insert(0, f"{name}:{self.line}")
            elif f" at {name}:{self.line}" not in text:
                where.insert(0, f"line {self.line}")
        return f"{text} ({', '.join(where)})" if where else text


class MemoryFault(Fault):
    """An access that no memory answers."""


class OutOfBounds(MemoryFault):
    """An access that leaves its allocation."""


class Ended(OutOfBounds):
    """An access to memory whose task, launch or tensor has ended."""


class OutOfMemory(MemoryFault):
    """A declaration or an allocation that does not fit."""


class WrongSpace(MemoryFault):
    """A pointer into another memory, or of another type, than the instruction takes."""


class ReadOnly(MemoryFault):
    """A store to a tensor that the host passed as const, or to a variable that the kernel declares const."""


class RuleFault(Fault):
    """An operand that breaks a rule of its instruction."""


class Outside(RuleFault):
    """A call of a task's ``mlu`` from another task, from a thread of the kernel's own, or after the task's end."""

    ends_launch = True

    def __init__(self, label: str) -> None:
        super().__init__(
            f"the mlu of {label} is used outside its own task",
            hint="use the mlu that the kernel of this task was called with, while the task runs",
        )


class Unsupported(Fault):
    """An instruction or a copy that the architecture or the core lacks."""


class LimitReached(Fault):
    """A launch that went on beyond its limit of instructions, CPU time or growth."""

    ends_launch = True


class SyncFault(Fault):
    """Barriers that can never complete.

    ``waits`` has (core, barrier, file, line) for each core that waits, ``spins`` (core, file, line) for
    each that looks at memory again and again, ``absent`` the cores that others wait for without end.
    """

    ends_launch = True
    waits: tuple[tuple[str, str, str, int], ...] = ()
    spins: tuple[tuple[str, str, int], ...] = ()
    absent: tuple[str, ...] = ()


class Divergence(SyncFault):
    """A participant left the kernel, or can never arrive, while others wait for it."""

    tells_waits = True


class Deadlock(SyncFault):
    """No task of the launch can go on."""

    tells_waits = True


def _notebook() -> Any:
    """Import the module that shows values in notebooks: it lies above, so it is named as in `mlusim.presenting`."""
    return importlib.import_module(f"{__package__}.report.notebook")


def said(error: BaseException) -> str:
    """Return the sentence of *error*, whatever its class does when it is asked."""
    try:
        return str(error)
    except BaseException as broken:  # noqa: BLE001 - a class of the user may raise anything
        return f"its text raises {type(broken).__name__}"


def one_line(error: Exception) -> str:
    """Return the sentence of *error* on one line, as fronts show it beside other text."""
    return " ".join(str(error).split())


def show_as_cells(folder: str) -> None:
    """Let messages name the ``.mlu`` files in *folder* by what stands before the suffix: they are cells of a notebook, as ``In [3]``."""
    _CELLS.append(folder + os.sep)


def shown_file(file: str) -> str:
    """*file* as every message names it: relative to the current folder if it lies below it.

    A file of an installed package, such as an operator, is shown without the folders above the package; a notebook's cell
    by its name.
    """
    cell = next((file[len(folder) :] for folder in _CELLS if file.startswith(folder)), None)
    if cell is not None:
        return cell.removesuffix(".mlu")
    if file.startswith(_OPERATORS):
        return file[len(_OPERATORS) - len("ops") - 1 :]
    inside = next((file[len(folder) :] for folder in _PACKAGES if file.startswith(folder)), None)
    if inside is not None:
        return inside
    try:
        return _below(file, os.getcwd())  # noqa: PTH109 - a path would be made for each finding
    except FileNotFoundError:  # the current folder is gone
        return file


@functools.lru_cache
def _below(file: str, folder: str) -> str:
    """*file* relative to *folder*, if it lies below it."""
    try:
        return str(Path(file).relative_to(folder))
    except ValueError:
        return file
