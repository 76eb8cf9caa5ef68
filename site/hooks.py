"""What the site has besides docs/: both READMEs, and the pages of the Python interface, made from docstrings."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
API = {
    "device": ("Devices and launches", ["mlusim.machine.device.Device", "mlusim.machine.device.DeviceTensor", "mlusim.machine.launch.Launch", "mlusim.machine.kernel"]),
    "mlu": ("Inside a kernel", ["mlusim.machine.mlu.Mlu", "mlusim.memory.pointer.Ptr", "mlusim.memory.direction.Direction", "mlusim.arch.dtypes"]),
    "profile": ("Profiles", ["mlusim.report.profiled", "mlusim.time.profile.Profile", "mlusim.time.lines.Line"]),
    "observers": ("Observers and findings", ["mlusim.machine.hub.Observer", "mlusim.observe.finding.Finding"]),
    "plans": ("NRAM plans", ["mlusim.plan.plan.Plan", "mlusim.plan.declare", "mlusim.plan.layout.Layout"]),
    "operators": ("Operators", ["mlusim.operators.spec", "mlusim.operators.runner.Run", "mlusim.host.handle.Handle"]),
    "bangc": ("BANG C sources", ["mlusim.frontend.bangc.module.Module"]),
    "boards": ("Boards", ["mlusim.arch.board"]),
    "errors": ("Errors", ["mlusim.errors"]),
}  # fmt: skip


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give folders named in the navigation their pages, in the order of their names."""
    config.nav = [_filled(entry) for entry in config.nav or []]
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
        pages = sorted(folder.glob("*.md"), key=lambda page: (page.name != "index.md", page.name))
        return [f"{entry}{page.name}" for page in pages]
    return entry


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
