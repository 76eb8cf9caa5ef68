"""Bytes of memory, and the pointers with which a kernel accesses them.  Layer 1: knows boards and dtypes, nothing of instructions."""
