"""Records out of their JSON: everything that is in there comes back, anything else is refused."""

import json

import pytest
from attrs import evolve

from mlusim.document import json_text, plain
from mlusim.errors import UsageError
from mlusim.operators.campaign import Job, perform
from mlusim.report.record import restored

JOBS = [
    Job("tin_shift_forward", "golden_document", "MLU370-X4"),
    Job("tin_shift_backward", "refused_data_rank_3", "MLU590-H8"),
    Job("three_interpolate_backward", "by_hand", "MLU370-X4", policy="shipped"),
    Job("mutual_information_backward", "pascal", "MLU590-H8", check=("memcheck",)),
]


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_a_record_comes_back_from_its_json(job):
    """It writes the same JSON again, and has all but spans and plans."""
    record = perform(job)
    back = restored(json.loads(json_text(record.to_json())), "here")
    bare = tuple(evolve(launch, spans=()) for launch in record.launches)

    assert plain(record.to_json()) == plain(back.to_json())
    assert (record.efficiency, record.memory, record.inputs) == (back.efficiency, back.memory, back.inputs)
    assert (record.clean, record.off_chip, bare) == (back.clean, back.off_chip, back.launches)
    assert record.accuracy == back.accuracy


def test_numbers_that_json_lacks_come_back():
    """An infinite error is a number again."""
    record = perform(JOBS[0])
    infinite = evolve(record, accuracy={"output": dict(record.accuracy["output"]) | {"diff1": float("inf")}})

    assert float("inf") == restored(plain(infinite.to_json()), "here").accuracy["output"]["diff1"]


DOCUMENT = plain(perform(JOBS[0]).to_json())


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "text",
        {},
        DOCUMENT | {"passed": 1},
        DOCUMENT | {"operator": None},
        DOCUMENT | {"inputs": []},
        DOCUMENT | {"memory": {"NRAM": 3}},
        DOCUMENT | {"accuracy": {"output": 1}},
        DOCUMENT | {"efficiency": {"hardware_time_us": 1}},
        DOCUMENT | {"efficiency": DOCUMENT["efficiency"] | {"hardware_time_us": "soon"}},
        DOCUMENT | {"efficiency": DOCUMENT["efficiency"] | {"theory_ops": True}},
        DOCUMENT | {"launches": [{"dim": 1}]},
        DOCUMENT | {"findings": 5},
    ],
)
def test_anything_else_is_refused_in_a_sentence(document):
    """The sentence begins with where it stands."""
    with pytest.raises(UsageError, match="^here holds no record of mlusim"):
        restored(document, "here")
