"""What running an instruction consists of: typed steps, the recipe that lists them, its Python."""
