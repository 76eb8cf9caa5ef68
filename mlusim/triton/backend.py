"""Triton's back end for a simulated board: a compiler, whose last stage is BANG C text, and a driver, which launches the text."""

import functools
import hashlib
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import triton.backends as back_ends
from attrs import field, frozen
from triton import knobs
from triton._C.libtriton import ir, passes
from triton.backends.compiler import BaseBackend, GPUTarget
from triton.backends.driver import DriverBase, decompose_descriptor, expand_signature
from triton.compiler.errors import CompilationError
from triton.language import extra
from triton.runtime import driver as runtime
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction, KernelInterface
from triton.tools.tensor_descriptor import TensorDescriptor

from mlusim.arch.board import Board
from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, find_board
from mlusim.bangc import cache
from mlusim.bangc.module import BangKernel, load_module
from mlusim.errors import LaunchError, Remark, UsageError
from mlusim.files.user_cache import user_cache
from mlusim.machine.device import Device
from mlusim.machine.kernel import BLOCK, UNION1, Kind
from mlusim.machine.launch import Launch
from mlusim.machine.tensor import DeviceTensor
from mlusim.triton import dialect, libdevice, torch_launches
from mlusim.triton.text import OutOfRoom
from mlusim.triton.torch_launches import TextKernel
from mlusim.triton.translate import translate

BACKEND = "mlu"
MOST_PROGRAMS = 65535
"""Limit of programs along one axis of a grid, as in the card's launcher."""


class OutOfNram(OutOfResources, UsageError):  # type: ignore[misc]  # Triton is not typed
    """A configuration that does not fit, as an exception that Triton's autotuner handles; the message ends with the largest blocks."""

    def __init__(self, required: int, limit: int, name: str, detail: str = "") -> None:
        OutOfResources.__init__(self, required, limit, name)
        self.detail = detail

    def __str__(self) -> str:
        """Return the message of the card's launcher, followed by the details."""
        words = f"out of resource: {self.name}, Required: {self.required}, Hardware limit: {self.limit}"
        return f"{words}; {self.detail}" if self.detail else words


INSTEAD = {
    "supported fp8 dtypes": "; no board has fp8: use tl.float16, or tl.int8 with a scale",
    "Unsupported lhs dtype": "; tl.dot takes tl.int8 and floats of up to 32 bits",
    "only int8 supported": "; convert with .to(tl.int8), or to a float",
    "Unsupported ptr type": "; what is loaded from or stored to is a number here: pass an array",
    "has no attribute 'type'": "; an argument that is None has no elements: pass an array or a number",
    "bounds and step must all be ints": "; pass whole numbers",
    "arguments must be of type tl.constexpr": "; its ends are whole numbers that are constants",
    "unsupported tensor index": "; load the part that you need, or choose it by tl.where and tl.sum",
}
"""Replacements for constructs that Triton refuses, by a part of its message."""


def plain_function(kernel: object) -> JITFunction | None:
    """Return the JIT function inside *kernel*, or None."""
    # autotune and heuristics wrap the function that they call.
    while not isinstance(kernel, JITFunction) and type(kernel).__module__.startswith("triton."):
        kernel = getattr(kernel, "fn", None)
    return kernel if isinstance(kernel, JITFunction) else None


def refusal_of(function: JITFunction, error: CompilationError) -> str:
    """Return Triton's error about *function* as one sentence, with the line in its file."""
    # Triton counts lines from the function; the innermost frame below Triton's own has the message.
    head = next(n for n, text in enumerate(function.raw_src) if text.lstrip().startswith("def "))
    of_function = error.src == function.src and hasattr(error.node, "lineno")
    line = function.starting_line_number + head + error.node.lineno - 1 if of_function else None
    cause: BaseException = error
    while isinstance(cause, CompilationError) and cause.__cause__ is not None:
        cause = cause.__cause__
    told = cause.error_message if isinstance(cause, CompilationError) else str(cause)
    where = function.fn.__code__.co_filename + ("" if line is None else f":{line}")
    words = re.sub(r"<triton\.language\.core\.(\w+) object at 0x\w+>", r"a \1", " ".join(str(told).split()))
    words = re.sub(r"^\w+Error\((['\"])(.*)\1\)$", r"\2", words)
    instead = next((text for part, text in INSTEAD.items() if part in words), "")
    return f"{where}: Triton does not compile {function.__name__}: {words}{instead}"


