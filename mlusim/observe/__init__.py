"""Observers of a launch: checkers, recorders, counters.  They see events and never change the machine."""
