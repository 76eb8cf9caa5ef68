"""The simulator as a process that serves a native program's requests about memory, launches and time over a socket."""
