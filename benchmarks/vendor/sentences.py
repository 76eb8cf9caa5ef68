"""What an error says, as a cell of a table."""

from pathlib import Path


def sentence(error: object, root: Path, most: int = 200) -> str:
    """*error* on one line of at most *most* characters; its files are named from the checkout on."""
    return " ".join(str(error).replace(f"{root}/", "").split())[:most]
