"""The extension for VS Code: what its manifest, its grammar and its hovers say is so."""

import json
import re
from pathlib import Path

from manual.editor_words import main
from mlusim.cli.dap import NAMES
from mlusim.isa.table import ISA

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"


def read(name):
    """A JSON file of the extension."""
    return json.loads((EXTENSION / name).read_text(encoding="utf-8"))


def test_every_intrinsic_is_highlighted():
    """A pattern of the grammar matches the whole of each spelling."""
    patterns = [p["match"] for p in read("syntaxes/bangc.tmLanguage.json")["patterns"] if "match" in p]
    left = [row.spelling for row in ISA.values() if not any(re.fullmatch(p, row.spelling) for p in patterns)]

    assert [] == left


def test_hovers_have_prototypes(tmp_path):
    """One for each intrinsic, in C, with the text of its row."""
    assert 0 == main([str(tmp_path / "out" / "isa.json")])
    words = json.loads((tmp_path / "out" / "isa.json").read_text(encoding="utf-8"))

    assert set(ISA) == set(words)
    assert words["bang_add"]["prototype"].startswith("void __bang_add(T *dst, const T *src0")
    assert all(word["prototype"] and word["text"] for word in words.values())


def test_the_manifest_knows_the_launch():
    """What a launch takes is declared, and the language's files are there."""
    contributes = read("package.json")["contributes"]
    launch = contributes["debuggers"][0]["configurationAttributes"]["launch"]["properties"]

    assert {"program", "board", "case", "kernel"} <= set(launch) & set(NAMES)
    assert (EXTENSION / contributes["grammars"][0]["path"]).is_file()
    assert (EXTENSION / contributes["languages"][0]["configuration"]).is_file()
