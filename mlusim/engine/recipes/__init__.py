"""Recipes of instructions: the typed actions, the recipe of a row as a list of actions, and their Python code."""
