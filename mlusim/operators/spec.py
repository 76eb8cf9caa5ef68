"""The declaration of an operator: tensors, parameters, cases, reference, thresholds, theory."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from mlusim.errors import UsageError
from mlusim.host.library import Status
from mlusim.report import efficiency
from mlusim.report.efficiency import STANDARD

Rule = efficiency.Rule
Arrays = Mapping[str, np.ndarray[Any, Any]]
Params = Mapping[str, Any]

SLOW = 1.0  # seconds in Python; an unobserved case that takes as long runs on the native engine, since starting the compiler pays
LONG = 60.0  # seconds in Python; a case that takes as long is run under checkers only on request


@frozen
class Tensor:
    """A tensor parameter: its name, its dimensions as the document writes them, its dtypes."""

    name: str
    dims: str
    dtypes: tuple[str, ...]
    layout: str = "ARRAY"
    optional: bool = False


@frozen
class Scalar:
    """A scalar parameter of the host interface."""

    name: str
    type: type
    meaning: str
    default: Any = None


@frozen
class Dynamic:
    """Thresholds that depend on another device's error; `mlusim.operators.accuracy` describes the rule.

    *diff1* and *diff2* are multiples of that error; *diff4* is judged unless None.  *half* and *single* are the
    static thresholds of the two types and the lower bounds of the limits; by default those of most classes of the
    standard.  With *cpu_mode* an output that exceeds its limits is judged once more, against the reference by the
    static thresholds.
    """

    diff1: float = 10.0
    diff2: float = 10.0
    diff4: float | None = None
    half: float = 3e-3
    single: float = 3e-3
    cpu_mode: bool = False


@frozen
class Thresholds:
    """The largest accepted errors of one output, by the vendor's metrics; None: not judged.

    If there are *dynamic* thresholds, they judge an output against the reference; the others then compare runs
    under different schedules.
    """

    diff1: float | None = None
    diff2: float | None = None
    diff3: float | None = None
    diff4: float | None = None
    dynamic: Dynamic | None = None


@frozen
class Theory:
    """Theory operations and bytes of one call, by the vendor's counting rule."""

    ops: int
    ios: int


@frozen
class Case:
    """A named call of an operator.

    *make* gets a seeded generator and returns (inputs, parameters).  *status* is what the host
    interface must answer; a case with another status than success has no outputs to compare.
    *boards* limits the case to some boards (empty: all).  *group* is where the case comes from:
    "network", "boundary", "random", "zero", "golden", "limit".
    *effort* is roughly how many seconds of one CPU the Python engine takes.  The longest cases start first, and those
    of a second or more run on the native engine if nothing observes them.  *memory* is roughly the number of bytes of
    its tensors and references, where these are hundreds of MB.  *outputs* are shapes of outputs that the caller
    passes although they do not follow from the inputs and parameters; the host interface has to refuse them.
    """

    name: str
    group: str
    make: Callable[[np.random.Generator], tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]]
    status: Status = Status.MLUOP_STATUS_SUCCESS
    boards: tuple[str, ...] = ()
    note: str = ""
    effort: float = 0.0
    memory: int = 0
    outputs: Mapping[str, tuple[int, ...]] = field(factory=dict)

    @property
    def slow(self) -> bool:
        """True if the Python engine takes a second or more for it."""
        return self.effort >= SLOW

    @property
    def long(self) -> bool:
        """True if the Python engine, and so every checker, takes a minute or more for it."""
        return self.effort >= LONG


@frozen
class Policy:
    """A rule by which a host function makes a choice that its document leaves open, such as the order in which tiles grow.

    *rule* is the operator's own function; the host function calls it when ``handle.policy`` is *name*.
    """

    name: str
    meaning: str
    rule: Callable[..., Any]


def policy_of(operator: str, policies: Sequence[Policy], name: str | None) -> Policy:
    """Return the policy of *policies* called *name*; None: the first.  Raises `UsageError` for an unknown name."""
    for policy in policies:
        if name is None or policy.name == name:
            return policy
    legal = f"its policies are {', '.join(p.name for p in policies)}" if policies else "it has none"
    raise UsageError(f"{operator} has no policy {name!r}; {legal}")


