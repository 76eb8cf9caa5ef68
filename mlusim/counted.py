"""Numbers with the word for what they count."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 finding``, ``2,000 findings``; *many* is the plural that has no ``s`` behind *one*."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
