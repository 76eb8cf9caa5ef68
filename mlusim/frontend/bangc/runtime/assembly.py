"""Inline assembly: the texts that are known, by the intrinsic that does the same."""

import re
from typing import Any

from mlusim.errors import Unsupported


def run(mlu: Any, text: str, operands: dict[str, Any]) -> None:
    """Execute *text* with its *operands* by name: pointers to what it writes, values of what it reads."""
    code = re.sub(r"\s+", " ", text).strip().rstrip(";").strip()
    if code in ("sync", ""):
        mlu.sync()
        return
    raise Unsupported(
        f"the assembly {code!r:.80} with {len(operands)} operands is not known",
        legal="sync",
        hint="call the intrinsic that does the same",
    )
