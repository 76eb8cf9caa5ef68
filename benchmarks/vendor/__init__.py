"""The vendor's own test suite on the simulator: a checkout of its library, built and tested as its documents say."""
