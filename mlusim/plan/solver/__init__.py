"""The exact solver of plans: normal forms, bounds, what is reachable, the frontier of what fits."""
