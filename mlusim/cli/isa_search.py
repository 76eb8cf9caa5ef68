"""``mlusim isa WORD``: what has a word in its name, and helpers, for a word that is no name of the table."""

import inspect

import mlusim.bang
from mlusim.cli.helpers import PREFIX, find_helper, helper_document, is_helper, known_helper, show_helper
from mlusim.cli.isa_page import unmarked
from mlusim.cli.isa_table import show_intrinsic
from mlusim.cli.isa_words import BUILT_IN, MEMORIES, word_of
from mlusim.cli.show import emit, output
from mlusim.isa.table import ISA, is_intrinsic
from mlusim.memory.direction import DIRECTIONS
from mlusim.text_grid import table


def show(name: str, *, json: bool) -> None:
    """Show the helper called *name*, or everything that has it in its name; raises `UsageError` where nothing does."""
    found = matches(name)
    if is_helper(name) and (known_helper(name) or not found):
        helper = find_helper(name)
        emit(helper_document(helper)) if json else show_helper(helper)
    elif not found:
        show_intrinsic(name, json=json)  # which says what is near
    elif len(found) == 1 and is_intrinsic(found[0][0]):
        show_intrinsic(found[0][0], json=json)
    elif json:
        emit({"found": [{"name": name, "kind": kind, "summary": doc} for name, kind, doc in found]})
    else:
        _show_found(name, found)


def _show_found(part: str, found: list[tuple[str, str, str]]) -> None:
    shown = table("name", "pipe or kind", "what it does", fold=("what it does",))
    for name, kind, summary in found:
        shown.add_row(name, kind, unmarked(summary))
    console = output()
    console.print(shown)
    console.print(f"{len(found)} with {part!r} in their names.  `mlusim isa NAME` shows one in full.")


def matches(part: str) -> list[tuple[str, str, str]]:
    """Return the spelling, kind and summary of everything that has *part* in its name, in any case."""
    wanted = part.strip("_").lower()
    if not wanted:
        return []
    found = [
        (row.spelling, row.pipe.value, row.summary) for name, row in ISA.items() if wanted in name.lower()
    ]
    helpers = (name for name in mlusim.bang.__all__ if name.startswith(PREFIX) and wanted in name)
    found += [(f"__{name}", "helper", _summary(getattr(mlusim.bang, name))) for name in helpers]
    found += [(word, "variable", f"{doc}.") for word, doc in BUILT_IN.items() if wanted in word.lower()]
    words = [*MEMORIES, *(token.name for token in DIRECTIONS)]
    for word in (word for word in words if wanted in word.lower()):
        about = word_of(word) or {}
        found.append((word, about["kind"].partition(" of ")[0], about["doc"].splitlines()[0]))
    return found


def _summary(helper: object) -> str:
    return (inspect.getdoc(helper) or "").splitlines()[0]
