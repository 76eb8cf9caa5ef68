"""The state at a stop: memory, expressions and values, predicted time, and where bytes came from."""
