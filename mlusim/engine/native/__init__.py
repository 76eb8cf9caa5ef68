"""The instruction set in C: rows and kernels rendered from recipes, and compiled."""
