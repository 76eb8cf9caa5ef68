"""The arguments of verbs that run many calls and compare them: cases, boards, policies, candidates, draws."""

import math
from argparse import ArgumentParser, ArgumentTypeError

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.arguments import shared
from mlusim.machine.limits import USUAL, Limit, limit_in, number_in
from mlusim.programs import argument_forms

REPORT_EXAMPLES = """examples:
  mlusim report
  mlusim report tin_shift_forward --board MLU370-X4 --board MLU590-H8 --format md
  mlusim report --format html -o report.html
  mlusim report dynamic_scatter_backward --policy all
  mlusim report --write-baseline efficiency.json
  mlusim report --baseline efficiency.json --threshold 2%
  mlusim report --group all --keep everything.jsonl
  mlusim report --group all --keep everything.jsonl --dask tcp://scheduler:8786
`mlusim profile` shows the launches of a program that is not an operator.
Bare, it runs every network case on two boards, which takes a minute; a bar on a terminal says how far it is, and Ctrl-C ends
it.  One operator takes a fraction of that, `--case golden_document` seconds; with --format html calls that take Python less
than a second know their lines, and so do longer ones that --case names, unless --no-lines is given."""

# In the order of `report.FORMATS`, which a test compares; importing that would load half of the package.
REPORT_FORMATS = ("json", "csv", "md", "html")


