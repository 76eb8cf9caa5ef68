"""`Engine`: a console in the main thread, that a full-screen view in another thread hands lines to."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlusim.debug.console.command import Reply, find_command
from mlusim.debug.tui.views import LineResult, Views, look
from mlusim.debug.worker import Worker

if TYPE_CHECKING:
    from mlusim.debug.console.console import Console


class Engine:
    """Executes lines one after the other and delivers each answer; *make* makes the console.

    `serve` is called in the main thread; *deliver* is called there too, and must not wait for the view.
    """

    def __init__(self, make: "Callable[[], Console]") -> None:
        self._ready = threading.Event()  # the view is there, and takes what the program prints

        def begin() -> "Console":
            self._ready.wait()
            if self.worker.closing:
                raise KeyboardInterrupt
            return make()

        self.worker = Worker(
            begin, lambda console: console.session.interrupt(), lambda console: console.session.close()
        )
        self._deliver: Callable[[LineResult], None] = lambda _: None
        self._fail: Callable[[], None] = lambda: None
        self._place = self._letters = ""
        self._answered = ("", "")  # the last question for a cause, with its place, and its answer
        self._asked = 0  # interrupts so far
        self._views: Views | None = None

    @property
    def failure(self) -> BaseException | None:
        """The error that ended the session."""
        return self.worker.failure

    def attach(self, deliver: Callable[[LineResult], None], fail: Callable[[], None]) -> None:
        """Deliver answers from now on, first where it stands, and say that the session could not be made, or broke."""
        self._deliver, self._fail = deliver, fail
        self.worker.submit(lambda console: self._answer(console, "", Reply(console.stop_text())))
        self._ready.set()
        if self.failure is not None:
            fail()

    def serve(self) -> None:
        """Execute until `close`; in the main thread."""
        self.worker.serve()
        if self.failure is not None:
            self._fail()

    def close(self) -> None:
        """End the session, whatever it is doing; from any thread."""
        self.worker.close()
        self._ready.set()

    def serve_beside(self, screen: Callable[[], None]) -> None:
        """As `serve`, while *screen* runs in a thread of its own; ends with it, and raises what it raises."""
        errors: list[BaseException] = []

        def shown() -> None:
            try:
                screen()
            except BaseException as error:  # noqa: BLE001 - raised again below
                errors.append(error)
            finally:
                self.close()

        thread = threading.Thread(target=shown, name="mlusim screen")
        thread.start()
        self.serve()
        thread.join()
        if errors:
            raise errors[0]

    def progress(self) -> str:
        """How far what runs has come; from any thread."""
        console = self.worker.subject
        return "starting" if console is None else console.session.progress()

    def interrupt(self) -> None:
        """Stop what is being executed, and leave out what waits behind it; from any thread."""
        self._asked += 1
        self.worker.interrupt()

    def submit(self, line: str) -> None:
        """Execute *line* when everything before it is done, and deliver the answer."""
        asked = self._asked
        self.worker.submit(lambda console: self._execute(console, line, asked))

    def complete(self, text: str, tell: Callable[[list[str]], None]) -> None:
        """Tell what the last word of *text* may become."""
        self.worker.submit(lambda console: tell(console.complete(text)))

    def _execute(self, console: "Console", line: str, asked: int) -> None:
        reply = (
            console.execute(line)
            if asked == self._asked
            else Reply("left out, because of the interrupt", ok=False)
        )
        word, _, place = line.strip().partition(" ")
        name, _, form = word.partition("/")
        if name == "x" and reply.ok:
            self._place, self._letters = place.strip(), form.lstrip("0123456789")
        if reply.ok and name and find_command(name, console.commands).name in ("why", "who-wrote"):
            self._answered = f"{line.strip()}, asked at {console.session.place}", reply.text
        self._answer(console, line, reply)

    def _answer(self, console: "Console", line: str, reply: Reply) -> None:
        """Deliver; where the looking is interrupted, with what was to be seen before."""
        if self.worker.closing:
            return
        try:
            self._views = look(console, self._place, self._letters, self._answered)
        except KeyboardInterrupt:
            reply = Reply(f"{reply.text}\ninterrupted", ok=False)
        if self._views is not None:
            self._deliver(LineResult(line, reply, self._views))
