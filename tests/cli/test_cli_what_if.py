"""``mlusim what-if``: a table of all boards, and the same as JSON."""

import numpy as np

from mlusim.arch.catalog import BOARDS

TIN = ("what-if", "tin_shift_forward", "--case", "golden_document")


def test_a_table_of_all_boards(cli):
    """Every board has a line of at most 80 columns, and each reason is told once for all that share it."""
    done = cli(*TIN)
    lines = done.out.splitlines()

    assert (0, "") == (done.code, done.err)
    assert max(map(len, lines)) <= 80
    assert all(any(line.startswith(f"{board} ") for line in lines) for board in BOARDS)
    assert next(line for line in lines if line.startswith("MLU370-X4 ")).split()[-1] == "recorded"
    assert 1 == " ".join(done.out.split()).count("the board is tp_322; the architectures supported")
    assert "re-timed: the work is that of MLU370-X4: same architecture, same launches" in " ".join(
        done.out.split()
    )


def test_json_has_a_row_for_each_board(cli):
    """The same numbers as a run there, how they came about, and the sentence where it fails."""
    document = cli(*TIN, "--json").json()
    rows = {row["board"]: row for row in document["rows"]}
    there = cli(
        "run", "tin_shift_forward", "--case", "golden_document", "--board", "MLU370-X8", "--json"
    ).json()
    keys = {
        "board", "arch", "how", "why", "failure", "time_us", "speed_up", "io_efficiency", "compute_efficiency",
        "bottleneck", "grade", "launches", "time_band", "bandwidth_share", "compute_share", "engines",
    }  # fmt: skip

    assert ("tin_shift_forward", "golden_document", "MLU370-X4") == (
        document["operator"],
        document["case"],
        document["base"],
    )
    assert set(BOARDS) == rows.keys()
    assert all(keys == row.keys() for row in rows.values())
    assert ("re-timed", there["efficiency"]["hardware_time_us"], there["efficiency"]["io_efficiency"]) == (
        rows["MLU370-X8"]["how"],
        rows["MLU370-X8"]["time_us"],
        rows["MLU370-X8"]["io_efficiency"],
    )
    assert ("fails", None) == (rows["CE3226-D2D"]["how"], rows["CE3226-D2D"]["speed_up"])
    assert "CE3226-D2D is tp_322; the architectures supported are" in rows["CE3226-D2D"]["failure"]


def test_boards_and_base_are_chosen(cli):
    """The base comes first, whether or not it is among the boards."""
    document = cli(*TIN, "--board", "mlu590-m9", "--from", "MLU590-H8", "--json").json()

    assert ["MLU590-H8", "MLU590-M9"] == [row["board"] for row in document["rows"]]
    assert ["recorded", "re-timed"] == [row["how"] for row in document["rows"]]


def test_own_arrays(cli, tmp_path):
    """Arrays and parameters as ``run`` takes them."""
    file = tmp_path / "in.npz"
    np.savez(file, input=np.ones((1, 2, 2, 3), np.float32), shifts=np.zeros((1, 1), np.int32))
    done = cli("what-if", "tin_shift_forward", "--inputs", file, "--board", "MLU370-X8", "--json")

    assert (0, None) == (done.code, done.json()["case"])
    assert [True, True] == [row["time_us"] > 0 for row in done.json()["rows"]]


def test_what_works_nowhere_is_said_by_the_exit_code(cli, samples):
    """A case that faults on every board: code 1, and every row has the sentence."""
    done = cli("what-if", "faulty", "--case", "small", "--board", "MLU370-X4", "MLU590-H8", "--json")
    partly = cli("what-if", "faulty", "--case", "fine", "--board", "MLU590-H8")

    assert (1, 0) == (done.code, partly.code)
    assert ["__memcpy: ", "__memcpy: "] == [row["failure"][:10] for row in done.json()["rows"]]
    assert 1 == cli("what-if", "faulty", "--case", "small", "--board", "MLU590-H8").code


def test_one_call_has_to_be_named(cli):
    """Neither, both, or parameters without arrays are usage."""
    for words in ((), ("--case", "golden_document", "--inputs", "x.npz"), ("--case", "x", "--set", "m=1")):
        assert 2 == cli("what-if", "tin_shift_forward", *words).code
    assert 2 == cli("what-if", "tin_shift_forward", "--case", "no_such").code
    assert "did you mean what-if?" in cli("whatif", "tin_shift_forward").err


REPORT = ("report", "tin_shift_forward", "--case", "golden_document", "--board", "MLU590-H8", "--jobs", 1)


def test_a_report_has_it_on_request(cli, tmp_path):
    """In the terminal, in JSON and in Markdown with --what-if, in the page always; from the report's first board on."""
    study = cli(*REPORT, "--what-if", "--json").json()["what_if"][0]
    alone = cli(*TIN, "--from", "MLU590-H8", "--json").json()
    page = cli(*REPORT, "--format", "html").out

    assert alone == study
    assert "what_if" not in cli(*REPORT, "--json").json()
    assert "MLU590-M9DG  mtp_592" in cli(*REPORT, "--what-if").out
    assert "MLU590-M9DG" not in cli(*REPORT).out
    assert (
        "### What if: tin_shift_forward golden_document, recorded on MLU590-H8"
        in cli(*REPORT, "--what-if", "--format", "md").out
    )
    assert "What if it were another board" in page
    assert all(board in page for board in BOARDS)
