"""Tutorials and how-tos exist in English and in Chinese, side by side, and say the same as far as a test can read."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
ENGLISH = [
    page
    for page in [DOCS / "index.md", *sorted(DOCS.glob("tutorial/*.md")), *sorted(DOCS.glob("how-to/*.md"))]
    if not page.name.endswith(".zh.md")
]


def _links(page):
    """The targets of the links of *page*, with those of pages in Chinese told as the English ones."""
    targets = re.findall(r"\]\(([^)]+)\)", FENCE.sub("", page.read_text()))
    return sorted(re.sub(r"\.zh\.md", ".md", target) for target in targets)


def _prose(page):
    """The lines outside of blocks of code."""
    return FENCE.sub("", page.read_text()).splitlines()


def _both(page, found):
    """What *found* finds on *page*, and what it finds on its counterpart."""
    return found(page), found(page.with_suffix(".zh.md"))


@pytest.mark.parametrize("page", ENGLISH, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_both_languages_say_the_same(page):
    """The same blocks, levels of headings, rows of tables, links and words of code; each page leads to the other."""
    chinese = page.with_suffix(".zh.md")

    assert f"[中文]({chinese.name})" == _prose(page)[2]
    assert f"[English]({page.name})" == _prose(chinese)[2]
    for found in (
        lambda p: [match[0] for match in FENCE.finditer(p.read_text())],
        lambda p: [line.split()[0] for line in _prose(p) if line.startswith("#")],
        lambda p: [line.count("|") for line in _prose(p) if line.startswith("|")],
        _links,
        lambda p: sorted({" ".join(word.split()) for word in re.findall("`([^`]+)`", "\n".join(_prose(p)))}),
    ):
        expected, actual = _both(page, found)

        assert expected == actual


@pytest.mark.parametrize("page", ENGLISH, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_in_chinese_is_set_in_chinese(page):
    """Links stay in the language where they can, a line is a sentence, and its marks are those of Chinese."""
    chinese = page.with_suffix(".zh.md")
    lines = _prose(chinese)
    links = re.findall(r"\]\(([^):#]+\.md)", "\n".join(lines[3:]))

    assert [] == [
        link
        for link in links
        if ".zh." not in link and (chinese.parent / link).with_suffix(".zh.md").exists()
    ]
    assert [] == [line for line in lines if re.search("。.*[^。）]。", line) and not line.startswith("|")]
    assert [] == [line for line in lines if re.search("[\u4e00-\u9fff][,;:?!.](?:$|[^\\w/])", line)]
