"""The machine: cores, pipes, barriers, the schedule, and the one door that every effect passes."""
