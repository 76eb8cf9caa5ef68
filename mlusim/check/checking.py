"""Programs under checkers: a case of an operator, or a script that launches kernels."""

import contextlib
import multiprocessing
import os
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from mlusim.check.findings import Checked, CheckReport, checked
from mlusim.check.schedules import USUAL, OperatorSubject, Schedule, ScriptSubject, Subject, explore
from mlusim.counted import plural
from mlusim.errors import Fault, StatusError, said
from mlusim.files.reading import refuse_no_file
from mlusim.machine.hub import TOLD, Observer, Teller, adoption, attending
from mlusim.machine.limits import limit_of, take_over
from mlusim.machine.options import LaunchOptions
from mlusim.machine.scheduling.schedule import Decision, Director, directing
from mlusim.observe.collect import Collector, collecting
from mlusim.observe.names import CHECKERS
from mlusim.observe.rules import RULES
from mlusim.observe.suppress import Suppression, sift, unused, unused_comments
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import SUCCESS, Run, attempt, judged, run_case
from mlusim.programs.program import ScriptProgram

if TYPE_CHECKING:
    from mlusim.machine.core import RunningLaunch


@frozen
class CheckJob:
    """One case of one operator on one board under *checkers* (by name; empty: all of them).

    The results of other *schedules* are compared with those of the usual one, until *enough* schedules were compared.
    """

    operator: str
    case: str
    board: str
    checkers: tuple[str, ...] = ()
    notes: bool = False
    seed: int | None = None
    effects: str = "late"
    decisions: tuple[Decision, ...] | None = None
    schedules: tuple[Schedule, ...] = ()
    enough: int = 0


def check_case(job: CheckJob) -> Checked:
    """Run the case under checkers; its outputs are judged as `mlusim run` judges them, and a fault is a finding."""
    operator = find_operator(job.operator)
    case = find_case(operator, job.case)
    problem = ""
    director = None if job.decisions is None else Director(decisions=job.decisions)
    directed = contextlib.nullcontext() if director is None else directing(director)
    with collecting(job.checkers, notes=job.notes, vectors=True) as collector, directed:
        try:
            run = run_case(operator, case, board=job.board, seed=job.seed, effects=job.effects)
            problem = problem_of(run)
        except Fault as fault:
            collector.add(fault)
    done = evolve(checked(collector, job.operator, problem), case=job.case, board=job.board)
    return explored(done, OperatorSubject(job.operator, job.case, job.board), job.schedules, job.enough)


def explored(done: Checked, subject: Subject, schedules: Iterable[Schedule], enough: int) -> Checked:
    """Return *done*, plus the difference, if any, between *subject* in the usual schedule and in *schedules*."""
    others = tuple(schedules)
    # Exploring runs the subject again; a plain check runs it once.
    if not others:
        return done
    other = explore(subject, others, enough)
    fresh = () if other.finding is None else (other.finding,)
    return evolve(done, findings=(*done.findings, *fresh), schedules=other.compared)


def _schedule(directed: Schedule | None) -> contextlib.AbstractContextManager[object]:
    """Run all launches of the block in the schedule *directed*; None: in the usual one."""
    if directed is None:
        return contextlib.nullcontext()
    director = directed.director()
    director.effects = directed.effects
    return directing(director)


def check_arrays(
    job: CheckJob, inputs: Mapping[str, np.ndarray[Any, Any]], params: Mapping[str, Any]
) -> Checked:
    """Run the operator of *job* on *inputs* instead of its case's.

    Raises `StatusError` if the host interface refuses them.
    """
    problem = ""
    with collecting(job.checkers, notes=job.notes, vectors=True) as collector:
        try:
            run = attempt(
                find_operator(job.operator),
                inputs,
                params,
                board=job.board,
                options=LaunchOptions(seed=job.seed, effects=job.effects),
            )
            if run.status != SUCCESS:
                raise StatusError(run.status, f"{run.status.name}: {run.message}")
            problem = problem_of(judged(run, inputs, params))
        except Fault as fault:
            collector.add(fault)
    return evolve(checked(collector, job.operator, problem), board=job.board)


