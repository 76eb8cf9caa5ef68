"""The command line: one file per verb, each with ``run(args) -> int``; its arguments are declared by kind in `mlusim.cli.arguments`."""
