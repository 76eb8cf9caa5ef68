"""Renders the intermediate form as C for the native engine."""
