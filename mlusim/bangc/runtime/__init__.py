"""The run-time library of translated code: pointers to variables, records, the C library, a core's names."""
