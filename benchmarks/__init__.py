"""Speed of the simulator, as ratios to raw NumPy measured in the same run: ``python -m benchmarks``."""
