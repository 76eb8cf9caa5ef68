"""Programs under checkers: what runs, in which schedules, and its findings in every format."""
