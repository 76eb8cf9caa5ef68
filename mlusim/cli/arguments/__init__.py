"""The arguments of each verb: a function named after it, in the file of its kind, which imports little and nothing that runs the verb."""
