"""The code of kernels and the names of cores: what every other room of the debugger stands on."""
