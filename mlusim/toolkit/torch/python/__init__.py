"""The folder for programs' Python path, of which the toolkit has a copy."""
