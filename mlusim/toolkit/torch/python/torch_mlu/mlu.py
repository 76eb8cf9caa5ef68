"""``torch.mlu``: devices, streams, events and memory."""

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace

import torch
from torch_mlu import _C  # the compiled device

__version__ = "1.0.0"


def _index(device: object = None) -> int:
    if device is None:
        return int(_C.current_device())
    if isinstance(device, int):
        return device if device >= 0 else int(_C.current_device())
    found = torch.device(device)
    if found.type != "mlu":
        message = f"{found} is no device mlu"
        raise ValueError(message)
    return int(_C.current_device()) if found.index is None else found.index


# -- devices ---------------------------------------------------------------------------------------


def is_available() -> bool:
    """Return whether the device can be used: always."""
    return True


def is_initialized() -> bool:
    """Return whether it is ready: always."""
    return True


def init() -> None:
    """Do nothing: the simulator starts when it is first used."""


_lazy_init = init


def _is_in_bad_fork() -> bool:
    return bool(_C.forked())


def device_count() -> int:
    """Return how many devices there are."""
    return int(_C.devices())


def current_device() -> int:
    """Return the number of the current one."""
    return int(_C.current_device())


def set_device(device: object) -> None:
    """Make *device* the current one."""
    _C.set_device(_index(device))


@contextlib.contextmanager
def device(device: object) -> Iterator[None]:
    """Make *device* the current one in the block."""
    before = current_device()
    set_device(device)
    try:
        yield
    finally:
        set_device(before)


def get_device_name(device: object = None) -> str:
    """Return the name of the board."""
    return str(_C.name(_index(device)))


def get_device_capability(device: object = None) -> tuple[int, int]:
    """Return the architecture's version, as two numbers."""
    number = _index(device)
    return (
        int(_C.attribute("cnrtAttrComputeCapabilityMajor", number)),
        int(_C.attribute("cnrtAttrComputeCapabilityMinor", number)),
    )


def get_device_properties(device: object = None) -> SimpleNamespace:
    """Return the board's name, memory and cores."""
    number = _index(device)
    major, minor = get_device_capability(number)
    clusters, cores = (
        int(_C.attribute(name, number)) for name in ("cnrtAttrClusterCount", "cnrtAttrMcorePerCluster")
    )
    return SimpleNamespace(
        name=get_device_name(number),
        major=major,
        minor=minor,
        total_memory=int(_C.memory(number)[1]),
        cluster_count=clusters,
        core_num_per_cluster=cores,
        multi_processor_count=clusters * cores,
    )


def synchronize(device: object = None) -> None:
    """Wait for every stream of *device*.  Raises `RuntimeError` where a launch went wrong."""
    _C.synchronize(_index(device))


# -- streams and events ----------------------------------------------------------------------------


