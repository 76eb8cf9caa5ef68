"""Lowering: from the parser's nodes to the intermediate form."""
