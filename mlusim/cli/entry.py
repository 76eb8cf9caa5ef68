"""The program ``mlusim``: nothing of weight is imported before an interruption has its answer."""

import sys

from mlusim.cli import beginning
from mlusim.cli.exits import INTERRUPTED


def main() -> int:
    """Run the command line and return the exit code, as `mlusim.cli.main.main` does; imports may be interrupted, too."""
    try:
        beginning.leave_at_once()
        beginning.collect_rarely()
        from mlusim.cli.main import main as run  # noqa: PLC0415 - behind that

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        code = INTERRUPTED
    beginning.leave_with(code)
    return code
