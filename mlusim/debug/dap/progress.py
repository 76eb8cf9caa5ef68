"""Progress of slow requests: after a moment the editor shows what is being done and for how long, and may cancel it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from mlusim.debug.dap.state import State

PATIENCE, EVERY = 0.5, 1.0  # seconds: before the editor is told, and between two reports


@contextmanager
def progressing(state: State, title: str) -> Iterator[None]:
    """Show *title* in an editor that shows progress, once the block has lasted `PATIENCE` seconds.

    The editor cancels as it pauses: what is done is interrupted.
    """
    if not state.shows_progress:
        yield
        return
    state.slow += 1
    name, done = f"mlusim {state.slow}", threading.Event()
    teller = threading.Thread(
        target=_tell, args=(state, name, title, done), name="mlusim progress", daemon=True
    )
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()  # its end is told before the stop


def _tell(state: State, name: str, title: str, done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    event, seconds = state.connection.event, PATIENCE
    event("progressStart", {"progressId": name, "title": title, "cancellable": True})
    while not done.wait(EVERY):
        seconds += EVERY
        event("progressUpdate", {"progressId": name, "message": f"{seconds:.0f} s"})
    event("progressEnd", {"progressId": name})
