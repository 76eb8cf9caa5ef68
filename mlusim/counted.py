"""Numbers with the word for what they count."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 finding``, ``2,000 findings``; *many* is the plural that has no ``s`` behind *one*."""
    return f"{number:,} {plural(number, one, many)}"


def plural(number: float, one: str, many: str | None = None) -> str:
    """*one* where *number* is 1, else *many*, which is *one* with an ``s`` unless it is given."""
    return one if number == 1 else many or one + "s"


def with_article(noun: str) -> str:
    """``an int32``, ``a float``, ``a uint8``: *noun* behind the article that its sound takes."""
    sounds_as_consonant = noun.lower().startswith(("uint", "uni", "use", "one"))
    vowel = noun[:1].lower() in ("a", "e", "i", "o", "u") and not sounds_as_consonant
    return f"{'an' if vowel else 'a'} {noun}"
