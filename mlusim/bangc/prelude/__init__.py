"""The headers of the device and of the driver, substitutes for C++ library headers, and their folders."""

from collections.abc import Mapping
from pathlib import Path

from mlusim.arch.board import Board

INCLUDE = Path(__file__).parent / "include"
STANDARD = INCLUDE / "std"
DRIVER = INCLUDE / "driver"  # the driver's headers, which programs include unchanged
LANGUAGE = "c++17"  # of kernels, by default
MARK = "mlusim_intrinsic"  # the annotation of every prototype
INTRINSICS = "mlusim_intrinsics.h"  # generated from the instruction set
_NAMES = """
algorithm any array assert.h atomic bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
cmath compare complex concepts condition_variable csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime ctype.h
cwchar deque dirent.h dlfcn.h errno.h exception fcntl.h fenv.h filesystem float.h forward_list fstream functional
future getopt.h initializer_list inttypes.h iomanip ios iosfwd iostream istream iterator libgen.h limits limits.h list
locale map math.h memory memory.h mutex new numbers numeric optional ostream pthread.h queue random ranges ratio regex sched.h
semaphore.h set shared_mutex signal.h source_location span sstream stack stdarg.h stdbool.h stddef.h stdexcept
stdint.h stdio.h stdlib.h streambuf string string.h string_view sys/mman.h sys/resource.h sys/stat.h sys/syscall.h
sys/time.h sys/types.h sys/wait.h system_error tgmath.h thread time.h tuple type_traits typeindex typeinfo unistd.h
unordered_map unordered_set utility valarray variant vector version wchar.h
"""  # C and C++ library headers, all replaced by one file
_TORCH = """
torch/all.h torch/extension.h torch/library.h torch/python.h torch/script.h torch/torch.h torch/types.h ATen/ATen.h
ATen/Dispatch.h ATen/Tensor.h ATen/TensorUtils.h ATen/core/Tensor.h c10/core/DeviceGuard.h c10/core/ScalarType.h
c10/core/TensorOptions.h c10/util/BFloat16.h c10/util/Exception.h c10/util/Half.h c10/util/Optional.h
pybind11/numpy.h pybind11/pybind11.h pybind11/stl.h aten.h torch_mlu.h aten/cnnl/cnnlHandle.h aten/utils/cnnl_util.h aten/utils/tensor_util.h
aten/utils/types.h framework/core/MLUQueue.h framework/core/MLUStream.h framework/core/caching_allocator.h
framework/core/device.h framework/core/mlu_guard.h framework/core/queue.h framework/core/stream_guard.h
"""  # headers for PyTorch extensions, all replaced by one file


def supplied() -> Mapping[str, str]:
    """Return the generated headers by path: substitutes for the C++ library, and for PyTorch and its extensions."""
    standard = {str(STANDARD / name): '#include "mlusim_cxx.h"\n' for name in _NAMES.split()}
    return standard | {str(STANDARD / name): '#include "mlusim_torch.h"\n' for name in _TORCH.split()}


def is_replaced(folder: Path) -> bool:
    """Return whether *folder* has the vendor's sources of the PyTorch device; some of its headers have substitutes, which come first."""
    return (folder / "framework" / "core" / "MLUStream.h").exists()


def architecture_flags(board: Board) -> list[str]:
    """Return the macro definitions of the vendor's compiler for the architecture of *board*."""
    arch = board.arch
    sizes = (("nram", arch.nram), ("wram", arch.wram), ("sram", arch.sram))
    return [f"-D__BANG_ARCH__={arch.bang_arch}", *(f"-D__mlusim_{n}_kib__={size >> 10}" for n, size in sizes)]
