"""Formulas: one language of integers and conditions for the sizes of plans and for the rows of the instruction set."""
