"""The program ``mlusim``: nothing of weight is imported before an interruption has its answer."""

import sys

from mlusim.cli import collection, interrupts


def main() -> int:
    """Run the command line and return the exit code, as `mlusim.cli.main.main` does; imports may be interrupted, too."""
    try:
        interrupts.leave_at_once()
        collection.pause()
        from mlusim.cli.main import main as run  # noqa: PLC0415 - behind that

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        code = interrupts.CODE
    interrupts.leave_with(code)
    return code
