"""Run the vendor's own test suite on the simulator: build and test a checkout of its library as its documents say."""
