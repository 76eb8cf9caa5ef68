"""How often Python looks for objects that refer to each other: not while a command is loaded, for what it loads stays."""

import gc

USUAL = gc.get_threshold()
LOADING = 1_000_000  # new objects; the modules of a run have a tenth


def pause() -> None:
    """Load without it: it took a sixth of a short run."""
    gc.set_threshold(LOADING, *USUAL[1:])


def resume() -> None:
    """Look as often as usual, and no more through what is there now."""
    if gc.get_threshold()[0] == LOADING:
        gc.freeze()
        gc.set_threshold(*USUAL)
