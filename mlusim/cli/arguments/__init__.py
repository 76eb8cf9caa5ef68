"""The arguments of each verb: a function of its name in the file of its kind, which imports little; what runs the verb is not imported."""
