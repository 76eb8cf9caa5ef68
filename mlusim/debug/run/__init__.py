"""A program that runs and runs again under the debugger."""
