"""Parsing by libclang; nothing outside this room knows the library."""
