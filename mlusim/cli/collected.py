"""Long work whose results a file keeps, carried out to its end."""

from typing import TypeVar

from mlusim.cli.plain_text import remark
from mlusim.operators.in_order import InOrder

R = TypeVar("R")


def collected(work: InOrder[R], file: str | None, what: str) -> list[R]:
    """Carry *work* out; say how many *what* were in *file* already, and, where it is interrupted, that the file keeps the rest."""
    if work.reused:
        remark(f"{file}: {work.reused} of {work.total} {what} are there already")
    try:
        with work:
            return list(work)
    except KeyboardInterrupt:
        if file is not None:
            remark(f"{file} holds what has ended; the same command goes on")
        raise