@frozen(slots=False)  # Triton reads its __dict__
class MluOptions:
    """The options of a kernel for Triton and for the card's back end; options without effect here are kept for `metadata`."""

    num_warps: int = 1
    num_stages: int = 1
    num_ctas: int = 1
    warp_size: int = 1
    debug: bool = False
    sanitize_overflow: bool = False
    # No overflow checks, which Triton would write into the kernel: no card has them.
    supported_fp8_dtypes: tuple[str, ...] = ()
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "tf32"
    # All products are exact here, at least as precise as each of these options requires.
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: tuple[tuple[str, str], ...] = ()
    enable_fp_fusion: bool = False
    launch_cooperative_grid: bool = False
    task_type: str = ""
    opt_level: str = "O3"
    bottleneck: str | None = None
    pipeline_strategies: tuple[str, ...] = ()
    precision_mode: str = "default"
    enable_soft_i64: bool = False
    is_linear: bool = False
    force_use_shared_memory: bool = False
    enable_mlu_bound_check: bool = False
    onchip_mem_analysis: bool = False
    isa_version: int = 0
    instrumentation_mode: str = ""
    ir_override: str | None = None
    arch: str = ""
    backend_name: str = BACKEND

    def hash(self) -> str:
        """Return a digest of all options."""
        return hashlib.sha256(repr(self).encode()).hexdigest()


KNOWN_OPTIONS = tuple(MluOptions.__annotations__)


class MluBackend(BaseBackend):  # type: ignore[misc]
    """The compiler: Triton's own passes produce TTIR, which is lowered to BANG C text."""

    binary_ext = "mlu"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Return whether *target* is a board."""
        return bool(target.backend == BACKEND)

    @property
    def board(self) -> Board:
        """The board for which it compiles."""
        return find_board(self.target.arch)

    def hash(self) -> str:
        """Return a digest of the board and this version of the lowering."""
        return f"mlusim-{self.target.arch}-{_own_digest()}"

    def parse_options(self, opts: Mapping[str, Any]) -> MluOptions:
        """Return the options; names that are not options of the card are ignored."""
        options = {name: value for name, value in opts.items() if name in KNOWN_OPTIONS and value is not None}
        for name, least in (("num_stages", 0), ("num_warps", 1)):
            value = options.get(name, least)
            if not isinstance(value, int) or value < least:
                raise UsageError(f"{name}={value!r} of a kernel is not a whole number of at least {least}")
        kind = options.get("task_type", "")
        if kind not in TASK_TYPES:
            raise UsageError(
                f"task_type={kind!r} of a kernel says nothing here; it is 'block' or 'union1', or left out for the launcher's choice"
            )
        return MluOptions(**{**options, "arch": self.target.arch})

    def pack_metadata(self, metadata: Any) -> tuple[int, int, int]:
        """Return the metadata that the launcher needs."""
        return metadata.num_warps, metadata.num_ctas, metadata.shared

    def get_codegen_implementation(self, options: MluOptions) -> dict[str, Any]:
        """Return the functions that Triton's front end requests from a target."""
        del options
        return {"min_dot_size": lambda left, right: (1, 1, 1), "convert_custom_types": None}

    def get_module_map(self) -> dict[str, ModuleType]:
        """Return the module behind ``tl.extra.libdevice``."""
        return {"triton.language.extra.libdevice": libdevice}

    def load_dialects(self, context: Any) -> None:
        """Load no dialects: TTIR needs none."""

    def add_stages(self, stages: dict[str, Any], options: MluOptions, language: Any = None) -> None:
        """Add the stages: TTIR with Triton's simplifications, and BANG C."""
        del language
        stages["ttir"] = _simplified
        stages["mlu"] = functools.partial(self._bang_c, num_stages=options.num_stages)

    def _bang_c(self, module: Any, metadata: dict[str, Any], num_stages: int) -> bytes:
        try:
            written = translate(dialect.true_sizes(module), self.board, num_stages)
        except OutOfRoom as error:
            raise OutOfNram(error.required, error.limit, error.memory, error.detail) from None
        for note in written.notes:
            warnings.warn(note, Remark, stacklevel=2)
        # Not reported as shared memory: Triton would refuse it with a limit and a name of its own.
        metadata |= {"name": written.name, "shared": 0, "nram": written.nram, "wram": written.wram}
        return written.text.encode()


