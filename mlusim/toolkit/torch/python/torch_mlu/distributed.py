"""The process group ``cncl`` of ``torch.distributed``: gloo on copies of the tensors in the CPU's memory.

Each process has its own simulator and simulated cards, so that collectives between processes pass through the host.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

Tensors = Any
"""A tensor, or lists of tensors of any depth."""


class _Copied(dist._Work):  # noqa: SLF001 - the class that collectives return
    """A completed collective, whose results are in the caller's tensors."""

    def __init__(self, results: object) -> None:
        super().__init__()
        self._results = results
        future: torch.futures.Future[Any] = torch.futures.Future()
        future.set_result(results)
        self._future = future

    def wait(self, timeout: object = None) -> bool:  # noqa: ARG002 - it is over
        """Return True, since the collective is complete."""
        return True

    def is_completed(self) -> bool:
        """Return True, since the collective is complete."""
        return True

    def get_future(self) -> "torch.futures.Future[Any]":
        """Return a future with the results."""
        return self._future

    def result(self) -> object:
        """Return the results of the call."""
        return self._results


def _host(tensors: Tensors) -> Tensors:
    """Return copies in the CPU's memory of *tensors*, lists of any depth."""
    if isinstance(tensors, torch.Tensor):
        return tensors.cpu()
    return [_host(tensor) for tensor in tensors]


def _give_back(targets: Tensors, results: Tensors) -> None:
    """Copy *results* to *targets*, lists of the same depth."""
    if isinstance(targets, torch.Tensor):
        targets.copy_(results)
        return
    for target, result in zip(targets, results, strict=True):
        _give_back(target, result)


class ProcessGroupCNCL(dist.ProcessGroup):
    """Collectives on tensors of simulated cards, one or more per process."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: dt.timedelta) -> None:
        super().__init__(rank, size)
        self._gloo = dist.ProcessGroupGloo(store, rank, size, timeout)

    def getBackendName(self) -> str:
        """Return ``cncl``, the group's back end."""
        return "cncl"

    def _run(
        self, call: Callable[..., Any], written: Tensors, read: Sequence[Tensors] = (), *words: object
    ) -> _Copied:
        """Call gloo's *call* on copies of the *written* and *read* tensors; then copy the written ones back."""
        targets = _host(written)
        call(targets, *map(_host, read), *words).wait()
        _give_back(written, targets)
        return _Copied(written)

    def allreduce(self, tensors: Tensors, opts: object = None) -> _Copied:
        """Combine the tensors of all processes; all receive the result."""
        return self._run(self._gloo.allreduce, tensors, (), *_given(opts))

    def allreduce_coalesced(self, tensors: Tensors, opts: object = None) -> _Copied:
        """Combine lists of tensors."""
        for tensor in tensors:
            options = dist.AllreduceOptions()
            if opts is not None:
                options.reduceOp = opts.reduceOp
            self.allreduce([tensor], options)
        return _Copied(tensors)

    def broadcast(self, tensors: Tensors, opts: object = None) -> _Copied:
        """Copy the tensors of one process to all processes."""
        return self._run(self._gloo.broadcast, tensors, (), *_given(opts))

    def reduce(self, tensors: Tensors, opts: object = None) -> _Copied:
        """Combine the tensors of all processes; one receives the result."""
        return self._run(self._gloo.reduce, tensors, (), *_given(opts))

    def allgather(self, outputs: Tensors, inputs: Tensors, opts: object = None) -> _Copied:
        """Collect the tensors of all processes in all of them."""
        return self._run(self._gloo.allgather, outputs, (inputs,), *_given(opts))

    def _allgather_base(self, output: Tensors, tensor: Tensors, opts: object = None) -> _Copied:  # noqa: ARG002 - a timeout
        parts = list(output.view(self.size(), *tensor.shape).unbind(0))
        self.allgather([parts], [tensor])
        return _Copied(output)

    def gather(self, outputs: Tensors, inputs: Tensors, opts: object = None) -> _Copied:
        """Collect the tensors of all processes in one of them."""
        return self._run(self._gloo.gather, outputs, (inputs,), *_given(opts))

    def scatter(self, outputs: Tensors, inputs: Tensors, opts: object = None) -> _Copied:
        """Distribute the tensors of one process, one to each process."""
        return self._run(self._gloo.scatter, outputs, (inputs,), *_given(opts))

    def reduce_scatter(self, outputs: Tensors, inputs: Tensors, opts: object = None) -> _Copied:
        """Combine lists of tensors; each process receives one of the results."""
        for output, parts in zip(outputs, inputs, strict=True):
            whole = [torch.stack([part.cpu() for part in parts])]
            options = dist.AllreduceOptions()
            if opts is not None:
                options.reduceOp = opts.reduceOp
            self._gloo.allreduce(whole, options).wait()
            output.copy_(whole[0][self.rank()])
        return _Copied(outputs)

    def _reduce_scatter_base(self, output: Tensors, tensor: Tensors, opts: object = None) -> _Copied:
        return self.reduce_scatter([output], [list(tensor.view(self.size(), *output.shape).unbind(0))], opts)

    def alltoall_base(
        self,
        output: Tensors,
        tensor: Tensors,
        output_sizes: list[int],
        input_sizes: list[int],
        opts: object = None,
    ) -> _Copied:
        """Exchange parts of tensors between all processes."""
        return self._run(
            self._gloo.alltoall_base, output, (tensor,), output_sizes, input_sizes, *_given(opts)
        )

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: object = None) -> _Copied:
        """Exchange tensors between all processes, one for each pair."""
        return self._run(self._gloo.alltoall, outputs, (inputs,), *_given(opts))

    # PyTorch 2.12 and later call some of them by other names.
    all_gather_single, reduce_scatter_single, all_to_all_single = (
        _allgather_base,
        _reduce_scatter_base,
        alltoall_base,
    )

    def barrier(self, opts: object = None) -> _Copied:
        """Wait for all processes."""
        self._gloo.barrier(*_given(opts)).wait()
        return _Copied(None)

    def send(self, tensors: Tensors, rank: int, tag: int = 0) -> _Copied:
        """Send tensors to one process."""
        self._gloo.send(_host(tensors), rank, tag).wait()
        return _Copied(tensors)

    def recv(self, tensors: Tensors, rank: int, tag: int = 0) -> _Copied:
        """Receive tensors from one process."""
        return self._run(self._gloo.recv, tensors, (), rank, tag)

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> _Copied:
        """Receive tensors from any process."""
        return self._run(self._gloo.recv_anysource, tensors, (), tag)


