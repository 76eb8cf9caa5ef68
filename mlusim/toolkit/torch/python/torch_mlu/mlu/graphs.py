"""Graphs of launches and operators: recorded on a stream, and replayed on the same tensors."""

import torch
from torch_mlu import _C
from torch_mlu.mlu.device import synchronize
from torch_mlu.mlu.streams import Stream, current_stream, set_stream


def is_current_stream_capturing() -> bool:
    """Return whether work on the current stream is being recorded."""
    return bool(_C.is_capturing())


def graph_pool_handle() -> tuple[int, int]:
    """Return a handle for memory shared by graphs; the simulator needs none, since a graph's tensors live as long as the graph."""
    return 0, 0


class MLUGraph:
    """Recorded work: launches, and operators that the CPU computes, in order and with their tensors."""

    def __init__(self) -> None:
        self._work = 0

    def capture_begin(self, pool: object = None, capture_error_mode: str = "relaxed") -> None:  # noqa: ARG002
        """Record the work on the current stream from now on.  Raises `RuntimeError` if it is being recorded already."""
        self.reset()
        _C.begin_capture()

    def capture_end(self) -> None:
        """End the recording.  Raises `RuntimeError` if there is none."""
        self._work = int(_C.end_capture())

    def replay(self) -> None:
        """Replay the recorded work.  Raises `RuntimeError` if nothing was recorded, and the exceptions of its launches."""
        if not self._work:
            message = "this graph has recorded nothing; call it in `with torch.mlu.graph(graph): ...` first"
            raise RuntimeError(message)
        _C.run_captured(self._work)

    def reset(self) -> None:
        """Drop the recorded work, and its tensors."""
        if self._work:
            _C.end_captured(self._work)
        self._work = 0

    def pool(self) -> tuple[int, int]:
        """Return the handle of its memory."""
        return graph_pool_handle()

    def enable_debug_mode(self) -> None:
        """Do nothing, since no file of the graph is kept."""

    def debug_dump(self, debug_path: str) -> None:  # noqa: ARG002 - the vendor's argument
        """Refuse to write the graph: `RuntimeError`."""
        message = "the simulator writes no picture of a graph; `mlusim profile` shows its launches"
        raise RuntimeError(message)

    def __del__(self) -> None:
        if not _C.forked():
            self.reset()


class graph:  # noqa: N801 - the vendor's name
    """Record the work of a block in *mlu_graph*, on a stream of its own or on *stream*."""

    def __init__(
        self,
        mlu_graph: MLUGraph,
        pool: object = None,
        stream: Stream | None = None,
        capture_error_mode: str = "relaxed",
    ) -> None:
        self._graph, self._words = mlu_graph, (pool, capture_error_mode)
        self._stream = stream or Stream()
        self._before = current_stream()

    def __enter__(self) -> None:
        synchronize()
        self._before = current_stream()
        set_stream(self._stream)
        self._graph.capture_begin(*self._words)

    def __exit__(self, *raised: object) -> None:
        try:
            self._graph.capture_end()
        finally:
            set_stream(self._before)


def make_graphed_callables(callables: object, sample_args: object, *words: object, **more: object) -> object:  # noqa: ARG001
    """Return *callables* as they are: a graph saves the host's time, which is not simulated, and gives the same results."""
    wanted = callables if isinstance(callables, tuple) else (callables,)
    if not all(callable(target) or isinstance(target, torch.nn.Module) for target in wanted):
        message = "make_graphed_callables takes a function, a module or a tuple of them"
        raise TypeError(message)
    return callables
