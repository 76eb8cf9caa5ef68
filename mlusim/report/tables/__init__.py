"""Tables for a terminal and for files."""
