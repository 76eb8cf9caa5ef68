"""The arguments of each verb, in a file of its name with ``add_arguments(parser)``; what runs the verb is not imported."""
