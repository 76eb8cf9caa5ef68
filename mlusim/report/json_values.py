"""Values as JSON has them: no NaN, no infinity, no types of NumPy or attrs."""

import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

# Characters that JSON lets through and terminals obey.
CONTROLS = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


def plain(value: object) -> Any:
    """Return *value* rebuilt from what JSON has: dicts, lists, strings, numbers, booleans and None.

    A number that JSON lacks becomes the string "nan", "inf" or "-inf"; an enum member its name; any
    other object its text.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if getattr(value, "shape", None) == () and hasattr(
        value, "item"
    ):  # a number of NumPy, which need not be loaded
        value = value.item()
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return str(value)


def members(value: object, *names: str) -> dict[str, Any]:
    """Return the attributes *names* of *value* by name, as a document has them."""
    return {name: getattr(value, name) for name in names}


def json_text(document: Mapping[str, Any]) -> str:
    """Return *document* as indented JSON that ends with a newline."""
    text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    return text.translate(CONTROLS) + "\n"
