"""Judging candidates: each is run in a confined process of its own, and its outputs are compared in another one."""