def _run_script(program: ScriptProgram, forked: "Forked", collector: Collector, path: str) -> str:
    """Run *program* and add its fault to *collector*; return the problem of the run, or "" if it has none."""
    try:
        with attending([forked]), threads_watched():
            program.run(())
    except Fault as fault:
        collector.add(fault)
    except SystemExit as leaving:
        cause = None if leaving.__suppress_context__ else leaving.__context__
        behind = "" if cause is None else f", in {sentence_of(cause, path)}"
        return f"it ended with exit code {said(leaving)}{behind}"
    # Ctrl-C interrupts the check itself; any other exception is the script's.
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever is raised belongs to the script
        return sentence_of(error, path)
    return ""


def check_script(
    path: str,
    arguments: Iterable[str] = (),
    checkers: Iterable[str] = (),
    *,
    notes: bool = False,
    schedules: Iterable[Schedule] = (),
    enough: int = 0,
    directed: Schedule | None = None,
) -> Checked:
    """Run the script as ``__main__`` and check every launch that it makes.

    A fault is a finding; an exception in the script, or the lack of any launch, is the problem of the run.
    *directed* is the schedule of the checked run.  Its results are compared with those of other *schedules*, until
    *enough* schedules were compared.  Raises `UsageError` if there is no such file.
    """
    subject = ScriptSubject(path, tuple(arguments))
    refuse_no_file(path, "name a Python script, or an operator of `mlusim ops`")
    program = ScriptProgram(path, subject.arguments)
    forked = Forked()
    with collecting(checkers, notes=notes, vectors=True) as collector, _schedule(directed):
        problem = _run_script(program, forked, collector, path)
    elsewhere = forked.close()
    problem = problem or elsewhere
    if not (collector.launches or collector.faults or problem):
        problem = program.untested or "it launched no kernel that could be watched (decision 0013)"
    others = tuple(schedules)
    if others and not problem:
        # If two runs of one schedule differ, a difference between schedules shows nothing.
        problem = _unsteady(subject)
    done = checked(collector, path, problem)
    return done if problem else explored(done, subject, others, enough)


def _unsteady(subject: ScriptSubject) -> str:
    """Return a sentence if the results of a script differ between two runs of one schedule; otherwise ""."""
    first, second = (subject.outcome(USUAL.effects, USUAL.director()) for _ in range(2))
    told = subject.difference(first, second)
    if told is None:
        return ""
    return f"it gives something else each time in one schedule ({told}); seed its random numbers"


def report_of(
    checkers: Iterable[str],
    runs: Iterable[Checked],
    suppressions: Iterable[Suppression] = (),
    *,
    notes: bool = False,
) -> CheckReport:
    """Return the report of *runs*; findings that *suppressions* cover are listed apart, and unused suppressions get a remark.

    A suppression of a rule that could not be reported, because its checker was not used or *notes* were not
    requested, does not count as unused.
    """
    names, accepted = tuple(checkers), tuple(suppressions)
    every = tuple(runs)
    findings = [finding for run in every for finding in run.findings]
    sifted = []
    for run in every:
        left, covered = sift(run.findings, accepted)
        sifted.append(evolve(run, findings=left, accepted=covered))
    comments = [c for run in every for c in run.comments if _told(c.id, names, notes=notes)]
    remarks = unused(findings, (s for s in accepted if _told(s.id, names, notes=notes)))
    remarks += unused_comments(comments, (a for run in every for a in run.allowed))
    return CheckReport(names, tuple(sifted), remarks)


def _told(rule: str, checkers: tuple[str, ...], *, notes: bool) -> bool:
    """Return whether *rule* could have been reported: its checker ran, and notes were requested if the rule is one."""
    described = RULES.get(rule)
    # Rules of other packages' checkers are not in this table, so that it is unknown when they are off.
    if described is None or described.checker not in CHECKERS:
        return True
    return described.checker in checkers and (notes or not described.quiet)


