"""``mlusim plan``: its answers, its JSON, its exit codes, its sentences."""

import argparse
import json
import re
from pathlib import Path

import pytest

import ops
from mlusim.cli import plan as verb
from mlusim.cli.arguments import listing
from mlusim.errors import UsageError

MUTUAL = str(Path(ops.__file__).parent / "mutual_information_backward" / "plan.py")
BORDER = str(Path(ops.__file__).parent / "border_align_backward" / "plan.py")
INTERPOLATE = str(Path(ops.__file__).parent / "three_interpolate_backward" / "plan.py")


def run(*words):
    """Run the verb as the command line would; returns its exit code."""
    parser = argparse.ArgumentParser()
    listing.plan(parser)
    return verb.run(parser.parse_args(words))


def facts(capsys):
    """Return the JSON document that was printed, and nothing else was."""
    return json.loads(capsys.readouterr().out)


def test_given_values_give_tables_and_maps(capsys):
    """Given values: the table and the map of every stage, exit 0."""
    assert 0 == run(MUTUAL, "--set", "S=15,T=104")
    shown = capsys.readouterr().out

    assert "stage p_grad: 19872 of 655360 bytes" in shown
    assert "fits: 635488 bytes to spare" in shown


def test_layout_json(capsys):
    """One board gives one document with the agreed names."""
    assert 0 == run(MUTUAL, "--set", "S=15", "--set", "T=104", "--board", "MLU590-H8", "--json")
    shown = facts(capsys)

    assert ("MLU590-H8", True, 393216, 373344) == tuple(
        shown[k] for k in ("board", "fits", "capacity", "slack")
    )
    assert {"name", "dtype", "elements", "offset", "bytes"} <= set(shown["stages"][0]["regions"][0])
    assert ["terms", "p_grad", "gradients"] == [s["name"] for s in shown["stages"]]


def test_a_plan_that_does_not_fit_exits_1(capsys):
    """Several boards give one document each, and one that does not fit decides the exit code."""
    assert 1 == run(MUTUAL, "--set", "S=4,T=7020", "--board", "MLU370-X4", "MLU590-H8", "--json")
    assert [True, False] == [d["fits"] for d in facts(capsys)]


def test_largest_json(capsys):
    """--max: the value, what is used there and at one more, and what binds."""
    assert 0 == run(MUTUAL, "--max", "T", "--set", "S=15", "--json")
    shown = facts(capsys)

    assert ("T", 3484, 655312, 655500) == tuple(
        shown[k] for k in ("variable", "largest", "used_at_largest", "used_at_next")
    )
    assert "stage p_grad" in shown["binding"]


def test_largest_says_that_a_set_value_is_not_used(capsys):
    """A value for the variable that is looked for changes nothing, and a note says so."""
    assert 0 == run(MUTUAL, "--max", "T", "--set", "S=15,T=104", "--json")
    said = capsys.readouterr()

    assert 3484 == json.loads(said.out)["largest"]
    assert "note: --max looks for T; T=104 of --set is not used\n" == said.err


def test_largest_when_nothing_fits(capsys):
    """No legal value: null, and exit 1."""
    assert 1 == run(MUTUAL, "--max", "T", "--set", "S=100000", "--json")
    assert facts(capsys)["largest"] is None


def test_without_values_the_plan_shows_itself(capsys):
    """The drawing, the totals, the findings, and a layout at example values."""
    assert 0 == run(MUTUAL)
    shown = capsys.readouterr().out

    assert "| S*(T+1) | (S+1)*T |" in shown
    assert "plan-empty-region" in shown
    assert "S=15, T=104" in shown


def test_regimes_by_operator_name(capsys):
    """An operator with regimes answers with the one that applies, tiles chosen."""
    assert 0 == run("tin_shift_forward", "--set", "T=15,HW=45435", "--dtype", "half", "--json")
    shown = facts(capsys)

    assert ("tin_shift, frames", 7) == (shown["plan"], shown["values"]["G"])


def test_claims_of_the_document(capsys):
    """--claim alone holds the documents' limits and drawings against the plan; findings exit 1."""
    assert 1 == run(MUTUAL, "--claim", "--board", "MLU370", "MLU590", "--json")
    limits = [d for d in facts(capsys) if "claim" in d]

    assert [11, 22] == [d["counter_examples"] for d in limits]
    assert {"S": 0, "T": 27306, "used": 655364} == limits[0]["too_generous"][0]


