"""How an instruction runs: its operands are resolved and checked, its work is performed, charged and announced to observers."""
