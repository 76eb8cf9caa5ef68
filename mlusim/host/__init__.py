"""The vendor-shaped host side: status codes, handles, tensor descriptors, parameter checks."""

from mlusim.host.status import Status

__all__ = ["Status"]
