"""The front that reads words and prints text."""
