"""What an instruction is: one row each, from which everything else about it derives."""
