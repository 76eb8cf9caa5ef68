"""The code of kernels and the names of cores, on which the rest of the debugger is built."""
