"""The HTML page: its pictures and its parts."""
