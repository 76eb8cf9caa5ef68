"""The pages of the site that are not stored in ``docs/``: they are generated from the code when the site is made."""

import functools
from collections.abc import Callable, Mapping

from manual import command_pages, driver
from manual.isa_pages import isa_pages
from manual.listing_pages import listings, page

REFERENCE: Mapping[str, Callable[[], str]] = {
    "command-line": command_pages.command_line,
    "cncc": command_pages.cncc,
    "debugger": command_pages.debugger,
    "driver": driver.manual,
}


@functools.cache
def made_pages() -> Mapping[str, str]:
    """Return each page as Markdown, by its place below ``docs/``."""
    return (
        {f"reference/{name}.md": make() for name, make in REFERENCE.items()}
        | {f"reference/isa/{name}": text for name, text in isa_pages().items()}
        | {f"operators/{name}-listing.md": page(name, path) for name, path in listings().items()}
    )
