"""The exit codes of every verb."""

CLEAN = 0
FINDINGS = 1  # findings, failed accuracy, a regression, a plan that does not fit
USAGE = 2  # also: a host interface refused the user's arrays
FAULT = 3  # a fault in the simulated machine
INTERRUPTED = 130
BROKEN_PIPE = 141  # what a shell reports for a program that a closed pipe has ended
