"""Campaigns: which cases run, in which order, and what becomes of trouble."""

from types import SimpleNamespace

import pytest
from attrs import evolve

from mlusim.engine.preference import NATIVE, PYTHON
from mlusim.errors import UsageError
from mlusim.operators import campaign, registry
from mlusim.operators.campaign import Job, longest_first, matching_cases, perform, perform_all, usual_workers
from mlusim.operators.registry import find_case, find_operator, operators
from mlusim.operators.runner import made_of

JOBS = [
    Job(name, case, board)
    for name in ("tin_shift_forward", "tin_shift_backward")
    for board in ("MLU370-X4", "MLU590-H8")
    for case in ("golden_document", "refused_data_rank_3")
]


@pytest.mark.parametrize("workers", [1, 2])
def test_records_come_in_the_order_of_the_jobs(workers):
    """Whatever the number of processes; and every end is reported once."""
    told = []
    records = perform_all(JOBS, workers, told.append)

    assert JOBS == [Job(r.operator, r.case, r.board) for r in records]
    assert sorted(map(repr, records)) == sorted(map(repr, told))
    assert [perform(job) for job in JOBS] == records


def test_a_case_is_made_once_for_all_boards(calls_of):
    """Its inputs and references are the same everywhere: four cases on two boards are made four times."""
    with calls_of(made_of) as calls:
        perform_all(JOBS)
    made = [(call["operator"], call["case"].name) for call in calls]

    assert {(job.operator, job.case) for job in JOBS} == set(made)
    assert len(made) == len(set(made))


@pytest.mark.parametrize("name", operators())
def test_cases_are_selected_by_board_group_and_name(name):
    """A group leaves out the cases of other boards; a name finds its case."""
    operator = find_operator(name)
    chosen = list(matching_cases(operator, "MLU370-X4"))
    network = list(matching_cases(operator, "MLU370-X4", group="network"))

    assert [c for c in operator.cases if not c.boards or "MLU370-X4" in c.boards] == chosen
    assert [c for c in chosen if c.group == "network"] == network
    assert network
    for case in operator.cases:
        named = list(matching_cases(operator, (*case.boards, "MLU370-X4")[0], names=[case.name]))

        assert [case] == named


def test_long_cases_start_first():
    """Whatever takes long by its case's own account starts before the rest, which keeps its order."""
    names = ("case_1", "case_7", "case_2", "case_4", "by_hand", "case_3")
    jobs = [Job("three_interpolate_backward", name, "MLU370-X4") for name in names]

    assert ["case_7", "case_4", "case_3"] == [job.case for job in longest_first(jobs)][:3]
    assert JOBS == longest_first(JOBS)
    assert JOBS[::-1] == longest_first(JOBS[::-1])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_refused_launch_is_the_same_error_across_processes(workers):
    """What a caller got wrong is told in the same words, wherever the case ran."""
    jobs = [JOBS[0], Job("tin_shift_forward", "golden_document", "MLU370-X4", effects="sometimes")]

    with pytest.raises(UsageError, match="effects = 'sometimes' is unknown; use 'late' or 'eager'"):
        perform_all(jobs, workers)


def test_an_error_nobody_foresaw_names_its_case(only_entries):
    """An error that is neither fault nor refusal carries a note that says which case it was."""

    def broken(*_, **__):
        raise ZeroDivisionError

    operator = evolve(find_operator("tin_shift_forward"), call=broken)
    only_entries(registry, [SimpleNamespace(name="broken", value="broken", load=lambda: operator)])
    with pytest.raises(ZeroDivisionError) as caught:
        perform(JOBS[0])

    assert ["tin_shift_forward golden_document on MLU370-X4 at test_campaign.py"] == [
        note.rsplit(":", 1)[0] for note in caught.value.__notes__
    ]


def test_workers_are_few():
    """One per CPU, never more than jobs, at most four, at least one."""
    assert 1 == usual_workers([])
    assert 1 == usual_workers(JOBS[:1])
    assert 1 <= usual_workers(JOBS * 10) <= 4


def test_large_cases_in_c_share_a_process(monkeypatch):
    """The largest first, on all boards; in Python each is for a process of its own, as are the others."""
    started = []

    def spread(_work, portions, _workers, _tell):
        started.append([list(dict.fromkeys(job.case for job in of.jobs)) for of in portions])
        return [[None] * len(of.jobs) for of in portions]

    monkeypatch.setattr(campaign, "spread", spread)
    names = ("case_19", "case_1", "case_20", "case_7", "case_2")
    cases = [find_case(find_operator("three_interpolate_backward"), name) for name in names]
    for engine in (NATIVE, PYTHON):
        perform_all(
            [
                Job("three_interpolate_backward", case.name, board, engine=engine)
                for case in cases
                for board in ("MLU370-X4", "MLU590-H8")
            ]
        )
    large = [c.name for c in sorted(cases, key=lambda c: -c.memory) if c.memory]

    assert len(large) > 1
    assert started[0][0] == large
    assert sorted(started[0][1:]) == sorted([c.name] for c in cases if not c.memory)
    assert sorted(started[1]) == sorted([c.name] for c in cases)
