"""From what the parser found to the intermediate form."""