class Stream:
    """A queue of the driver; with *handle* one that exists."""

    def __init__(self, device: object = None, priority: int = 0, *, handle: int | None = None) -> None:
        self.device_index = _index(device)
        self.priority = priority
        self._own = handle is None
        self.mlu_stream = int(_C.new_queue(self.device_index)) if handle is None else handle

    def __del__(self) -> None:
        if getattr(self, "_own", False):
            _C.end_queue(self.mlu_stream)

    @property
    def device(self) -> torch.device:
        """The device on which the stream's work runs."""
        return torch.device("mlu", self.device_index)

    def synchronize(self) -> None:
        """Wait for its work.  Raises `RuntimeError` where a launch went wrong."""
        _C.sync_queue(self.mlu_stream)

    def query(self) -> bool:
        """Return True: work is done before the call that gives it returns."""
        return True

    def record_event(self, event: "Event | None" = None) -> "Event":
        """*event*, or a new one, recorded in this stream."""
        found = event or Event()
        found.record(self)
        return found

    def wait_event(self, event: "Event") -> None:
        """Begin later work after *event*."""
        event.wait(self)

    def wait_stream(self, stream: "Stream") -> None:
        """Begin later work after everything that *stream* has now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.mlu_stream == other.mlu_stream

    def __hash__(self) -> int:
        return hash(self.mlu_stream)

    def __repr__(self) -> str:
        return f"<torch.mlu.Stream device={self.device} mlu_stream={self.mlu_stream:#x}>"


class Event:
    """A notifier of the driver: the time between two is what the simulator predicts."""

    def __init__(
        self,
        enable_timing: bool = False,  # noqa: ARG002 - always
        blocking: bool = False,  # noqa: ARG002 - a wait takes no time
        interprocess: bool = False,
    ) -> None:
        if interprocess:
            message = "events of several processes are not simulated; each process has a simulator of its own"
            raise RuntimeError(message)
        self.mlu_event = int(_C.new_notifier())
        self._recorded = False

    def __del__(self) -> None:
        if hasattr(self, "mlu_event"):
            _C.end_notifier(self.mlu_event)

    def record(self, stream: Stream | None = None) -> None:
        """Place it after the work that *stream* (the current one if none is given) has now."""
        _C.place(self.mlu_event, _C.queue() if stream is None else stream.mlu_stream)
        self._recorded = True

    def wait(self, stream: Stream | None = None) -> None:
        """Let *stream* begin later work after this event."""
        if self._recorded:
            _C.queue_waits(_C.queue() if stream is None else stream.mlu_stream, self.mlu_event)

    def synchronize(self) -> None:
        """Wait for the work before the event, which is done."""
        if self._recorded:
            _C.wait(self.mlu_event)

    def query(self) -> bool:
        """Return True: work is done before the call that gives it returns."""
        return True

    def elapsed_time(self, end: "Event") -> float:
        """Return the milliseconds of the device from this event to *end*."""
        if not (self._recorded and end._recorded):  # noqa: SLF001
            message = "both events must be recorded before the time between them is asked for"
            raise RuntimeError(message)
        return float(_C.elapsed(self.mlu_event, end.mlu_event))

    def hardware_time(self, end: "Event") -> float:
        """Return the microseconds of the device from this event to *end*."""
        return self.elapsed_time(end) * 1000


def current_stream(device: object = None) -> Stream:
    """Return the stream that work goes to."""
    return Stream(device, handle=int(_C.queue()))


def default_stream(device: object = None) -> Stream:
    """Return the stream that work goes to unless another is chosen."""
    return Stream(device, handle=0)


def set_stream(stream: Stream | None) -> None:
    """Send work to *stream* from now on."""
    if stream is not None:
        _C.set_queue(stream.mlu_stream)


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Put the work of the block on *stream*."""
    before = int(_C.queue())
    set_stream(stream)
    try:
        yield
    finally:
        _C.set_queue(before)


# -- memory ----------------------------------------------------------------------------------------


def memory_allocated(device: object = None) -> int:
    """Return the bytes of tensors on *device* now."""
    return int(_C.memory_use(_index(device))[0])


def max_memory_allocated(device: object = None) -> int:
    """Return the most bytes of tensors on *device* since the process began, or since `reset_peak_memory_stats`."""
    return int(_C.memory_use(_index(device))[1])


memory_reserved, max_memory_reserved = memory_allocated, max_memory_allocated  # nothing is held back


def reset_peak_memory_stats(device: object = None) -> None:
    """Count the most bytes of *device* from now on."""
    _C.forget_most(_index(device))


def empty_cache() -> None:
    """Do nothing: what is freed goes back at once."""


def mem_get_info(device: object = None) -> tuple[int, int]:
    """Free and all bytes of the board."""
    free, total = _C.memory(_index(device))
    return int(free), int(total)


# -- random numbers: the CPU's ---------------------------------------------------------------------


def manual_seed(seed: int) -> None:
    """Seed the CPU's generator, whose numbers the device takes."""
    torch.default_generator.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed all devices, which share one generator."""
    torch.default_generator.manual_seed(seed)


def get_rng_state(device: object = "mlu") -> torch.Tensor:  # noqa: ARG001
    """Return the state of the CPU's generator."""
    return torch.default_generator.get_state()


def set_rng_state(state: torch.Tensor, device: object = "mlu") -> None:  # noqa: ARG001
    """Set the state of the generator."""
    torch.default_generator.set_state(state)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the types that ``torch.autocast("mlu")`` takes."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported() -> bool:
    """Return whether kernels of this board may use bfloat16."""
    return get_device_capability()[0] >= 5
