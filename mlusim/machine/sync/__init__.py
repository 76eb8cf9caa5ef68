"""Waits of cores for one another, or for their own pipes: barriers, mutexes, waits inside a core."""
