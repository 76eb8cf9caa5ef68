"""Parameter checks of host functions as rows of a condition, a status and a sentence; the first failing row decides.

::

    CHECKS = (
        not_null("input_desc", "shifts_desc"),
        rank("input_desc", 4),
        demand(lambda a: a.input_desc.shape[2] != 0, "input_desc: C is 0; give 1 or more"),
        stop(lambda a: a.input_desc.shape[1] == 0),          # zero elements: SUCCESS, no launch
        not_null("input", "shifts"),
    )
    status = verify(handle, "mluOpTinShiftForward", CHECKS, arguments)
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

from attrs import frozen

from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.host.handle import LOG, Handle
from mlusim.host.library import LARGE_TENSOR, Status, TensorDescriptor
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.pointer import Ptr

BAD_PARAM = Status.MLUOP_STATUS_BAD_PARAM
NOT_SUPPORTED = Status.MLUOP_STATUS_NOT_SUPPORTED
ARCH_MISMATCH = Status.MLUOP_STATUS_ARCH_MISMATCH
SUCCESS = Status.MLUOP_STATUS_SUCCESS


@frozen
class Check:
    """A check: *says* returns the sentence of its failure, or None; a check with SUCCESS ends the call early."""

    says: Callable[[Any], str | None]
    status: Status = BAD_PARAM


Checks = Sequence["Check | Checks"]
MOST_CHECKS, MOST_CALLS = 64, 256  # whose results are known at once


class _Passed:
    """The single *checks* of a host function, and the facts of calls that they let pass."""

    _by_place: ClassVar[dict[int, "_Passed"]] = {}

    def __init__(self, checks: Checks) -> None:
        self.checks, self.single = checks, _flat(checks)  # held, so that no others take their place
        self.calls: set[tuple[Any, ...]] = set()

    @classmethod
    def of(cls, checks: Checks) -> "_Passed":
        """Return those of *checks*; they are forgotten at once if it is a list, which may change."""
        passed = cls._by_place.get(id(checks))
        if passed is None:
            passed = cls(checks)
            if isinstance(checks, tuple):
                if len(cls._by_place) >= MOST_CHECKS:  # threads may go past it
                    cls._by_place.clear()
                cls._by_place[id(checks)] = passed
        return passed

    def note(self, facts: tuple[Any, ...]) -> None:
        """Note that a call with *facts* passes."""
        if len(self.calls) >= MOST_CALLS:
            self.calls.clear()
        self.calls.add(facts)


def _facts(handle: Handle, arguments: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return what checks see of a call that look at no memory, so that equal calls have equal results; None if *arguments* hold anything else.

    That is the board, the policy, descriptors, numbers and words, and which pointers are null.
    """
    if handle.policy is not None and handle.policy.__class__ is not str:
        return None
    facts = [handle.board, handle.policy, *arguments]
    for value in arguments.values():
        kind = value.__class__
        facts.append(kind)  # 1, 1.0 and True are equal
        if kind is TensorDescriptor:
            facts += value.shape, value.dtype, value.layout, value.strides
        elif kind in _NUMBERS:
            facts.append(value)
        elif kind not in _POINTERS:
            return None
    return tuple(facts)


_NUMBERS, _POINTERS = (int, bool, str), (DeviceTensor, Ptr, type(None))


class _Call(SimpleNamespace):
    """A call as its checks see it, which notes whether one looks at a device memory, as at its shape."""

    def __init__(self, handle: Handle, arguments: Mapping[str, Any]) -> None:
        memories = {name: a for name, a in arguments.items() if a.__class__ in _POINTERS[:2]}
        others = {name: a for name, a in arguments.items() if name not in memories}
        super().__init__(**others, handle=handle, device_memories=memories, looked_at=False)

    def __getattr__(self, name: str) -> Any:
        """Return the device memory *name*."""
        memories: Mapping[str, Any] = vars(self)["device_memories"]
        if name not in memories:
            raise AttributeError(f"the call has no argument {name}")
        self.looked_at = True
        return memories[name]


def is_null(call: Any, name: str) -> bool:
    """Return whether the pointer or descriptor *name* of the *call* is null, without a look at the memory: calls alike have the same answer."""
    return name not in getattr(call, "device_memories", ()) and getattr(call, name) is None


