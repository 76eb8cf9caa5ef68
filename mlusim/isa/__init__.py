"""The instruction set: one row for each instruction, from which its execution, checks, costs and documentation derive."""
