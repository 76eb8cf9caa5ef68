"""Triton's back end for a simulated board: its compiler, whose last stage is BANG C text, and its driver, which launches that."""

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
from mlusim.errors import LaunchError, Remark, UsageError
from mlusim.files.user_cache import user_cache
from mlusim.frontend.bangc import cache
from mlusim.frontend.bangc.module import BangKernel, load_module
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
"""Programs along one axis of a grid: the limit that the card's launcher names."""


class OutOfNram(OutOfResources, UsageError):  # type: ignore[misc]  # Triton is not typed
    """A configuration that does not fit, as Triton's autotuner takes it; behind the card's words stands what takes the room."""

    def __init__(self, required: int, limit: int, name: str, detail: str = "") -> None:
        OutOfResources.__init__(self, required, limit, name)
        self.detail = detail

    def __str__(self) -> str:
        """Return the sentence of the card's launcher, and what takes the room."""
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
"""What to write where Triton refuses something, by a part of its sentence."""


def plain_function(kernel: object) -> JITFunction | None:
    """Return the function inside of *kernel*; None where there is none."""
    # autotune and heuristics stand around the function that they call.
    while not isinstance(kernel, JITFunction) and type(kernel).__module__.startswith("triton."):
        kernel = getattr(kernel, "fn", None)
    return kernel if isinstance(kernel, JITFunction) else None


def refusal_of(function: JITFunction, error: CompilationError) -> str:
    """Return what Triton says against *function* in one sentence, with the line of its file."""
    # Triton counts from the function; behind its own frames stands what the innermost one says.
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
    """The options of a kernel that Triton and the card's back end know; those that say nothing here are kept for `metadata`."""

    num_warps: int = 1
    num_stages: int = 1
    num_ctas: int = 1
    warp_size: int = 1
    debug: bool = False
    sanitize_overflow: bool = False
    # Without the checks for overflow that Triton would write into the kernel: no card has them.
    supported_fp8_dtypes: tuple[str, ...] = ()
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "tf32"
    # All products are whole here, which is at least what each of these asks for.
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
        """Return a word for all of them."""
        return hashlib.sha256(repr(self).encode()).hexdigest()


KNOWN_OPTIONS = tuple(MluOptions.__annotations__)


class MluBackend(BaseBackend):  # type: ignore[misc]
    """The compiler: TTIR by Triton's own passes, then BANG C text."""

    binary_ext = "mlu"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Return whether *target* is a board."""
        return bool(target.backend == BACKEND)

    @property
    def board(self) -> Board:
        """The board of the target."""
        return find_board(self.target.arch)

    def hash(self) -> str:
        """Return a word for the board and this version of the lowering."""
        return f"mlusim-{self.target.arch}-{_own_digest()}"

    def parse_options(self, opts: Mapping[str, Any]) -> MluOptions:
        """Return the options; what is not an option of the card is left out."""
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
        """Return what the launcher needs to know of a kernel."""
        return metadata.num_warps, metadata.num_ctas, metadata.shared

    def get_codegen_implementation(self, options: MluOptions) -> dict[str, Any]:
        """Return what Triton's front end asks of a target."""
        del options
        return {"min_dot_size": lambda left, right: (1, 1, 1), "convert_custom_types": None}

    def get_module_map(self) -> dict[str, ModuleType]:
        """Return the device library behind ``tl.extra.libdevice``."""
        return {"triton.language.extra.libdevice": libdevice}

    def load_dialects(self, context: Any) -> None:
        """Load nothing: TTIR has all."""

    def add_stages(self, stages: dict[str, Any], options: MluOptions, language: Any = None) -> None:
        """Add the stages: TTIR as Triton simplifies it, and BANG C."""
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
        # Not as shared memory: Triton would refuse that by a limit and a name of its own.
        metadata |= {"name": written.name, "shared": 0, "nram": written.nram, "wram": written.wram}
        return written.text.encode()


def _simplified(module: Any, metadata: Mapping[str, Any]) -> Any:
    """Run the passes that every back end of Triton begins with."""
    del metadata
    # Those that every back end of Triton begins with, in its order: what comes of them is what public tools print as TTIR.
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
    """Return a digest of the files of this folder: Triton keeps what they make."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# -- the driver ----------------------------------------------------------------------------------------


class ElementTypeName(str):
    """The name of an element type, with what Triton asks of that of a tensor behind a descriptor."""

    __slots__ = ()

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return np.dtype(self).itemsize

    @property
    def is_floating_point(self) -> bool:
        """True for floats."""
        return np.dtype(self).kind == "f"


@frozen(eq=False)
class ArrayArgument:
    """A NumPy array as Triton sees a tensor; what a launch writes to it comes back."""

    array: np.ndarray[Any, Any]

    @property
    def dtype(self) -> "ElementTypeName":
        """The element type by Triton's name."""
        return ElementTypeName(self.array.dtype.name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self.array.shape)

    def data_ptr(self) -> int:
        """Return an address that is a multiple of 16, as those of the device are."""
        return 4096

    # What autotune asks of tensors that it resets or restores.
    def zero_(self) -> None:
        """Set all elements to zero."""
        self.array[...] = 0

    def clone(self) -> "ArrayArgument":
        """Return an argument with a copy of the array."""
        return ArrayArgument(self.array.copy())

    def copy_(self, other: "ArrayArgument") -> None:
        """Take the elements of *other*."""
        self.array[...] = other.array


