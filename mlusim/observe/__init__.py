"""Observers of a launch: checkers, recorders, counters.  They hear events and never change the machine."""