def _simplified(module: Any, metadata: Mapping[str, Any]) -> Any:
    """Run the passes that all back ends of Triton begin with."""
    del metadata
    # In the order of other back ends, so that the result is what public tools print as TTIR.
    manager = ir.pass_manager(module.context)
    common, triton_passes = passes.common, passes.ttir
    common.add_inliner(manager)
    triton_passes.add_rewrite_tensor_descriptor_to_pointer(manager)
    common.add_canonicalizer(manager)
    triton_passes.add_combine(manager)
    common.add_canonicalizer(manager)
    triton_passes.add_reorder_broadcast(manager)
    common.add_cse(manager)
    triton_passes.add_triton_licm(manager)
    common.add_symbol_dce(manager)
    manager.run(module, "make_ttir")
    return module


def _own_digest() -> str:
    """Return a digest of this folder's files, because Triton caches compiled kernels."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# -- the driver ----------------------------------------------------------------------------------------


class ElementTypeName(str):
    """The name of an element type, with the attributes that Triton reads of a descriptor's tensor."""

    __slots__ = ()

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return np.dtype(self).itemsize

    @property
    def is_floating_point(self) -> bool:
        """True for floats."""
        return np.dtype(self).kind == "f"


@frozen(eq=False)
class ArrayArgument:
    """A NumPy array in the interface of a tensor for Triton; results of a launch are copied back to it."""

    array: np.ndarray[Any, Any]

    @property
    def dtype(self) -> "ElementTypeName":
        """The element type with Triton's name."""
        return ElementTypeName(self.array.dtype.name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self.array.shape)

    def data_ptr(self) -> int:
        """Return an address that is a multiple of 16, like those of the device."""
        return 4096

    # Methods with which autotune resets and restores tensors.
    def zero_(self) -> None:
        """Set all elements to zero."""
        self.array[...] = 0

    def clone(self) -> "ArrayArgument":
        """Return an argument with a copy of the array."""
        return ArrayArgument(self.array.copy())

    def copy_(self, other: "ArrayArgument") -> None:
        """Copy the elements of *other*."""
        self.array[...] = other.array


class _Utils:
    """The driver functions for devices and loaded kernels."""

    def get_device_properties(self, device: int) -> dict[str, Any]:
        """Return the device properties under the names of the card's driver."""
        del device
        board = active_board()
        return {
            "max_shared_mem": board.arch.sram,
            "max_nram_size": board.arch.nram,
            "cluster_num": board.clusters,
            "core_num_per_cluster": board.arch.cores_per_cluster,
            "multiprocessor_count": board.clusters * board.arch.cores_per_cluster,
            "sm_clock_rate": board.clock_mhz * 1000,
            "isa_version": board.arch.bang_arch,
        }

    def load_binary(
        self, name: str, kernel: bytes, shared: int, device: int
    ) -> tuple[Any, TextKernel, int, int, int]:
        """Load a kernel from its BANG C text."""
        del shared, device
        path = kept_text(name, kernel.decode())
        board = active_board()
        module = load_module((str(path),), (), {}, board)
        return module, TextKernel(path, name, module, module[name], board), 0, 0, 1 << 20

    def unload_module(self, module: Any) -> None:
        """Unload a kernel; nothing to do."""


