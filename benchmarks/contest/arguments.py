"""What ``bang_func`` is called with: the tensors of ``forward``, weights, then the arguments of ``__init__``."""

import inspect
import re
from collections.abc import Sequence
from typing import Any

import torch

from mlusim.errors import UsageError

_SIGNATURE = re.compile(r"^[\w:<>\s]*\bbang_func\s*\(([^)]*)\)\s*\{", re.MULTILINE)


def parameters(source: str) -> list[tuple[str, str]]:
    """The type and the name of each parameter of ``bang_func``.  Raises `UsageError` where it is not defined."""
    found = _SIGNATURE.search(source)
    if found is None:
        raise UsageError("bang_func is not defined")
    pieces = [piece.strip() for piece in found[1].split(",") if piece.strip()]
    return [(piece[: -len(name)].strip(), name) for piece in pieces for name in re.findall(r"\w+$", piece)]


def narrowed(value: Any) -> Any:
    """Half precision where it is a tensor of floats; the other values stay."""
    return value.to(torch.float16) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def widened(value: Any) -> Any:
    """Single precision where it is a tensor of floats; the other values stay."""
    return value.to(torch.float32) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def bound(
    source: str, model: torch.nn.Module, inputs: Sequence[Any], init_inputs: Sequence[Any]
) -> list[Any]:
    """The arguments in the order of ``bang_func``.

    First those of ``forward``.  Of the others each is the argument of ``__init__`` with its name, or the first that is left of
    its kind, a tensor or none; tensors that ``__init__`` is not given are weights and running values of the model, in the order
    in which it has them.
    """
    wanted = parameters(source)
    forward = list(inspect.signature(model.forward).parameters.values())[len(inputs) :]
    given = [*inputs, *(p.default for p in forward if p.default is not p.empty)][: len(wanted)]
    made = _of_init(model, init_inputs)
    state = [narrowed(v.detach()) for v in (*model.parameters(), *model.buffers()) if v.is_floating_point()]
    rest = wanted[len(given) :]
    for kind, name in rest:
        like = "Tensor" in kind
        later = {other for _, other in rest} - {name}
        found = name if name in made and isinstance(made[name], torch.Tensor) == like else None
        if found is None:
            free = (n for n, v in made.items() if isinstance(v, torch.Tensor) == like and n not in later)
            found = next(free, None)
        if found is not None:
            given.append(made.pop(found))
        elif like and state:
            given.append(state.pop(0))
    if len(given) != len(wanted):
        raise UsageError(f"bang_func has {len(wanted)} parameters and the reference gives {len(given)}")
    return [_fitting(kind, name, value) for (kind, name), value in zip(wanted, given, strict=True)]


def _of_init(model: torch.nn.Module, init_inputs: Sequence[Any]) -> dict[str, Any]:
    """The arguments of ``__init__`` by name, with its defaults."""
    if type(model).__init__ is torch.nn.Module.__init__:
        return {}
    call = inspect.signature(type(model).__init__).bind(model, *init_inputs)
    call.apply_defaults()
    return {name: narrowed(value) for name, value in list(call.arguments.items())[1:]}


def _fitting(kind: str, name: str, value: Any) -> Any:
    value = narrowed(value)
    if value is None and kind in ("double", "float"):
        return 0.0 if name == "scale" else 1.0
    if "Tensor" not in kind and isinstance(value, torch.Tensor) and value.numel() == 1:
        value = value.item()
    if ("Tensor" in kind) != isinstance(value, torch.Tensor):
        raise UsageError(f"{name} of bang_func is {kind}, and the reference gives {type(value).__name__}")
    if kind in ("double", "float"):
        return float(value)
    return value