def verify(handle: Handle | None, api: str, checks: Checks, arguments: Mapping[str, Any]) -> Status | None:
    """Return the status that ends the call, or None when every check holds.

    The sentence of a failure is stored in ``handle.last_error`` after the function's name.  Raises
    `UsageError` for an argument that a C compiler would reject: one that is no handle, descriptor
    or device memory.
    """
    # Without a handle there is no last_error to keep a sentence in: the status is all that the caller gets.
    if handle is None:
        return BAD_PARAM
    if not isinstance(handle, Handle):
        raise UsageError(f"{api}: {_shown(handle)} is not a handle; make one with mlusim.host.Handle(board)")
    passed, facts = _Passed.of(checks), _facts(handle, arguments)
    passes = facts in passed.calls
    if not passes:
        _compile(api, arguments)
    if LOG.isEnabledFor(logging.DEBUG):
        _log(api, handle, arguments)
    if passes:
        handle.last_error = ""
        return None
    call = _Call(handle, arguments)
    for check in passed.single:
        sentence = check.says(call)
        if sentence is not None:
            handle.last_error = "" if check.status is SUCCESS else f"{api}: {sentence}"
            LOG.debug("%s: returns %s: %s", api, check.status.name, sentence)
            return check.status
    if facts is not None and not call.looked_at:
        passed.note(facts)
    handle.last_error = ""
    return None


def _log(api: str, handle: Handle, arguments: Mapping[str, Any]) -> None:
    """Log the arguments of the call: the policy, and for each tensor its shape, element type and layout."""
    LOG.debug("%s: policy %s on %s", api, handle.policy or "usual", handle.board.name)
    for name, value in arguments.items():
        if isinstance(value, TensorDescriptor):
            LOG.debug(
                "%s: %s: shape %s, %s, layout %s", api, name, list(value.shape), value.dtype, value.layout
            )
        elif not isinstance(value, DeviceTensor | Ptr | None):
            LOG.debug("%s: %s = %s", api, name, _shown(value))


