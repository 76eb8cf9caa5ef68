"""The text of programs in C: rows rendered from recipes, the code for checkers, the structures that C and Python share."""
