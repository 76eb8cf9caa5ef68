"""The intermediate form as Python code objects that carry the source's own file, lines and names."""
