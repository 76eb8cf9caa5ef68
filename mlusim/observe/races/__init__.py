"""Races between tasks: which accesses are ordered, which conflict, and which barrier would order them."""
