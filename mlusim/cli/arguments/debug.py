"""The arguments of ``mlusim debug``."""

from argparse import ArgumentParser

from mlusim.cli.arguments import shared

TRUST = "code in the file may run: the script that it holds or names, the sources that it names, conditions of its breakpoints"
EXAMPLES = """examples:
  mlusim debug tin_shift_forward --case golden_document
  mlusim debug mutual_information_backward --command "break bang_pow2" --command run --command where
  mlusim debug my_script.py --script commands.txt
  mlusim debug scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16
Without --command and --script it reads commands from the terminal, or from a pipe; `help` lists them.
A launch in which a breakpoint may stop takes a multiple of its time in `mlusim run`, and lines that are followed more; what goes
on is shown, and Ctrl-C stops it where it is."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim debug``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "OP|SCRIPT.py|FILE.mlu|cases.toml",
        "an operator, a script that launches kernels, or BANG C",
        "arguments of the script",
    )
    shared.add_call_arguments(parser)
    shared.add_call(parser)
    shared.add_checkers(parser)
    shared.add_schedule(parser)
    shared.add_engine(
        parser,
        "what runs the kernels up to the place of interest, where Python takes over: auto takes C for kernels of BANG C, "
        "native the kernel.mlu of an operator too (default: auto)",
    )
    add(
        "--history",
        metavar="MIB",
        type=shared.whole,
        help="MiB of tensors kept of earlier launches (default: 1024)",
    )
    add("--replay", metavar="F", help="stand at the place of a recording that the command `record` has made")
    add("--trust", action="store_true", help=f"with --replay, {TRUST}")
    add("--show", action="store_true", help="with --replay, print the code in the file, and run nothing")
    add("--command", metavar="TEXT", action="append", default=[], help="execute a command; may be repeated")
    add("--script", metavar="F", help="execute the commands of a file, one a line, after --command")
    add("--tui", action="store_true", help="the full-screen view; needs the extra mlusim[tui]")
    add("--json", action="store_true", help="the commands and their answers as one JSON document")
    parser.epilog = EXAMPLES
