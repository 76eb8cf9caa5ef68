"""What extensions are built with."""
