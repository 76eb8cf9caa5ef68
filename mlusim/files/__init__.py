"""Files of the user: written whole or not at all, changed under a lock, checked as they are read."""
