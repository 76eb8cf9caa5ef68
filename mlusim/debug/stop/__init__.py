"""The stops of a run: breakpoints, watchpoints and steps, and the moments at which they stop."""
