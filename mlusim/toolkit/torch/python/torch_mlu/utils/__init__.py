"""Tools with which extensions are built."""
