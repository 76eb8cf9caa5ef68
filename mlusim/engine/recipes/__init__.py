"""Recipes of instructions: the typed steps, the recipe of a row as a list of steps, and their Python code."""
