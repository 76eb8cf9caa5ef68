"""Options that verbs share: which verb takes one, and what a verb says that does not."""

import pytest

from mlusim.cli.arguments import shared
from mlusim.cli.verbs import VERBS, Parser, told_option

TAKEN = {}
for verb in VERBS:
    parser = Parser(prog=verb.name)
    verb.add_arguments(parser)
    TAKEN[verb.name] = {option: a for a in parser._actions for option in a.option_strings}
KERNELS = [verb.name for verb in VERBS if verb.name not in shared.WITHOUT_KERNELS]


@pytest.mark.parametrize("option", shared.REASONS)
def test_each_verb_takes_an_option_or_says_why_not(option):
    """One of both; those that run no kernel say so of the options that are about running."""
    verbs = TAKEN if option in shared.OURS else KERNELS

    assert [name for name in verbs if option not in TAKEN[name]] == [
        name for name in verbs if name in shared.REASONS[option]
    ]


def test_an_option_means_the_same_wherever_it_is():
    """The words of the help are those of the table, up to the default of processes."""
    for option, meaning in shared.MEANING.items():
        begin = meaning.partition("{}")[0]
        told = {taken[option].help for taken in TAKEN.values() if option in taken}
        assert all(text.startswith(begin) for text in told), told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("plan", "k.mlu", "--jobs", 2), "plan takes no --jobs: each value that it tries follows from the last"),
        (("debug", "s.py", "--threads=2"), "tasks run in their order; an option of the program itself stands behind --"),
        (("cover", "tin_shift_forward", "-o", "x.html"), "cover takes no -o: --keep F.json writes a record"),
        (("what-if", "tin_shift_forward", "--format", "csv"), "what-if takes no --format: it prints text"),
        (("isa", "bang_add", "--threads", 2), "isa takes no --threads: it runs no kernel"),
    ],
)  # fmt: skip
def test_the_reason_is_said(cli, words, sentence):
    """An option that another verb has is refused with the reason, and what serves instead."""
    done = cli(*words)

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert sentence in done.err


def test_a_plan_goes_where_the_name_or_the_format_says(cli, tmp_path):
    """As the answers of check and report; a name that says nothing needs the format."""
    words = ("plan", "mutual_information_backward", "--set", "S=15,T=104")
    named, said, text = tmp_path / "a.svg", tmp_path / "b", tmp_path / "c"
    done = [
        cli(*words, "-o", named),
        cli(*words, "-o", said, "--format", "svg"),
        cli(*words, "-o", text, "--format", "text"),
    ]
    odd = cli(*words, "-o", said)

    assert [("", 0)] * 3 == [(one.out, one.code) for one in done]
    assert named.read_text() == said.read_text()
    assert "<svg" in said.read_text()
    assert text.read_text().endswith("fits: 635488 bytes to spare\n")
    assert "has the suffix ''; use .json, .svg, .csv, .html, or say with --format" in odd.err


@pytest.mark.parametrize(
    "words",
    [
        ("boards", "MLU370-X4"),
        ("isa", "bang_add"),
        ("run", "tin_shift_forward", "--case", "golden_document"),
        ("what-if", "tin_shift_forward", "--case", "golden_document", "--board", "MLU370-X8"),
    ],
)
def test_a_format_of_json_is_json(cli, words):
    """Also where a verb has no other format."""
    assert (
        cli(*words, "--json").out == cli(*words, "--format", "json").out == cli(*words, "--format=json").out
    )


def test_a_script_has_its_own_format(cli, tmp_path):
    """What stands behind a script is the script's."""
    (tmp_path / "s.py").write_text("import sys\nprint(sys.argv[1:])\n")

    assert "['--format', 'json']\n" == cli("run", tmp_path / "s.py", "--format", "json").out


OF_PROGRAMS = (
    "--kernel --dim --kind --arg -D -I --case --seed --board --engine --threads --reference --expect"
)


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS if "--arg" in TAKEN[verb.name]])
def test_a_verb_of_programs_takes_the_words_of_a_program_or_names_who_does(verb):
    """Each word is taken, or its refusal gives the reason or a verb that takes it."""
    refused = [word for word in OF_PROGRAMS.split() if word not in TAKEN[verb]]
    told = {word: told_option(verb, word) or "" for word in refused}

    assert [] == [
        word
        for word, sentence in told.items()
        if not sentence.startswith(f"mlusim {verb} takes no {word}")
        or not ("`mlusim " in sentence or word in shared.REASONS)
    ]
