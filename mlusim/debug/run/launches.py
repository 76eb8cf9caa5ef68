"""The launches of a program as the debugger stores them: everything for another run, and the lines that their tasks reach in C."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CellType
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from mlusim.arch.dtypes import DType
from mlusim.debug.run.moments import Mark, Milestones, Snapshot, explored
from mlusim.debug.run.output import ShownOutput
from mlusim.debug.source.frames import Owned
from mlusim.debug.source.functions import UserFunction, functions_of, reachable
from mlusim.debug.stop.stops import Position
from mlusim.errors import UsageError
from mlusim.machine.scheduling.schedule import Choices
from mlusim.machine.tensor import DeviceTensor, allocation_of, mapped
from mlusim.memory.allocation import Allocation, Bytes
from mlusim.memory.pointer import Ptr, View

if TYPE_CHECKING:
    from mlusim.machine.machine import Machine

# C's record of a launch that it has run: its tasks, and the lines that each of them reached.

Lines = frozenset[tuple[str, int]]
"""Files and numbers of lines."""


@frozen
class PassedTask:
    """A task, or a memory core, that C has run: its name, its row of counts, and the cores that had ended before it began.

    ``in_c`` is how many groups, and how many cores of its own group, had ended; None if other cores were active.
    """

    name: str
    row: int
    in_c: tuple[int, int] | None


@frozen(eq=False)
class PassedLaunch:
    """A launch that C has run: its tasks in the order of their begin, the lines that each reached, and whether it failed."""

    tasks: Sequence[PassedTask]
    lines: Sequence[Lines]
    failed: bool


DEFAULT_HISTORY = 1 << 30  # bytes of tensors stored for a program's launches


@frozen(eq=False)
class Edit:
    """A change by hand at *position*: ``text`` describes it, ``apply`` makes it in the run of a given tracer."""

    position: Position
    text: str
    apply: Callable[[Any], None]


@define(eq=False)
class KeptLaunch:
    """One launch of the program: its request, and the initial bytes of its tensors.

    ``choices`` is its schedule before the first decision, ``pins`` are the initial bindings of its kernel's
    variables. ``tensors`` maps each tensor that the launch may change to a copy of its bytes; it is None once the
    copies were dropped to make room for later launches.  ``moments`` is the number of its moments, once counted;
    ``shown`` counts the output of its kernels that the user has seen; ``clock`` has the predicted times of its
    moments, once requested (`mlusim.debug.look.clock`).  ``edits`` are the user's changes by hand, in order; if there
    are any, a run of the launch differs from the program. ``groups`` is how many groups of tasks (Block tasks, or
    unions) the program's own run has begun, ``ended`` how many of them, counted from the first, were complete when it
    ended or failed.  ``passed`` are the lines that its tasks reach, as counted by C (`mlusim.debug.run.ahead`), once
    requested.
    """

    index: int
    machine: "Machine"
    tensors: dict[Allocation, Bytes] | None
    owned: Owned
    milestones: Milestones
    choices: Choices | None
    pins: "Pins"
    moments: int | None = None
    error: BaseException | None = None
    shown: ShownOutput = field(factory=ShownOutput)
    clock: Any = None
    edits: list[Edit] = field(factory=list)
    groups: int = 0
    ended: int = 0
    passed: PassedLaunch | None = None

    @classmethod
    def of(cls, index: int, machine: "Machine", room: int) -> "KeptLaunch":
        """Store the launch that is about to begin; its snapshots may take *room* bytes."""
        memories = machine.given
        # Read-only tensors need no copy.
        tensors = {a: a.raw.copy() for a in memories if a.writable}
        body = machine.request.kernel.body
        code = getattr(body, "__code__", None)
        owned = Owned(code.co_filename if code is not None else "", getattr(body, "__globals__", None))
        pins = Pins.of(body, owned)
        return cls(index, machine, tensors, owned, Milestones(room), copy.deepcopy(machine.choices), pins)

    def change(self, edit: Edit) -> None:
        """Add a change by hand; drop the changes at later positions, and everything that was counted in runs without this one."""
        # Another change at the same position stays: they are applied in the user's order.
        self.edits = [earlier for earlier in self.edits if earlier.position <= edit.position] + [edit]
        # Snapshots and marks were made without the change.
        self.milestones = Milestones(0)
        self.moments = self.clock = None

    def unwatched(self, mark: Mark | None) -> tuple[int, int]:
        """Return how many groups of tasks, and cores of the next group, C may run on the way to *mark*; None: to the end."""
        if self.machine.native is None or self.edits or explored(self.machine):
            return 0, 0
        if mark is not None:
            return max(mark.groups, 0), mark.members
        return self.ended, 0

    @property
    def nbytes(self) -> int:
        """The size of the copies, in bytes."""
        return sum(raw.size for raw in (self.tensors or {}).values())

    @property
    def homes(self) -> dict[Allocation, DType]:
        """The program's own allocations behind the tensors and pointers among the arguments, with their element types."""
        request = self.machine.request
        arguments = ((allocation_of(a), a) for a in (*request.leaves, *request.variables))
        return {allocation: argument.dtype for allocation, argument in arguments if allocation is not None}

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return self.machine.request.kernel.name

    @property
    def functions(self) -> list[UserFunction]:
        """The kernel and the functions that it can reach."""
        return reachable(self.machine.request.kernel.body, self.owned)

    def elsewhere(self, wanted: Callable[[str, str], bool]) -> list[UserFunction]:
        """Return the BANG C functions that kernels of the program can reach and for which *wanted*(file, name) is true."""
        files: Iterable[Any] = getattr(self.machine.request.kernel, "beside", tuple)()
        codes = (
            file.function(form.symbol).code
            for file in files
            for form in file.form.functions.values()
            if form.kind != "host" and not form.external and form.problem is None
            if wanted(form.span.file, form.name)
        )
        return [UserFunction(code.co_name, code) for code in codes if self.owned(code.co_filename)]

    @property
    def parameters(self) -> list[str]:
        """The names of the kernel's parameters, without ``mlu``; as many as there are arguments."""
        count = len(self.machine.request.arguments)
        names = self.machine.request.kernel.parameters
        return [*names, *(f"argument{n}" for n in range(len(names), count))][:count]

    def again(
        self,
        observers: Iterable[Any],
        snapshot: Snapshot | None = None,
        *,
        timing: bool = False,
        in_c: tuple[int, int] = (0, 0),
    ) -> "tuple[Machine, dict[Allocation, Allocation]]":
        """Return a machine for another run of the launch, from its beginning or from *snapshot*.

        *in_c* says how many groups of tasks C runs first, and how many cores of the next group.
        The machine has copies of the tensors; the second value maps each tensor to its copy.
        Raises `UsageError` if the initial bytes of the tensors were dropped.
        """
        contents = self.tensors if snapshot is None else snapshot.tensors
        if self.tensors is None or contents is None:
            raise UsageError(
                f"launch {self.index} is no longer in the debugger's history; start again with a larger --history"
            )
        copies: dict[Allocation, Allocation] = {}
        request = self.machine.request
        arguments = [
            mapped(argument, lambda part: _copied(part, contents, copies), compiled=request.kernel.compiled)
            for argument in request.arguments
        ]
        variables = [_copied(variable, contents, copies) for variable in request.variables]
        groups = 0 if snapshot is None else snapshot.groups
        machine = self.machine.again(
            arguments,
            variables,
            observers,
            groups,
            # A run consumes its choices.
            copy.deepcopy(self.choices),
            timing=timing,
            native_groups=in_c[0],
            native_members=in_c[1],
        )
        machine.printed += () if snapshot is None else snapshot.printed
        return machine, copies


