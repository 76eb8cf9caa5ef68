"""The arguments of ``mlusim judge``."""

import math
from argparse import ArgumentParser, ArgumentTypeError

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.arguments import shared
from mlusim.machine.limits import number_in

EXAMPLES = """examples:
  mlusim judge candidate.mlu --reference reference.py
  mlusim judge candidates/ --reference reference.py --board MLU590-H8 --seed 7 -o verdicts.jsonl
  mlusim judge a.mlu b.mlu --reference model.py --cases n=1024 --seconds 20 --memory 1GiB --json"""
LEAST = 64 << 20


def size(text: str) -> int:
    """Return a number of bytes, for argparse: "2GiB", "512MiB", with the units of ``--limit``."""
    number = number_in(text.strip())
    if number is None or not math.isfinite(number):
        raise ArgumentTypeError(f"{text!r} is no size; write it as 2GiB or 512MiB")
    if number < LEAST:
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


def add_arguments(parser: ArgumentParser) -> None:
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
    parser.epilog = EXAMPLES


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
