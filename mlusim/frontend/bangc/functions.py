"""Host functions of a module as Python calls them, and its ``main``."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlusim.errors import OutOfBounds, UsageError
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.errors import SourceError, diagnostic_of
from mlusim.frontend.bangc.file import File
from mlusim.frontend.bangc.runtime.host import Process, host_code
from mlusim.frontend.bangc.runtime.host_library import Ended
from mlusim.frontend.bangc.runtime.layouts import NULL
from mlusim.frontend.bangc.runtime.pointers import Items
from mlusim.machine.device import Device
from mlusim.machine.launch import Launch

if TYPE_CHECKING:
    from mlusim.frontend.bangc.module import Module


def run_main(
    module: "Module",
    words: Sequence[str],
    device: Device,
    options: Mapping[str, Any],
    launches: list[Launch],
) -> int:
    """Execute ``main`` with *words* behind the program's name; its exit status."""
    file, function = _main(module)
    process = Process(module.files, module.kernel_of_symbol, device, options, launches)
    argv = [process.text(word) for word in (module.paths[0], *words)]
    given: list[Any] = [len(argv), Arguments([*argv, NULL], None)]
    with host_code():
        try:
            status = process.function(file, function.symbol)(*given[: len(function.parameters)])
        except Ended as ended:
            status = ended.code
        finally:
            sys.stdout.flush()
    return int(status or 0) & 0xFF


def _main(module: "Module") -> tuple[File, ir.Function]:
    for file, function in module.functions_of("host"):
        if function.name == "main":
            if function.problem is not None:
                raise SourceError((diagnostic_of(function),))
            return file, function
    raise UsageError(
        f"{module.paths[0]} has no main; name a kernel with --kernel, and give its arguments with --arg"
    )


class Arguments(Items):
    """``argv``: reading behind its null pointer is a fault that says so."""

    def _at(self, i: int) -> int:
        at = self.offset + i
        if not 0 <= at < len(self.items):
            raise OutOfBounds(
                f"argv[{at}] is read, and the program has {len(self.items) - 1} words",
                legal=f"argv[0] to argv[{len(self.items) - 1}], which is null",
                hint="test argc first, or give the argument behind --",
            )
        return at
