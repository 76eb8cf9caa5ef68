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
  mlusim report my_script.py --board MLU370-X4 MLU590-H8 -o launches.html -- --size 4096
  mlusim report scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16
Bare, it runs every network case on two boards, which takes minutes; a bar on a terminal says how far it is, and Ctrl-C ends
it.  One operator takes a fraction of that, `--case golden_document` seconds; with --format html every call knows its lines,
and takes about twice as long unless --no-lines is given."""

# In the order of `report.FORMATS`, which a test compares: what writes them would load half of the package.
REPORT_FORMATS = ("json", "csv", "md", "html")


def report(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim report``."""
    shared.add_selection(
        parser,
        "operators (default: all); or a script, a test, BANG C files or cases.toml, with words for it behind",
    )
    shared.add_call_arguments(parser)
    shared.add_draws(parser)
    add = parser.add_argument
    shared.add_answer(parser, (shared.TEXT, *REPORT_FORMATS))
    add("--check", metavar="NAMES", action="append", default=[], help="checkers to observe with")
    add(
        "--policy",
        metavar="P",
        nargs="+",
        action="extend",
        default=[],
        help=f"policies of the operators that declare them, or {shared.EVERY}, side by side (default: the usual one)",
    )
    shared.add_gate(parser)
    _add_parts(parser)
    shared.add_engine(parser)
    shared.add_threads(parser)
    shared.add_jobs(parser)
    add("--json", action="store_true", help="the same as --format json")
    add(
        "--no-lines",
        action="store_true",
        help="no pipes and no time of each line in the HTML page; takes half the time",
    )
    shared.add_limit(parser, USUAL)
    parser.epilog = REPORT_EXAMPLES


def _add_parts(parser: ArgumentParser) -> None:
    """Declare what a report may have besides its tables."""
    add = parser.add_argument
    add(
        "--what-if",
        action="store_true",
        help="one case of each operator on every board; the HTML page has it anyway",
    )
    add("--explain", action="store_true", help="behind the tables, a sentence for each call that says why")


WHATIF_EXAMPLES = """examples:
  mlusim what-if tin_shift_forward --case network_3x15x16x45435_half
  mlusim what-if three_interpolate_backward --case case_9 --board MLU370-S4 MLU370-X8 --from MLU370-X4
  mlusim what-if three_interpolate_backward --inputs my.npz --set m=64 --json
  mlusim what-if my_script.py --board MLU370-X8 MLU590-H8 -- --size 4096
  mlusim what-if scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16"""


def whatif(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim what-if``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "PROGRAM",
        "an operator; `mlusim ops` lists them; or a script, a test, BANG C files, a native program or cases.toml",
        "words for the script or main(); behind -- all are",
    )
    shared.add_call_arguments(parser)
    shared.add_param(parser)
    shared.add_draws(parser)
    add("--case", metavar="NAME", help="one of its cases, or of the file's (default there: all)")
    shared.add_inputs(parser)
    add("--policy", metavar="P", help="a policy of the operator; `mlusim ops OP` lists them")
    shared.add_boards(parser, "all of them")
    add(
        "--from",
        metavar="B",
        dest="base",
        help=f"the board of the recorded run (default: {DEFAULT_BOARDS[0]})",
    )
    shared.add_engine(parser)
    shared.add_threads(parser)
    add("--json", action="store_true", help="one JSON document on standard output")
    shared.add_limit(parser, USUAL)
    parser.epilog = WHATIF_EXAMPLES


SWEEP_EXAMPLES = """examples:
  mlusim sweep three_interpolate_backward --policy all -o tiles.jsonl
  mlusim sweep --group all --board MLU370-X4 MLU590-H8 -o everything.jsonl
  mlusim sweep --group all -o everything.jsonl --dask tcp://scheduler:8786
  mlusim sweep scale.mlu --param TILE=64,128 --arg dst=out:float32:8192 --arg src=in.npy --arg n=8192 -o tiles.jsonl"""


