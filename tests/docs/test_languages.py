"""Tutorials and how-tos exist in English and in Chinese, side by side, and say the same as far as a test can read."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
ENGLISH = [
    page
    for page in [
        DOCS / "index.md",
        DOCS / "explanation" / "triton.md",
        *sorted(DOCS.glob("tutorial/*.md")),
        *sorted(DOCS.glob("how-to/*.md")),
    ]
    if not page.name.endswith(".zh.md")
]


def _links(page):
    """The targets of the links of *page*, with those of pages in Chinese told as the English ones."""
    targets = re.findall(r"\]\(([^)]+)\)", FENCE.sub("", page.read_text()))
    return sorted(re.sub(r"\.zh\.md", ".md", target) for target in targets)


def _prose(page):
    """The lines outside of blocks of code."""
    return FENCE.sub("", page.read_text()).splitlines()


def _words(page):
    """The words of code in prose and tables."""
    return sorted({" ".join(word.split()) for word in re.findall("`([^`]+)`", "\n".join(_prose(page)))})


def _blocks(page):
    """The blocks of code, with what commands print."""
    return [match[0] for match in FENCE.finditer(page.read_text())]


def _headings(page):
    """The levels of the headings."""
    return [line.split()[0] for line in _prose(page) if line.startswith("#")]


def _rows(page):
    """The number of cells of each row of the tables."""
    return [line.count("|") for line in _prose(page) if line.startswith("|")]


@pytest.mark.parametrize("page", ENGLISH, ids=lambda page: page.relative_to(DOCS).as_posix())
@pytest.mark.parametrize("found", [_blocks, _headings, _rows, _links, _words])
def test_both_languages_say_the_same(page, found):
    """The same blocks, levels of headings, rows of tables, links and words of code."""
    assert found(page) == found(page.with_suffix(".zh.md"))


def test_both_readmes_say_the_same():
    """The READMEs, too; comments beside commands are in the language of the page."""
    english, chinese = DOCS.parent / "README.md", DOCS.parent / "README.zh.md"

    assert [re.sub(" +# .*", "", block) for block in _blocks(english)] == [
        re.sub(" +# .*", "", block) for block in _blocks(chinese)
    ]
    for found in (_headings, _rows, _links, _words):
        assert found(english) == found(chinese)


@pytest.mark.parametrize("page", ENGLISH, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_each_page_leads_to_the_other(page):
    """The line below the title is the link."""
    chinese = page.with_suffix(".zh.md")

    assert f"[中文]({chinese.name})" == _prose(page)[2]
    assert f"[English]({page.name})" == _prose(chinese)[2]


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


def _glossary():
    """The rows of the glossary: the English word, the Chinese one, and those that stand for it nowhere."""
    text = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"
    ]
    return [(english, chinese, words.split(", ")) for english, chinese, words in rows[2:]]


def test_pages_in_chinese_use_one_word_for_one_thing():
    """Each word of the glossary is in use, and none of those beside it; kernels of operating systems are called otherwise."""
    pages = [DOCS.parent / "README.zh.md", *sorted(DOCS.rglob("*.zh.md"))]
    prose = {page: "\n".join(_prose(page)).replace("操作系统内核", "") for page in pages}
    every = "\n".join(prose.values())

    assert [] == [
        f"{page.name}: {word}, not {chinese}"
        for page, text in prose.items()
        for _, chinese, words in _glossary()
        for word in words
        if word in text
    ]
    assert {"kernel", "host", "on-chip memory"} <= {english for english, *_ in _glossary()}
    assert [] == [chinese for _, chinese, _ in _glossary() if chinese not in every]
