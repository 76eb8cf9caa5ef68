"""What happens: cores, pipes, barriers, the schedule, and the one door that every effect passes."""
