"""The vendor-shaped host side: status codes, handles, tensor descriptors, parameter checks."""

from mlusim.host.descriptor import TensorDescriptor
from mlusim.host.handle import Handle
from mlusim.host.status import Status

__all__ = ["Handle", "Status", "TensorDescriptor"]
