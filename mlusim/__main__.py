"""Run the command line: ``python -m mlusim``."""

import sys

from mlusim.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
