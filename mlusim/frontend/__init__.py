"""Front ends: the languages in which kernels are written."""
