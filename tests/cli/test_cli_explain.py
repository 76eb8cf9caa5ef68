"""What explains a call, in every format of ``mlusim report``."""

import csv
import io

TIN = ("report", "tin_shift_forward", "--case", "golden_document", "--board", "MLU370-X4", "--jobs", 1)


def test_explain_adds_a_sentence_for_each_call(cli):
    """The table is there without it, the sentence with it, and all in 80 columns."""
    plain, told = cli(*TIN), cli(*TIN, "--explain")
    sentence = "tin_shift_forward golden_document on MLU370-X4: IO bound at"

    assert (0, 0) == (plain.code, told.code)
    assert "what explains it on MLU370-X4" in plain.out
    assert sentence not in plain.out
    assert sentence in told.out
    assert max(map(len, told.out.splitlines())) <= 80


def test_json_has_the_numbers_behind_the_sentence(cli):
    """Class and rule, bytes by direction, lanes, pipes, cores, waves and memory; figures of each launch."""
    run = cli(*TIN, "--json").json()["runs"][0]
    why = run["explanation"]
    moved = run["traffic"]

    assert "golden" == run["group"]
    assert {"side": "io", "bar": 0.3, "grade": "<30%", "accepted": False} == {
        key: why["acceptance"][key] for key in ("side", "bar", "grade", "accepted")
    }
    assert {name: n / run["efficiency"]["theory_ios"] for name, n in moved.items()} == why["directions"]
    assert run["io_bytes"] / run["efficiency"]["theory_ios"] == why["of_theory"]
    assert set(why["lanes"]) <= set(run["instructions"])
    assert {"scalar", "vector", "tensor", "IO-DMA", "move-DMA"} == why["busy"].keys()
    assert {"NRAM", "SRAM", "WRAM"} == why["memory"].keys()
    assert (32, 1) == (why["cores"], why["waves"])
    assert why["sentence"].startswith("IO bound at ")
    assert run["launches"][0]["figures"]["lanes"]["bang_write_zero"]["paid"] % 128 == 0


def test_csv_and_markdown_have_the_same_numbers(cli):
    """A column each in the file, a row each in the table, the sentence where the rule is missed."""
    why = cli(*TIN, "--json").json()["runs"][0]["explanation"]
    row = next(csv.DictReader(io.StringIO(cli(*TIN, "--format", "csv").out)))
    text = cli(*TIN, "--format", "md").out

    assert (why["acceptance"]["grade"], why["sentence"]) == (row["class"], row["explanation"])
    assert (why["balance"], why["busy"]["vector"]) == (float(row["balance"]), float(row["busy_vector"]))
    assert f"- tin_shift_forward golden_document: {why['sentence']}" in text
    assert "| operator | case | board | class | moved / theory | lanes padded |" in text


def test_one_run_says_why(cli):
    """``run`` lists every reason and the numbers behind it."""
    done = cli("run", "tin_shift_forward", "--case", "golden_document")

    for words in ("class", "because", "pipes busy", "cores", "waves", "vector lanes"):
        assert f"\n{words} " in done.out
