"""The pages of the instruction set, which the site has and the repository does not, say what the table says."""

import re
from pathlib import Path

from manual.isa_pages import families, isa_pages
from mlusim.formula.render import to_python
from mlusim.isa.prototypes import forms
from mlusim.isa.table import FAMILIES, ISA

ROOT = Path(__file__).parents[2]


def test_every_row_has_its_section_and_is_linked():
    """The table of families leads to a heading for each intrinsic."""
    pages = isa_pages()
    links = re.findall(r"\[\w+\]\(isa/(\w+\.md)#(\w+)\)", families("isa"))

    assert len(ISA) == len(links)
    assert pages.keys() - {page for page, _ in links} == {"coverage.md"}
    assert not (ROOT / "docs" / "reference" / "isa").exists()
    for page, anchor in links:
        assert f"\n## `{anchor}`\n" in pages[page]


def test_the_page_of_engines_counts_the_rows_that_python_executes():
    """As many as there are sections that say so."""
    text = "\n".join(isa_pages().values())
    page = (ROOT / "docs" / "explanation" / "engines.md").read_text(encoding="utf-8")

    assert f"{text.count('native engine: Python')} of {len(ISA)} rows" in page


def test_a_section_says_everything_that_the_row_says():
    """Prototypes beside calls, formula, extents, rules, architectures, certainty and source."""
    pages = isa_pages()
    for family in FAMILIES:
        sections = dict(re.findall(r"## `(\w+)`\n(.*?)(?=\n## |\Z)", pages[f"{family.name}.md"], re.DOTALL))
        for row in family.rows:
            section = sections[row.spelling]

            for form in forms(row):
                assert f"| `{form.generic()}` | `" in section
            assert f"mlu.{row.name}(" in section
            for operand in row.operands.values():
                assert re.search(rf"\| {operand.name} \| (read|written)", section)
                assert to_python(operand.extent) in section
            for rule in row.rules:
                assert rule.legal in section
            assert f"source: {row.source}" in section
            assert ("mtp_592" in section) == row.available(592)
            assert ("none of the catalogue" in section) == (row.since > 592)
            if row.approximation is not None:
                assert f"average relative error {row.approximation.error:g}" in section
            assert ("mtp_372" in section) == row.available(372)