def test_claims_of_drawings(capsys):
    """The figure's PAD_UP and the drawing's spare row are shown."""
    assert 1 == run(BORDER, "--claim")
    assert "deal_num=40960: 655488 bytes, 128 too many" in capsys.readouterr().out
    assert 1 == run(INTERPOLATE, "--claim")
    assert "fall on grad_features_transpose" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("claim", "code", "verdict"),
    [
        (
            "T*(S+1)+(T+1)*S+5*(T+1) <= NRAM/4 and 3*S*T+2*S+2*T+3*min(S,T)+5 <= NRAM/4",
            0,
            "the same as the plan",
        ),
        ("T*(S+1)+(T+1)*S+5*(T+1) <= NRAM/4", 1, "too generous"),
        ("(S+1)*(T+1) < 4000", 0, "stricter than the plan"),
    ],
)
def test_a_claim_of_ones_own(capsys, claim, code, verdict):
    """A limit written as text is compared like a document's."""
    assert code == run(MUTUAL, "--claim", claim)
    assert f": {verdict} " in " ".join([*capsys.readouterr().out.split(), ""])


def test_a_stated_tile(capsys):
    """A value written as text is compared with the largest."""
    assert 1 == run(BORDER, "--claim", "deal_num = PAD_UP(NRAM/20, 32)", "--json")
    assert {"deal_num": 32768, "used": 655488} == facts(capsys)["too_generous"][0]


def test_frontier_files(tmp_path, capsys):
    """A frontier goes to CSV, SVG or JSON, whole."""
    for suffix in ("csv", "svg", "json"):
        assert 0 == run(MUTUAL, "--frontier", "S,T", "-o", str(tmp_path / f"f.{suffix}"))
    lines = (tmp_path / "f.csv").read_text().splitlines()

    assert ["S,T,binding", "0,27305,stage terms"] == lines[:2]
    assert 81919 == len(lines)
    assert 81918 == len(json.loads((tmp_path / "f.json").read_text())["xs"])
    assert (tmp_path / "f.svg").read_text().startswith("<svg")
    assert "" == capsys.readouterr().out


def test_ones_own_file(tmp_path, capsys):
    """A Python file with a Plan is asked like an operator."""
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from mlusim.plan import *\n"
        "n = Var('n', low=1)\n"
        "PLAN = Plan('mine', [Stage('all', [Region('x', n, float32), Region('y', n, half)])])\n"
    )

    assert 0 == run(str(mine), "--max", "n", "--json")
    assert 655360 // 6 == facts(capsys)["largest"]


def test_a_frontier_leaves_out_the_regimes_that_have_none(capsys):
    """Only in the first regime do T and HW bound each other; the others are named on standard error."""
    code = run("tin_shift_forward", "--frontier", "T,HW", "--json")
    said = capsys.readouterr()

    assert 0 == code
    assert "tin_shift, whole channel" == json.loads(said.out)["plan"]
    assert ["frames", "pixels"] == re.findall(r"left out: T alone .* in tin_shift, (\w+),", said.err)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["no_such_operator"], "there is no operator"),
        (["missing.py"], "missing.py is not a file"),
        ([MUTUAL, "--board", "MLU999"], "no board is called"),
        ([MUTUAL, "--set", "S=15"], "needs a value for T"),
        ([MUTUAL, "--set", "S=15,Q=3,T=1"], "has no variable 'Q'"),
        ([MUTUAL, "--set", "S=-1,T=1"], "give 0 to"),
        ([MUTUAL, "--set", "S=1,T=1,S=2"], "--set gives S twice"),
        (["border_align_backward", "--frontier", "C,deal_num"], "C alone can take 2147483647 values"),
        (["border_align_backward", "--set", "deal_num=33"], "which is 32 here, such as 32 or 64"),
        ([MUTUAL, "--set", "S"], "write it as NAME=NUMBER"),
        ([MUTUAL, "--set", "S=x"], "write it as NAME=NUMBER"),
        ([MUTUAL, "--max", "Q"], "has no variable 'Q'"),
        ([MUTUAL, "--frontier", "S"], "names 1 variable;"),
        ([MUTUAL, "--frontier", "S,Q"], "has no variable 'Q'"),
        ([MUTUAL, "--dtype", "half"], "its regions are float"),
        ([MUTUAL, "--dtype", "quad"], "not an element type"),
        ([BORDER, "--dtype", "int8"], "holds float or half, not int8"),
        ([MUTUAL, "--claim", "S*T"], "a limit is one comparison"),
        ([MUTUAL, "--claim", "3 <= 4"], "is over 0 variables"),
        ([MUTUAL, "--claim", "Q <= 4"], "it names 'Q'"),
        (["tin_shift_forward", "--claim"], "no document states a limit"),
        ([MUTUAL, "--set", "S=1,T=1", "-o", "x.txt"], "use .json, .svg, .csv, .html"),
        ([MUTUAL, "--set", "S=1,T=1", "-o", "x.csv"], "cannot be written as csv"),
        ([MUTUAL, "--set", "S=1,T=1", "-o", "/no/such/dir/x.json"], "cannot be written"),
        ([MUTUAL, "--frontier", "S,T", "--board", "MLU370", "MLU590", "-o", "x.svg"], "one answer, not 2"),
    ],
)
def test_usage_errors_are_sentences(words, sentence):
    """Whatever the command line gets wrong is one sentence, never a traceback from the inside."""
    with pytest.raises(UsageError, match=sentence):
        run(*words)


