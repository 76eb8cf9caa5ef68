"""Launch parameters, files and command lines of any kind: they work, or one sentence says why not."""

import contextlib
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mlusim
from mlusim.bang import kernel
from mlusim.cli.files import read_arrays
from mlusim.cli.main import main
from mlusim.errors import MlusimError, UsageError
from mlusim.machine.kernel import KINDS
from mlusim.observe.suppress import suppressions_in
from mlusim.testing.schedules import replay_in

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.lists(st.one_of(st.integers(-2, 9), st.floats(), st.text(max_size=2)), max_size=4),
    st.just(np.zeros(3, np.float32)),
    st.just(np.complex64(1)),
)


@kernel
def nothing(mlu, *arguments):
    del arguments
    mlu.sync()


@pytest.mark.slow
@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(ANYTHING, st.tuples(*[st.integers(-1, 8)] * 3)),
    st.one_of(st.sampled_from(KINDS), ANYTHING),
    st.lists(ANYTHING, max_size=3),
    st.fixed_dictionaries({}, optional={"observe": ANYTHING, "seed": ANYTHING, "effects": ANYTHING}),
)
def test_launches_run_or_are_refused(dim, kind, arguments, options):
    """A grid, a kind, arguments and options of any type."""
    if isinstance(dim, int | np.integer) and not isinstance(dim, bool) and dim > 64:
        dim = 65  # a grid of so many tasks is legal and would only take long
    with contextlib.suppress(MlusimError):
        assert mlusim.Device().launch(nothing, dim, kind, arguments, **options).kernel == "nothing"


@pytest.mark.slow
@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_broken_npz_files_are_refused(tmp_path_factory, data):
    """Flipped, missing and added bytes: arrays come out, or a `UsageError` that names the file."""
    stream = io.BytesIO()
    np.savez(stream, a=np.arange(6.0).reshape(2, 3), b=np.array([1, 2], np.int16))
    raw = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    path = tmp_path_factory.getbasetemp() / "broken.npz"
    path.write_bytes(bytes(raw))

    said, arrays = "", {}
    try:
        arrays = read_arrays(str(path))
    except UsageError as error:
        said = str(error)

    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    assert arrays or not said or "broken.npz" in said


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(
        st.text(max_size=60),
        st.recursive(
            ANYTHING, lambda inner: st.dictionaries(st.text(max_size=9), inner, max_size=4), max_leaves=6
        ).map(str),
    )
)
def test_suppressions_and_replays_are_read_or_refused(text):
    """Texts that are no such file, or half of one."""
    for text_ in (text, f'[[suppress]]\nid = "racecheck-idle-sync"\nplace = "{text}"\nreason = "x"'):
        with contextlib.suppress(UsageError):
            suppressions_in(text_, "s.toml")
    for text_ in (text, f'{{"replay": 1, "operator": "x", "decisions": {text or 0}}}'):
        with contextlib.suppress(UsageError):
            replay_in(text_, "r.json")


WORDS = st.sampled_from(
    [
        *(
            "boards",
            "isa",
            "ops",
            "plan",
            "check",
            "run",
            "debug",
            "report",
            "memcpy",
            "bang_add",
            "MLU370-X4",
        ),
        *("tin_shift_forward", "golden_document", "--case", "--board", "--json", "--set", "--max", "--only"),
        *("--format", "sarif", "-o", "--help", "--seed", "--effects", "--schedules", "--notes", "--inputs"),
        *("S=15,T=104", "m=1", "-1", "0", "1e9", "nope", "", "/", "--", "--no-such", "x.npz", "x.py", "é"),
    ]
)
HEADS = st.sampled_from(
    [
        ("boards",),
        ("isa",),
        ("ops",),
        ("plan", "tin_shift_forward"),
        ("plan", "mutual_information_backward"),
        ("check", "tin_shift_forward", "--case", "golden_document"),
        ("run", "tin_shift_forward", "--case", "golden_document"),
        ("report", "tin_shift_forward", "--board", "nope"),
        ("debug", "tin_shift_forward", "--command", "quit"),
        (),
    ]
)


@pytest.mark.slow
@settings(max_examples=800, deadline=None, suppress_health_check=list(HealthCheck))
@given(HEADS, st.lists(st.one_of(WORDS, st.text(max_size=4)), max_size=4))
def test_command_lines_are_understood_or_refused(tmp_path_factory, head, words):
    """A known exit code; with 2, nothing on standard output and one line on standard error."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(tmp_path_factory.getbasetemp()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main([*head, *words])

    assert code in (0, 1, 2, 3), (head, words, err.getvalue())
    assert "unexpected" not in err.getvalue()
    if code == 2:
        assert ("", 1) == (out.getvalue(), err.getvalue().count("\n"))
