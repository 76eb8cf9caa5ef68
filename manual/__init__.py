"""Generators of the reference pages, the typed stub and the pictures of the documents: a tool of the repository that is not installed."""
