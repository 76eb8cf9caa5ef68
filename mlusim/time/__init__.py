"""The time of a launch: quantities of work, logs of cores, rates of the hardware, and the predicted time."""
