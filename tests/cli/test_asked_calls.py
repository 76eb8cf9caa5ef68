"""What is asked has one form in words and one in JSON, from which it is read back."""

import argparse
import json

from attrs import asdict
from hypothesis import given, settings, strategies as st

from mlusim.cli import programs
from mlusim.cli.arguments import running, shared
from mlusim.cli.options import names_in
from mlusim.document import json_text
from mlusim.files.reading import typed
from mlusim.fuzz.corpus import CALL, Corpus, KeptCall
from mlusim.machine.kernel import KINDS
from mlusim.programs.argument_forms import AskedCall, Criterion

NAMES = st.from_regex(r"[A-Za-z_][a-z0-9_]{0,5}", fullmatch=True)
TEXTS = st.from_regex(r"[a-z0-9:*=,./]{1,9}", fullmatch=True)
SIZES = st.integers(1, 9)
ASKED = st.builds(
    AskedCall,
    st.just(("k.mlu", "more.cpp")),
    kernel=NAMES,
    dim=st.tuples(SIZES, SIZES, SIZES),
    kind=st.sampled_from(KINDS).map(str),
    arguments=st.dictionaries(NAMES, TEXTS, max_size=3),
    board=st.sampled_from(["MLU370-X4", "MLU590-H8"]),
    include=st.lists(TEXTS, max_size=2).map(tuple),
    define=st.dictionaries(NAMES, st.none() | TEXTS, max_size=2),
    checks=st.sampled_from([(), ("racecheck",), ("initcheck", "memcheck")]),
    seed=st.none() | SIZES,
    effects=st.sampled_from(["late", "eager"]),
    engine=st.sampled_from(["auto", "python", "native"]),
    criterion=st.builds(
        Criterion, reference=st.none() | st.just("refs:f"), expect=st.dictionaries(NAMES, TEXTS, max_size=2)
    ),
)


@settings(max_examples=60)
@given(ASKED)
def test_what_is_typed_asks_for_the_same(asked):
    """The words of a call, behind a verb, are read as that call."""
    parser = argparse.ArgumentParser()
    running.run(parser)
    own, named, behind = shared.divide(parser, asked.typed())
    args = parser.parse_args(own)
    args.arguments, args.behind = named, behind
    call = programs.source_program(args, tuple(names_in(args.check)))

    assert asked == call.asked


@given(ASKED)
def test_what_is_written_is_read_back(asked):
    """In a document, as a kept call has it."""
    kept = KeptCall(asked, "", "c")

    assert kept == typed(KeptCall, json.loads(json_text(asdict(kept))))


def test_a_call_that_an_earlier_version_kept_is_read(tmp_path):
    """It has no files in it, and is tried again in a folder of the same name."""
    around = {"kernel": "K", "dim": [4, 1, 1], "kind": "UNION1", "board": "MLU370-X4", "effects": "eager"}
    old = {**around, "schedule": 3, "arguments": {"n": "7"}, "found": "f", "command": "c"}
    (tmp_path / "K").mkdir()
    (tmp_path / "K" / CALL).write_text(json.dumps(old))
    ((_, kept),) = Corpus(tmp_path).calls()
    same = AskedCall(("k.mlu",), "K", None, (4, 1, 1), "UNION1", {"n": "7"}, seed=3, effects="eager")

    assert KeptCall(same, "").facts() == kept.facts()
    assert ("f", "c") == (kept.found, kept.command)
