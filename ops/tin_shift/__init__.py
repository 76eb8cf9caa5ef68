"""tin_shift, forward and backward: groups of channels move along time by their own shift."""
