"""The steps of running an instruction, as values that a recipe lists in their order.

Resolve, check, charge, announce, perform: each step says what is to be done, and nothing of how.  `engine.recipes.recipe` makes
them from a row; `engine.recipes.render` renders them as Python, and the native engine (`machine.native.text.door`) as C.
"""

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from mlusim.arch.board import Pipe
    from mlusim.arch.dtypes import DType
    from mlusim.formula.expr import Expr
    from mlusim.isa.declare import CallStyle, Operand, OperandRule, Parameter, Passes
    from mlusim.memory.space import Direction, Space

# -- who runs it at all ------------------------------------------------------------------------------


@frozen
class Refuse:
    """The core has no such instruction."""


@frozen
class Nothing:
    """In compiled code it has no effect on this kind of core; *result* is what it returns."""

    result: int | None


@frozen
class LeaveOthers:
    """In compiled code the copies that the other kind of core does have no effect on this one."""

    memory_core: bool


@frozen
class Note:
    """Every instruction is noted; argument *lanes* says how many elements it takes, or which way it copies; -1: none."""

    lanes: int


# -- what is asked -----------------------------------------------------------------------------------


@frozen
class PassOn:
    """Leave a call with the operand of the longer form to that row; what stands at *counts* tells them apart."""

    counts: tuple["Parameter", ...]


@frozen
class Integers:
    """Make *counts* integers; with *padded* keep the values that they had before padding."""

    counts: tuple["Parameter", ...]
    padded: bool


@frozen
class TypeOf:
    """The type of the scalar *name* decides that of untyped pointers."""

    name: str


@frozen
class Retype:
    """See the untyped pointer *name* through *dtype*, or through the type of the scalar of that name."""

    name: str
    dtype: "DType | str"


@frozen
class Strided:
    """The strided form takes over where one of *strides* is given; always where it is empty."""

    strides: tuple[str, ...]


@frozen
class Resolve:
    """Find the memory and the elements of *operands*."""

    operands: tuple["Operand", ...]


# -- what is checked ---------------------------------------------------------------------------------


@frozen
class OfKind:
    """*operand* lies in one of *spaces* of this core, with one of *dtypes*, or the very type of *like*."""

    operand: "Operand"
    spaces: tuple["Space", ...]
    dtypes: tuple["DType", ...]
    like: "Operand | None"


@frozen
class Filled:
    """*operand* has an element at least."""

    operand: "Operand"


@frozen
class Inside:
    """*operand* does not leave its memory."""

    operand: "Operand"


@frozen
class Writable:
    """*operand* is not const."""

    operand: "Operand"


@frozen
class Aligned:
    """*operand* begins and ends where MLU2xx wants it."""

    operand: "Operand"


@frozen
class Holds:
    """*rule* is not broken."""

    rule: "OperandRule"


Condition = OfKind | Filled | Inside | Writable | Aligned | Holds


@frozen
class CheckAll:
    """All of *conditions* hold."""

    conditions: tuple[Condition, ...]


@frozen
class Apart:
    """*target* does not overlap *source* but as *how* says: exact, whole, tail, piece, early or disjoint."""

    target: "Operand"
    source: "Operand"
    how: str


@frozen
class Either:
    """*operand* is a pointer, for which *check* and *apart* hold, or a number of the type of *like*."""

    operand: "Operand"
    like: "Operand"
    check: CheckAll
    apart: tuple[Apart, ...]


@frozen
class Constants:
    """Convert the scalars *names* to elements of the type of *like*, as C does."""

    names: tuple[str, ...]
    like: "Operand"


# -- what it costs -----------------------------------------------------------------------------------


@frozen
class Count:
    """One more of this instruction."""


@frozen
class ChargeScalar:
    """An operation of the scalar unit."""


@frozen
class ChargeRegisters:
    """*lines* of a vector register."""

    lines: int


@frozen
class ChargedElements:
    """*extent* elements of *operand*; *whole*: its own elements."""

    operand: "Operand"
    extent: "Expr"
    whole: bool


@frozen
class Width:
    """Bytes of an element on the vector unit: of the widest of *lead* and *beside*, and *least* at the least."""

    lead: "Operand"
    beside: tuple["Operand", ...]
    least: int


@frozen
class ChargeVector:
    """Lines of the vector unit, by what it does with each; *counts* may have been padded."""

    amount: ChargedElements
    width: Width
    passes: "Passes"
    counts: tuple["Parameter", ...]


@frozen
class ChargeTensor:
    """Products of the tensor unit."""

    amount: ChargedElements


@frozen
class ChargeTransfer:
    """Bytes that a DMA carries as in *direction*; an atomic reads and writes the lines that it touches."""

    amount: ChargedElements
    pipe: "Pipe"
    direction: "Direction"
    atomic: bool


Charge = ChargeScalar | ChargeRegisters | ChargeVector | ChargeTensor | ChargeTransfer

# -- what is done ------------------------------------------------------------------------------------


@frozen
class AtOffsets:
    """Call *function* of `engine.offsets` for the row, an operand of which lies where data say."""

    function: str
    whole: bool  # by the names of the row, and not in one of several forms


@frozen
class Settle:
    """Complete the copies in flight on *pipe* first."""

    pipe: "Pipe"


@frozen
class Announce:
    """Tell the observers which elements are read and written, and the arguments."""

    operands: tuple["Operand", ...]
    arguments: tuple[str, ...]


@frozen
class KeepBefore:
    """Keep what *operand* holds, to see whether the atomic changed it."""

    operand: "Operand"


@frozen
class AccessScalar:
    """Account for a scalar load of *operand*, or a store of the scalar *stored*, as for one through a pointer."""

    operand: "Operand"
    stored: str | None


@frozen
class CallBody:
    """Do it: call the row's body as *call* says, with *arguments*; *control* gives it the core."""

    call: "CallStyle"
    arguments: tuple["Parameter", ...]
    control: bool
    result: bool


@frozen
class Retire:
    """Tell the observers that the bytes have changed; *result* with what it returns."""

    result: bool


@frozen
class Spin:
    """Others may spin on the atomic that changed *operand*, or did not: let them run."""

    operand: "Operand"


@frozen
class ReturnResult:
    """Return the body's result."""


Step = (
    Refuse | Nothing | LeaveOthers | Note
    | PassOn | Integers | TypeOf | Retype | Strided | Resolve
    | CheckAll | Either | Apart | Constants
    | Settle | Announce | Count | ChargeScalar | ChargeRegisters | ChargeVector | ChargeTensor | ChargeTransfer
    | AtOffsets | KeepBefore | AccessScalar | CallBody | Retire | Spin | ReturnResult
)  # fmt: skip