class MluLauncher:
    """Launches one compiled kernel."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self._kinds = [*src.signature.values()]
        # Launchers of the card's Triton pass only the parameters that are not constants; a signature may mark
        # more of them as constant.
        constant = {p.name for p in src.fn.params if p.is_constexpr}
        self._passed = [kind for name, kind in src.signature.items() if name not in constant]
        self._task_type = metadata.task_type

    def __call__(self, x: int, y: int, z: int, stream: Any, kernel: TextKernel, *more: Any) -> None:
        """Launch *kernel* on a grid; the last of *more* are its arguments."""
        kinds = self._kinds if len(more) - 4 == len(self._kinds) else self._passed
        pairs = (_spread(*pair) for pair in zip(kinds, more[4:], strict=True) if pair[0] != "constexpr")
        passed = [pair for spread in pairs for pair in spread]
        kind, dim = kind_and_dim(kernel.board, (x, y, z), self._task_type)
        if any(torch_launches.is_on_device(argument) for _, argument in passed):
            torch_launches.launch(kernel, kind, dim, passed)
            return
        launch = launch_kernel(kernel.bang, kind, dim, [argument for _, argument in passed])
        for launches in _STATE.collected:
            launches.append(launch)
        if not _STATE.collected:  # otherwise the kernel's prints would be lost
            sys.stdout.writelines(launch.printed)


def _spread(kind: object, argument: object) -> list[tuple[str, object]]:
    """Return an argument with Triton's type of its parameter; a tensor descriptor becomes the several arguments that the kernel takes for it."""
    if not str(kind).startswith("tensordesc"):
        return [(str(kind), argument)]
    return [*zip(expand_signature([kind], None, ""), decompose_descriptor(argument), strict=True)]


TASK_TYPES = ("", "block", "union1")
"""The task types that a call may request, instead of the launcher's choice."""


def kind_and_dim(
    board: Board, grid: tuple[int, int, int], task_type: str = ""
) -> tuple[Kind, tuple[int, int, int]]:
    """Return the kind and dim of a launch, as chosen by the card's launcher or requested by *task_type*.

    Raises `LaunchError` for an empty grid, and Triton's ``OutOfResources`` for a grid beyond the limit.
    """
    worst = max(grid)
    if worst > MOST_PROGRAMS:
        raise OutOfNram(worst, MOST_PROGRAMS, "grid size")
    if min(grid) < 1:
        raise LaunchError(f"the grid {grid} has no program")
    x, y, z = grid
    per_cluster = board.arch.cores_per_cluster
    # As in the card's driver.py: a grid that fills whole clusters and fits on the cores at once runs as
    # Union1. The card runs a program of four warps on all cores of a cluster; here one core does all of it,
    # because four tasks would execute four programs.
    fits = x % per_cluster == 0 and x * y * z <= board.clusters * per_cluster
    if task_type == "union1" and x % per_cluster:
        raise LaunchError(
            f"task_type='union1' takes whole clusters, and {x} programs along x are not multiples of {per_cluster}"
        )
    wanted = {"block": False, "union1": True}.get(task_type, fits)
    return (UNION1 if wanted else BLOCK), grid


