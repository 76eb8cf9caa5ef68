"""The text of programs in C: rows rendered from recipes, what checkers look for, the structures that C and Python share."""
