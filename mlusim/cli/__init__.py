"""The command line: one file per verb, each with ``run(args) -> int``; its arguments are declared in `mlusim.cli.arguments`."""
