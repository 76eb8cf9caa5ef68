"""The program ``mlusim``: nothing of weight is imported before an interruption has its answer."""

import sys


def main() -> int:
    """Run the command line and return the exit code, as `mlusim.cli.main.main` does; imports may be interrupted, too."""
    try:
        from mlusim.cli.main import main as run  # noqa: PLC0415 - inside the `try`

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        return 130  # as in `exits`
