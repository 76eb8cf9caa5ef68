"""The folder that programs have on their path: the toolkit has a copy."""
