"""Renders the intermediate form as Python code objects with the source's files, lines and names."""
