"""The state at a stop: memory, tasks, frames, values, and where bytes came from."""
