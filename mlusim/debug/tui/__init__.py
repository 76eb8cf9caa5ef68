"""The full-screen front, built on Textual (the extra ``tui``)."""
