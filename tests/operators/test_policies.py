"""Policies: what an operator declares is what a caller may choose, and what the host function uses."""

import numpy as np
import pytest

import ops
from mlusim.errors import UsageError
from mlusim.host import Handle
from mlusim.operators.campaign import Job, perform
from mlusim.operators.registry import find_case, find_operator, operators
from mlusim.operators.runner import attempt
from mlusim.operators.spec import Policy, policy_of
from ops.three_interpolate_backward.tiles import document_tiles, shipped_tiles

NAME = "three_interpolate_backward"


@pytest.mark.parametrize("name", operators())
def test_names_of_policies_are_unique_and_explained(name):
    """A caller chooses by name; the first is what is used without a choice."""
    policies = find_operator(name).policies

    assert len(policies) == len({policy.name for policy in policies})
    assert all(policy.meaning for policy in policies)
    if policies:
        assert policies[0] is policy_of(name, policies, None)


@pytest.mark.parametrize(("policy", "rule"), [("document", document_tiles), ("shipped", shipped_tiles)])
@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
def test_the_host_function_uses_the_policy_that_is_named(policy, rule, board):
    """The kernel's plan has the tiles of that rule, and the sums stay those of the reference."""
    rng = np.random.default_rng(0)
    inputs = {
        "grad_output": rng.random((2, 100, 300), np.float32),
        "indices": rng.integers(0, 200, (2, 300, 3)).astype(np.int32),
        "weights": rng.random((2, 300, 3), np.float32),
    }
    run = ops.run(NAME, inputs, {"m": 200}, board=board, reference=True, policy=policy)
    tiles = rule(run.board, "float", B=2, C=100, N=300, M=200)

    assert policy == run.policy
    assert run.passed
    assert {"Co": tiles.Co, "No": tiles.No, "Mo": tiles.Mo}.items() <= dict(run.layouts[0].values).items()


def test_the_usual_policy_is_the_first():
    """A call without a choice is the call with the first policy, but for the name."""
    usual = perform(Job(NAME, "cube_33_float32", "MLU370-X4"))
    first = perform(Job(NAME, "cube_33_float32", "MLU370-X4", policy="document"))
    other = perform(Job(NAME, "cube_33_float32", "MLU370-X4", policy="shipped"))

    assert (None, "document", "shipped") == (usual.policy, first.policy, other.policy)
    assert usual.to_json() | {"policy": "document"} == first.to_json()
    assert first.passed
    assert other.passed


def test_an_unknown_policy_is_refused_by_name():
    """Through the runner and through a handle: the sentence lists what there is."""
    with pytest.raises(UsageError, match="tin_shift_forward has no policy 'document'; it has none"):
        perform(Job("tin_shift_forward", "golden_document", "MLU370-X4", policy="document"))
    with pytest.raises(UsageError, match="no policy 'fast'; its policies are document, shipped"):
        perform(Job(NAME, "case_16", "MLU370-X4", policy="fast"))
    inputs, params = find_case(find_operator(NAME), "case_16").make(np.random.default_rng(0))
    with pytest.raises(UsageError, match="no policy 'fast'; its policies are document, shipped"):
        attempt(NAME, inputs, params, handle=Handle(policy="fast"))


def test_a_policy_is_found_by_name():
    """None is the first of them."""
    policies = (Policy("a", "one", len), Policy("b", "other", max))

    assert policies[0] is policy_of("op", policies, None)
    assert policies[1] is policy_of("op", policies, "b")
