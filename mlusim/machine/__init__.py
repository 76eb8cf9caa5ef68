"""The machine: cores, pipes, barriers, the schedule, and the single function through which every effect passes."""
