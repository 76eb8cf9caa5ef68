"""Records: what a run leaves as plain data, and what a finding or a fault contributes."""

import numpy as np
import pytest

from mlusim.errors import OutOfBounds, StatusError
from mlusim.observe.finding import Finding
from mlusim.operators.campaign import finding_facts, record_of, record_of_fault
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import attempt, run, run_case

TIN = find_operator("tin_shift_forward")


def test_a_run_remembers_what_it_was_given():
    """Shapes, dtypes and parameters of the call are in the run and in its record."""
    done = run_case(TIN, find_case(TIN, "golden_document"))
    record = record_of(done)

    assert (1, 6, 6, 1) == done.inputs["input"].shape
    assert ["input float[1, 6, 6, 1]", "shifts int32[1, 3]"] == [str(a) for a in record.inputs]
    assert ({}, 0) == (done.params, done.workspace)
    assert done.traffic == record.traffic
    assert sum(launch.io_bytes for launch in done.launches) == record.io_bytes


def test_memories_are_there_without_a_launch():
    """A refused call used nothing; its record still says what there was."""
    record = record_of(run_case(TIN, find_case(TIN, "refused_data_rank_3"), board="MLU590-H8"))

    assert {"NRAM": 393216, "WRAM": 524288, "SRAM": 1966080} == {
        s: u.capacity for s, u in record.memory.items()
    }
    assert {0} == {usage.high_water for usage in record.memory.values()}
    assert record.clean


def test_a_fault_becomes_a_record():
    """Every fact of a fault is kept."""
    fault = OutOfBounds("4 bytes too far", intrinsic="__memcpy", operand="src", task=3, file="k.py", line=7)
    record = record_of_fault(fault, "op", "case", "mlu370", "MLUOP_STATUS_SUCCESS")

    assert ("MLU370-X4", False) == (record.board, record.clean)
    assert {"type": "OutOfBounds", "operand": "src", "task": 3, "line": 7}.items() <= record.fault.items()
    assert str(fault) == record.message


def test_a_finding_keeps_all_it_says():
    """A finding of the house has its own form; anything else is a sentence."""
    ours = finding_facts(Finding("rule", "odd", file="k.py", line=3, task=1, hint="mend it", level="note"))

    assert {
        "id": "rule",
        "message": "odd",
        "file": "k.py",
        "line": 3,
        "task": 1,
        "hint": "mend it",
    }.items() <= ours.items()
    assert "note" == ours["level"]
    assert {
        "id": None, "message": "odd", "file": None, "line": None, "task": None, "hint": None, "level": "error",
    } == finding_facts("odd")  # fmt: skip


@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (2, 2, 2, 2, 2)], ids=str)
def test_inputs_without_the_dimensions_reach_the_host_s_checks(shape):
    """An operator whose outputs cannot even be shaped is refused by its host interface."""
    operator = find_operator("three_interpolate_backward")
    arrays = {
        "grad_output": np.zeros(shape, np.float32),
        "indices": np.zeros((1, 2, 3), np.int32),
        "weights": np.zeros((1, 2, 3), np.float32),
    }

    assert "MLUOP_STATUS_BAD_PARAM" == attempt(operator, arrays, {"m": 4}).status.name
    with pytest.raises(StatusError, match="grad_output_desc"):
        run(operator, arrays, {"m": 4})
