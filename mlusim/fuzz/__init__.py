"""Inputs that find bugs: calls of a kernel are drawn where faults are likely; failing ones are reduced and stored."""