class _Utils:
    """The answers to what Triton asks about devices and loaded kernels."""

    def get_device_properties(self, device: int) -> dict[str, Any]:
        """Return the properties by the names that the card's driver has."""
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
        """Load a kernel from its text."""
        del shared, device
        path = kept_text(name, kernel.decode())
        board = active_board()
        module = load_module((str(path),), (), {}, board)
        return module, TextKernel(path, name, module, module[name], board), 0, 0, 1 << 20

    def unload_module(self, module: Any) -> None:
        """Forget a kernel."""


class MluLauncher:
    """Launches one compiled kernel."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self._kinds = [*src.signature.values()]
        # Launchers of the card's Triton pass the parameters that are not constants, of which a signature makes more.
        constant = {p.name for p in src.fn.params if p.is_constexpr}
        self._passed = [kind for name, kind in src.signature.items() if name not in constant]
        self._task_type = metadata.task_type

    def __call__(self, x: int, y: int, z: int, stream: Any, kernel: TextKernel, *more: Any) -> None:
        """Launch *kernel* on a grid; the arguments are the last of *more*."""
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
        if not _STATE.collected:  # nothing else shows what the kernel prints
            sys.stdout.writelines(launch.printed)


def _spread(kind: object, argument: object) -> list[tuple[str, object]]:
    """Return an argument with Triton's type of its parameter; of a descriptor of a tensor each that the kernel has in its place."""
    if not str(kind).startswith("tensordesc"):
        return [(str(kind), argument)]
    return [*zip(expand_signature([kind], None, ""), decompose_descriptor(argument), strict=True)]


TASK_TYPES = ("", "block", "union1")
"""What a call may ask for in place of the launcher's choice."""


def kind_and_dim(
    board: Board, grid: tuple[int, int, int], task_type: str = ""
) -> tuple[Kind, tuple[int, int, int]]:
    """Return the kind and dim of a launch as the card's launcher chooses them, or as *task_type* asks.

    Raises `LaunchError` for a grid without programs, and Triton's ``OutOfResources`` for one beyond the limit.
    """
    worst = max(grid)
    if worst > MOST_PROGRAMS:
        raise OutOfNram(worst, MOST_PROGRAMS, "grid size")
    if min(grid) < 1:
        raise LaunchError(f"the grid {grid} has no program")
    x, y, z = grid
    per_cluster = board.arch.cores_per_cluster
    # As the card's driver.py: a grid that fills clusters and fits the cores at once runs as Union1.  Of a program of four warps, which a
    # card gives the cores of a cluster, one core does all here: four would each do the work of another program.
    fits = x % per_cluster == 0 and x * y * z <= board.clusters * per_cluster
    if task_type == "union1" and x % per_cluster:
        raise LaunchError(
            f"task_type='union1' takes whole clusters, and {x} programs along x are not multiples of {per_cluster}"
        )
    wanted = {"block": False, "union1": True}.get(task_type, fits)
    return (UNION1 if wanted else BLOCK), grid


def launch_kernel(kernel: BangKernel, kind: Kind, dim: tuple[int, int, int], arguments: list[Any]) -> Launch:
    """Launch a translated kernel on arrays and numbers; what it writes goes back to the arrays."""
    # A new device for each launch, as `mlusim run` has it: what an earlier one left in memory is not seen.
    device = Device(active_board())
    tensors: dict[Any, tuple[DeviceTensor, np.ndarray[Any, Any]]] = {}
    passed: list[Any] = []
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            # Two arguments may be one array, as those of a kernel in place.
            array = argument.array
            if not array.flags.c_contiguous:
                raise UsageError(
                    f"an array of shape {array.shape} and strides {array.strides} is not a contiguous one; pass numpy.ascontiguousarray of it"
                )
            key = array.__array_interface__["data"][0], array.shape, array.dtype
            # In memory a truth value is a byte.
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
        """Return False: it is made active by `mlusim.triton`, and never takes the place of a card's."""
        return False

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Return *ty*: no C++ is made for a launch."""
        return ty

    def get_current_target(self) -> GPUTarget:
        """Return the active board as a target."""
        return GPUTarget(BACKEND, active_board().name, 1)

    def get_active_torch_device(self) -> Any:
        """Return PyTorch's device ``mlu``.  Raises `UsageError` where ``torch_mlu`` is not imported."""
        return torch_launches.device()

    def get_current_device(self) -> int:
        """Return the number of the device: of the board, since Triton keeps compiled kernels by it."""
        return [*BOARDS].index(active_board().name)

    def get_current_stream(self, device: int) -> int:
        """Return the number of the queue."""
        return 0

    def set_current_device(self, device: int) -> None:
        """Keep the one device."""

    def get_benchmarker(self) -> Any:
        """Return what times a call: the predicted time of its launches, so that autotune chooses by it."""
        return _predicted

    def get_device_interface(self) -> Any:
        """Return nothing that Triton asks for here."""
        return None