def _compile(api: str, arguments: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an argument of a type that the function's declaration in C does not have."""
    for name, value in arguments.items():
        if name.endswith("_desc") and not isinstance(value, TensorDescriptor | None):
            raise UsageError(
                f"{api}: {name} = {_shown(value)} is not a descriptor; give TensorDescriptor(shape, dtype) or None"
            )
        is_pointer = name == "workspace" or f"{name}_desc" in arguments
        if is_pointer and not isinstance(value, DeviceTensor | Ptr | None):
            raise UsageError(
                f"{api}: {name} = {_shown(value)} is not a device memory; make it with handle.device.put() or empty()"
            )


def _shown(value: object) -> str:
    return " ".join(repr(value).split())[:80]


def _flat(checks: Checks) -> Sequence[Check]:
    # A row may be a tuple of rows: `not_null` of several names returns one.
    flat: list[Check] = []
    left = [*reversed(checks)]
    while left:
        check = left.pop()
        if isinstance(check, Check):
            flat.append(check)
        else:
            left += reversed(check)
    return flat


def demand(holds: Callable[[Any], bool], sentence: str, status: Status = BAD_PARAM) -> Check:
    """Make the check of any condition over the arguments; *sentence* says what is wrong and what is legal.

    The condition of equal arguments is equal; a call whose memories it looks at is asked each time (`is_null` does not look).
    """
    return Check(lambda a: None if holds(a) else sentence, status)


def stop(when: Callable[[Any], bool]) -> Check:
    """End the call with SUCCESS and without a launch when *when* holds: a zero-element tensor."""
    return Check(lambda a: "nothing to do" if when(a) else None, SUCCESS)


def not_null(*names: str) -> tuple[Check, ...]:
    """Make the checks that refuse a null pointer or descriptor in each of *names*."""

    def check(name: str) -> Check:
        what = "descriptor" if name.endswith("_desc") else "pointer"
        return Check(lambda a: f"{name} is a null {what}" if is_null(a, name) else None)

    return tuple(check(name) for name in names)


def out(name: str) -> Check:
    """Make the check that *name* is an output argument, a C pointer to a number: anything that accepts ``name[0] = number``, such as ``[0]``."""

    def says(a: object) -> str | None:
        box = getattr(a, name)
        if box is None:
            return f"{name} is a null pointer"
        try:
            # The store is tried, since an array, a list and a ctypes pointer share no type.
            box[0] = box[0]
        except (TypeError, LookupError, ValueError):
            return f"{name} = {box!r} cannot receive a number; give a list of one element, as [0]"
        return None

    return Check(says)


def rank(name: str, expected: int, status: Status = BAD_PARAM) -> Check:
    """Make the check that the tensor has *expected* dimensions."""

    def says(a: object) -> str | None:
        actual = getattr(a, name).rank
        sentence = f"{name} has {actual} {plural(actual, 'dimension')}; it must have {expected}"
        return None if actual == expected else sentence

    return Check(says, status)


def dim(
    name: str, axis: int, expected: Callable[[Any], int], meaning: str, status: Status = BAD_PARAM
) -> Check:
    """Make the check that dimension *axis* is ``expected(arguments)``; *meaning* describes this value in words."""

    def says(a: object) -> str | None:
        actual, wanted = getattr(a, name).shape[axis], expected(a)
        return None if actual == wanted else f"{name} dim {axis} is {actual}; it must be {wanted}, {meaning}"

    return Check(says, status)


def same_dim(name: str, axis: int, other: str, other_axis: int, status: Status = BAD_PARAM) -> Check:
    """Make the check that a dimension of one tensor equals a dimension of another."""
    return dim(
        name, axis, lambda a: int(getattr(a, other).shape[other_axis]), f"dim {other_axis} of {other}", status
    )


def same_shape(name: str, other: str, status: Status = BAD_PARAM, *, either: bool = False) -> Check:
    """Make the check that two tensors have the same shape; with *either* the sentence does not say which of them is wrong."""
    return _same("shape", lambda desc: list(desc.shape), name, other, status, either=either)


def dtype(name: str, *allowed: str, status: Status = BAD_PARAM) -> Check:
    """Make the check that the dtype of the tensor is one of *allowed* (names as "half", "float", "int32")."""

    def says(a: object) -> str | None:
        actual = str(getattr(a, name).dtype)
        return None if actual in allowed else f"{name} is {actual}; it must be {' or '.join(allowed)}"

    return Check(says, status)


def same_dtype(name: str, other: str, status: Status = BAD_PARAM, *, either: bool = False) -> Check:
    """Make the check that two tensors have the same dtype; with *either* the sentence does not say which of them is wrong."""
    return _same("dtype", lambda desc: str(desc.dtype), name, other, status, either=either)


def _same(
    what: str, of: Callable[[Any], object], name: str, other: str, status: Status, *, either: bool
) -> Check:
    def says(a: object) -> str | None:
        actual, wanted = of(getattr(a, name)), of(getattr(a, other))
        if actual == wanted:
            return None
        if either:
            return f"{name} is {actual} and {other} is {wanted}; they must have the same {what}"
        return f"{name} is {actual}; it must be {wanted}, as {other}"

    return Check(says, status)


def layout(name: str, expected: str, status: Status = BAD_PARAM) -> Check:
    """Make the check that the tensor has the layout *expected*."""

    def says(a: object) -> str | None:
        actual = getattr(a, name).layout
        return None if actual == expected else f"{name} has layout {actual}; it must have {expected}"

    return Check(says, status)


def contiguous(*names: str) -> tuple[Check, ...]:
    """Make the checks that refuse strided tensors; null descriptors and zero-element tensors are exempt."""

    def check(name: str) -> Check:
        def says(a: object) -> str | None:
            # A null descriptor is left to `not_null`, whose sentence says more.
            desc: TensorDescriptor | None = getattr(a, name)
            fits = desc is None or desc.contiguous
            return None if fits else f"{name} is strided; make the tensor contiguous"

        return Check(says, NOT_SUPPORTED)

    return tuple(check(name) for name in names)


def not_large(*names: str) -> tuple[Check, ...]:
    """Make the checks that refuse tensors of 2^31 elements or more; a null descriptor is exempt."""

    def check(name: str) -> Check:
        def says(a: object) -> str | None:
            desc: TensorDescriptor | None = getattr(a, name)
            if desc is None or desc.size < LARGE_TENSOR:
                return None
            return f"{name} has {desc.size} {plural(desc.size, 'element')}; it must have fewer than {LARGE_TENSOR}"

        return Check(says, NOT_SUPPORTED)

    return tuple(check(name) for name in names)


def architectures(*names: str) -> Check:
    """Make the check that the architecture of the board is one of *names*, as "mtp_372"."""

    def says(a: Any) -> str | None:
        arch = a.handle.board.arch
        if arch.name in names:
            return None
        return f"{a.handle.board.name} is {arch.name}; the architectures supported are {', '.join(names)}"

    return Check(says, ARCH_MISMATCH)
