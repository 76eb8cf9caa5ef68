"""Programs under checkers: what is run, in which schedules, and the findings in every format."""
