"""Tables in pages that are written by hand but for them."""


def renewed(page: str, table: str) -> str:
    """Return the text of *page* with *table* in place of the one with the same first two columns, which a blank line ends."""
    head = "|".join(table.split("|", 3)[:3]) + "|"
    before, rest = page.split(head, 1)
    behind = rest.split("\n\n", 1)[1]
    return f"{before}{table}\n{behind}"
