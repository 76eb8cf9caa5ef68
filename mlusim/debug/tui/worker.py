"""`Engine`: a console in a thread of its own, so that a full-screen view goes on while a kernel runs.

A session and everything in it belong to one thread; others hand lines over and get answers back.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue

from mlusim.debug.console.console import Console, Reply
from mlusim.debug.tui.views import Answer, look

Job = Callable[[Console], None]


class Engine:
    """Executes lines one after the other and delivers each answer; *make* makes the console, in the thread.

    *deliver* and *fail* are called in the engine's thread.
    """

    def __init__(
        self,
        make: Callable[[], Console],
        deliver: Callable[[Answer], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._make = make
        self._deliver = deliver
        self._fail = fail
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._console: Console | None = None
        self._place = self._letters = ""
        self._thread = threading.Thread(target=self._work, name="mlusim debug", daemon=True)
        self._thread.start()

    def submit(self, line: str) -> None:
        """Execute *line* when everything before it is done, and deliver the answer."""
        self._jobs.put(lambda console: self._execute(console, line))

    def complete(self, text: str, tell: Callable[[list[str]], None]) -> None:
        """Tell what the last word of *text* may become."""
        self._jobs.put(lambda console: tell(console.complete(text)))

    def interrupt(self) -> None:
        """Stop a kernel that is being watched at its next instruction, or the program at its next task."""
        if self._console is not None:
            self._console.session.interrupt_soon()

    def close(self) -> None:
        """End the session when everything before is done; wait a moment for it."""
        self._jobs.put(None)
        self._thread.join(5)

    def _work(self) -> None:
        try:
            console = self._console = self._make()
            self._deliver(Answer("", Reply(console.stop_text()), look(console)))
            while (job := self._jobs.get()) is not None:
                job(console)
            console.session.close()
        except BaseException as error:  # noqa: BLE001 - the view tells the user, whatever it is
            self._fail(error)

    def _execute(self, console: Console, line: str) -> None:
        reply = console.execute(line)
        word, _, place = line.strip().partition(" ")
        name, _, form = word.partition("/")
        if name == "x" and reply.ok:
            self._place, self._letters = place.strip(), form.lstrip("0123456789")
        self._deliver(Answer(line, reply, look(console, self._place, self._letters)))
