"""Sessions of an editor as files: what it sent, and every answer; ``python tests/dap/record_session.py`` writes them again."""

import json
import sys
import tempfile
from pathlib import Path

from dap_client import Editor

SESSIONS = Path(__file__).parent / "sessions"
HERE = "$HERE"
FLEETING = ("seq",)


def replayed(session, folder):
    """The answers of a server of its own, started in *folder*, to what *session* sends; stops beside the requests they follow."""
    if session["source"]:
        (folder / session["program"]).write_text("\n".join(session["source"]) + "\n")
    editor = Editor(cwd=folder)
    answers = []
    for step in session["steps"]:
        arguments = json.loads(json.dumps(step["arguments"]).replace(HERE, str(folder)))
        if step.get("refused"):
            message = editor.response(editor.send(step["command"], **arguments))
            assert not message["success"]
            answers.append({"refused": message["message"], "shown": message["body"]["error"]["showUser"]})
            continue
        answer = {"body": editor.ask(step["command"], **arguments)}
        if "event" in step:
            answer[step["event"]] = editor.event(step["event"])
        answers.append(json.loads(json.dumps(answer).replace(str(folder), HERE)))
    output = editor.output()
    editor.close()
    return answers, output


def read(path):
    """A session."""
    return json.loads(path.read_text())


if __name__ == "__main__":
    for path in sorted(SESSIONS.glob("*.json")):
        found = read(path)
        with tempfile.TemporaryDirectory() as temporary:
            found["answers"], found["output"] = replayed(found, Path(temporary).resolve())
        path.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(0)
