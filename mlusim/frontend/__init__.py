"""Where kernels come from.  Today: Python functions."""
