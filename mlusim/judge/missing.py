"""The error for what a candidate asks for and this machine does not have."""

from mlusim.errors import UsageError


class MissingPart(UsageError):
    """A file that translates cannot be called here, as where PyTorch is not installed."""
