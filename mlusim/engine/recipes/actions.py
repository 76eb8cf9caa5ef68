"""The actions of an instruction, as values that a recipe lists in order.

An action resolves, checks, charges, announces or performs; it says what is done, not how.
`engine.recipes.recipe` makes them from a row; `engine.recipes.render` renders them as Python, and the native
engine (`machine.native.text.door`) as C.
"""

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from mlusim.arch.board import Pipe
    from mlusim.arch.dtypes import DType
    from mlusim.formula.expr import Expr
    from mlusim.isa.declare import CallStyle, Operand, OperandRule, Parameter, Passes
    from mlusim.memory.space import Direction, Space

# -- which core runs it --------------------------------------------------------------------------------


@frozen
class Refuse:
    """The core does not have this instruction."""


@frozen
class Nothing:
    """In compiled code the instruction has no effect on this kind of core; it returns *result*."""

    result: int | None


@frozen
class LeaveOthers:
    """In compiled code, skip the copies that the other kind of core executes."""

    memory_core: bool


@frozen
class Note:
    """Record every instruction; argument *lanes* is its number of elements or its copy direction; -1: it has neither."""

    lanes: int


# -- resolving operands --------------------------------------------------------------------------------


@frozen
class PassOn:
    """Forward a call with the operand of the longer form to that row; the arguments at *counts* distinguish the forms."""

    counts: tuple["Parameter", ...]


@frozen
class Integers:
    """Convert *counts* to integers; with *padded* also keep their values before padding."""

    counts: tuple["Parameter", ...]
    padded: bool


@frozen
class TypeOf:
    """Take the element type of untyped pointers from the type of the scalar *name*."""

    name: str


@frozen
class Retype:
    """Cast the untyped pointer *name* to *dtype*, or to the type of the scalar of that name."""

    name: str
    dtype: "DType | str"


@frozen
class Strided:
    """Call the strided form if one of *strides* was passed; always if *strides* is empty."""

    strides: tuple[str, ...]


@frozen
class Resolve:
    """Find the memory and the element range of *operands*."""

    operands: tuple["Operand", ...]


# -- checks ----------------------------------------------------------------------------------------------


@frozen
class OfKind:
    """*operand* points into one of *spaces* of this core, with one of *dtypes*, or with the same type as *like*."""

    operand: "Operand"
    spaces: tuple["Space", ...]
    dtypes: tuple["DType", ...]
    like: "Operand | None"


@frozen
class Filled:
    """*operand* has at least one element."""

    operand: "Operand"


@frozen
class Inside:
    """All elements of *operand* lie inside its memory."""

    operand: "Operand"


@frozen
class Writable:
    """*operand* is not const memory."""

    operand: "Operand"


@frozen
class Aligned:
    """*operand* has the alignment that MLU2xx requires at both ends."""

    operand: "Operand"


@frozen
class Holds:
    """The rule *rule* is satisfied."""

    rule: "OperandRule"


Condition = OfKind | Filled | Inside | Writable | Aligned | Holds


@frozen
class CheckAll:
    """All of *conditions* hold."""

    conditions: tuple[Condition, ...]


@frozen
class Apart:
    """*target* overlaps *source* only as *how* allows: exact, whole, tail, piece, early or disjoint."""

    target: "Operand"
    source: "Operand"
    how: str


@frozen
class Either:
    """*operand* is a pointer that satisfies *check* and *apart*, or a scalar of the type of *like*."""

    operand: "Operand"
    like: "Operand"
    check: CheckAll
    apart: tuple[Apart, ...]


@frozen
class Constants:
    """Convert the scalars *names* to the element type of *like*, as C does."""

    names: tuple[str, ...]
    like: "Operand"


# -- costs -----------------------------------------------------------------------------------------------


@frozen
class Count:
    """Count one more execution of this instruction."""


@frozen
class ChargeScalar:
    """Charge one operation of the scalar unit."""


@frozen
class ChargeRegisters:
    """Charge *lines* lines of a vector register."""

    lines: int


@frozen
class ChargedElements:
    """*extent* elements of *operand*; with *whole* all elements that the operand has."""

    operand: "Operand"
    extent: "Expr"
    whole: bool


@frozen
class Width:
    """Bytes per element on the vector unit: the widest of *lead* and *beside*, but at least *least*."""

    lead: "Operand"
    beside: tuple["Operand", ...]
    least: int


@frozen
class ChargeVector:
    """Charge lines of the vector unit, by the number of passes over each line; *counts* may have been padded."""

    amount: ChargedElements
    width: Width
    passes: "Passes"
    counts: tuple["Parameter", ...]


@frozen
class ChargeTensor:
    """Charge products of the tensor unit."""

    amount: ChargedElements


@frozen
class ChargeTransfer:
    """Charge the bytes that a DMA carries, as in *direction*; an atomic reads and writes the lines that it touches."""

    amount: ChargedElements
    pipe: "Pipe"
    direction: "Direction"
    atomic: bool


Charge = ChargeScalar | ChargeRegisters | ChargeVector | ChargeTensor | ChargeTransfer

# -- effects ---------------------------------------------------------------------------------------------


@frozen
class AtOffsets:
    """Call *function* of `engine.offsets` for a row whose operand addresses depend on data."""

    function: str
    whole: bool  # all arguments are passed by name, and the row has only one form


@frozen
class Settle:
    """First complete the copies in flight on *pipe*."""

    pipe: "Pipe"


@frozen
class Announce:
    """Announce the elements that are read and written, and the arguments, to the observers."""

    operands: tuple["Operand", ...]
    arguments: tuple[str, ...]


@frozen
class KeepBefore:
    """Save the value of *operand*, to see later whether the atomic changed it."""

    operand: "Operand"


@frozen
class AccessScalar:
    """Charge a scalar load of *operand*, or a store of the scalar *stored*, like an access through a pointer."""

    operand: "Operand"
    stored: str | None


@frozen
class CallBody:
    """Call the body of the row, in the form *call*, with *arguments*."""

    call: "CallStyle"
    arguments: tuple["Parameter", ...]
    result: bool


@frozen
class Retire:
    """Tell the observers that the bytes have changed; with *result*, also what the body returned."""

    result: bool


@frozen
class Spin:
    """Let other cores run: they may poll the *operand* that the atomic did or did not change."""

    operand: "Operand"


@frozen
class ReturnResult:
    """Return the body's result."""


Action = (
    Refuse | Nothing | LeaveOthers | Note
    | PassOn | Integers | TypeOf | Retype | Strided | Resolve
    | CheckAll | Either | Apart | Constants
    | Settle | Announce | Count | ChargeScalar | ChargeRegisters | ChargeVector | ChargeTensor | ChargeTransfer
    | AtOffsets | KeepBefore | AccessScalar | CallBody | Retire | Spin | ReturnResult
)  # fmt: skip
