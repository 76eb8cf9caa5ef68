"""An editor's words for BANG C: ``python -m manual.editor_words FILE`` writes them as JSON."""

import json
import sys
from pathlib import Path
from typing import Any

from mlusim.isa.declare import Intrinsic
from mlusim.isa.prototypes import forms
from mlusim.isa.table import ISA


def words() -> dict[str, dict[str, Any]]:
    """Return the prototype, text and rules of every intrinsic, by its name without leading underscores."""
    return {name: _word(row) for name, row in ISA.items()}


def _word(row: Intrinsic) -> dict[str, Any]:
    text = " ".join(row.doc.replace("``", "`").split())
    return {
        "prototype": "\n".join(form.generic() for form in forms(row)) or row.spelling,
        "text": text,
        "rules": [rule.legal for rule in row.rules],
    }


def main(arguments: list[str]) -> int:
    """Write the words to the file of the command line."""
    path = Path(arguments[0] if arguments else "isa.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(words(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
