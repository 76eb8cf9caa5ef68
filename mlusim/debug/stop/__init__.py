"""Moments, and what stops a run at one."""