def launch_kernel(kernel: BangKernel, kind: Kind, dim: tuple[int, int, int], arguments: list[Any]) -> Launch:
    """Launch a translated kernel on arrays and numbers; its results are copied back to the arrays."""
    # A new device for each launch, as in `mlusim run`, so that memory of earlier launches is not visible.
    device = Device(active_board())
    tensors: dict[Any, tuple[DeviceTensor, np.ndarray[Any, Any]]] = {}
    passed: list[Any] = []
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            # Two arguments may be the same array, as for an in-place kernel.
            array = argument.array
            if not array.flags.c_contiguous:
                raise UsageError(
                    f"an array of shape {array.shape} and strides {array.strides} is not a contiguous one; pass numpy.ascontiguousarray of it"
                )
            key = array.__array_interface__["data"][0], array.shape, array.dtype
            # In memory, a bool is one byte.
            held = array.view(np.int8) if array.dtype == np.bool_ else array
            tensors.setdefault(key, (device.put(held), array))
            passed.append(tensors[key][0])
        elif isinstance(argument, bool | int | float | np.generic):
            passed.append(argument)
        else:
            raise UsageError(_no_argument(argument))
    launch = device.launch(kernel, dim, kind, passed, observe=_STATE.observe)
    for tensor, array in tensors.values():
        left = device.get(tensor)
        if array.flags.writeable:
            array[...] = left
        elif left.tobytes() != array.tobytes():
            raise UsageError("the kernel writes to an array that is read-only; pass a copy of it")
    return launch


def _no_argument(argument: object) -> str:
    if hasattr(argument, "data_ptr"):
        return f"a tensor on {getattr(argument, 'device', 'another device')} is not on the simulated board; pass x.mlu(), or a NumPy array"
    return f"{argument!r:.60} is not an array and no number; a kernel takes NumPy arrays, tensors on mlu and numbers"


class MluDriver(DriverBase):  # type: ignore[misc]
    """The driver of simulated boards."""

    launcher_cls: ClassVar[type] = MluLauncher

    def __init__(self) -> None:
        self.utils = _Utils()

    @staticmethod
    def is_active() -> bool:
        """Return False: `mlusim.triton` activates it explicitly, and it never replaces a card's driver."""
        return False

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Return *ty*: launches generate no C++ code."""
        return ty

    def get_current_target(self) -> GPUTarget:
        """Return the active board as a target."""
        return GPUTarget(BACKEND, active_board().name, 1)

    def get_active_torch_device(self) -> Any:
        """Return PyTorch's device ``mlu``. Raises `UsageError` if ``torch_mlu`` is not imported."""
        return torch_launches.device()

    def get_current_device(self) -> int:
        """Return the index of the board as device number, because Triton caches compiled kernels by device."""
        return [*BOARDS].index(active_board().name)

    def get_current_stream(self, device: int) -> int:
        """Return the number of the queue."""
        return 0

    def set_current_device(self, device: int) -> None:
        """Accept any device: there is only one."""

    def get_benchmarker(self) -> Any:
        """Return the timing function for autotune: the predicted time of a call's launches."""
        return _predicted

    def get_device_interface(self) -> Any:
        """Return None: Triton does not use it here."""
        return None


def _predicted(call: Any, *, quantiles: Any = None, **_: Any) -> Any:
    """Return the predicted time, in milliseconds, of the launches in *call*."""
    # Predicted times do not vary, so the call runs once, without warm-up.
    with collecting() as launches, torch_launches.timing() as milliseconds:
        call()
    time = sum(launch.time_us for launch in launches) / 1000 + sum(milliseconds)
    return time if quantiles is None else [time for _ in quantiles]


@frozen
class _State:
    """The lists that collect launches made through Triton's own interface, and the observers for the next launches."""

    collected: list[list[Launch]] = field(factory=list)
    observe: list[Any] = field(factory=list)
    board: list[Board] = field(factory=list)


_STATE = _State()


@contextmanager
def collecting() -> Iterator[list[Launch]]:
    """Collect the launches on arrays in this context."""
    launches: list[Launch] = []
    _STATE.collected.append(launches)
    try:
        yield launches
    finally:
        _STATE.collected.pop()


def kept_text(name: str, text: str) -> Path:
    """Write *text* to the user's cache, under a name by its content, and return the path."""
    base = user_cache()
    folder = Path(tempfile.mkdtemp(prefix="mlusim-")) if base is None else base / "triton"
    # By content: two specialisations share a name, and findings of two runs should name the same file.
    path = folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.mlu"
    if not path.exists():
        cache.put(path, text.encode())
    return path