def _copied(argument: Any, contents: Mapping[Allocation, Bytes], copies: dict[Allocation, Allocation]) -> Any:
    """Return an argument of another run: a tensor or pointer into a copy, or any other value unchanged."""
    original = allocation_of(argument)
    if original is None or original not in contents:
        return argument
    twin = copies.get(original)
    if twin is None:
        twin = Allocation(original.space, original.address, contents[original].copy(), original.declared)
        twin.filled, twin.given, twin.launches = original.filled, original.given, original.launches
        copies[original] = twin
    if isinstance(argument, DeviceTensor):
        return DeviceTensor(argument.device, twin, argument.shape, argument.dtype)
    view = argument.view
    return Ptr(View(twin, view.dtype, None, view.phase), argument.index)


def trim(launches: list[KeptLaunch], budget: int) -> None:
    """Drop the copies of the oldest launches until the rest takes at most *budget* bytes; those of the last one stay."""
    total = sum(launch.nbytes for launch in launches)
    # The user looks at the last launch.
    for launch in launches[:-1]:
        if total <= budget:
            return
        total -= launch.nbytes
        launch.tensors = None


# -- bindings --------------------------------------------------------------------------------------
#
# The program rebinds the closures and module variables that a kernel reads before its next launch.  A run of
# an earlier launch has the bindings that existed when the launch began; the program's own are restored before
# it continues. Objects are not copied: a change in place stays.

