"""What a board is: boards, architectures, dtypes.  Layer 0: imports nothing of mlusim but errors."""
