"""Generators of the reference pages, the typed stub and the pictures of the documents."""
