"""Queues of the driver as streams, and its notifiers as events."""

from typing import NamedTuple, Self

import torch
from torch_mlu import _C
from torch_mlu.mlu.device import current_device, index_of


class Stream(torch.Stream):
    """A queue of the driver, or with *handle* an existing one."""

    mlu_stream: int

    def __new__(
        cls, device: object = None, priority: int = 0, *, handle: int | None = None, **options: object
    ) -> Self:
        """Make a queue on *device*, or refer to an existing one, also by the arguments of `torch.Stream` (``stream_id``, ``device_index``)."""
        number = index_of(options.get("device_index", device))
        handle = options.get("stream_id", handle)
        # An existing queue belongs to its owner: only a queue that is made here ends with the stream.
        queue = int(_C.new_queue(number)) if handle is None else handle
        stream: Stream = super().__new__(
            cls, stream_id=queue, device_index=number, device_type=_C.DEVICE_TYPE
        )
        stream.mlu_stream, stream.priority, stream._own = queue, priority, handle is None
        return stream

    def __init__(self, *words: object, **options: object) -> None:
        """Do nothing, since `__new__` has made the queue."""

    def __del__(self) -> None:
        if getattr(self, "_own", False):
            _C.end_queue(self.mlu_stream)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the lowest and the highest priority, which are equal, since queues of the driver have none."""
        return 0, 0

    def synchronize(self) -> None:
        """Wait for its work.  Raises `RuntimeError` if a launch failed."""
        _C.sync_queue(self.mlu_stream)

    def query(self) -> bool:
        """Return True, since work is done before the call that submits it returns."""
        return True

    def record_event(self, event: "Event | None" = None) -> "Event":
        """Record *event*, or a new one, in this stream, and return it."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: "Event") -> None:
        """Run later work after *event*."""
        event.wait(self)

    def wait_stream(self, stream: "Stream") -> None:
        """Run later work after all present work of *stream*."""
        self.wait_event(stream.record_event())

    def __repr__(self) -> str:
        return f"<torch.mlu.Stream device={self.device} mlu_stream={self.mlu_stream:#x}>"


class ExternalStream(Stream):
    """A queue that other code has made, by its handle; the queue does not end with this object."""

    def __new__(cls, stream_ptr: int, device: object = None) -> Self:
        """Refer to the queue at *stream_ptr*."""
        stream: ExternalStream = super().__new__(cls, device, handle=stream_ptr)
        return stream


class Event:
    """A notifier of the driver: the time between two events is the simulator's prediction."""

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

    @classmethod
    def from_ipc_handle(cls, *_: object) -> "Event":
        """Raise `RuntimeError`: an event of another process is not supported."""
        message = "events of several processes are not simulated; each process has a simulator of its own"
        raise RuntimeError(message)

    ipc_handle = from_ipc_handle

    def record(self, stream: torch.Stream | None = None) -> None:
        """Place it after the present work of *stream*, by default the current one."""
        _C.place(self.mlu_event, _C.queue() if stream is None else stream.stream_id)
        self._recorded = True

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Let *stream* run later work after this event."""
        if self._recorded:
            _C.queue_waits(_C.queue() if stream is None else stream.stream_id, self.mlu_event)

    def synchronize(self) -> None:
        """Wait for the work before the event, which is already done."""
        if self._recorded:
            _C.wait(self.mlu_event)

    def query(self) -> bool:
        """Return True, since work is done before the call that submits it returns."""
        return True

    def elapsed_time(self, end: "Event") -> float:
        """Return the milliseconds on the device from this event to *end*."""
        if not (self._recorded and end._recorded):  # noqa: SLF001
            message = "both events must be recorded before the time between them is asked for"
            raise RuntimeError(message)
        return float(_C.elapsed(self.mlu_event, end.mlu_event))

    def hardware_time(self, end: "Event") -> float:
        """Return the microseconds on the device from this event to *end*."""
        return self.elapsed_time(end) * 1000


def current_stream(device: object = None) -> Stream:
    """Return the stream for the work of *device*."""
    return Stream(device, handle=int(_C.queue(index_of(device))))


def default_stream(device: object = None) -> Stream:
    """Return the stream for work unless another is chosen."""
    return Stream(device, handle=0)


def set_stream(stream: torch.Stream | None) -> None:
    """Make *stream* the stream for further work, and its device the current one."""
    if stream is not None:
        _C.set_device(stream.device_index)
        _C.set_queue(stream.stream_id, stream.device_index)


class StreamContext:
    """Makes *stream* and its device the current ones in a block; None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        """Make the stream the current one."""
        self._device = current_device()
        if self.stream is not None:
            self._before = current_stream(self.stream.device_index)
        set_stream(self.stream)

    def __exit__(self, *_: object) -> None:
        """Restore the stream and the device from before the block."""
        if self.stream is not None:
            set_stream(self._before)
        _C.set_device(self._device)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Run the work of the block on *stream*."""
    return StreamContext(stream)


class StreamInfo(NamedTuple):
    """A stream of the library of collectives."""

    stream: Stream
    kind: str


def cncl_stream(device: object = None) -> list[StreamInfo]:
    """Return the streams of collectives: none, since they run in the process's own order."""
    index_of(device)
    return []


def is_cncl_available() -> bool:
    """Return whether processes can form the group ``cncl``."""
    return torch.distributed.is_available()
