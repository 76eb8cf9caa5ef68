"""The native engine: rows and kernels as C, compiled, run on the same machine."""
