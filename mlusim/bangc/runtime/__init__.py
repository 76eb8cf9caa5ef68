"""The run-time library of translated code: pointers to variables, structs, the C library, a core's names."""
