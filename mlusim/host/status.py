"""The status codes of the vendor's host library, by name and number (mlu_op.h)."""

from enum import IntEnum


class Status(IntEnum):
    """The status that a host function returns."""

    MLUOP_STATUS_SUCCESS = 0
    MLUOP_STATUS_NOT_INITIALIZED = 1
    MLUOP_STATUS_ALLOC_FAILED = 2
    MLUOP_STATUS_BAD_PARAM = 3
    MLUOP_STATUS_INTERNAL_ERROR = 4
    MLUOP_STATUS_ARCH_MISMATCH = 5
    MLUOP_STATUS_EXECUTION_FAILED = 6
    MLUOP_STATUS_NOT_SUPPORTED = 7
    MLUOP_STATUS_NUMERICAL_OVERFLOW = 8

    def __str__(self) -> str:
        """Return the vendor's name."""
        return self.name
