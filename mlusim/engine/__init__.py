"""Running an instruction: operands are resolved and checked, the work is performed, accounted and announced."""
