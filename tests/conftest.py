"""Settings for every test."""

import os

from hypothesis import settings

# Its sources are known: a second parse of each takes minutes.  `test_bangc_bombs.py` has the others.
os.environ["MLUSIM_PARSE_TRIAL"] = "0"

# The suite gives the same answer on every machine; `--hypothesis-profile explore` looks further.
settings.register_profile("house", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("house")
