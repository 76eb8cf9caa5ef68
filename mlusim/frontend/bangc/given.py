"""Values of Python as arguments of host functions, and what these return as values of Python."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from attrs import define

from mlusim.arch.dtypes import DType
from mlusim.errors import UsageError
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.runtime.host import Process
from mlusim.frontend.bangc.runtime.host_memory import HostPtr, array_block
from mlusim.frontend.bangc.runtime.layouts import NULL, ArrayLayout, Object, RecordLayout
from mlusim.frontend.bangc.runtime.pointers import see
from mlusim.frontend.bangc.runtime.resolve import layout
from mlusim.frontend.bangc.scalars import converted
from mlusim.host.descriptor import TensorDescriptor
from mlusim.host.handle import Handle
from mlusim.host.status import Status
from mlusim.machine.kernel import Kind
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.pointer import Ptr

_KINDS: Mapping[int, int] = MappingProxyType(
    {0: 1, 1: 4, 2: 8, 4: 16, 8: 32, 16: 64}
)  # cnrtFunctionType_t by unions
_DTYPES: Mapping[str, str] = MappingProxyType(
    {
        "half": "HALF", "bfloat16": "BFLOAT16", "float": "FLOAT", "double": "DOUBLE", "float64": "DOUBLE",
        "complex64": "COMPLEX_FLOAT", "bool": "BOOL",
        **{f"{sign}int{bits}": f"{sign}INT{bits}".upper() for sign in ("", "u") for bits in (8, 16, 32, 64)},
    }
)  # fmt: skip


@define(eq=False)
class GivenArguments:
    """The arguments of one call of *function*."""

    process: Process
    form: ir.TranslationUnit
    function: ir.Function

    def value(self, parameter: ir.Local, given: Any) -> Any:
        """*given* as the function's code wants it.  Raises `UsageError` for what does not fit."""
        kind = parameter.type
        if isinstance(kind, t.Pointer):
            return (
                self._reference(parameter, given)
                if kind.reference
                else self._pointer(parameter, kind.to, given)
            )
        if isinstance(kind, t.Arithmetic):
            return self._number(parameter, kind, given)
        if isinstance(kind, t.Record):
            return self._record(parameter, kind, given)
        raise self._unfit(parameter, given, "nothing that Python could give")

    def _unfit(self, parameter: ir.Local, given: Any, wanted: str) -> UsageError:
        what = f"{parameter.spelling} {parameter.source_name} of {self.function.name}"
        return UsageError(f"{what} is given {given!r:.80}; it takes {wanted}")

    def _layout(self, kind: t.Type) -> Any:
        return layout(kind, self.process.find, {}, self.process.types)

    # -- numbers and records ---------------------------------------------------------------------

    def _number(self, parameter: ir.Local, kind: t.Arithmetic, given: Any) -> Any:
        names = self.form.enumerations.get(kind.name)
        if isinstance(given, Kind) and names is not None:
            return _KINDS[given.unions]
        if isinstance(given, str) and names is not None:
            if given not in names:
                raise self._unfit(parameter, given, f"one of {', '.join(names)}")
            return names[given]
        value = given.item() if isinstance(given, np.generic) else given
        if not isinstance(value, int | float) or (isinstance(value, float) and kind.whole):
            wanted = "a number" if kind.kind == "float" else "an integer"
            raise self._unfit(
                parameter, given, wanted if names is None else f"{wanted} or one of {', '.join(names)}"
            )
        if kind.whole and kind.kind != "bool" and not kind.low <= value <= kind.high:
            raise self._unfit(parameter, given, f"{kind.low} to {kind.high}")
        return converted(value, kind)

    def _record(self, parameter: ir.Local, kind: t.Record, given: Any) -> Any:
        if isinstance(given, Object):
            return given
        members = kind.paired(given)
        if members is None:
            raise self._unfit(parameter, given, kind.as_tuple)
        values = []
        for field, value in members:
            part = ir.Local(
                field.name,
                f"{parameter.source_name}.{field.name}",
                field.type,
                str(field.type),
                parameter.span,
            )
            values.append(self.value(part, value))
        return self._layout(kind).make(*values)

    # -- pointers --------------------------------------------------------------------------------

    def _reference(self, parameter: ir.Local, given: Any) -> Any:
        assert isinstance(parameter.type, t.Pointer)
        inner = parameter.type.to
        if isinstance(given, np.ndarray):
            return self._pointer(parameter, inner, given)
        part = ir.Local(parameter.name, parameter.source_name, inner, parameter.spelling, parameter.span)
        value = self.value(part, given)
        return value if isinstance(inner, t.Record) else self.process.cell(self._layout(inner), value)

    def _pointer(self, parameter: ir.Local, to: t.Type, given: Any) -> Any:
        if given is None:
            return NULL
        if isinstance(given, Handle):
            return self._object(to, handle_fields(given))
        if isinstance(given, TensorDescriptor):
            return self._object(to, self._descriptor_fields(parameter, given))
        if isinstance(given, str) and isinstance(to, t.Arithmetic) and to.size == 1:
            return self.process.text(given)
        if isinstance(given, DeviceTensor):
            self.process.driver.lend(given)
            given = given.ptr
        elif isinstance(given, np.ndarray):
            given = self._array(parameter, to, given)
        if not isinstance(given, Ptr | HostPtr):
            wanted = "a device tensor, a pointer, a NumPy array or None"
            raise self._unfit(parameter, given, wanted)
        return given if isinstance(to, t.Void) else see(given, self._layout(to))

    def _array(self, parameter: ir.Local, to: t.Type, given: "np.ndarray[Any, Any]") -> HostPtr:
        inner = self._layout(to) if isinstance(to, t.Arithmetic) else None
        if (
            isinstance(inner, DType)
            and inner.dtype != given.dtype
            and not (
                given.dtype.kind == "b"
                or (given.dtype.kind in "iu" and given.dtype.itemsize == inner.size and inner.kind != "float")
            )
        ):
            raise self._unfit(parameter, f"an array of {given.dtype}", f"an array of {inner.dtype}")
        block = array_block(self.process.memory, given, f"the array for {parameter.source_name}")
        return HostPtr(block.view(inner if isinstance(inner, DType) else BYTES))

    def _object(self, to: t.Type, values: Mapping[str, Any]) -> Any:
        """A record with these fields; those that it lacks are left out."""
        made = self._layout(to)
        if not isinstance(made, RecordLayout):
            return NULL
        found = made.make()
        for name, value in values.items():
            inner = made.fields.get(name, (None, 0))[0]
            if inner is not None:
                found.__dict__[name] = inner.make(*value) if isinstance(inner, ArrayLayout) else value
        return found

    def _descriptor_fields(self, parameter: ir.Local, given: TensorDescriptor) -> dict[str, Any]:
        size = given.dtype.size if isinstance(given.dtype, DType) else np.dtype(given.dtype).itemsize
        strides = given.strides or _dense(given.shape)
        word = _DTYPES.get(str(given.dtype), str(given.dtype).upper())
        return {
            "dim": len(given.shape),
            "dims": given.shape,
            "strides": strides,
            "dtype": self._enumerator(parameter, "mluOpDataType_t", f"MLUOP_DTYPE_{word}"),
            "onchip_dtype": 0,
            "layout": self._enumerator(parameter, "mluOpTensorLayout_t", f"MLUOP_LAYOUT_{given.layout}"),
            "total_element_num": given.size,
            "total_tensor_size": given.size * size,
        }

    def _enumerator(self, parameter: ir.Local, kind: str, name: str) -> int:
        names = self.form.enumerations.get(kind, {})
        if names and name not in names:
            raise self._unfit(parameter, name, f"what {kind} has: {', '.join(names)}")
        return names.get(name, 0)


BYTES = next(d for d in t.DTYPE_OF.values() if d.name == "uint8")


def handle_fields(handle: Handle) -> dict[str, Any]:
    """What the vendor's context has of a board."""
    board = handle.board
    arch = board.arch
    return {
        "queue": NULL,
        "arch": arch.bang_arch,
        "cluster_num": board.clusters,
        "core_num_per_cluster": arch.cores_per_cluster,
        "nram_size": arch.max_nram,
        "wram_size": arch.max_wram,
        "sram_size": arch.max_sram,
        "capability_cluster_num": board.clusters,
        "capability_job_limit": _KINDS[max((n for n in _KINDS if n <= board.max_union), default=0)],
        "clock_rate": board.clock_mhz * 1000,
    }


def _dense(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def result_of(function: ir.Function, value: Any) -> Any:
    """What a host function returned: a `Status` where it is one, a number, or a pointer as it is."""
    kind = function.result
    if isinstance(kind, t.Arithmetic) and kind.name == "mluOpStatus_t":
        known = {s.value: s for s in Status}
        return known.get(value, value)
    return None if isinstance(kind, t.Void) else value