def test_a_broken_file_is_named(tmp_path):
    """A file that fails, or holds no plan, says so with its name."""
    broken, empty = tmp_path / "broken.py", tmp_path / "empty.py"
    broken.write_text("1 / 0\n")
    empty.write_text("x = 1\n")

    with pytest.raises(UsageError, match="broken.py fails with ZeroDivisionError"):
        run(str(broken))
    with pytest.raises(UsageError, match="empty.py defines no Plan"):
        run(str(empty))


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("-" * 2000 + "S <= 5", "has 2006 characters; a formula has at most 2000"),
        ("+".join(["S"] * 3000) + " <= 5", "has 6004 characters"),
        ("-" * 300 + "S <= 5", "nested more than 200 deep"),
        ("(" * 900 + "S" + ")" * 900 + " <= 5", "is not a formula"),
        ("S*T*100 // (S - S) <= 5", "the divisor of"),
    ],
)
def test_formulas_that_nothing_can_read_are_a_sentence(cli, claim, says):
    """Thousands of signs, terms and parentheses, and a divisor that reaches 0: refused, in a line that fits a screen."""
    done = cli("plan", "mutual_information_backward", "--claim", claim)

    assert done.code == 2
    assert says in done.err
    assert len(done.err) < 400


def test_a_plan_file_nested_too_deep_is_a_sentence(cli, tmp_path):
    """A sum of thousands of terms, one added to the other."""
    path = tmp_path / "deep.py"
    lines = ["from mlusim.plan import *", "e = n = Var('n')", "for _ in range(3000): e = e + n"]
    path.write_text("\n".join([*lines, "PLAN = Plan('deep', [Stage('s', [Region('r', e, int8)])])"]))
    done = cli("plan", path)

    assert done.code == 2
    assert "nested too deep" in done.err


@pytest.mark.parametrize(
    "verb", [("plan", "mutual_information_backward"), ("report",), ("sweep",), ("demo",)]
)
def test_a_list_of_boards_without_a_board_is_refused(cli, verb):
    """A comma alone is not a board, and does not mean the usual ones."""
    done = cli(*verb, "--board", ",")

    assert done.code == 2
    assert "names no board; give one, such as MLU" in done.err


@pytest.mark.parametrize("suffix", ["", "svg", "csv", "json"])
def test_a_frontier_without_a_point(cli, tmp_path, suffix):
    """Said in words, and as files that are empty but well formed."""
    path = tmp_path / "none.py"
    text = "from mlusim.plan import *\nx, y = Var('x', low=1), Var('y', low=1)\n"
    plan = "PLAN = Plan('none', [Stage('s', [Region('r', x * y, int8)])], requires=[y >= 30], capacity=nbytes(20))"
    path.write_text(text + plan)
    target = tmp_path / f"out.{suffix}"
    done = cli("plan", path, "--frontier", "x,y", *(["-o", target] if suffix else []))

    assert done.code == 1
    assert done.err == "" or suffix
    assert target.is_file() if suffix else "no x leaves room for any y" in done.out
