"""Vector registers in C: bytes of a variable that has an address; a value is a pointer to them until the next effect."""

from collections.abc import Iterator

from mlusim.arch.dtypes import boolean
from mlusim.frontend.bangc import ir, names, types as t
from mlusim.frontend.bangc.native.numbers import IDS, NoForm, dtype_of, name, suffix
from mlusim.frontend.bangc.native.rendering import Rendering
from mlusim.isa.table import ISA, NUMBERS

LOAD = "vv_load"
_WHOLE, _FORMS = "ALL_LANES_", {"m": "KEEPS_LANES_", "z": "CLEARS_LANES_"}
_COMPARING, _COUNTED = "vv_setp_", "_counted"


def place(c: Rendering, at: ir.Place, span: ir.Span) -> str:
    """Render the address of the register at a place."""
    if isinstance(at, ir.Temporary):
        return c.value(at.value)
    if isinstance(at, ir.LocalStorage):
        return f"(uint8_t *)d_{at.local.name}"
    if isinstance(at, ir.Element):
        found = c.spread(at, lambda p, i: f"moved_({p}, {i}, {at.type.size})")
    else:
        found = c.address(at)
    return f"register_(m, {found}, {c.site(span)})"


def kept(c: Rendering, made: str, span: ir.Span) -> str:
    """Keep the answer of a call in a register of the function that calls."""
    kind = t.VectorRegister(t.INT32)  # of whatever elements: it is bytes
    local = ir.Local(f"{names.OWN}{c.temporary()}_", "", kind, str(kind), span, ir.Storage.CELL)
    c.values.append(local)
    return f"((const uint8_t *)memmove(d_{local.name}, {made}, REGISTER_BYTES))"


def assigned(c: Rendering, node: ir.Assign) -> str:
    """Render a store of a whole register."""
    held = c.temporary()
    # memmove and not memcpy: a register may be assigned to itself.
    stored = f"memmove({place(c, node.place, node.span)}, {held}, REGISTER_BYTES)"
    return f"({{ const uint8_t *{held} = {c.value(node.value)}; (const uint8_t *){stored}; }})"


def call(c: Rendering, node: ir.IntrinsicCall, kinds: list[t.Type]) -> str:
    """Render a call of a row of registers."""
    number, site = NUMBERS[node.row], c.site(node.span)
    base, how = _how(node.row)
    register = kinds[0].to if isinstance(kinds[0], t.Pointer) else kinds[0]
    sources = kinds[1:] if how == _WHOLE else kinds[1:-1]
    if node.row.startswith(_COMPARING):  # the registers that are compared, not the mask
        register = sources[0]
    assert isinstance(register, t.VectorRegister)
    dtype = register.dtype
    if dtype not in ISA[node.row].elements:
        raise NoForm(f"{ISA[node.row].spelling} of {register}")
    helper = f"{base}_{_suffix(register)}"
    if any(k != register and (not isinstance(k, t.Arithmetic) or dtype_of(k) is not dtype) for k in sources):
        raise NoForm(f"{ISA[node.row].spelling} of {', '.join(map(str, kinds))}")

    def made(to: str, *values: str) -> str:
        rooms = list(_rooms(c, values[: len(sources)], sources))
        # Each of the functions takes three, and a mask.
        given = [f"register_(m, {to}, {site})", *(one for _, one in rooms)] + ["0"] * (3 - len(rooms))
        given += ["0" if how == _WHOLE else values[-1], how]
        return f"({{ {' '.join(r for r, _ in rooms)} {helper}(m, {number}, {site}, {_id(register)}, {', '.join(given)}); }})"

    return c.in_order(node.arguments, made)


def _how(row: str) -> tuple[str, str]:
    """Return the function in C of a row, and what it does with the lanes that its mask leaves out."""
    row = row.removesuffix(_COUNTED)
    if row == "vv_select":
        return row, "CHOOSES_LANES_"
    base, _, form = row.rpartition("_")
    return (base, _FORMS[form]) if form in _FORMS else (row, _WHOLE)


def _suffix(register: t.VectorRegister) -> str:
    return "mask" if register.dtype is boolean else suffix(register.of)


def _id(register: t.VectorRegister) -> int:
    return IDS.get(register.dtype, -1)  # a mask is of no element type of memory


