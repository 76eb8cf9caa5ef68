"""The vendor-shaped host side: status codes, handles, tensor descriptors, parameter checks."""

from mlusim.host.handle import Handle
from mlusim.host.library import Status, TensorDescriptor
from mlusim.machine.kernel import BLOCK, UNION1, UNION2, UNION4, UNION8, UNION16

__all__ = ["BLOCK", "UNION1", "UNION2", "UNION4", "UNION8", "UNION16", "Handle", "Status", "TensorDescriptor"]
