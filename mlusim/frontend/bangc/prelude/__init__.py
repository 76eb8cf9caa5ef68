"""Headers that stand in for the vendor's and for the C++ library, and where the parser finds them."""

from collections.abc import Mapping
from pathlib import Path

from mlusim.arch.board import Board

INCLUDE = Path(__file__).parent / "include"
STANDARD = INCLUDE / "std"
MARK = "mlusim_intrinsic"  # the annotation of every prototype
INTRINSICS = "mlusim_intrinsics.h"  # made from the instruction set
_NAMES = """
algorithm array assert.h atomic cassert cfloat chrono cstdarg climits cmath complex cstddef cstdint cstdio cstdlib
cstring ctime exception float.h fstream functional iomanip ios iosfwd iostream iterator limits limits.h list map math.h memory
mutex new numeric pthread.h queue random set sstream stdarg.h stdbool.h stddef.h stdexcept stdint.h stdio.h stdlib.h string
string.h sys/syscall.h sys/time.h thread time.h tuple type_traits unistd.h unordered_map unordered_set utility
vector
"""  # headers of the C and C++ libraries: all of them are one


def supplied() -> Mapping[str, str]:
    """Headers that are made, by path: the C++ library's names."""
    return {str(STANDARD / name): '#include "mlusim_cxx.h"\n' for name in _NAMES.split()}


def architecture_flags(board: Board) -> list[str]:
    """Definitions that the vendor's compiler makes for the architecture of *board*."""
    arch = board.arch
    sizes = (("nram", arch.nram), ("wram", arch.wram), ("sram", arch.sram))
    return [f"-D__BANG_ARCH__={arch.bang_arch}", *(f"-D__mlusim_{n}_kib__={size >> 10}" for n, size in sizes)]
