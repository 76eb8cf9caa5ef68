"""What translated code calls: pointers to variables, records, the C library, a core's namespace."""