def _predicted(call: Any, *, quantiles: Any = None, **_: Any) -> Any:
    """Return the predicted milliseconds of the launches that *call* makes."""
    # What one launch takes does not vary: it is made once, and neither warmed up nor repeated.
    with collecting() as launches, torch_launches.timing() as milliseconds:
        call()
    time = sum(launch.time_us for launch in launches) / 1000 + sum(milliseconds)
    return time if quantiles is None else [time for _ in quantiles]


@frozen
class _State:
    """Lists that collect the launches that Triton's own way of calling makes, and what the next ones are observed by."""

    collected: list[list[Launch]] = field(factory=list)
    observe: list[Any] = field(factory=list)
    board: list[Board] = field(factory=list)


_STATE = _State()


@contextmanager
def collecting() -> Iterator[list[Launch]]:
    """Collect the launches on arrays that are made inside."""
    launches: list[Launch] = []
    _STATE.collected.append(launches)
    try:
        yield launches
    finally:
        _STATE.collected.pop()


def kept_text(name: str, text: str) -> Path:
    """Write *text* where it is found again, in the user's cache, and return its path."""
    base = user_cache()
    folder = Path(tempfile.mkdtemp(prefix="mlusim-")) if base is None else base / "triton"
    # By its contents: two specialisations have one name, and findings of two runs name one file.
    path = folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.mlu"
    if not path.exists():
        cache.put(path, text.encode())
    return path


def active_board() -> Board:
    """Return the board that kernels are compiled for: the one that was named, that of PyTorch's device, that of ``MLUSIM_BOARD``."""
    if _STATE.board:
        return _STATE.board[-1]
    name = torch_launches.board_name() or os.environ.get("MLUSIM_BOARD", "").partition(",")[0]
    return find_board(name or DEFAULT_BOARDS[0])


def activate(board: str | None = None) -> None:
    """Make a simulated board what Triton compiles for and launches on.  Raises `UsageError` for an unknown board."""
    back_ends.backends[BACKEND] = back_ends.Backend(compiler=MluBackend, driver=MluDriver)
    _STATE.board[:] = [] if board is None else [find_board(board)]
    # What Triton keeps on disk is found by the text of a function alone, and would name the file of another checkout.
    knobs.compilation.always_compile = True
    KernelInterface.__getitem__ = _taking_arrays
    TensorDescriptor.__post_init__ = _of_an_array
    _lend_names()
    dialect.lend(BACKEND)
    runtime.set_active(MluDriver())


def _lend_names() -> None:
    """Let programs import what they import of the card's Triton: its device library, and what its driver says of devices."""
    back_end, library = ModuleType("triton.backends.mlu"), ModuleType("triton.language.extra.mlu")
    driver = ModuleType(f"{back_end.__name__}.driver")
    vars(driver).update(BangUtils=_Utils, BangDriver=MluDriver)
    vars(back_end).update(driver=driver, __path__=[])
    vars(library).update(libdevice=libdevice, __path__=[])
    vars(back_ends)["mlu"], vars(extra)["mlu"] = back_end, library
    names = {f"{library.__name__}.libdevice": libdevice}
    sys.modules.update(names | {room.__name__: room for room in (back_end, library, driver)})


def _taking_arrays(kernel: KernelInterface, grid: object) -> Callable[..., Any]:
    """Return the call of ``kernel[grid]``, for arrays of NumPy as well."""

    # Triton knows a tensor by what it has, which an array has not; no hook of a call may change an argument.  What is not an array
    # goes on as it is, so that kernels for another driver are called as before.
    def call(*arguments: object, **named: object) -> object:
        by_name = {name: _seen(value) for name, value in named.items()}
        return kernel.run(*map(_seen, arguments), grid=grid, warmup=False, **by_name)

    return call


_AS_TRITON_HAS_IT = TensorDescriptor.__post_init__


def _of_an_array(descriptor: TensorDescriptor) -> None:
    """Have a descriptor of an array see it as Triton sees a tensor."""
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
"""The element types of arrays that Triton has a name for."""


def check_argument(name: str, value: object) -> None:
    """Raise `UsageError` for a *value* of parameter *name* that is not an array, tensor, number, descriptor or tuple of these."""
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
