"""Two processes, each with a simulator of its own, in the group ``cncl``: what the first has in the end."""

import datetime as dt
import json
from pathlib import Path

import torch
import torch._dynamo  # which parallel modules and optimisers import
import torch.distributed as dist
import torch.multiprocessing
import torch_mlu  # noqa: F401 - it makes the device


def work(rank, path):
    torch.set_num_threads(1)
    minute = dt.timedelta(seconds=60)
    dist.init_process_group("cncl", init_method=f"file://{path}", rank=rank, world_size=2, timeout=minute)
    summed = torch.full((3,), rank + 1.0).mlu()
    dist.all_reduce(summed)
    told = torch.full((2,), float(rank)).mlu()
    dist.broadcast(told, 1)
    every = [torch.empty(1).mlu() for _ in range(2)]
    dist.all_gather(every, torch.full((1,), float(rank)).mlu())
    one = [torch.empty(1).mlu() for _ in range(2)] if rank == 0 else None
    dist.gather(torch.full((1,), rank + 5.0).mlu(), one, 0)
    part = torch.empty(1).mlu()
    dist.reduce_scatter(part, [torch.ones(1).mlu(), torch.ones(1).mlu() * rank])
    if rank:
        dist.send(summed * 2, 0)
    else:
        sent = torch.empty(3).mlu()
        dist.recv(sent, 1)
    layer = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1).mlu())
    layer(torch.full((1, 2), rank + 1.0).mlu()).sum().backward()
    dist.barrier()
    if rank == 0:
        tensors = (summed, told, *every, *one, part, sent, layer.module.weight.grad)
        assert all(tensor.is_mlu for tensor in tensors)
        Path(f"{path}.json").write_text(json.dumps([tensor.flatten().tolist() for tensor in tensors]))
    dist.destroy_process_group()


def begin(path):
    """Start them, as children of this process, which has not used the device yet."""
    return torch.multiprocessing.start_processes(
        work, args=(path,), nprocs=2, join=False, start_method="fork"
    )


def ended(processes, path):
    """Wait for their ends; the results of the first."""
    while not processes.join():
        pass
    return json.loads(Path(f"{path}.json").read_text())
