"""Recipes of instructions: typed steps, the recipe that lists them, its Python."""
