"""Replay files: a program and the decisions of a schedule in which it gives something else."""

import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from mlusim.check.schedules import Schedule
from mlusim.check.subjects import OperatorSubject, ScriptSubject, script_digest
from mlusim.errors import UsageError
from mlusim.machine.scheduling.schedule import EFFECTS, LAND, NEXT, STOP, Decision
from mlusim.observe.finding import Finding

FORMAT = 1


@frozen
class Replay:
    """The contents of a replay file: what to run, in which schedule."""

    subject: OperatorSubject | ScriptSubject
    schedule: Schedule


def replay_document(finding: Finding, version: str) -> dict[str, Any]:
    """Return the replay file of a difference, found by mlusim *version*."""
    return {"replay": FORMAT, "mlusim": version} | dict(finding.facts)


def replay_in(text: str, name: str) -> Replay:
    """Return what the replay file *name*, whose contents are *text*, says to run.

    Raises `UsageError` for what is no such file, and for values that no run has.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no replay file: {error}") from None
    if not isinstance(document, Mapping) or document.get("replay") != FORMAT:
        raise UsageError(f'{name} is no replay file of format {FORMAT}; it has "replay": {FORMAT}')
    subject = _subject_in(document, name)
    seed, effects = document.get("seed"), document.get("effects")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise UsageError(f"{name} has the seed {seed!r:.40}; it must be a whole number or null")
    if effects not in EFFECTS:
        raise UsageError(f"{name} has the effects {effects!r:.40}; they must be {' or '.join(EFFECTS)}")
    return Replay(subject, Schedule(seed, effects, _decisions_in(document.get("decisions"), name)))


def _subject_in(document: Mapping[str, Any], name: str) -> OperatorSubject | ScriptSubject:
    script, arguments = document.get("script"), document.get("arguments", [])
    if isinstance(script, str):
        if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments):
            raise UsageError(f"{name} has the arguments {arguments!r:.80}; they must be a list of words")
        if not isinstance(known := document.get("sha256"), str):
            raise UsageError(
                f"{name} names the script {script!r:.80} without its hash; record the replay again"
            )
        if script_digest(script) != known:
            raise UsageError(
                f"{script!r:.80} is not the script that {name} was recorded with; record the replay again"
            )
        return ScriptSubject(script, tuple(arguments))
    words = {key: document.get(key) for key in ("operator", "case", "board")}
    wrong = next((key for key, word in words.items() if not isinstance(word, str)), None)
    if wrong is not None:
        raise UsageError(f"{name} names no {wrong}; record the replay again")
    return OperatorSubject(*(str(word) for word in words.values()))


def _decisions_in(listed: Any, name: str) -> tuple[Decision, ...] | None:
    """Return the decisions of a replay file; None where it has none.  Raises `UsageError` for what is no decision."""
    if listed is None:
        return None
    decisions = []
    for entry in listed if isinstance(listed, list) else [listed]:
        fits = isinstance(entry, list) and [type(part) for part in entry[:4]] == [int, str, int, int]
        if not fits or len(entry) != 5 or entry[1] not in (LAND, STOP, NEXT):
            raise UsageError(f"{name} has the decision {entry!r:.80}; record the replay again")
        decisions.append(Decision(*entry))
    return tuple(decisions)
