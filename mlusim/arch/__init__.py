"""Boards, architectures and element types.  Layer 0: imports nothing of mlusim but errors."""