def _given(options: object) -> tuple[object, ...]:
    return () if options is None else (options,)


def _scatter(
    tensor: torch.Tensor, devices: Sequence[int], sizes: Sequence[int] | None, dim: int, streams: object
) -> list[torch.Tensor]:
    """Divide *tensor* among *devices*, in equal parts if *sizes* is None."""
    del streams  # a copy is complete when it returns
    parts = tensor.chunk(len(devices), dim) if sizes is None else tensor.split(list(sizes), dim)
    return [part.to(torch.device("mlu", device)) for part, device in zip(parts, devices, strict=False)]


def _gather(tensors: Sequence[torch.Tensor], dim: int, device: int | None) -> torch.Tensor:
    """Concatenate *tensors* on *device*; -1 is the CPU."""
    place = "cpu" if device == -1 else "mlu" if device is None else f"mlu:{device}"
    return torch.cat([tensor.to(place) for tensor in tensors], dim)


def _broadcast(tensor: torch.Tensor, devices: Sequence[int]) -> list[torch.Tensor]:
    """Copy *tensor* to each of *devices*."""
    return [tensor.to(torch.device("mlu", device)) for device in devices]


def _broadcast_coalesced(
    tensors: Sequence[torch.Tensor],
    devices: Sequence[int],
    buffer_size: int,  # noqa: ARG001 - each is copied separately
) -> list[list[torch.Tensor]]:
    """Copy *tensors* to each of *devices*."""
    return [
        list(of_device)
        for of_device in zip(*(_broadcast(tensor, devices) for tensor in tensors), strict=True)
    ]


def register() -> None:
    """Register ``cncl`` as the backend of ``torch.distributed`` for this device, and make ``nn.DataParallel`` work."""
    for exchange in (_scatter, _gather, _broadcast, _broadcast_coalesced):
        if not hasattr(torch._C, exchange.__name__):  # noqa: SLF001 - only builds for cards have them
            setattr(torch._C, exchange.__name__, exchange)  # noqa: SLF001
    if dist.is_available() and "cncl" not in dist.Backend.backend_list:
        dist.Backend.register_backend("cncl", ProcessGroupCNCL, devices=["mlu"])
