"""What runs an instruction: operands resolved, checked, performed, accounted, announced."""
