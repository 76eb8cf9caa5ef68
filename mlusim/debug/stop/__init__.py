"""Moments, and what stops an execution at one."""
