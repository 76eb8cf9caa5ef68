"""Kernels of a public contest that a card accepted, against the references of their repository: ``python -m benchmarks contest CHECKOUT``."""
