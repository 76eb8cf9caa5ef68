"""The process of one submission: ``child.py REQUEST`` runs its module on the device ``mlu`` and leaves arrays beside the request.

The reference runs first, on the CPU, before any code of the submission has run.  The folder ``expected`` has the
reference's results, ``actual`` the submission's results, and ``changed`` the reference's results on the same inputs
after the submission has replaced functions of Python. Each array is a numbered file, which the judge need not read as
a whole. ``told.json`` has the rest, and is rewritten after each step.
"""

import builtins
import contextlib
import copy
import ctypes
import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from mlusim.judge.confine import confined, limited, without_network
from mlusim.toolkit.torch.builder import TorchBuilder, installed

DRAWN_SINGLY = 16  # PyTorch draws fewer numbers than this one by one, in double precision
_PART = 1 << 22  # elements drawn at once
LATE = 0.1  # seconds: SVD_decomposition launches 10 ms after it has returned, and the contest looks later


def main(path: Path) -> None:
    """Carry out the request in the file *path*."""
    asked = json.loads(path.read_text(encoding="utf-8"))
    if "MLUSIM_SERVER" in os.environ:  # under mlusim check, whose socket is of this network
        driver = ctypes.CDLL(f"{os.environ['NEUWARE_HOME']}/lib64/libcnrt.so", ctypes.RTLD_GLOBAL)
        driver.cnrtGetDeviceCount(ctypes.byref(ctypes.c_uint()))
    builder = TorchBuilder(
        installed(os.environ["NEUWARE_HOME"])
    )  # the shared modules open more files than a submission may
    builder.backend()
    builder.prepare(Path(asked["source"]).read_text(encoding="utf-8"))
    network = without_network()  # in a user namespace no process can raise its priority
    everything = [str(path) for path in Path("/").iterdir() if path.is_dir()]
    confined(asked["writable"], everything, network=network)  # so that submissions cannot search the files
    limited(asked["seconds"], asked["memory"], asked["memory"] << 4)
    run(path.parent, asked["reference"], asked["solution"], asked["seed"])


def run(folder: Path, reference: str, solution: str, seed: int) -> None:
    """Run the modules *reference* and *solution* on inputs drawn from *seed*."""
    import torch  # noqa: PLC0415 - it starts threads, and the confinement is for a process with one

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float16)
    torch.manual_seed(seed)
    drawn, draw = _loaded("reference", reference), torch.set_rng_state
    with older_draws():
        init_inputs = [_as(torch.float16, value) for value in drawn.get_init_inputs()]
        wide, state = [_as(torch.float32, value) for value in init_inputs], torch.get_rng_state()
        model = drawn.Model(*wide).to(torch.float32)
        inputs = [_as(torch.float16, value) for value in drawn.get_inputs()]
    _keep(folder / "expected", _expected(model, inputs))
    told: dict[str, Any] = {"step": "build"}
    _tell(folder, told)

    import torch_mlu  # noqa: F401, PLC0415 - its replacements do not count as the submission's

    measured, before = benchmark_hardware_time_once, dict(_functions())
    module = _loaded("solution", solution)
    # The two models of the contest's tester, under its names: submissions look for weights among the
    # variables of their callers. The device is the one that the submission has chosen.
    model_perf = _on_device(copy.deepcopy(model).to(torch.float16))
    model = _on_device(model)
    submission = _on_device(module.ModelNew(*init_inputs))
    arguments = [value.mlu() if torch.is_tensor(value) else value for value in inputs]
    told["step"] = "run"
    _tell(folder, told)
    with torch.no_grad():
        told["time"], results = measured(submission, arguments)
    del model, model_perf
    time.sleep(LATE)
    _keep(folder / "actual", results)
    told["written"] = sum(
        not torch.equal(a, b.cpu())
        for a, b in zip(inputs, arguments, strict=True)
        if torch.is_tensor(a) and not (a.is_floating_point() and a.isnan().any())
    )
    after = dict(_functions())
    told["replaced"] = sorted(name for name, value in before.items() if after.get(name) is not value)
    told["step"] = "done"
    _tell(folder, told)
    if told["replaced"]:
        draw(state)  # the state before the reference drew its weights, and nothing else
        _keep(
            folder / "changed",
            _expected(_loaded("reference", reference).Model(*wide).to(torch.float32), inputs),
        )


