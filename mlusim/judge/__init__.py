"""Judging candidates: each runs in a confined process, and another process compares its outputs."""
