"""Recorded sessions of an editor, replayed: every answer and every stop is the recorded one, to the letter."""

import pytest
from record_session import SESSIONS, read, replayed


@pytest.mark.parametrize("path", sorted(SESSIONS.glob("*.json")), ids=lambda path: path.stem)
def test_a_session_is_answered_as_it_was(path, tmp_path):
    """Breakpoints, stacks, scopes, values, memory, and the way back; `record_session.py` writes the files again."""
    session = read(path)
    answers, output = replayed(session, tmp_path.resolve())

    assert session["answers"] == answers
    assert session["output"] == output
