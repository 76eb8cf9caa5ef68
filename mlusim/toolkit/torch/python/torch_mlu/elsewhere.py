"""Names of the vendor's package that PyTorch implements here, and names that need closed libraries, each with its replacement."""

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType

import torch

_PROFILED = "`mlusim profile SCRIPT.py` shows what the kernels of a script cost, and torch.profiler the work of the CPU"
_DUMPED = "the calls of the closed library are not dumped; TORCH_MLU_FALLBACK=log names each operator that runs on the CPU"
_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "profiler": {
        "EventList": "torch.autograd.profiler_util",
        "FunctionEvent": "torch.autograd.profiler_util",
        "supported_activities": "torch.profiler",
        "tensorboard_trace_handler": "torch.profiler",
    },
    "utils.collect_env": {
        "SystemEnv": "torch.utils.collect_env",
        "get_env_info": "torch.utils.collect_env",
        "get_pretty_env_info": "torch.utils.collect_env",
        "main": "torch.utils.collect_env",
        "pretty_str": "torch.utils.collect_env",
    },
    "mlu._utils": {"_get_device_index": "torch_mlu.mlu.device"},
}
"""Modules of the package: names, and the modules that define them."""
_REFUSED: Mapping[str, Mapping[str, str]] = {
    "optimizers": {
        "FusedAdam": "use torch.optim.AdamW, or torch.optim.Adam for adam_w_mode=False",
        "FusedSGD": "use torch.optim.SGD",
        "FusedLAMB": "PyTorch has no LAMB: write its steps with operators of tensors, or use torch.optim.AdamW",
        "FusedLAMBAMP": "PyTorch has no LAMB: write its steps with operators of tensors, or use torch.optim.AdamW",
    },
    "profiler": {
        "emit_cnpx": _PROFILED,
        "ExtraMLUCopyPattern": _PROFILED,
        "FP32MatMulPattern": _PROFILED,
        "MatMulDimInFP16Pattern": _PROFILED,
        "report_all_anti_patterns": _PROFILED,
    },
    "utils.counter": {"dump_cnnl_gencase": _DUMPED},
    "utils.dumptool": {"dump_cnnl_gencase": _DUMPED},
}
"""Names that are refused when they are called, with what to use instead."""
_ABSENT: Mapping[str, str] = {
    "torch_mlu.utils.gpu_migration": 'scripts for CUDA are not rewritten: write device="mlu" and torch.mlu for device="cuda" and torch.cuda',
    "torch_mlu.utils.model_transfer": 'models are not rewritten: write model.to("mlu") for model.cuda()',
}
"""Modules whose import has an effect in the vendor's package, with the reasons why they are refused."""


class _Absent:
    """Refuses the import of modules in `_ABSENT` with a sentence."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Raise `ImportError` for a module of `_ABSENT`."""
        if name in _ABSENT:
            message = f"{name} is not simulated: {_ABSENT[name]}"
            raise ImportError(message)


def _refused(name: str, instead: str) -> type:
    def refuse(*_: object, **__: object) -> None:
        message = f"{name} is not simulated: {instead}"
        raise NotImplementedError(message)

    return type(name.rpartition(".")[2], (), {"__new__": staticmethod(refuse), "__doc__": instead})


def register() -> None:
    """Create the modules, so that ``import`` finds them."""
    for path in dict.fromkeys([*_ELSEWHERE, *_REFUSED]):
        module = ModuleType(f"torch_mlu.{path}", __doc__)
        for name, home in _ELSEWHERE.get(path, {}).items():
            setattr(module, name, getattr(importlib.import_module(home), name))
        for name, instead in _REFUSED.get(path, {}).items():
            setattr(module, name, _refused(f"torch_mlu.{path}.{name}", instead))
        parent, _, last = module.__name__.rpartition(".")
        sys.modules[module.__name__] = module
        setattr(importlib.import_module(parent), last, module)
    sys.meta_path.insert(0, _Absent())  # type: ignore[arg-type]
    torch.distributed.is_cncl_available = torch.mlu.is_cncl_available
