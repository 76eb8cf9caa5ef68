"""What host functions log: off by default, sizes, element types, layouts, policy and launch dimensions."""

import logging

from mlusim.operators.campaign import Job, perform


def test_a_call_logs_what_it_is_given_and_launches(caplog):
    """Every descriptor of the call, the policy, and the dimensions of the launch."""
    with caplog.at_level(logging.DEBUG, "mlusim.host"):
        perform(Job("tin_shift_forward", "golden_document", "MLU370-X4"))
    told = "\n".join(caplog.messages)

    assert "policy usual on MLU370-X4" in told
    assert "shifts_desc: shape [1, 3], int32, layout ARRAY" in told
    assert "launch MLUUnion1TinShift<<<(" in told


def test_zero_elements_are_logged(caplog):
    """The status, and the sentence that says which tensor is empty."""
    with caplog.at_level(logging.DEBUG, "mlusim.host"):
        perform(Job("three_interpolate_backward", "case_12", "MLU370-X4"))

    assert any("returns MLUOP_STATUS_BAD_PARAM" in message for message in caplog.messages)


def test_nothing_is_logged_by_default(caplog):
    """No record comes where no level was asked for."""
    perform(Job("tin_shift_forward", "golden_document", "MLU370-X4"))

    assert not caplog.records
