"""Driving the debugger in tests."""

import functools
from contextlib import contextmanager

from mlusim.debug import Console, DebugSession


@contextmanager
def console_on(program, **options):
    """A console on *program*, closed at the end; *options* are the program's, but for the session's own."""
    own = {name: options.pop(name) for name in ("history", "arrays") if name in options}
    session = DebugSession(functools.partial(program, **options) if options else program, **own)
    try:
        yield Console(session)
    finally:
        session.close()


def says(console, *lines):
    """The answer to the last of *lines*; every one of them must be understood."""
    answer = ""
    for text in lines:
        reply = console.execute(text)
        assert reply.ok, f"{text}: {reply.text}"
        answer = reply.text
    return answer


def refuses(console, text):
    """The sentence with which *text* is refused."""
    reply = console.execute(text)
    assert not reply.ok
    return reply.text


def place(console):
    """Where the console stands: the task, the line, the moment, the lines since."""
    session = console.session
    site = session.site()
    return session.focus, site and site[1], session.position.moment, session.position.lines