def no_workspace(inputs: Arrays, params: Params) -> int:
    """Return 0: most operators need no device memory besides their tensors."""
    del inputs, params
    return 0


@frozen
class Operator:
    """Everything that mlusim needs to know to run, check, plan and report an operator.

    *shapes* gives the outputs' (shape, dtype name) from inputs and parameters; an output that is
    also an input (in/out) is listed in both places and starts with the input's values.  The host
    function must refuse outputs of 2^31 elements or more (`mlusim.host.checks.not_large`), as the
    library does: no memory is taken for them.
    *call* calls the vendor-shaped host function: ``call(handle, tensors, descriptors, params)``,
    where *tensors* maps each name to a device tensor or None.
    *workspace* gives the bytes of device memory that the operator needs besides its tensors.
    *policies* are the rules that a caller may choose from; the first is used when none is named.
    *architectures* are those that the host function accepts, by name; it answers ARCH_MISMATCH on others (empty: it
    accepts all).
    *exact* is the reference before it is rounded to the outputs' types (None: the reference itself); *device* is the
    reference computed in the type of the tensors throughout, as another device would; both serve dynamic thresholds.
    *listing* is the file with the listing of its document, beside which its ``kernel.mlu`` stands: `mlusim.operators.listing`.
    *rule* is the efficiency that it has to reach; by default the standard of the vendor's library.
    *draws* say what `mlusim fuzz` draws: inputs, parameters, and numbers and element types for formulas, in the
    syntax of ``--arg``, in combinations that are legal; the host function refuses any others.
    *primary* names the input whose dtype decides the peak force of the compute efficiency.
    """

    name: str
    summary: str
    inputs: tuple[Tensor, ...]
    params: tuple[Scalar, ...]
    outputs: tuple[Tensor, ...]
    shapes: Callable[[Arrays, Params], Mapping[str, tuple[tuple[int, ...], str]]]
    call: Callable[..., Status]
    reference: Callable[[Arrays, Params], Mapping[str, np.ndarray[Any, Any]]]
    cases: tuple[Case, ...]
    thresholds: Mapping[str, Thresholds]
    theory: Callable[[Arrays, Params], Theory]
    workspace: Callable[[Arrays, Params], int] = field(default=no_workspace)
    limits: tuple[str, ...] = field(default=())
    plans: tuple[Any, ...] = field(default=())
    policies: tuple[Policy, ...] = field(default=())
    architectures: tuple[str, ...] = field(default=())
    listing: Path | None = field(default=None)
    rule: Rule = field(default=STANDARD)
    exact: Callable[[Arrays, Params], Mapping[str, np.ndarray[Any, Any]]] | None = field(default=None)
    device: Callable[[Arrays, Params], Mapping[str, np.ndarray[Any, Any]]] | None = field(default=None)
    draws: Mapping[str, str] = field(factory=dict)

    def runs_on(self, architecture: str) -> bool:
        """Return whether the operator supports *architecture*, such as "mtp_372"; on others its host function refuses."""
        return not self.architectures or architecture in self.architectures

    def called_as(self, case: Case) -> "Operator":
        """Return this operator with the output shapes that *case* declares.

        Raises `UsageError` if the case declares the shape of an unknown output.
        """
        if not case.outputs:
            return self
        unknown = next((name for name in case.outputs if name not in {t.name for t in self.outputs}), None)
        if unknown is not None:
            legal = ", ".join(t.name for t in self.outputs)
            raise UsageError(
                f"case {case.name} of {self.name} declares a shape of {unknown!r}; its outputs: {legal}"
            )

        def shapes(inputs: Arrays, params: Params) -> Mapping[str, tuple[tuple[int, ...], str]]:
            declared = self.shapes(inputs, params)
            return {name: (case.outputs.get(name, shape), dtype) for name, (shape, dtype) in declared.items()}

        return evolve(self, shapes=shapes)

    @property
    def primary(self) -> str:
        """The first input: its dtype decides the peak force, as in the vendor's test framework."""
        return self.inputs[0].name
