"""Races between tasks: what is ordered, what conflicts, and which barrier would order it."""
