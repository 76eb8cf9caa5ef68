"""Operators: their declaration, their registry, their run on cases, and the judgement of results."""
