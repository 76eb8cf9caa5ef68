"""What the site has besides docs/: both READMEs, the pages that are made from the code and of the Python interface, and two languages.

A page in Chinese lies beside its English one and ends in `.zh.md`: decision 0022.  A link to a file of the repository outside of
docs/ leads to a copy of it in the site; one to a folder, to a list of its files.
"""

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from manual.isa_pages import families
from manual.made_pages import made_pages

ROOT = Path(__file__).parent.parent
API = {
    "device": ("Devices and launches", ["mlusim.machine.device.Device", "mlusim.machine.device.DeviceTensor", "mlusim.machine.launch.Launch", "mlusim.machine.kernel"]),
    "mlu": ("Inside a kernel", ["mlusim.machine.mlu.Mlu", "mlusim.memory.pointer.Ptr", "mlusim.memory.space.Direction", "mlusim.arch.dtypes"]),
    "profile": ("Profiles", ["mlusim.report.profiled", "mlusim.time.profile.Profile", "mlusim.time.lines.Line"]),
    "observers": ("Observers and findings", ["mlusim.machine.hub.Observer", "mlusim.observe.finding.Finding"]),
    "plans": ("NRAM plans", ["mlusim.plan.plan.Plan", "mlusim.plan.declare", "mlusim.plan.layout.Layout"]),
    "operators": ("Operators", ["mlusim.operators.spec", "mlusim.operators.runner.Run", "mlusim.host.handle.Handle"]),
    "bangc": ("BANG C sources", ["mlusim.bangc.module.Module"]),
    "boards": ("Boards", ["mlusim.arch.board"]),
    "errors": ("Errors", ["mlusim.errors"]),
}  # fmt: skip
ISA = "reference/isa"
MADE = made_pages()
WORKER = "iframe-worker.js"
LINK = re.compile(r"(?<=\]\()([^)#: ]+)(?=[)#])")
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
        filled = [_filled(below) for below in entry]
        return [each for below in filled for each in (below if isinstance(below, list) else [below])]
    if isinstance(entry, str) and entry.endswith("/"):
        if entry == "reference/api/":
            return [f"{entry}{name}.md" for name in API]
        names = [page.name for page in (ROOT / "docs" / entry).glob("*.md")]
        names += [name.removeprefix(entry) for name in MADE if name.rpartition("/")[0] == entry.rstrip("/")]
        ordered = sorted(names, key=lambda name: (name not in FIRST, name))
        return [f"{entry}{name}" for name in ordered if not name.endswith(".zh.md")]
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
    """Add the pages that no file of docs/ holds, and what pages link to outside of it."""
    for name, text in MADE.items():
        files.append(File.generated(config, name, content=text))
    for name, (title, objects) in API.items():
        text = "\n\n".join([f"# {title}", *(f"::: {one}" for one in objects)])
        files.append(File.generated(config, f"reference/api/{name}.md", content=f"{text}\n"))
    files.append(File.generated(config, WORKER, content=(ROOT / "site" / WORKER).read_text(encoding="utf-8")))
    _add(files, config, "README.md")
    _add(files, config, "README.zh.md")
    for file in files.documentation_pages():
        for _, target in _outside(file.src_uri, file.content_string):
            _add(files, config, target)
    return files


def _add(files: Files, config: MkDocsConfig, name: str) -> None:
    """Add the file or folder *name* of the repository, and what a page links to in turn."""
    path, there = ROOT / name, _in_site(name)
    if files.get_file_from_path(there) is not None:
        return
    if path.is_dir():
        files_there = (
            each for each in path.rglob("[!.]*") if each.is_file() and each.parent.name != "__pycache__"
        )
        inside = sorted(each.relative_to(path).as_posix() for each in files_there)
        text = "\n".join([f"# {name}", "", *(f"* [{each}]({each})" for each in inside)])
        files.append(File.generated(config, there, content=text))
        for each in inside:
            _add(files, config, f"{name}/{each}")
    elif path.suffix != ".md":
        files.append(File.generated(config, there, content=path.read_bytes()))
    else:
        text = path.read_text(encoding="utf-8")
        files.append(File.generated(config, there, content=text))
        for _, target in _outside(there, text):
            _add(files, config, target)


def _in_site(name: str) -> str:
    """Where the file or folder *name* of the repository is in the site."""
    place = f"{name}/index.md" if (ROOT / name).is_dir() else name
    # A README would be the first page of its folder.
    return re.sub(r"README(\.zh)?\.md$", r"readme\1.md", place.removeprefix("docs/"))


def _in_repository(page: str) -> str:
    """Where *page* of the site is in the repository."""
    name = re.sub(r"readme(\.zh)?\.md$", r"README\1.md", page)
    return f"docs/{page}" if (ROOT / "docs" / page).exists() else name


def _outside(page: str, text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the links of *page* to what the repository has outside of docs/, or that lead from there into it; with their targets."""
    home = _in_repository(page)
    for link in LINK.finditer(text):
        target = os.path.normpath(os.path.join(os.path.dirname(home), link[1]))  # noqa: PTH118, PTH120 - names, no files
        within = home.startswith("docs/") and target.startswith("docs/")
        if not within and (ROOT / target).exists():
            yield link, target


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links that leave docs/ lead to where their targets are in the site; the page of instructions has all of them."""
    name = page.file.src_uri
    for link, target in reversed(list(_outside(name, markdown))):
        there = os.path.relpath(_in_site(target), os.path.dirname(name) or ".")  # noqa: PTH120 - the same
        markdown = f"{markdown[: link.start()]}{there}{markdown[link.end() :]}"
    return f"{markdown}\n\n{families('isa')}" if name == f"{ISA}.md" else markdown
