"""BANG C sources: parsed by libclang, lowered to a typed intermediate form, and rendered to Python or C."""
