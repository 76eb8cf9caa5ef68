"""The code of kernels and the names of cores, which every other room of the debugger builds on."""