_MISSING = object()


@frozen(eq=False)
class _Cell:
    """A closure variable of the kernel."""

    cell: CellType

    def exchange(self, value: object) -> Any:
        """Bind *value*, and return the earlier value."""
        try:
            before = self.cell.cell_contents
        except ValueError:
            before = _MISSING
        if value is not _MISSING:
            self.cell.cell_contents = value
        elif before is not _MISSING:
            del self.cell.cell_contents
        return before


@frozen(eq=False)
class _Global:
    """A variable of a module."""

    names: dict[str, Any]
    name: str

    def exchange(self, value: object) -> Any:
        """Bind *value*, and return the earlier value."""
        before = self.names.get(self.name, _MISSING)
        if value is not _MISSING:
            self.names[self.name] = value
        elif before is not _MISSING:
            del self.names[self.name]
        return before


@define(eq=False)
class Hold:
    """The bindings of one run while they are not in place; while they are, those that they replace."""

    variables: tuple[_Cell | _Global, ...]
    values: list[Any]

    def exchange(self) -> None:
        """Exchange the stored bindings and the current ones."""
        self.values = [
            variable.exchange(value) for variable, value in zip(self.variables, self.values, strict=True)
        ]


@frozen(eq=False)
class Pins:
    """The bindings at the beginning of a launch."""

    variables: tuple[_Cell | _Global, ...]
    values: tuple[Any, ...]

    @classmethod
    def of(cls, body: Callable[..., Any], owned: Owned) -> "Pins":
        """Record the bindings of the variables that *body* and the functions that it can reach name."""
        settings: dict[Any, tuple[_Cell | _Global, Any]] = {}
        for function in functions_of(body, owned):
            for cell in function.__closure__ or ():
                try:
                    settings.setdefault(id(cell), (_Cell(cell), cell.cell_contents))
                except ValueError:
                    continue  # not bound yet
            names = function.__globals__
            for name in function.__code__.co_names:
                if name in names:
                    settings.setdefault((id(names), name), (_Global(names, name), names[name]))
        pairs = list(settings.values())
        return cls(tuple(variable for variable, _ in pairs), tuple(value for _, value in pairs))

    def hold(self) -> Hold:
        """Return the bindings for another run."""
        return Hold(self.variables, list(self.values))


@define(eq=False)
class Holder:
    """Tracks whose bindings are in place: those of one run, or the program's own."""

    current: Hold | None = field(default=None, init=False)

    def take(self, hold: Hold | None) -> None:
        """Put the bindings of *hold* in place; None: the program's own."""
        if self.current is hold:
            return
        if self.current is not None:
            self.current.exchange()
        self.current = hold
        if hold is not None:
            hold.exchange()