def benchmark_hardware_time_once(function: Any, inputs: list[Any]) -> tuple[float, Any]:
    """Return the simulator's predicted time of a call, in us, and the call's result.

    It has the name under which submissions look for it in ``__main__`` in order to replace it.
    """
    import torch  # noqa: PLC0415

    start, end = torch.mlu.Event(), torch.mlu.Event()
    start.record()
    results = function(*inputs)
    end.record()
    torch.mlu.synchronize()
    return start.hardware_time(end), results


@contextlib.contextmanager
def older_draws() -> Iterator[None]:
    """Make ``torch.randn`` draw numbers of type half as the contest's PyTorch (up to 2.9, on the CPU) does.

    Their logarithm is drawn from 2048 values, so no number is beyond 3.91 and the deviation is 0.9988: BatchNorm
    takes 1.001 for its reciprocal.
    """
    import torch  # noqa: PLC0415

    usual = torch.randn

    def randn(*size: Any, **more: Any) -> Any:
        shape = torch.Size(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
        if shape.numel() < DRAWN_SINGLY or more.get("dtype", torch.get_default_dtype()) is not torch.float16:
            return usual(*size, **more)
        result = torch.empty(shape.numel(), dtype=torch.float16)
        for part in result.split(_PART):
            u, v = torch.randint(2048, (2, (part.numel() + 1) // 2), dtype=torch.int16).half() / 2048
            radius, angle = (-2 * (1 - u).log()).sqrt(), 2 * torch.pi * v
            part.copy_(torch.cat([radius * angle.cos(), radius * angle.sin()])[: part.numel()])
        return result.reshape(shape)

    torch.randn = randn  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.randn = usual


def _expected(model: Any, inputs: list[Any]) -> Any:
    """Return the reference's results for the inputs in single precision, or in half if it accepts nothing else."""
    import torch  # noqa: PLC0415

    with torch.no_grad():
        try:
            return model(*(_as(torch.float32, value) for value in inputs))
        except AssertionError:
            return model(*inputs)


def _as(dtype: Any, value: Any) -> Any:
    import torch  # noqa: PLC0415

    return value.to(dtype) if torch.is_tensor(value) and value.is_floating_point() else value


def _on_device(model: Any) -> Any:
    """Return *model* on the device, with the tensors among its plain attributes."""
    import torch  # noqa: PLC0415

    model = model.mlu()
    for part in model.modules():
        for name, value in list(vars(part).items()):
            if torch.is_tensor(value):
                setattr(part, name, value.mlu())
    return model


def _loaded(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _functions() -> Iterator[tuple[str, object]]:
    """Yield by name the functions that a submission may replace: those of PyTorch, the built-in ones, and this program's."""
    import torch  # noqa: PLC0415

    owners: list[Any] = [torch, torch.nn.functional, torch.linalg, torch.Tensor, builtins]
    owners += [kind for kind in vars(torch.nn).values() if isinstance(kind, type)]
    owners.append(sys.modules["__main__"])
    for owner in owners:
        for name, value in list(vars(owner).items()):
            if callable(value):
                yield f"{owner.__name__}.{name}", value


def _flat(value: Any) -> Iterator[Any]:
    import torch  # noqa: PLC0415

    if torch.is_tensor(value):
        yield value.detach().cpu().numpy()
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _flat(member)
    else:
        yield torch.tensor(value, dtype=torch.float64).numpy()


def _keep(path: Path, results: Any) -> None:
    import numpy as np  # noqa: PLC0415

    path.mkdir()
    for number, array in enumerate(_flat(results)):
        np.save(path / f"{number}.npy", array)


def _tell(folder: Path, told: dict[str, Any]) -> None:
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # threads that a submission leaves behind would keep the process
