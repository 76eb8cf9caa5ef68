"""BANG C sources: parsed by libclang, brought into a typed intermediate form, rendered to what runs."""
