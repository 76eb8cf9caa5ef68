"""Tuning: runs the same call of a kernel with other macros, arguments, dims and kinds; finds candidates that fit, are right, and take the least time."""
