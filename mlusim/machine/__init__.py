"""The machine: cores, pipes, barriers, the schedule, and the single path that every effect takes."""
