"""The command line: one file per verb, each with ``run(args) -> int``; `mlusim.cli.arguments` declares the verbs' arguments."""