def sweep(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim sweep``."""
    add = parser.add_argument
    shared.add_selection(
        parser,
        "operators (default: all), or BANG C files, cases.toml or a program, with words for its main behind --",
    )
    shared.add_param(parser)
    shared.add_call_arguments(parser)
    shared.add_reference(parser)
    shared.add_draws(parser)
    add(
        "--policy",
        nargs="+",
        action="extend",
        default=[],
        metavar="P",
        help=f"policies of the operators that declare them, or {shared.EVERY} (default: each operator's usual one)",
    )
    add("--check", metavar="NAMES", action="append", default=[], help="checkers to observe with")
    shared.add_kept_output(parser, "result")
    shared.add_engine(parser)
    shared.add_threads(parser)
    shared.add_jobs(parser)
    shared.add_dask(parser, files=False)
    add("--json", action="store_true", help="one JSON document on standard output")
    shared.add_limit(parser, USUAL)
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
    add = parser.add_argument
    shared.add_program(
        parser,
        "FILE",
        "BANG C files with the kernel or a main, a native program, or a TOML file of cases",
        "more files, or arguments of the program",
    )
    shared.add_param(parser)
    add("--case", metavar="NAME", help="of a file of cases, where it holds several")
    shared.add_call_arguments(parser)
    shared.add_reference(parser)
    shared.add_draws(parser)
    shared.add_boards(parser, DEFAULT_BOARDS[0])
    add(
        "--objective",
        choices=("time", "io", "compute"),
        default="time",
        help="what is ranked by: the least time, or the largest IO or compute efficiency (default: time)",
    )
    _add_search(parser)
    add("--html", metavar="F.html", help="write a page with a chart")
    shared.add_kept_output(parser, "candidate")
    shared.add_engine(parser)
    shared.add_threads(parser)
    shared.add_jobs(parser)
    shared.add_dask(parser, files=True)
    add("--json", action="store_true", help="one JSON document on standard output")
    shared.add_limit(parser, USUAL)
    parser.epilog = TUNE_EXAMPLES


def _add_search(parser: ArgumentParser) -> None:
    """Declare how a large space is searched in place of tried whole."""
    add = parser.add_argument
    add(
        "--search",
        choices=("random", "halving", "tpe"),
        help="try --trials candidates of a large space in place of all: drawn; drawn, of which the best third goes on to a larger call; "
        "or proposed by Optuna from the results so far",
    )
    add("--trials", metavar="N", type=shared.workers, help="candidates of a search; --seed draws others")
    add(
        "--rungs",
        metavar="NAME=V,V,...",
        help="of halving: what makes a call larger, the smallest value first, as n=1024,4096",
    )


FUZZ_EXAMPLES = """examples:
  mlusim fuzz halve.mlu --kernel Halve --dim 4 --arg 'n=int:1..20000' --arg 'x=in:float32:n' --arg 'y=out:float32:n' --reference ref:halve
  mlusim fuzz gather.mlu --arg 'm=int:1..500' --arg 'n=int:0..m' --arg 'table=in:float32:m' --arg 'index=int:0..m:int32:n' --arg 'y=out:float32:n'
  mlusim fuzz tin_shift_forward --board MLU370-X4 MLU590-H8 --arg 'T=int:1..5'
  mlusim fuzz scale.mlu --function KernelScale --arg 'n=int:1..9000' --arg 'data=inout:in:float32:n'
  mlusim fuzz my_kernels.py --kernel scale --arg 'n=int:1..9000' --arg 'x=in:float32:n' --arg 'y=out:float32:n'
  mlusim fuzz cases.toml --case small --arg 'n=int:1..64'
  mlusim fuzz scale.mlu --arg 'n=int:0..9000' --arg 'x=float:-8..8:float32:n' --arg 'weight=null|in:float32:n' --arg 'y=out:float32:n' --runs 500 --seed 7"""
USUAL_SECONDS = 60.0
# A draw takes milliseconds: a launch that goes on for a minute hangs, and one that prints a gibibyte prints without end.
FUZZ_LIMIT = limit_in("seconds=60", Limit(growth=1 << 30))


def fuzz(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim fuzz``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "PROGRAM",
        "a BANG C file, a Python file with a kernel, an operator, or cases.toml",
        "more BANG C files",
    )
    add("--case", metavar="NAME", help="one case of cases.toml")
    _add_drawn_call(parser)
    shared.add_source_arguments(parser)
    shared.add_function(parser)
    add("--reference", metavar="module:function", help="what the outputs of the kernel are compared with")
    add("--only", metavar="NAMES", action="append", default=[], help="these checkers (default: all of them)")
    shared.add_boards(parser, DEFAULT_BOARDS[0], "boards to draw from")
    add(
        "--seconds",
        metavar="S",
        type=seconds,
        help=f"seconds of the clock for the search, kept calls aside (default without --runs: {USUAL_SECONDS:g})",
    )
    add("--runs", metavar="N", type=shared.workers, help="calls to draw, at most")
    add("--seed", metavar="N", type=shared.whole, help="draw other calls (default: 0, or that of the case)")
    add(
        "--corpus",
        metavar="DIR",
        help="the folder that keeps failing calls, tried first, and how far the search came (default: FILE.fuzz beside the first file)",
    )
    add("--restart", action="store_true", help="begin with the first draw, wherever the last search ended")
    shared.add_engine(parser, shared.WHERE_CHECKED)
    shared.add_threads(parser)
    shared.add_jobs(parser, "1")
    shared.add_dask(parser, files=True)
    add("--json", action="store_true", help="one JSON document on standard output")
    shared.add_limit(parser, FUZZ_LIMIT)
    shared.add_coverage(parser)
    parser.epilog = FUZZ_EXAMPLES


def _add_drawn_call(parser: ArgumentParser) -> None:
    """Declare what calls are drawn of: a kernel with alternatives for its grid and its arguments."""
    add = parser.add_argument
    add("--kernel", metavar="K<float>", help="the kernel: K, ns::K, 'K(float *)', or K<float> of a template")
    add("--dim", metavar="X,Y,Z", help="tasks of the kernel (default: 1,1,1); | separates alternatives")
    add("--kind", metavar="KIND", help="block (default), union1, union2, ...")
    add(
        "--arg",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"{argument_forms.HELP}, as `mlusim check` takes them; {argument_forms.REAL_FORMS}, of floats; "
        "| separates alternatives, the simplest first; of an operator in place of what it declares",
    )


JUDGE_EXAMPLES = """examples:
  mlusim judge candidate.mlu --reference reference.py
  mlusim judge candidates/ --reference reference.py --board MLU590-H8 --seed 7 -o verdicts.jsonl
  mlusim judge a.mlu b.mlu --reference model.py --cases n=1024 --seconds 20 --memory 1GiB --json"""
LEAST_MEMORY = 64 << 20


def size(text: str) -> int:
    """Return a number of bytes, for argparse: "2GiB", "512MiB", with the units of ``--limit``."""
    number = number_in(text.strip())
    if number is None or not math.isfinite(number):
        raise ArgumentTypeError(f"{text!r} is no size; write it as 2GiB or 512MiB")
    if number < LEAST_MEMORY:
        raise ArgumentTypeError(f"{text!r} is too little; give 64MiB or more")
    return int(number)


def seconds(text: str) -> float:
    """Return a time, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1e6:
        raise ArgumentTypeError(f"{text!r} is no time; give a number of seconds above 0")
    return value


def judge(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim judge``."""
    add = parser.add_argument
    add("candidates", nargs="*", metavar="CANDIDATE", help="BANG C files, or folders of them")
    add(
        "--reference",
        metavar="FILE.py",
        help="inputs and what is expected: functions of NumPy, or a Model of torch.nn with get_inputs()",
    )
    add(
        "--cases",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="cases of the reference (default: all)",
    )
    _add_call(parser)
    shared.add_source_arguments(parser)
    add(
        "--draws",
        metavar="N",
        type=shared.workers,
        default=2,
        help="draws of inputs for each case (default: 2)",
    )
    add(
        "--seed",
        metavar="N",
        type=shared.whole,
        help="draw the same inputs again (default: others each time, told in the verdicts)",
    )
    add("--seconds", metavar="S", type=seconds, default=60.0, help="time for one candidate (default: 60)")
    add("--memory", metavar="M", type=size, default=2 << 30, help="memory of one candidate (default: 2GiB)")
    shared.add_kept_output(parser, "verdict")
    shared.add_jobs(parser, "one per CPU")
    shared.add_dask(parser, files=True)
    add("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = JUDGE_EXAMPLES


def _add_call(parser: ArgumentParser) -> None:
    """Declare how a candidate is called."""
    add = parser.add_argument
    add("--board", metavar="B", help=f"a board; {DEFAULT_BOARDS[0]} when none is named")
    add("--kernel", metavar="K<float>", help="the kernel of each candidate (default: its only one)")
    add(
        "--function",
        metavar="F",
        help="the host function of each candidate (default: bang_func, where it has one)",
    )
    add("--dim", metavar="X,Y,Z", help="tasks of a kernel (default: what the reference says, or 1,1,1)")
    add("--kind", metavar="KIND", help="block, union1, ... (default: what the reference says, or block)")


DEMO_PAGE = "mlusim-report.html"


def demo(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim demo``."""
    add = parser.add_argument
    shared.add_boards(parser)
    add(
        "-o",
        "--output",
        default=DEMO_PAGE,
        metavar="F.html",
        help=f"where the page goes (default: {DEMO_PAGE})",
    )
    shared.add_threads(parser)
    shared.add_jobs(parser)
    add("--json", action="store_true", help="one JSON document on standard output, besides the page")
    parser.epilog = "example: mlusim demo -o report.html"
