"""The problems of a checkout: each with the source that was accepted and its reference model."""

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

from attrs import frozen

from mlusim.errors import UsageError

_ROW = re.compile(r"\| (\d{3}) \| \[.*?\]\((\S+?)\.mlu\) \|.*\|(.*)\|$")
_COMMIT = re.compile(r"commit/([0-9a-f]{7,40})")


@frozen
class Problem:
    """One row of the table in the repository's README: *commit* is the last one that its row links."""

    index: str
    name: str
    commit: str
    checkout: Path
    kit: Path | None = None

    def source(self) -> str:
        """The text that was accepted.  Raises `UsageError` where the history lacks it."""
        shown = subprocess.run(  # noqa: S603 - the user's own checkout
            ["git", "-C", str(self.checkout), "show", f"{self.commit}:{self.name}.mlu"],  # noqa: S607
            capture_output=True,
            check=False,
        )
        if shown.returncode:
            raise UsageError(
                f"{self.checkout} has no {self.name}.mlu at {self.commit}; fetch the whole history"
            )
        return shown.stdout.decode("utf-8")

    def reference(self) -> ModuleType:
        """The module with ``Model``, ``get_inputs`` and ``get_init_inputs``, the starter kit's where the repository's has no inputs."""
        module = _loaded(self.index, self.checkout / "reference-impl" / f"{self.name}.py")
        if not hasattr(module, "get_inputs") and self.kit is not None:
            module = _loaded(self.index, self.kit / "ref" / f"{self.index}_{self.name}.py")
        if not hasattr(module, "get_inputs"):
            raise UsageError("the reference has no get_inputs; that of the starter kit has (--kit)")
        return module


def _loaded(index: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"reference_{index}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"{path} is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problems(checkout: Path, kit: Path | None = None) -> list[Problem]:
    """All rows that link a commit.  Raises `UsageError` where there are none."""
    readme = checkout / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    rows = [(row, _COMMIT.findall(row[3])) for line in text.splitlines() if (row := _ROW.match(line.strip()))]
    found = [Problem(row[1], row[2], commits[-1], checkout, kit) for row, commits in rows if commits]
    if not found:
        raise UsageError(f"{readme} has no table of problems with commits")
    return found