def report(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim report``."""
    add = shared.Adder(parser)
    add.selection()
    # Options of a program that is not an operator, which `mlusim profile` has now.
    before = shared.Adder(parser, hidden=True)
    before.call_arguments()
    before.draws()
    add.answer((shared.TEXT, *REPORT_FORMATS))
    add.repeated("--check NAMES", "checkers to observe with")
    add.several(
        "--policy P",
        f"policies of the operators that declare them, or {shared.EVERY}, side by side (default: the usual one)",
    )
    add.gate()
    add.flag("--what-if", "one case of each operator on every board; the HTML page has it anyway")
    add.flag("--explain", "after the tables, a sentence for each call with the reasons")
    add.kept_output("call", "--keep")
    add.engine()
    add.threads()
    add.jobs()
    add.dask(files=False)
    add.flag("--json", "the same as --format json")
    add.flag("--no-lines", "no pipes and no time of each line in the HTML page; takes half the time")
    add.limit(USUAL)
    parser.epilog = REPORT_EXAMPLES


WHATIF_EXAMPLES = """examples:
  mlusim what-if tin_shift_forward --case network_3x15x16x45435_half
  mlusim what-if three_interpolate_backward --case case_9 --board MLU370-S4 MLU370-X8 --from MLU370-X4
  mlusim what-if three_interpolate_backward --inputs my.npz --set m=64 --json
  mlusim what-if my_script.py --board MLU370-X8 MLU590-H8 -- --size 4096
  mlusim what-if scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16"""


def whatif(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim what-if``."""
    add = shared.Adder(parser)
    add.program(
        "PROGRAM",
        "an operator; `mlusim ops` lists them; or a script, a test, BANG C files, a native program or cases.toml",
        "arguments of the script or main(), and everything after --",
    )
    add.call_arguments()
    add.reference()
    add.param()
    add.draws()
    add.value("--case NAME", "one of its cases, or of the file's (default there: all)")
    add.inputs()
    add.value("--policy P", "a policy of the operator; `mlusim ops OP` lists them")
    add.boards("all of them")
    add.value("--from B", f"the board of the recorded run (default: {DEFAULT_BOARDS[0]})", dest="base")
    add.value("--html F.html", "write a page with a chart")
    add.engine()
    add.threads()
    add.json()
    add.limit(USUAL)
    parser.set_defaults(studies=[])
    parser.epilog = WHATIF_EXAMPLES


SWEEP_EXAMPLES = """in its place:
  mlusim report --group all --keep everything.jsonl
  mlusim tune scale.mlu --param TILE=64,128 --arg dst=out:float32:8192 --arg src=in.npy --arg n=8192 -o tiles.jsonl"""


def sweep(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim sweep``."""
    add = shared.Adder(parser)
    add.selection(
        "operators (default: all), or BANG C files, cases.toml or a program, with words for its main behind --"
    )
    add.param()
    add.call_arguments()
    add.reference()
    add.draws()
    add.several(
        "--policy P",
        f"policies of the operators that declare them, or {shared.EVERY} (default: each operator's usual one)",
    )
    add.repeated("--check NAMES", "checkers to observe with")
    add.kept_output("result")
    add.value("--html F.html", "write a page: the report of operators, or the chart of --param")
    add.engine()
    add.threads()
    add.jobs()
    add.dask(files=False)
    add.json()
    add.limit(USUAL)
    parser.epilog = SWEEP_EXAMPLES


TUNE_EXAMPLES = """examples:
  mlusim tune scale.mlu --param TILE=64,128,256 --arg dst=out:float32:8192 --arg src=in.npy --arg n=8192
  mlusim tune scale.mlu --param -DUNROLL=1,2 --param 'dim=4,1,1;4,8,1' --param kind=block,union1 --arg n=8192 ... --html tiles.html
  mlusim tune scale.mlu --param tile=64..1024:64 --arg n=8192 ... --reference reference:scale -o tiles.jsonl
  mlusim tune scale.mlu --param tile=16..4096:16 --param 'dim=4;4,2;4,4' --search halving --trials 60 --rungs n=4096,65536 ...
  mlusim tune lab.mlu --param TILE=64,128 --param env:TASKS=4,16 --param n=4096,65536 -- {n}
exit codes: 0 a candidate fits and is right, 1 none does, 2 usage"""


def tune(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim tune``."""
    add = shared.Adder(parser)
    add.program(
        "FILE",
        "BANG C files with the kernel or a main, a native program, or a TOML file of cases",
        "more files, or arguments of the program",
    )
    add.param()
    add.value("--case NAME", "one case of a file with several")
    add.call_arguments()
    add.reference()
    add.draws()
    add.boards(DEFAULT_BOARDS[0])
    add.value(
        "--objective",
        "rank by the least time, or by the largest IO or compute efficiency (default: time)",
        choices=("time", "io", "compute"),
        default="time",
    )
    add.value(
        "--search",
        "try only --trials candidates of a large space: random; random, with the best third tried on a larger call; "
        "or proposed by Optuna from the results so far",
        choices=("random", "halving", "tpe"),
    )
    add.value("--trials N", "candidates of a search; --seed draws others", type=shared.workers)
    add.value(
        "--rungs NAME=V,V,...",
        "for halving: values that enlarge a call, the smallest first, as n=1024,4096",
    )
    add.value("--html F.html", "write a page with a chart")
    add.kept_output("candidate")
    add.engine()
    add.threads()
    add.jobs()
    add.dask(files=True)
    add.json()
    add.limit(USUAL)
    parser.epilog = TUNE_EXAMPLES


FUZZ_EXAMPLES = """examples:
  mlusim fuzz halve.mlu --kernel Halve --dim 4 --arg 'n=int:1..20000' --arg 'x=in:float32:n' --arg 'y=out:float32:n' --reference ref:halve
  mlusim fuzz gather.mlu --arg 'm=int:1..500' --arg 'n=int:0..m' --arg 'table=in:float32:m' --arg 'index=int:0..m:int32:n' --arg 'y=out:float32:n'
  mlusim fuzz tin_shift_forward --board MLU370-X4 MLU590-H8 --arg 'T=int:1..5'
  mlusim fuzz scale.mlu --function KernelScale --arg 'n=int:1..9000' --arg 'data=inout:in:float32:n'
  mlusim fuzz my_kernels.py --kernel scale --arg 'n=int:1..9000' --arg 'x=in:float32:n' --arg 'y=out:float32:n'
  mlusim fuzz cases.toml --case small --arg 'n=int:1..64'
  mlusim fuzz scale.mlu --arg 'n=int:0..9000' --arg 'x=float:-8..8:float32:n' --arg 'weight=null|in:float32:n' --arg 'y=out:float32:n' --runs 500 --seed 7"""
FUZZED = "a BANG C file, a Python file with a kernel, an operator, or cases.toml"
USUAL_SECONDS = 60.0
# A draw takes milliseconds: a launch that takes a minute hangs, and one that prints a gibibyte is endless.
FUZZ_LIMIT = limit_in("seconds=60", Limit(growth=1 << 30))


def fuzz(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim fuzz``."""
    add = shared.Adder(parser)
    add.program("PROGRAM", FUZZED, "more BANG C files")
    add.value("--case NAME", "one case of cases.toml")
    add.value("--kernel K<float>", "the kernel: K, ns::K, 'K(float *)', or K<float> of a template")
    add.value("--dim X,Y,Z", "tasks of the kernel (default: 1,1,1); | separates alternatives")
    add.value("--kind KIND", "block (default), union1, union2, ...")
    add.repeated(
        "--arg NAME=VALUE",
        f"{argument_forms.HELP}, as `mlusim check` takes them; {argument_forms.REAL_FORMS}, of floats; "
        "| separates alternatives, the simplest first; of an operator in place of what it declares",
    )
    add.source_arguments()
    add.triton()
    add.function()
    add.value("--reference module:function", "the expected outputs of the kernel")
    add.repeated("--only NAMES", "these checkers (default: all of them)")
    add.boards(DEFAULT_BOARDS[0], "boards to draw from")
    add.value(
        "--seconds S",
        f"seconds of the clock for the search, without stored calls (default without --runs: {USUAL_SECONDS:g})",
        type=seconds,
    )
    add.value("--runs N", "calls to draw, at most", type=shared.workers)
    add.value("--seed N", "draw other calls (default: 0, or that of the case)", type=shared.whole)
    add.value(
        "--corpus DIR",
        "the folder of failing calls, tried first, and of the search's progress (default: FILE.fuzz beside the first file)",
    )
    add.flag("--restart", "begin with the first draw, wherever the last search ended")
    add.engine(shared.WHERE_CHECKED)
    add.threads()
    add.jobs("1")
    add.dask(files=True)
    add.json()
    add.limit(FUZZ_LIMIT)
    add.coverage()
    parser.epilog = FUZZ_EXAMPLES


JUDGE_EXAMPLES = """examples:
  mlusim judge candidate.mlu --reference reference.py
  mlusim judge candidates/ --reference reference.py --board MLU590-H8 --seed 7 -o verdicts.jsonl
  mlusim judge a.mlu b.mlu --reference model.py --cases n=1024 --seconds 20 --memory 1GiB --json"""
LEAST_MEMORY = 64 << 20


def size(text: str) -> int:
    """Parse a number of bytes for argparse: "2GiB", "512MiB", with the units of ``--limit``."""
    number = number_in(text.strip())
    if number is None or not math.isfinite(number):
        raise ArgumentTypeError(f"{text!r} is not a size; write it as 2GiB or 512MiB")
    if number < LEAST_MEMORY:
        raise ArgumentTypeError(f"{text!r} is too little; give 64MiB or more")
    return int(number)


def seconds(text: str) -> float:
    """Parse a time in seconds for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1e6:
        raise ArgumentTypeError(f"{text!r} is not a time; give a number of seconds above 0")
    return value


def judge(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim judge``."""
    add = shared.Adder(parser)
    parser.add_argument("candidates", nargs="*", metavar="CANDIDATE", help="BANG C files, or folders of them")
    add.value(
        "--reference FILE.py",
        "inputs and expected results: functions of NumPy, or a Model of torch.nn with get_inputs()",
    )
    add.several("--cases NAME", "cases of the reference (default: all)")
    add.value("--board B", f"a board; {DEFAULT_BOARDS[0]} when none is named")
    add.value("--kernel K<float>", "the kernel of each candidate (default: its only one)")
    add.value("--function F", "the host function of each candidate (default: bang_func, where it has one)")
    add.value("--dim X,Y,Z", "tasks of a kernel (default: the reference's, or 1,1,1)")
    add.value("--kind KIND", "block, union1, ... (default: the reference's, or block)")
    add.source_arguments()
    # A second draw exposes a candidate that caches the result of the first.
    add.value("--draws N", "draws of inputs for each case (default: 2)", type=shared.workers, default=2)
    add.value(
        "--seed N",
        "draw the same inputs again (default: others each time, named in the verdicts)",
        type=shared.whole,
    )
    add.value("--seconds S", "time for one candidate (default: 60)", type=seconds, default=60.0)
    add.value("--memory M", "memory of one candidate (default: 2GiB)", type=size, default=2 << 30)
    add.kept_output("verdict")
    add.jobs("one per CPU")
    add.dask(files=True)
    add.json()
    parser.epilog = JUDGE_EXAMPLES


DEMO_PAGE = "mlusim-report.html"


def demo(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim demo``."""
    add = shared.Adder(parser)
    add.boards()
    add.value("-o --output F.html", f"where the page goes (default: {DEMO_PAGE})", default=DEMO_PAGE)
    add.threads()
    add.jobs()
    add.flag("--json", "one JSON document on standard output, besides the page")
    parser.epilog = "example: mlusim demo -o report.html"
