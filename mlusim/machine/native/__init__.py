"""Launches whose kernels are C: the choice of the engine, compiled programs, and cores that run them."""
