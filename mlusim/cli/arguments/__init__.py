"""The arguments of each verb: a function named after it, in a file for verbs of its kind; these files import little, and no verb."""
