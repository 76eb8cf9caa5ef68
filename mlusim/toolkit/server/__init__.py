"""The simulator as a process: a native program's memory, launches and time, over a socket."""
