"""The vendor's own tests of PyTorch's device."""
