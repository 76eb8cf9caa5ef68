"""`Worker`: a session in the main thread, for fronts that live in another one.

Python hands signals to the main thread, and a signal is the only thing that reaches a kernel which loops in
Python without ever calling the machine.  So the session, whose kernels run here, has the main thread; the screen
or the editor's connection has a thread of its own, hands jobs over, and interrupts with a signal.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from types import FrameType
from typing import Generic, TypeVar

T = TypeVar("T")


class Worker(Generic[T]):
    """Does jobs one after the other with what *make* makes; `serve` is called in the main thread, the rest from any.

    *stop* ends what a job is doing, from inside a signal's handler; *end* closes what was made, which is ``subject`` once
    it is there.  ``failure`` is the error that ended the worker; ``ended`` is set when nothing of it runs any more.
    """

    def __init__(self, make: Callable[[], T], stop: Callable[[T], None], end: Callable[[T], None]) -> None:
        self._make, self._stop, self._end = make, stop, end
        self._jobs: SimpleQueue[Callable[[T], object] | None] = SimpleQueue()
        self.subject: T | None = None
        self._working = False
        self.closing = False
        self.failure: BaseException | None = None
        self.ended = threading.Event()

    # -- from any thread -------------------------------------------------------------------------

    def submit(self, job: Callable[[T], object]) -> None:
        """Do *job* when everything before it is done."""
        self._jobs.put(job)

    def interrupt(self) -> None:
        """Stop what is being done."""
        if self._working:
            send_interrupt()

    def close(self) -> None:
        """Stop the job that is being done, leave out those that wait, and end."""
        self.closing = True
        self._jobs.put(None)
        self.interrupt()

    # -- in the main thread ----------------------------------------------------------------------

    def serve(self) -> None:
        """Make the subject, do jobs until `close` or an error, then end the subject."""
        try:
            with interruptible(self._interrupted):
                self._work()
        except KeyboardInterrupt as error:
            self.failure = None if self.closing else error
        except BaseException as error:  # noqa: BLE001 - the front tells the user, whatever it is
            self.failure = error
        finally:
            self.ended.set()

    def _work(self) -> None:
        with self._at_work():
            self.subject = self._make()
        try:
            while not self.closing:
                job = self._jobs.get()
                if job is not None and not self.closing:
                    with self._at_work():
                        job(self.subject)
        finally:
            self._end(self.subject)

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        self._working = True
        try:
            yield
        finally:
            self._working = False

    def _interrupted(self) -> None:
        """Stop the job, or the making of the subject, when the signal has come."""
        if not self._working:
            return
        if self.subject is None:
            raise KeyboardInterrupt
        self._stop(self.subject)


def send_interrupt() -> None:
    """Send the main thread what Ctrl-C sends; from any thread."""
    main = threading.main_thread().ident
    if os.name == "posix" and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def interruptible(stop: Callable[[], None]) -> Iterator[None]:
    """Call *stop* at a Ctrl-C in the block; outside the main thread do nothing."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        stop()

    try:
        before = signal.signal(signal.SIGINT, handle)
    except ValueError:  # not the main thread: another owner has the signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