def problem_of(done: Run) -> str:
    """Return a sentence about a wrong status or accuracy of *done*; "" if both are right."""
    if done.status != done.expected:
        said = f": {done.message}" if done.message else ""
        return f"the status is {done.status.name}, not {done.expected.name}{said}"
    if done.status == SUCCESS and not done.passed:
        failed = ", ".join(name for name, accuracy in done.accuracy.items() if not accuracy.passed)
        return f"the output {failed} is not accurate enough; `mlusim run` shows the errors"
    return ""


def sentence_of(error: BaseException, path: str) -> str:
    """Return the message of *error*, and the last line of the script that raised it."""
    text = " ".join(said(error).split())
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {type(error).__name__}: {error.msg}"
    # The innermost line is often one of NumPy or of mlusim, which the author of the script cannot change.
    script_lines = [
        line.lineno
        for line in traceback.extract_tb(error.__traceback__)
        if Path(line.filename) == Path(path).resolve()
    ]
    where = f"line {script_lines[-1]}: " if script_lines else ""
    return f"{where}{type(error).__name__}: {text}" if text else f"{where}{type(error).__name__}"


# -- launches that a script makes elsewhere: those of its threads are watched, those of its processes counted


class Forked(Observer):
    """Counts launches in other processes that the script starts, whose findings would be lost.

    Each process writes the name of each kernel that it launches to a file: a forked one has inherited this observer;
    one that starts afresh reads the file's name from its environment (`hub.Teller`), unless the script has cleared
    the environment.
    """

    name = "forked"
    between = True

    def __init__(self) -> None:
        self._home = os.getpid()
        self._outer = os.environ.get(TOLD)
        self._names, path = _nameless()
        self._teller = Teller(path)
        os.environ[TOLD] = path

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Write down a launch, if this is another process."""
        if os.getpid() != self._home:
            self._teller.launch_begin(launch)

    def close(self) -> str:
        """Return a sentence with the names of the kernels launched in other processes; "" if there were none."""
        if self._outer is None:
            os.environ.pop(TOLD, None)
        else:
            os.environ[TOLD] = self._outer
        with self._names:
            self._names.seek(0)
            counts = Counter(self._names.read().decode().split())
        if not counts:
            return ""
        launches = ", ".join(
            f"{name} {count} {plural(count, 'time')}" for name, count in sorted(counts.items())
        )
        return f"it launched kernels in other processes, which are not checked: {launches}; launch them in this one"


def _nameless() -> tuple[IO[bytes], str]:
    """Return an unnamed file, which vanishes if this process is killed, and a path by which other processes can open it."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `Forked.close`
    path = Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
    if path.exists():
        return file, str(path)
    file.close()
    named = tempfile.NamedTemporaryFile(prefix="mlusim-")  # noqa: SIM115 - the same
    return named, named.name


@contextmanager
def threads_watched() -> Iterator[None]:
    """Attach the observers of this thread to the threads that start in the block, too.

    `threading.setprofile` calls a function at the start of every new thread; that function attaches the observers and
    removes itself.
    """
    adopt, limit = adoption(), limit_of(None)
    before, older = threading.getprofile(), frozenset(threading.enumerate())
    born = frozenset(multiprocessing.active_children())

    def begin(frame: Any, event: Any, argument: Any) -> None:
        sys.setprofile(before)
        adopt()
        take_over(limit)
        if before is not None:
            before(frame, event, argument)

    threading.setprofile(begin)
    try:
        yield
        # Python would wait for these threads at its end, but ends daemon threads: waiting for those could
        # hang where the script does not.
        for thread in threading.enumerate():
            if thread not in older and not thread.daemon:
                thread.join()
        for process in multiprocessing.active_children():
            if process not in born and not process.daemon:
                process.join()
    finally:
        threading.setprofile(before)
