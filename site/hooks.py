"""What the site has besides docs/: both READMEs, the pages of the Python interface from docstrings, and two languages.

A page in Chinese lies beside its English one and ends in `.zh.md`: decision 0022.
"""

import logging
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
API = {
    "device": ("Devices and launches", ["mlusim.machine.device.Device", "mlusim.machine.device.DeviceTensor", "mlusim.machine.launch.Launch", "mlusim.machine.kernel"]),
    "mlu": ("Inside a kernel", ["mlusim.machine.mlu.Mlu", "mlusim.memory.pointer.Ptr", "mlusim.memory.space.Direction", "mlusim.arch.dtypes"]),
    "profile": ("Profiles", ["mlusim.report.profiled", "mlusim.time.profile.Profile", "mlusim.time.lines.Line"]),
    "observers": ("Observers and findings", ["mlusim.machine.hub.Observer", "mlusim.observe.finding.Finding"]),
    "plans": ("NRAM plans", ["mlusim.plan.plan.Plan", "mlusim.plan.declare", "mlusim.plan.layout.Layout"]),
    "operators": ("Operators", ["mlusim.operators.spec", "mlusim.operators.runner.Run", "mlusim.host.handle.Handle"]),
    "bangc": ("BANG C sources", ["mlusim.frontend.bangc.module.Module"]),
    "boards": ("Boards", ["mlusim.arch.board"]),
    "errors": ("Errors", ["mlusim.errors"]),
}  # fmt: skip
FIRST = ("index.md", "your-project.md")
"""Pages that come before the others of their folder."""
CHINESE = "中文"
TITLES = {"Home": "首页", "Tutorials": "教程", "How-to": "操作指南"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give folders named in the navigation their pages, in the order of their names, and add the pages in Chinese."""
    logging.getLogger("jieba").setLevel(logging.WARNING)
    config.nav = [_filled(entry) for entry in config.nav or []]
    config.nav.append({CHINESE: [_chinese(entry) for entry in config.nav if _chinese(entry)]})
    return config


def _filled(entry: object) -> object:
    if isinstance(entry, dict):
        return {title: _filled(below) for title, below in entry.items()}
    if isinstance(entry, list):
        return [_filled(below) for below in entry]
    if isinstance(entry, str) and entry.endswith("/"):
        if entry == "reference/api/":
            return [f"{entry}{name}.md" for name in API]
        folder = ROOT / "docs" / entry
        pages = sorted(folder.glob("*.md"), key=lambda page: (page.name not in FIRST, page.name))
        return [f"{entry}{page.name}" for page in pages if not page.name.endswith(".zh.md")]
    return entry


def _chinese(entry: object) -> Any:
    """What *entry* of the navigation is in Chinese; nothing where no page below it is."""
    if isinstance(entry, dict):
        return {
            TITLES.get(title, title): _chinese(below) for title, below in entry.items() if _chinese(below)
        }
    if isinstance(entry, list):
        return [_chinese(below) for below in entry if _chinese(below)]
    page = _other(str(entry))
    there = ROOT / "README.zh.md" if page == "readme.zh.md" else ROOT / "docs" / page
    return page if there.exists() else None


def _other(page: str) -> str:
    """The name of *page* in the other language."""
    return f"{page[:-6]}.md" if page.endswith(".zh.md") else f"{page[:-3]}.zh.md"


def on_page_context(
    context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation
) -> dict[str, Any]:
    """Give a page the words of the theme, the navigation and the language switch that its language has."""
    name = page.file.src_uri
    urls = {each.file.src_uri: each.url for each in nav.pages}
    chinese = name.endswith(".zh.md")
    other = urls.get(_other(name), urls["index.md" if chinese else "index.zh.md"])
    config.theme["language"] = "zh" if chinese else "en"
    config.extra["alternate"] = [
        {"name": "English", "lang": "en", "link": other if chinese else page.url},
        {"name": CHINESE, "lang": "zh", "link": page.url if chinese else other},
    ]
    (translated,) = [item for item in nav.items if item.title == CHINESE]
    items = [item for item in nav.items if item is not translated]
    if chinese:  # what there is in English only follows
        only = [item for item in items if item.is_section and item.title not in TITLES]
        items = [*translated.children, *only]
    context["nav"] = Navigation(items, nav.pages)
    if chinese:
        context["nav"].homepage = next(each for each in nav.pages if each.file.src_uri == "index.zh.md")
    return context


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Join the lines of Chinese: the source has a sentence a line, and a line's end would be shown as a space."""
    chinese = page.file.src_uri.endswith(".zh.md")
    return re.sub("([\u3001-\u3011\uff00-\uffef])\n *", r"\1", html) if chinese else html


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file of docs/ holds."""
    for name in ("README.md", "README.zh.md"):
        text = (
            (ROOT / name)
            .read_text(encoding="utf-8")
            .replace("](docs/", "](")
            .replace("](README.", "](readme.")
        )
        files.append(File.generated(config, name.lower(), content=text))
    for name, (title, objects) in API.items():
        text = "\n\n".join([f"# {title}", *(f"::: {one}" for one in objects)])
        files.append(File.generated(config, f"reference/api/{name}.md", content=f"{text}\n"))
    return files
