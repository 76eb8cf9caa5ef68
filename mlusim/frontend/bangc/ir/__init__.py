"""The typed intermediate form of BANG C: what analysis makes and what every rendering reads.

A `TranslationUnit` holds the functions of one source file, one for each specialisation of a template, the
variables at file scope and the records.  In a `Function` everything is decided that C++ leaves to
the reader: overloads are chosen, templates instantiated, names resolved, ``if constexpr`` folded,
macros expanded, default arguments filled in, and *every* conversion is a `Convert`: the operands of
`Binary` have the type of the result (but the right one of a shift, which keeps its own), those of
`Compare` have one type between them, and an argument has the type of its parameter.

**Statements** are `Declare`, `Evaluate`, `If`, `Loop`, `Switch`, `Break`, `Continue`, `Return`,
`Block`, `Labelled`, `Goto` and `Finally`.  **Expressions** have a value and a ``type``.  **Places** are what may be stored to or have
its address taken: `LocalStorage`, `Element`, `Member`, `GlobalPlace`.  A place becomes a value by `Load`
and a pointer by `AddressOf`.

**References** are pointers here: a parameter ``int &n`` is a `Local` of type ``Pointer(INT32,
reference=True)``, a use of ``n`` is ``Element(Load(Variable(n)), 0)``, and a call passes an `AddressOf`.

**Locals** have a storage that tells where their bytes are:

* VALUE: its address is not taken; a register, a Python variable.  Scalars, pointers, vector registers.
* CELL: its address is taken, or it is a record or an array of records or pointers; it is a variable
  of its own outside the simulated memory, because a compiler keeps it in registers.
* MEMORY: an array of numbers, or what is cast to another type: bytes of the simulated ``space``
  (LDRAM for the stack; NRAM, WRAM, SRAM where the source says so), fresh at each call.
* STATIC: as MEMORY or CELL, but made once a task and initialised once.

Every node has a `Span`: the file, line and column of its text (within a macro, those of the
invocation, or of the macro's body where the parser can say so).
"""

# Readers import the nodes from here, whichever file declares them.
from mlusim.frontend.bangc.ir.expressions import (
    AddressOf,
    Asm,
    AsmOperand,
    Assign,
    Binary,
    Builtin,
    Call,
    Comma,
    Compare,
    Compose,
    Conditional,
    Const,
    Convert,
    Dispatch,
    Distance,
    DynamicCast,
    Element,
    Expr,
    FunctionAddress,
    GlobalPlace,
    IntrinsicCall,
    Invoke,
    LibraryCall,
    Load,
    LocalStorage,
    Logical,
    Member,
    Offset,
    Place,
    Temporary,
    Text,
    Unary,
    Update,
)
from mlusim.frontend.bangc.ir.module import (
    REST,
    Function,
    TranslationUnit,
)
from mlusim.frontend.bangc.ir.names import (
    Global,
    Local,
    Span,
    Storage,
    TranslationProblem,
)
from mlusim.frontend.bangc.ir.statements import (
    Block,
    Break,
    Continue,
    Declare,
    Evaluate,
    Finally,
    Goto,
    If,
    Labelled,
    Loop,
    Return,
    Section,
    Statement,
    Switch,
)

__all__ = [
    "REST",
    "AddressOf",
    "Asm",
    "AsmOperand",
    "Assign",
    "Binary",
    "Block",
    "Break",
    "Builtin",
    "Call",
    "Comma",
    "Compare",
    "Compose",
    "Conditional",
    "Const",
    "Continue",
    "Convert",
    "Declare",
    "Dispatch",
    "Distance",
    "DynamicCast",
    "Element",
    "Evaluate",
    "Expr",
    "Finally",
    "Function",
    "FunctionAddress",
    "Global",
    "GlobalPlace",
    "Goto",
    "If",
    "IntrinsicCall",
    "Invoke",
    "Labelled",
    "LibraryCall",
    "Load",
    "Local",
    "LocalStorage",
    "Logical",
    "Loop",
    "Member",
    "Offset",
    "Place",
    "Return",
    "Section",
    "Span",
    "Statement",
    "Storage",
    "Switch",
    "Temporary",
    "Text",
    "TranslationProblem",
    "TranslationUnit",
    "Unary",
    "Update",
]