def _rooms(c: Rendering, values: tuple[str, ...], kinds: list[t.Type]) -> Iterator[tuple[str, str]]:
    """Yield the registers of a call: what is declared for each, and its bytes; a number is in every lane of one of its own."""
    for given, kind in zip(values, kinds, strict=True):
        if isinstance(kind, t.VectorRegister):
            yield "", given
        else:
            room = c.temporary()
            yield f"uint8_t {room}[REGISTER_BYTES];", f"lanes_{suffix(kind)}({room}, {given})"  # type: ignore[arg-type]


def transfer(c: Rendering, node: ir.IntrinsicCall, kinds: list[t.Type]) -> str:
    """Render a load or a store of a register."""
    number, site = NUMBERS[node.row], c.site(node.span)
    return c.in_order(node.arguments, lambda *a: _moved(node.row, number, site, kinds, a))


def _moved(row: str, number: int, site: int, kinds: list[t.Type], values: tuple[str, ...]) -> str:
    base, how = _how(row)
    loads = base == LOAD
    memory, register = (kinds[1], kinds[0]) if loads else (kinds[0], kinds[1])
    if isinstance(register, t.Pointer):
        register = register.to
    assert isinstance(memory, t.Pointer)
    assert isinstance(register, t.VectorRegister)
    have, size = dtype_of(memory.to), register.of.size
    pointer_to = f"a_pointer({values[loads]}, {-1 if have is None else IDS[have]})"
    held = f"register_(m, {values[0]}, {site})" if loads else values[1]
    sides = [pointer_to, f"a_register({held}, {_id(register)})"]
    to, from_ = reversed(sides) if loads else sides
    common = f"m, {number}, {site}, {int(have is register.dtype)}, {size}, {to}, {from_}"
    counted = len(values) > (2 if how == _WHOLE else 3)
    sizes = f"{values[2] if counted else register.size // size}, {int(counted)}"
    if how != _WHOLE:
        return f"vv_masked_({common}, {sizes}, {values[-1]}, {how if loads else _WHOLE})"
    return f"{base}_({common}, {sizes})"


def pointer(c: Rendering, made: str, span: ir.Span) -> str:
    """Render a pointer to a register by value."""
    filled = kept(c, made, span)
    return f"({{ (void){filled}; {name(c.values[-1])}; }})"


def declared(c: Rendering, node: ir.Declare) -> list[str]:
    """Render a register that comes to life, with what another one has or without a value."""
    at = f"d_{node.local.name}"
    # A register that is constructed from nothing has no value either.
    if node.value is None or isinstance(node.value, ir.Compose):
        return [f"unset_({at});"]
    return [f"memmove({at}, {c.value(node.value)}, REGISTER_BYTES);"]


def cleared(kind: t.Type, bytes_: str) -> str:
    """Return C that takes the values from the registers in a *kind* whose bytes begin at *bytes_*; "" where it has none."""
    if isinstance(kind, t.VectorRegister):
        return f"unset_({bytes_});"
    if not inside(kind):
        return ""
    if isinstance(kind, t.Record):
        return " ".join(filter(None, (cleared(f.type, f"{bytes_} + {f.offset}") for f in kind.fields)))
    assert isinstance(kind, t.Array)
    if isinstance(kind.of, t.VectorRegister):
        return f"unset_all_({bytes_}, {kind.count});"
    each = cleared(kind.of, "e_")
    return f"for (uint8_t *e_ = {bytes_}, *end_ = e_ + {kind.size}; e_ < end_; e_ += {kind.of.size}) {{ {each} }}"


def inside(kind: t.Type) -> bool:
    """Return whether a register is a part of *kind*."""
    if isinstance(kind, t.Array):
        return inside(kind.of)
    if isinstance(kind, t.Record):
        return any(inside(field.type) for field in kind.fields)
    return isinstance(kind, t.VectorRegister)


def in_union(kind: t.Type) -> bool:
    """Return whether a union in *kind* has a register, which is no memory: Python refuses it when it is executed."""
    if isinstance(kind, t.Array):
        return in_union(kind.of)
    if not isinstance(kind, t.Record):
        return False
    return inside(kind) if kind.union else any(in_union(field.type) for field in kind.fields)


def used(form: ir.Function) -> bool:
    """Return whether a function has registers."""
    return any(inside(local.type) for local in form.locals)


def arrives(name: str) -> str:
    """Render the copy of a register that is passed by value."""
    return f"  memmove(d_{name}, g_{name}, REGISTER_BYTES);"
