"""Front ends: the languages of kernels."""
