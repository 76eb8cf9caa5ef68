"""The public library of Triton kernels, FlagGems, with its back end for the card."""
