"""The forms of ``--arg NAME=VALUE`` in one table, which serves parsing, documents, help and error messages; and the data of a whole call.

The parsers of the verbs import this file, so that it imports little.
"""

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from mlusim.arch.catalog import DEFAULT_BOARDS


@frozen
class ArgumentForm:
    """One way to write the value of an argument.

    ``word`` is its first word, empty if it has none; ``spelling`` shows its parts; ``parts`` are the parts
    after the word.  ``drawn`` says that its values depend on the seed, ``goes_in`` that it is an input array, and
    ``real`` that its elements must be floats.
    """

    word: str
    spelling: str
    meaning: str
    example: str
    parts: tuple[str, ...] = ()
    drawn: bool = False
    goes_in: bool = False
    real: bool = False


def _sized(word: str, meaning: str, example: str, *, drawn: bool = False, real: bool = False) -> ArgumentForm:
    """Return the form of an input array that is written as its type and sizes."""
    return ArgumentForm(
        word,
        f"{word}:TYPE:SIZES",
        meaning,
        f"x={word}:{example}",
        ("TYPE", "SIZES"),
        drawn=drawn,
        goes_in=True,
        real=real,
    )


NUMBER = ArgumentForm(
    "",
    "NUMBER",
    "a number; where a whole number is wanted, a formula of other arguments too; members of a structure with commas",
    "n=rows*cols",
)
FILE = ArgumentForm("", "F.npy", "the array in the file goes in", "x=in.npy", goes_in=True)
MEMBER = ArgumentForm("", "F.npz:NAME", "the array NAME in the file goes in", "x=in.npz:x", goes_in=True)
ZEROS = _sized("zeros", "zeros go in", "float32:8,1024")
ONES = _sized("ones", "ones go in", "half:8x1024")
RAND = _sized("rand", "floats of 0 to 1 are drawn and go in", "float32:rows,cols", drawn=True, real=True)
RANDN = _sized(
    "randn", "floats of a normal distribution are drawn and go in", "half:n", drawn=True, real=True
)
ARANGE = _sized("arange", "0, 1, 2 and so on go in", "int32:n")
IN = _sized(
    "in", "values of the type are drawn and go in: as randn, integers of -100 to 99", "float32:n", drawn=True
)
DRAW = ArgumentForm(
    "int",
    "int:LOW..HIGH",
    "a whole number of LOW to HIGH - 1 is drawn",
    "n=int:1..4097",
    ("LOW..HIGH",),
    drawn=True,
)
DRAWS = ArgumentForm(
    "int",
    "int:LOW..HIGH:TYPE:SIZES",
    "integers of LOW to HIGH - 1 are drawn and go in; without TYPE: the parameter's, or int32",
    "index=int:0..n:int32:1000",
    ("LOW..HIGH", "TYPE", "SIZES"),
    drawn=True,
    goes_in=True,
)
OUT = ArgumentForm(
    "out",
    "out:TYPE:SIZES",
    "comes back; unwritten before, so not for a pointer to const",
    "y=out:float32:8,1024",
    ("TYPE", "SIZES"),
)
INOUT = ArgumentForm(
    "inout",
    "inout:VALUE",
    "an array that goes in, given as above, comes back too",
    "y=inout:F.npy",
    ("VALUE",),
)
HOST = ArgumentForm(
    "host",
    "host:VALUE",
    "an array, given as above, in memory of the host, for a pointer of a host function that is not one of the device, as `size_t *`",
    "size=host:out:uint64:1",
    ("VALUE",),
)
NULL = ArgumentForm("null", "null", "a null pointer", "mask=null")

REAL = "float"
REAL_FORMS = f"{REAL}:LOW..HIGH or {REAL}:LOW..HIGH:TYPE:SIZES"
"""The additional forms of `mlusim fuzz`: floats drawn from a range."""

FORMS = (NUMBER, FILE, MEMBER, ZEROS, ONES, RAND, RANDN, ARANGE, IN, DRAW, DRAWS, OUT, INOUT, HOST, NULL)
"""Every form, in the order of the documents."""

SIZES = (
    "SIZES are whole numbers, names of other arguments and formulas of them (`rows,cols`, `n/2`), with commas or `x` between "
    "them; TYPE is an element type, as float32, half or int8."
)
SEED = "draw other values for --arg"


def words() -> dict[str, list[ArgumentForm]]:
    """Return the forms by their first word."""
    by_word: dict[str, list[ArgumentForm]] = {}
    for form in FORMS:
        if form.word:
            by_word.setdefault(form.word, []).append(form)
    return by_word


def spellings(forms: Sequence[ArgumentForm]) -> str:
    """Return a phrase with the spellings of *forms*; if one spelling is the beginning of another, only the longer one."""
    told = [f.spelling for f in forms]
    # int:LOW..HIGH is the beginning of int:LOW..HIGH:TYPE:SIZES.
    short = [s for s in told if not any(other.startswith(f"{s}:") for other in told)]
    return " or ".join([", ".join(short[:-1]), short[-1]]) if len(short) > 1 else short[0]


