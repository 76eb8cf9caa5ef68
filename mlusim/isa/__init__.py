"""The instruction set: one row for each instruction, from which everything else about it derives."""
