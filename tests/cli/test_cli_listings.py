"""``mlusim``, ``boards``, ``isa`` and ``ops``: what they list, for people and as JSON."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

import mlusim
from mlusim.arch.board import numeric_fields
from mlusim.arch.catalog import BOARDS
from mlusim.bang import float32, kernel
from mlusim.cli.help import GROUPS, OWN, grouped
from mlusim.cli.verbs import VERBS, VerbParser, options_of, verb_named
from mlusim.isa.table import ISA
from mlusim.machine.device import Device
from mlusim.operators.registry import operators

VERB_NAMES = [verb.name for verb in VERBS]
FIRST = str(Path(__file__).parents[2] / "examples" / "first" / "gelu.mlu")


def test_version_names_the_program_and_its_version(cli):
    """``--version`` names the program and its version."""
    done = cli("--version")

    assert (0, f"mlusim {mlusim.__version__}\n", "") == (done.code, done.out, done.err)


def test_no_verb_shows_the_help(cli):
    """Without a verb the help lists every verb but those in whose place another is typed."""
    done = cli()

    assert done.code == 0
    assert [verb.name for verb in VERBS if verb.instead] == [
        name for name in VERB_NAMES if not re.search(rf"^ +{name} ", done.out, re.MULTILINE)
    ]


@pytest.mark.parametrize("verb", VERB_NAMES)
def test_the_help_of_a_verb_fits_a_screen_and_names_every_option(cli, verb, monkeypatch):
    """In 80 columns: an example, what the verb takes, its options by the groups of all verbs; `--help-all` explains each."""
    monkeypatch.setenv("COLUMNS", "80")
    short, full = cli(verb, "--help"), cli(verb, "--help-all")
    names = [option for option in options_of(verb_named(verb)) if option not in ("--output", "--verbose")]

    assert (0, "", 0, "") == (short.code, short.err, full.code, full.err)
    assert len(short.out.splitlines()) <= 48
    assert re.search(
        rf"(example|in its place).*mlusim ({verb}|{verb_named(verb).instead or verb})", short.out, re.DOTALL
    )
    assert [] == [name for name in names if not re.search(rf"(?<![\w-]){name}\b", short.out)]
    assert [] == [name for name in names if not re.search(rf"^  {name}[ ,\n]", full.out, re.MULTILINE)]


def test_every_verb_has_the_same_groups_in_the_same_order(cli):
    """And in each the options that two verbs share stand in one order."""
    seen = []
    for verb in VERB_NAMES:
        parser = VerbParser(prog=verb)
        verb_named(verb).add_arguments(parser)
        seen.append({title: [a.option_strings[0] for a in group] for title, group in grouped(parser).items()})
    places = {option: (title, at) for title, group in GROUPS.items() for at, option in enumerate(group)}

    assert [] == [groups for groups in seen if list(groups) != [title for title in GROUPS if title in groups]]
    for groups in seen:
        ranked = [places[option] for title, group in groups.items() if title != OWN for option in group]
        assert ranked == sorted(ranked, key=lambda place: (list(GROUPS).index(place[0]), place[1]))
    assert set(places) <= {option for groups in seen for group in groups.values() for option in group}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            ["run", "--rference", "a:b", "tin_shift_forward"],
            "mlusim run takes no --rference; did you mean --reference?",
        ),
        (["run", "tin_shift_forward", "--cse=x"], "mlusim run takes no --cse; did you mean --case?"),
        (["report", "tin_shift_forward", "--notes"], "mlusim report takes no --notes; `mlusim check` does"),
        (
            ["isa", "--kernel", "k"],
            "mlusim isa takes no --kernel; `mlusim run`, `mlusim check` and `mlusim debug` do",
        ),
        (["profile", FIRST, "--corpus", "d"], "mlusim profile takes no --corpus; `mlusim fuzz` does"),
        (["run", FIRST, "--rference", "a:b"], "mlusim run takes no --rference; did you mean --reference?"),
        (
            ["run", "--frobnicate", "tin_shift_forward"],
            "mlusim run takes no '--frobnicate'; see `mlusim run --help`",
        ),
    ],
)
def test_an_option_that_a_verb_does_not_take_is_told(cli, typed, said):
    """Which verbs take it, or what it may be meant to be; before a program, and behind one that has no words."""
    done = cli(*typed)

    assert (2, f"error: {said}\n") == (done.code, done.err)


def test_boards_lists_every_board_in_80_columns(cli):
    """The table has a line for each board and fits a terminal."""
    done = cli("boards")
    lines = done.out.splitlines()

    assert (0, "") == (done.code, done.err)
    assert all(any(line.startswith(f"{name} ") for line in lines) for name in BOARDS)
    assert max(map(len, lines)) <= 80


def test_one_board_names_the_source_of_each_number(cli):
    """The page of a board has every number of the board and its architecture, with its source."""
    done = cli("boards", "mlu370-x4")
    board = BOARDS["MLU370-X4"]

    assert done.code == 0
    for spec in (board, board.arch):
        for name in numeric_fields(type(spec)):
            assert re.search(rf"^{name} .*{spec.sources[name].split()[0]}", done.out, re.MULTILINE)


def test_boards_json(cli):
    """The document has every board, with numbers, derived numbers and sources."""
    document = cli("boards", "--json").json()
    found = {board["name"]: board for board in document["boards"]}

    assert list(BOARDS) == list(found)
    assert list(mlusim.DEFAULT_BOARDS) == document["defaults"]
    assert found["MLU590-H8"] == cli("boards", "MLU590-H8", "--json").json()
    assert found["MLU370-X4"]["arch"]["nram"] == 786432
    assert found["MLU370-X4"]["max_nram"] == 655360
    assert found["MLU370-X4"]["sources"]["clusters"] == "driver table"


def test_isa_lists_every_intrinsic(cli):
    """The table has a line for each row and fits a terminal."""
    done = cli("isa")
    lines = done.out.splitlines()

    assert done.code == 0
    assert all(any(line.startswith(f"{row.spelling} ") for line in lines) for row in ISA.values())
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", ["bang_add", "__bang_add"])
def test_one_intrinsic_with_or_without_underscores(cli, name):
    """Either spelling shows signature, extents, pipe, cost, certainty."""
    done = cli("isa", name)

    assert done.code == 0
    for words in ("__bang_add(T* dst, T* src0, T* src1, int elem_count)", "elem_count", "vector", "certain"):
        assert words in done.out


@kernel
def _again(mlu, name, count, times):
    """The same instruction several times, on the vector unit alone."""
    src, dst = mlu.nram(float32, count), mlu.nram(float32, count)
    mlu.bang_write_zero(src, count)
    for _ in range(times):
        getattr(mlu, name)(dst, src, count)


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("name", ["bang_abs", "bang_argmax", "bang_recip", "bang_active_gelu"])
def test_cycles_of_an_intrinsic_are_those_that_launches_take(cli, name, board):
    """A call and a line, on a board of each generation that has the row."""
    device = Device(board)

    def cycles(lines):
        few, many = (device.launch(_again, args=(name, 32 * lines, times)).time_us for times in (8, 24))
        return (many - few) / 16 * device.board.clock_mhz

    (told,) = cli("isa", name, "--json").json()["cycles"]
    a_line = (cycles(300) - cycles(100)) / 200

    assert told["line"] == pytest.approx(a_line)
    assert told["call"] == pytest.approx(cycles(100) - 100 * a_line)
    assert (
        f"{told['call']:g} a call (inferred) and {told['line']:g} a line of 128 bytes" in cli("isa", name).out
    )


def test_transpositions_take_other_cycles_on_other_boards(cli):
    """By the element, with the boards of each number."""
    found = cli("isa", "bang_transpose", "--json").json()["cycles"]

    assert {"MLU2xx": 1.0, "MLU3xx, MLU5xx": 0.03125} == {one["on"]: one["element"] for one in found}


def test_the_words_about_an_intrinsic_fill_the_terminal(cli):
    """A line ends where the terminal does, not where one of the source ends as well."""
    words = cli("isa", "__memcpy").out.partition("1-D:")[2].partition("\n\n")[0]
    lines = words.splitlines()

    assert 4 < len(lines)
    assert all(80 < len(f"{line} {after.split()[0]}") for line, after in pairwise(lines[1:]))


def test_every_intrinsic_can_be_shown(cli):
    """No row breaks its page."""
    for name in ISA:
        assert cli("isa", name).code == 0


def test_isa_coverage_lists_the_vendor_s_names(cli):
    """All of them, or those that contain a word; for people and as JSON."""
    every = cli("isa", "--coverage")
    names = cli("isa", "--coverage", "--json").json()["names"]
    some = cli("isa", "--coverage", "mluop_gather", "--json").json()["names"]

    assert 0 == every.code
    assert "176 names that kernels use" in " ".join(every.out.split())
    assert 176 == sum(name["used"] for name in names)
    assert ["mluop_gather", "mluop_gather_async"] == [name["name"] for name in some]
    assert all(name["helper"] and name["certainty"] is None for name in some)
    assert {"spelling": "__bang_add", "name": "bang_add", "helper": False, "used": True, "uses": 223} == {
        key: value
        for key, value in next(n for n in names if n["name"] == "bang_add").items()
        if key not in ("certainty", "test")
    }


def test_isa_coverage_of_no_name_is_refused(cli):
    """The sentence says what to do."""
    done = cli("isa", "--coverage", "nowhere")

    assert 0 != done.code
    assert "none of the vendor's names contains 'nowhere'" in done.err


def test_isa_json(cli):
    """The document has every row with its operands, rules and architectures."""
    rows = {row["name"]: row for row in cli("isa", "--json").json()["intrinsics"]}
    add = rows["bang_add"]

    assert list(ISA) == list(rows)
    assert add == cli("isa", "__bang_add", "--json").json()
    assert [("dst", "write"), ("src0", "read"), ("src1", "read")] == [
        (o["name"], o["access"]) for o in add["operands"]
    ]
    assert ("elem_count", ["NRAM"]) == (add["operands"][0]["extent"], add["operands"][0]["spaces"])
    assert "mtp_372" in add["architectures"]


def test_ops_lists_every_operator(cli):
    """The table names each operator and counts its cases."""
    done = cli("ops")

    assert done.code == 0
    for operator in operators().values():
        assert re.search(rf"^{operator.name} +{len(operator.cases)} ", done.out, re.MULTILINE)


@pytest.mark.parametrize("name", operators())
def test_one_operator(cli, name):
    """The page of an operator has its arguments, limits and cases; the document too."""
    done, document = cli("ops", name), cli("ops", name, "--json").json()
    operator = operators()[name]

    assert done.code == 0
    assert [c.name for c in operator.cases] == [c["name"] for c in document["cases"]]
    assert [p.name for p in operator.params] == [p["name"] for p in document["params"]]
    assert [t.name for t in operator.inputs] == [t["name"] for t in document["inputs"]]
    assert all(case.name in done.out for case in operator.cases)


def test_ops_json(cli):
    """The document of all operators holds those of each."""
    document = cli("ops", "--json").json()

    assert list(operators()) == [operator["name"] for operator in document["operators"]]


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("memcpy", ("GDRAM2NRAM", "IO-DMA", "SRAM2SRAM", "move-DMA", "1-D 2-D 3-D")),
        ("taskid", ("taskId", "mlu.taskId", "built-in variable")),
        ("shared", ("mlu.shared(dtype, count)", "__mlu_shared__ T name[count];")),
        ("__MLU_shared__", ("mlu.shared(dtype, count)",)),
        ("nram2gdram", ("NRAM2GDRAM", "from NRAM to GDRAM, on the IO-DMA pipe", "__memcpy_async")),
        ("Cycle_a", ("__bang_cycle_add", "with 'Cycle_a' in their names")),
        ("MLUOP_GATHER", ("mluop_gather(mlu, dst",)),
        ("iota", ("there is no intrinsic 'iota'; `mlusim isa` lists them all",)),
        ("trasnpose", ("did you mean bang_transpose?",)),
    ],
)
def test_isa_answers_parts_of_names_and_words_of_kernels(cli, word, told):
    """By a part of a name in any case: intrinsics, helpers, variables, memories, directions; noise is not guessed."""
    done = cli("isa", word)

    assert all(text in done.out + done.err for text in told), done.out + done.err


def test_isa_json_of_words_and_parts(cli):
    """A word is a document, a part a list, a copy has its directions."""
    found = cli("isa", "gdram2", "--json").json()["found"]

    assert "copy direction" == cli("isa", "GDRAM2NRAM", "--json").json()["kind"]
    assert "GDRAM2NRAM" in {one["name"] for one in found}
    assert {"name": "NRAM2NRAM", "number": 8, "pipe": "move-DMA", "forms": ["1-D", "2-D", "3-D"]} in cli(
        "isa", "memcpy", "--json"
    ).json()["directions"]