ARRAYS = tuple(form for form in FORMS if form.goes_in)
POINTERS = (*ARRAYS, OUT, INOUT, NULL)
"""The forms for a pointer."""
HELP = f"an argument: {spellings((NUMBER, FILE, MEMBER))}; zeros, ones, rand, randn, arange or in:TYPE:SIZES; int:LOW..HIGH or int:LOW..HIGH:TYPE:SIZES; out:TYPE:SIZES, inout:VALUE, host:VALUE or null"


@frozen
class ArgumentValue:
    """A parsed value: its *form*, and the parts of the form, each as text.

    ``comes_back`` says that the array is an output, ``on_host`` that it is in the host's memory.  ``low`` and
    ``high`` bound a draw.
    """

    text: str
    form: ArgumentForm
    dtype: str | None = None
    sizes: str | None = None
    low: str | None = None
    high: str | None = None
    file: str | None = None
    member: str | None = None
    comes_back: bool = False
    on_host: bool = False

    @property
    def is_array(self) -> bool:
        """Return whether it is an array, not a number or a null pointer."""
        return self.comes_back or self.form.goes_in

    @property
    def is_null(self) -> bool:
        """Return whether it is the null pointer."""
        return self.form is NULL

    @property
    def prefix(self) -> str:
        """Return the words before an input array that say whether it is in the host's memory, and whether it is also an output."""
        back = f"{INOUT.word}:" if self.comes_back and self.form.goes_in else ""
        return f"{HOST.word}:" * self.on_host + back


@frozen
class Criterion:
    """How outputs are judged: by the function *reference*, by arrays, or not at all; and the largest accepted errors.

    *reference* is ``module:function``, searched in *folder* or the current one; *expect* has arrays by name, in the
    forms of ``--arg``.
    """

    reference: str | None = None
    folder: str | None = None
    expect: Mapping[str, str] = field(factory=dict, hash=False)
    diff1: float | None = 3e-3  # the vendor's usual thresholds
    diff2: float | None = 3e-3
    diff3: float | None = None


USUAL_CRITERION = Criterion()
USUAL_KIND = "BLOCK"


@frozen
class AskedCall:
    """A request to run the files *program*: one call of a *kernel* or of a host *function*, or their ``main`` with *words*.

    *arguments* are texts by parameter, in the forms of `mlusim.programs.argument_forms`.  Drawn values depend on
    *draws*, or, if that is None, on *seed*, which also selects the schedule.
    """

    program: tuple[str, ...]
    kernel: str | None = None
    function: str | None = None
    dim: tuple[int, int, int] = (1, 1, 1)
    kind: str = USUAL_KIND
    arguments: Mapping[str, str] = field(factory=dict, hash=False)
    board: str = DEFAULT_BOARDS[0]
    include: tuple[str, ...] = ()
    define: Mapping[str, str | None] = field(factory=dict, hash=False)
    words: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    seed: int | None = None
    draws: int | None = None
    effects: str = "late"
    engine: str = "auto"
    criterion: Criterion = USUAL_CRITERION

    @property
    def file(self) -> str:
        """The first of the files, which stands for all of them in names."""
        return self.program[0]

    @property
    def called(self) -> str:
        """The name of the called kernel or function, or else of the file."""
        return self.function or self.kernel or self.file

    def typed(self) -> list[str]:
        """Return the words of a command line, after the verb, that make this request."""
        of_kernel = self.kernel or self.function or self.arguments
        # As a user would type it: 4 instead of 4,1,1.
        dim = ",".join(map(str, self.dim)).removesuffix(",1").removesuffix(",1")
        options: list[tuple[str, object]] = [
            *(("-I", folder) for folder in self.include),
            *(("-D", name if value is None else f"{name}={value}") for name, value in self.define.items()),
            ("--function", self.function),
            ("--kernel", self.kernel),
            ("--dim", dim if of_kernel or dim != "1" else None),
            ("--kind", None if self.kind == USUAL_KIND else self.kind.lower()),
            *(("--arg", f"{name}={text}") for name, text in self.arguments.items()),
            ("--reference", self.criterion.reference),
            *(("--expect", f"{name}={text}") for name, text in self.criterion.expect.items()),
            ("--check", ",".join(self.checks) or None),
            ("--board", self.board),
            ("--effects", None if self.effects == "late" else self.effects),
            ("--seed", self.draws if self.seed is None else self.seed),
            ("--engine", None if self.engine == "auto" else self.engine),
        ]
        words = [str(word) for option in options if option[1] is not None for word in option]
        return [*self.program, *words, *(("--", *self.words) if self.words else ())]
