"""The text front of the debugger: command lines in, text out."""
