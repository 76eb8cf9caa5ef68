"""The arguments of a launch: numbers, pointers, and for compiled kernels structures, which are sequences of their members."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from mlusim.memory.allocation import Allocation

_STRUCTURES = (tuple, list)


class _Request(Protocol):
    @property
    def kernel(self) -> Any: ...
    @property
    def arguments(self) -> tuple[Any, ...]: ...


def leaves(request: _Request) -> Iterator[Any]:
    """Yield the numbers and pointers that the kernel is given, those inside of structures too; to a function of Python a list is its own."""
    return _leaves(request.arguments) if request.kernel.compiled else iter(request.arguments)


def _leaves(arguments: Iterable[Any]) -> Iterator[Any]:
    """Yield the numbers and pointers in *arguments* of a compiled kernel."""
    for argument in arguments:
        if argument.__class__ in _STRUCTURES:
            yield from _leaves(argument)
        else:
            yield argument


def mapped(argument: object, change: Callable[[Any], Any], *, compiled: bool) -> Any:
    """Return an argument with *change* of each number and pointer in it."""
    if not compiled or argument.__class__ not in _STRUCTURES:
        return change(argument)
    return tuple(mapped(part, change, compiled=True) for part in argument)


def allocation_of(argument: object) -> Allocation | None:
    """Return the allocation behind a tensor or a pointer; None for anything else."""
    found = getattr(getattr(argument, "view", argument), "allocation", None)
    return found if isinstance(found, Allocation) else None


def allocations(request: _Request) -> list[Allocation]:
    """Return the allocations that the kernel is given, each once, in order."""
    found = (allocation_of(argument) for argument in leaves(request))
    return list(dict.fromkeys(allocation for allocation in found if allocation is not None))


def bytes_given(request: _Request) -> int:
    """Return the bytes of the memory that *request* leads to."""
    return sum(allocation.nbytes for allocation in allocations(request))
