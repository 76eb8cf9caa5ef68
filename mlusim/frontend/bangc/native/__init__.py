"""The intermediate form in C, for the native engine."""
