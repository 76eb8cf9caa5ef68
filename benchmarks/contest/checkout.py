"""The problems of a checkout: each with the accepted source and the starter kit's files for it."""

import re
import subprocess
from pathlib import Path

from attrs import frozen

from mlusim.errors import UsageError

_ROW = re.compile(r"\| (\d{3}) \| \[.*?\]\((\S+?)\.mlu\) \|.*\|(.*)\|$")
_COMMIT = re.compile(r"commit/([0-9a-f]{7,40})")
_PLACE = 'bang_func_source = """\n"""'


@frozen
class Problem:
    """A problem: one row of the table in the repository's README, where *commit* is the last commit that the row links; or a team's *file* at the head of the checkout."""

    index: str
    name: str
    commit: str
    checkout: Path
    kit: Path
    file: str = ""

    @property
    def title(self) -> str:
        """Return the name that distinguishes the files of one problem."""
        return Path(self.file).stem or self.name

    def source(self) -> str:
        """Return the accepted source.  Raises `UsageError` if the history lacks it."""
        shown = subprocess.run(  # noqa: S603 - the user's own checkout
            ["git", "-C", str(self.checkout), "show", f"{self.commit}:{self.file or f'{self.name}.mlu'}"],  # noqa: S607
            capture_output=True,
            check=False,
        )
        if shown.returncode:
            raise UsageError(
                f"{self.checkout} has no {self.name}.mlu at {self.commit}; fetch the whole history"
            )
        return shown.stdout.decode("utf-8")

    def solution(self, source: Path) -> str:
        """Return the kit's module for this problem, with the text of the file *source* inserted at its place holder.

        Raises `UsageError` if the kit has no such module.
        """
        template = self._of_kit("mlu", "_mlu.py").read_text(encoding="utf-8")
        if _PLACE not in template:
            raise UsageError(f"the module of the kit for {self.name} has no empty bang_func_source")
        read = f"bang_func_source = open({str(source)!r}, encoding='utf-8').read()"
        return template.replace(_PLACE, read, 1)

    def reference(self) -> Path:
        """Return the path of the module with ``Model``, ``get_inputs`` and ``get_init_inputs``.

        It is the kit's module, which defines the weights that the kit's module for the problem expects; most are the
        same in the repository. Raises `UsageError` if there is none.
        """
        return self._of_kit("ref", ".py")

    def _of_kit(self, folder: str, ending: str) -> Path:
        path = self.kit / folder / f"{self.index}_{self.name}{ending}"
        if not path.is_file():
            raise UsageError(f"{path} is not there")
        return path


def problems(checkout: Path, kit: Path) -> list[Problem]:
    """Return all rows that link a commit; for a checkout without such a table, all files at its head whose names the kit knows.

    Raises `UsageError` if there are none.
    """
    readme = checkout / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    rows = [(row, _COMMIT.findall(row[3])) for line in text.splitlines() if (row := _ROW.match(line.strip()))]
    listed = [Problem(row[1], row[2], commits[-1], checkout, kit) for row, commits in rows if commits]
    listed = listed or _at_head(checkout, kit)
    if not listed:
        raise UsageError(
            f"{readme} has no table of problems with commits, and no file beside it is a problem of the kit"
        )
    return listed


def _at_head(checkout: Path, kit: Path) -> list[Problem]:
    names = [path.stem.partition("_") for path in sorted((kit / "ref").glob("[0-9]*_*.py"))]
    return [
        Problem(index, name, "HEAD", checkout, kit, file)
        for index, _, name in names
        for file in (f"{name}.mlu", f"{index}_{name}.mlu")
        if (checkout / file).is_file()
    ]
