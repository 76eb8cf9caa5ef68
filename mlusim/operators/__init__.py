"""Operators: their declaration, their run on cases, the judgement of results, and how they are found."""
