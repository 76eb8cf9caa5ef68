"""Settings for every test."""

from hypothesis import settings

# The suite gives the same answer on every machine; `--hypothesis-profile explore` looks further.
settings.register_profile("house", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("house")