def active_board() -> Board:
    """Return the board for which kernels are compiled: the activated one, that of PyTorch's device, or that of ``MLUSIM_BOARD``."""
    if _STATE.board:
        return _STATE.board[-1]
    name = torch_launches.board_name() or os.environ.get("MLUSIM_BOARD", "").partition(",")[0]
    return find_board(name or DEFAULT_BOARDS[0])


def activate(board: str | None = None) -> None:
    """Make a simulated board the target for Triton's compiler and launches. Raises `UsageError` for an unknown board."""
    back_ends.backends[BACKEND] = back_ends.Backend(compiler=MluBackend, driver=MluDriver)
    _STATE.board[:] = [] if board is None else [find_board(board)]
    # Triton's disk cache uses the text of the function as key, so a cached kernel would name the files of
    # another checkout.
    knobs.compilation.always_compile = True
    KernelInterface.__getitem__ = _taking_arrays
    TensorDescriptor.__post_init__ = _of_an_array
    _lend_names()
    dialect.lend(BACKEND)
    runtime.set_active(MluDriver())


def _lend_names() -> None:
    """Provide the modules that programs import from the card's Triton: its device library and its driver's device functions."""
    back_end, library = ModuleType("triton.backends.mlu"), ModuleType("triton.language.extra.mlu")
    driver = ModuleType(f"{back_end.__name__}.driver")
    vars(driver).update(BangUtils=_Utils, BangDriver=MluDriver)
    vars(back_end).update(driver=driver, __path__=[])
    vars(library).update(libdevice=libdevice, __path__=[])
    vars(back_ends)["mlu"], vars(extra)["mlu"] = back_end, library
    names = {f"{library.__name__}.libdevice": libdevice}
    sys.modules.update(names | {room.__name__: room for room in (back_end, library, driver)})


def _taking_arrays(kernel: KernelInterface, grid: object) -> Callable[..., Any]:
    """Return the call of ``kernel[grid]``, which also accepts NumPy arrays."""

    # Triton recognises a tensor by attributes that an array lacks, and no hook of a call may change
    # arguments. Other arguments are passed unchanged, so kernels for other drivers are called as before.
    def call(*arguments: object, **named: object) -> object:
        by_name = {name: _seen(value) for name, value in named.items()}
        return kernel.run(*map(_seen, arguments), grid=grid, warmup=False, **by_name)

    return call


_AS_TRITON_HAS_IT = TensorDescriptor.__post_init__


def _of_an_array(descriptor: TensorDescriptor) -> None:
    """Wrap the array of a descriptor in the interface of a tensor for Triton."""
    descriptor.base = _seen(descriptor.base)
    _AS_TRITON_HAS_IT(descriptor)


def _seen(value: object) -> object:
    if isinstance(value, np.ndarray):
        if value.dtype.name not in ELEMENTS:
            raise UsageError(
                f"an array of {value.dtype} is not an argument of a kernel; its elements are one of {', '.join(ELEMENTS)}"
            )
        return ArrayArgument(value)
    return value.item() if isinstance(value, np.generic) else value


ELEMENTS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)
"""The element types of arrays with a Triton name."""


def check_argument(name: str, value: object) -> None:
    """Raise `UsageError` unless *value* is an array, tensor, number, descriptor or a tuple of these; *name* is its parameter."""
    if isinstance(value, tuple):
        for member in value:
            check_argument(name, member)
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise UsageError(f"{name} is {value:,}, which has no place in 64 bits")
    elif not (
        value is None
        or isinstance(value, np.ndarray | np.generic | bool | int | float | TensorDescriptor)
        or hasattr(value, "data_ptr")
    ):
        raise UsageError(f"{name}: {_no_argument(value)}")
