"""Tuning: the same call of a kernel with other macros, arguments, dims and kinds; what fits, is right, and takes least time."""
