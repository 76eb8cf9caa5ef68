"""Bytes, and how a kernel points at them.  Layer 1: knows boards and dtypes, nothing of instructions."""
