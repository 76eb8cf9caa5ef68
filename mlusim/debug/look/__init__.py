"""The state at a stop: memory, expressions and values, predicted time, and origins of bytes."""
