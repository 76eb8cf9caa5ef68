"""`Worker`: a session in the main thread, for a front that runs in another thread.

Python handles signals in the main thread, and only a signal can interrupt a kernel that loops in
Python without calling the machine.  So the session, whose kernels run here, has the main thread; the screen
or the editor's connection has another thread, submits jobs, and interrupts with a signal.
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
    """Does jobs one after the other on the subject that *make* constructs; `serve` is called in the main thread, the rest from any thread.

    *stop* interrupts the current job, called in a signal handler; *end* closes the subject, which is in ``subject``
    once it exists.  ``failure`` is the exception that ended the worker; ``ended`` is set when the worker has
    finished.
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
        """Do *job* after all jobs submitted before it."""
        self._jobs.put(job)

    def interrupt(self) -> None:
        """Interrupt the current job."""
        if self._working:
            send_interrupt()

    def close(self) -> None:
        """Interrupt the current job, drop those that wait, and end."""
        self.closing = True
        self._jobs.put(None)
        self.interrupt()

    # -- in the main thread ----------------------------------------------------------------------

    def serve(self) -> None:
        """Construct the subject, do jobs until `close` or an exception, then close the subject."""
        try:
            with interruptible(self._interrupted):
                self._work()
        except KeyboardInterrupt as error:
            self.failure = None if self.closing else error
        except BaseException as error:  # noqa: BLE001 - the front reports any exception to the user
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
        """Interrupt the job, or the construction of the subject, when the signal has arrived."""
        if not self._working:
            return
        if self.subject is None:
            raise KeyboardInterrupt
        self._stop(self.subject)


def send_interrupt() -> None:
    """Send the main thread the signal of Ctrl-C; may be called from any thread."""
    main = threading.main_thread().ident
    if os.name == "posix" and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def interruptible(stop: Callable[[], None]) -> Iterator[None]:
    """Call *stop* at a Ctrl-C during the block; outside of the main thread do nothing."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        stop()

    try:
        before = signal.signal(signal.SIGINT, handle)
    except ValueError:  # not the main thread, so that signals are handled elsewhere
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
