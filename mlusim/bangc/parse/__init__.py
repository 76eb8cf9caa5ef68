"""Parsing by libclang; no other room uses the library."""
