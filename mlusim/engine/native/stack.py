"""How far the stack of the calling thread goes, so that calls within calls end in a fault before it does."""

import ctypes
import sys

MARGIN = 512 << 10  # bytes for what Python does on behalf of the innermost call
# Of records by value that a kernel's functions may hold at once, besides calls within calls.
FRAMES = 256 << 10
CIRCLES = 4 << 20  # of those that calls within calls hold at their deepest


def end_of_stack() -> int:
    """Return the address below which no call of generated code begins; 0 where the system does not tell."""
    try:
        lowest = _on_darwin() if sys.platform == "darwin" else _by_attributes()
    except (AttributeError, OSError):
        return 0
    return lowest + MARGIN if lowest else 0


def _by_attributes() -> int:
    library = ctypes.CDLL(None)
    library.pthread_self.restype = ctypes.c_void_p
    attributes, lowest, size = ctypes.create_string_buffer(256), ctypes.c_void_p(), ctypes.c_size_t()
    if library.pthread_getattr_np(ctypes.c_void_p(library.pthread_self()), attributes):
        return 0
    library.pthread_attr_getstack(attributes, ctypes.byref(lowest), ctypes.byref(size))
    library.pthread_attr_destroy(attributes)
    return lowest.value or 0


def _on_darwin() -> int:
    library = ctypes.CDLL(None)
    library.pthread_self.restype = library.pthread_get_stackaddr_np.restype = ctypes.c_void_p
    library.pthread_get_stacksize_np.restype = ctypes.c_size_t
    own = ctypes.c_void_p(library.pthread_self())
    return int(library.pthread_get_stackaddr_np(own) - library.pthread_get_stacksize_np(own))
