"""Pages of which a command writes one part."""

from pathlib import Path


def put_between(page: Path, shown: str, begin: str, end: str) -> None:
    """Put *shown* into *page*, between the marks *begin* and *end*."""
    head, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, tail = rest.partition(end)
    page.write_text(f"{head}{begin}\n{shown}\n{end}{tail}", encoding="utf-8")
