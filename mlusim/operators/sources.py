"""Operators on the native engine: their kernels in BANG C, which stand beside those in Python as ``kernel.mlu``."""

import functools
import importlib
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from mlusim.errors import UsageError
from mlusim.host import Handle
from mlusim.machine.kernel import UNION1, Kind
from mlusim.machine.launch import Launch
from mlusim.plan.layout import Layout

SOURCE = ".mlu"  # kernel.mlu beside kernel.py


class SourceHandle(Handle):
    """Launches kernels of ``kernel.mlu`` in place of those of ``kernel.py``, which do the same.

    A parameter has the value of the Python kernel's parameter of its name, otherwise that of its layout; the first
    tensor's type is the template's.  A kernel without such a file, or without this type in it, is launched as it is.
    """

    def launch(
        self, kernel: Any, dim: Sequence[int], kind: Kind = UNION1, args: Sequence[Any] = ()
    ) -> Launch:
        """Launch the kernel of the same name, and keep the result in ``launches`` under that name."""
        twin = self._twin(kernel, args)
        if twin is None:
            return self._launched("python", kernel, dim, kind, args)
        names = list(inspect.signature(kernel.body).parameters)[1:]
        layouts = [a for a in args if isinstance(a, Layout)]
        given = {**(layouts[0].values if layouts else {}), **dict(zip(names, args, strict=True))}
        wanted = [p.source_name for p in twin.form.parameters]
        self.layouts.extend(a for a in layouts if a not in self.layouts)
        launch = self._launched(None, twin, dim, kind, [given[name] for name in wanted])
        self.launches[-1] = named = evolve(launch, kernel=kernel.name)
        return named

    def _launched(
        self, engine: str | None, kernel: object, dim: Sequence[int], kind: Kind, args: Sequence[Any]
    ) -> Launch:
        """Launch *kernel* on *engine*, None: that of the handle."""
        own = self.options
        self.options = evolve(own, engine=engine or own.engine)
        try:
            return super().launch(kernel, dim, kind, args)
        finally:
            self.options = own

    def _twin(self, kernel: Any, args: Sequence[Any]) -> Any:
        body = getattr(kernel, "body", None)
        code = getattr(body, "__code__", None)
        path = None if code is None else Path(code.co_filename).with_suffix(SOURCE)
        if path is None or not _there(path):
            return None
        sources = _sources(path, self.board)
        dtype = next((a.dtype.c for a in args if hasattr(a, "dtype")), "")
        for name in (kernel.name, f"{kernel.name}<{dtype}>"):
            try:
                return sources[name]
            except UsageError:
                continue
        return None


@functools.lru_cache(maxsize=256)
def _there(path: Path) -> bool:
    return path.is_file()


@functools.lru_cache(maxsize=64)
def _sources(path: Path, board: object) -> Any:
    """Return the kernels of *path* for *board*; the front end is loaded where one is wanted, for its parser is an extra."""
    return importlib.import_module("mlusim.bangc").load([path], board=board)
