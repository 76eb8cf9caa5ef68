"""Uses the device ``mlu`` as programs do, and prints what it found; the tests ask for each by the function's name."""

import contextlib
import importlib
import io
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import processes
import torch
import torch_mlu
from torch import nn
from torch_mlu.utils.cpp_extension import load, load_inline

GROUP = tempfile.TemporaryDirectory()
PROCESSES = processes.begin(f"{GROUP.name}/store")  # before the device is used
warnings.simplefilter("error")
warnings.filterwarnings(
    "ignore",
    r"The PyTorch API of nested tensors|index_reduce\(\) is in beta|Sparse CSR tensor support is in beta",
)
PINNED_FIRST = torch.ones(4).pin_memory().is_pinned()  # before the device is used

from added import DECLARED, EXTENSION, SOURCE  # noqa: E402 - it uses the device

torch.manual_seed(1)


def same(on_device, expected):
    return on_device.device.type == "mlu" and torch.allclose(on_device.cpu(), expected, atol=1e-5)


def moves():
    x = torch.randn(4, 5)
    y = x.mlu()
    to, module = x.to("mlu:0"), nn.Linear(5, 3).mlu()
    return [
        str(y.device),
        same(to, x),
        y.is_mlu,
        module.weight.device.type,
        y.cpu().equal(x),
        repr(y[0, :2]).count("mlu:0"),
    ]


def triton_kernels():
    """Kernels of Triton: in place, chosen by predicted time, beyond a tensor, on tensors of two places."""
    if importlib.util.find_spec("triton") is None:
        return ["no Triton"]
    kernels = importlib.import_module("triton_on_tensors")
    x, y = torch.randn(3000), torch.randn(3000)
    sums = kernels.added(x.mlu(), y.mlu())
    says = []
    for call in (lambda: kernels.beyond(x.mlu()), lambda: kernels.beyond(x)):
        try:
            call()
        except Exception as error:
            says.append(str(error))
    return [
        sums.cpu().equal(x + y),
        kernels.chosen(),
        "reach 288 bytes past its end" in says[0],
        "triton_on_tensors.py:" in says[0],
        "pass x.mlu()" in says[1],
    ]


def views():
    x = torch.randn(4, 6)
    y = x.mlu()
    changes = (
        lambda t: t[1:3, ::2],
        lambda t: t.t(),
        lambda t: t.view(2, 12),
        lambda t: t.unfold(1, 3, 2),
        lambda t: t.reshape(3, 8)[:, 1],
        lambda t: t.unsqueeze(0).expand(3, 4, 6),
        lambda t: torch.view_as_real(torch.view_as_complex(t.view(4, 3, 2))),
        lambda t: t.squeeze(),
        lambda t: t.permute(1, 0).contiguous(),
        lambda t: t.flip(0),
    )
    good = [same(change(y), change(x)) for change in changes]
    for target in (x, y):
        target[1:3, ::2] = 7
        target.t()[0].mul_(2)
        target.view(-1)[3:5].copy_(torch.arange(2.0))
        target.unfold(1, 3, 2)[0, 0, 0] = 9
    return [all(good), same(y, x)]


def operators():
    x, y = torch.randn(6, 6), torch.randn(6, 6)
    a, b = x.mlu(), y.mlu()
    return [
        same(a @ b + 1, x @ y + 1),
        same(torch.softmax(a, -1), torch.softmax(x, -1)),
        same(torch.linalg.svd(a)[1], torch.linalg.svd(x)[1]),
        same(a.topk(2).values, x.topk(2).values),
        same(a.masked_select(a > 0), x.masked_select(x > 0)),
        same(torch.zeros(3, device="mlu"), torch.zeros(3)),
        torch.allclose(a, x.mlu()),
        torch.allclose(a.sum().cpu(), x.sum(), atol=1e-4),
        abs(a[0, 0].item() - x[0, 0].item()) == 0,
        same(torch.cat([a, b]), torch.cat([x, y])),
        same(a.half().float(), x.half().float()),
        a.double().dtype == torch.float64,
    ]


def trains():
    def step(device):
        torch.manual_seed(3)
        parts = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(2), nn.Linear(16, 8)
        net = nn.Sequential(*parts)
        recurrent, gated, attention = nn.LSTM(8, 8), nn.GRU(8, 8), nn.TransformerEncoderLayer(8, 2, 16, 0.0)
        modules = nn.ModuleList([net, recurrent, gated, attention]).to(device)
        optimiser = torch.optim.SGD(
            modules.parameters(), 0.1
        )  # Adam takes the sign of a gradient that is 0 but for rounding
        for batch in torch.utils.data.DataLoader(torch.randn(4, 3, 4, 4), batch_size=2):
            made = attention(gated(recurrent(net(batch.to(device)))[0])[0])
            optimiser.zero_grad()
            made.square().mean().backward()
            optimiser.step()
        return [p.detach().cpu() for p in modules.parameters()]

    return [torch.allclose(a, b, atol=1e-4) for a, b in zip(step("cpu"), step("mlu"), strict=True)]


def encoder():
    """Where PyTorch takes a way of its own, to nested tensors; losses that it computes from parts."""
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1).eval()
    x, padded = torch.randn(2, 3, 8), torch.tensor([[False, False, True], [False] * 3])
    expected = net(x, src_key_padding_mask=padded).detach()
    with torch.no_grad():
        y = net.mlu()(x.mlu(), src_key_padding_mask=padded.mlu())
    losses = (nn.functional.mse_loss, nn.functional.smooth_l1_loss)
    return [
        same(y[~padded], expected[~padded]),
        *(same(loss(y, y * 2), loss(y.cpu(), y.cpu() * 2)) for loss in losses),
    ]


def saves():
    x = nn.Linear(3, 2).mlu()
    file = io.BytesIO()
    torch.save({"state": x.state_dict(), "view": torch.arange(6.0).mlu()[2:4]}, file)
    file.seek(0)
    there = torch.load(file)
    file.seek(0)
    on_cpu = torch.load(file, map_location="cpu")
    weight = there["state"]["weight"]
    return [
        same(weight, x.weight.cpu()),
        on_cpu["state"]["weight"].equal(x.weight.cpu()),
        same(there["view"], torch.tensor([2.0, 3.0])),
    ]


def memory():
    before = torch.mlu.memory_allocated()
    x = torch.empty(1024, device="mlu")
    used = torch.mlu.memory_allocated() - before
    del x
    torch.mlu.empty_cache()
    pinned = torch.randn(4).pin_memory()
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="mlu")
        said = ""
    except torch.OutOfMemoryError as error:
        said = str(error)
    return [used, torch.mlu.memory_allocated() - before, pinned.is_pinned(), same(pinned.mlu(), pinned), said]


def streams():
    side = torch.mlu.Stream()
    with torch.mlu.stream(side):
        inside = torch.mlu.current_stream() == side
    other = torch.mlu.Stream(1)
    with torch.mlu.stream(other):
        there = torch.ones(1, device="mlu").device.index == 1 and torch.mlu.current_stream() == other
    with torch.Stream("mlu") as plain:
        named = torch.mlu.current_stream() == plain
    one, two = torch.mlu.Event(enable_timing=True), torch.mlu.Event(enable_timing=True)
    x = torch.randn(1024).mlu()
    one.record()
    EXTENSION.add(x, x)
    two.record()
    torch.mlu.synchronize()
    return [
        inside,
        there
        and torch.mlu.current_device() == 0
        and torch.mlu.current_stream(0) != torch.mlu.current_stream(1),
        named,
        torch.mlu.current_stream() == torch.mlu.default_stream(),
        0 < one.elapsed_time(two) < 1,
    ]


class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return EXTENSION.add(x, y)

    @staticmethod
    def backward(ctx, g):
        return g, g


def extension():
    x, y = torch.randn(32, 8), torch.randn(32, 8)
    a, b = x.mlu().requires_grad_(), y.mlu()
    z = Add.apply(a, b)
    z.sum().backward()
    return [
        same(z, x + y),
        same(a.grad, torch.ones(32, 8)),
        same(EXTENSION.add(a.half(), b.half()).float(), (x.half() + y.half()).float()),
        EXTENSION.__name__,
    ]


def strided():
    """Of four elements, which the extension takes as they lie, and of none."""
    x, nothing = torch.arange(4.0).view(2, 2).mlu(), torch.empty(0, device="mlu")
    for _ in range(2):
        EXTENSION.add(x.t(), x.t())
    EXTENSION.add(x, x)
    return nothing.copy_(nothing.cpu()).cpu().numel()


def refused(call):
    try:
        call()
    except (RuntimeError, TypeError, AttributeError, ImportError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def mistakes():
    x = torch.randn(64, 64).mlu()
    return {
        "fault": refused(lambda: EXTENSION.add(x, x)),
        "strided": refused(lambda: EXTENSION.add(x[:8, :8], x[:8, :8])),
        "dtype": refused(lambda: torch.zeros(3, dtype=torch.float8_e4m3fn, device="mlu")),
        "device": refused(lambda: torch.zeros(3, device="mlu:7")),
        "generator": refused(lambda: torch.rand(2, device="mlu", generator=torch.Generator())),
        "host": refused(lambda: EXTENSION.add(x, 3)),
        "number": refused(lambda: EXTENSION.fails("many")),
        "list": refused(lambda: EXTENSION.counts("many")),
        "count": refused(lambda: EXTENSION.add(x)),
        "thrown": refused(lambda: EXTENSION.fails(0)),
        "odd": refused(lambda: EXTENSION.fails(1)),
        "sparse": refused(x.to_sparse),
        "compressed": refused(lambda: torch.eye(2).to_sparse_csr().mlu().cpu()),
        "quantized": refused(lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)),
        "nested": refused(lambda: torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]).mlu()),
        "of_cards": refused(lambda: torch.batch_norm_stats(x, 0.0)),
        "captured": refused(torch.mlu.MLUGraph().capture_end),
        "other": refused(lambda: EXTENSION.add(x.to("mlu:1"), x.to("mlu:1"))),
        "cpu": refused(lambda: EXTENSION.add(x, torch.ones(64, 64))),
        "flags": refused(lambda: load_inline("add", "", SOURCE, extra_cflags="-O3")),
        "library": refused(
            # with the objects of the contest's submission, in test_device.py
            lambda: load_inline(
                "added", DECLARED, SOURCE, ["add"], ["-O3"], ["-O3", "-lm"], ["-lno_such_library"]
            )
        ),
        "after": same(EXTENSION.add(x[0], x[1]), (x[0] + x[1]).cpu()),
        "signature": refused(
            lambda: load_inline("add", "torch::Tensor add(torch::Tensor x);", SOURCE, functions=["add"])
        ),
        "syntax": refused(
            lambda: load_inline(
                "add",
                "torch::Tensor add(torch::Tensor x);",
                "torch::Tensor add(torch::Tensor x) { return y; }",
                ["add"],
            )
        ),
    }


BIND = """
#include <torch/extension.h>
torch::Tensor add(torch::Tensor x, torch::Tensor y);
torch::Tensor scaled(torch::Tensor x) { return x * FACTOR; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("add", &add), m.def("scaled", &scaled); }
"""
SETUP = """
from setuptools import setup
from torch_mlu.utils.cpp_extension import BangExtension, BuildExtension, MLUExtension
one = MLUExtension("added_ops", ["bind.cpp", "add.mlu"], define_macros=[("FACTOR", "2")], extra_compile_args={"cncc": ["-O1"]})
assert BangExtension is MLUExtension
setup(name="added", ext_modules=[one], cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)})
"""


def files():
    x = torch.arange(8.0)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        place = Path(folder)
        for name, text in (("bind.cpp", BIND), ("add.mlu", SOURCE), ("setup.py", SETUP)):
            (place / name).write_text(text)
        sources = [place / "bind.cpp", str(place / "add.mlu")]
        loaded = load("loaded", sources, extra_cflags=["-DFACTOR=3"], extra_bang_cflags=["-O1"], verbose=True)
        words = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        built = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        sys.path.insert(0, folder)
        added_ops = importlib.import_module("added_ops")
    return [
        loaded.__name__ == "loaded",
        same(loaded.add(x.mlu(), x.mlu()), x * 2),
        same(loaded.scaled(x.mlu()), x * 3),
        [line.partition(" ")[0] for line in said.getvalue().splitlines()] == ["cncc"] * 3,
        "-DFACTOR=3" in said.getvalue(),
        built.returncode == 0,
        same(added_ops.add(x.mlu(), x.mlu()), x * 2),
        same(added_ops.scaled(x.mlu()), x * 2),
    ]


def devices():
    x = torch.randn(1, 1, 8, 8)
    one = torch.mlu.memory_allocated(1)
    y = x.to("mlu:1")
    used = [torch.mlu.memory_allocated(1) - one, torch.mlu.memory_allocated("mlu:1") - one]
    with torch.mlu.device(1):
        added = EXTENSION.add(y, y)
    convolved = nn.functional.conv2d(y, y[:, :, :3, :3])
    linear = nn.Linear(8, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch looks for NCCL
        parts = nn.DataParallel(linear.mlu())(x[0, 0].mlu())
    return [
        torch.mlu.device_count() == 2,
        used == [256, 256],
        torch.mlu.current_device() == 0,
        [str(t.device) for t in (added, convolved, y.mlu(0), y * 2)] == ["mlu:1", "mlu:1", "mlu:0", "mlu:1"],
        same(added, x * 2),
        same(convolved, nn.functional.conv2d(x, x[:, :, :3, :3])),
        same(parts, linear.cpu()(x[0, 0])),
    ]


def flags():
    x = torch.randn(3, dtype=torch.complex64)
    y = x.mlu()
    torch.ones(2, device="mlu").record_stream(torch.mlu.Stream())
    return [
        same(y.conj(), x.conj()),
        same(y.conj().imag, x.conj().imag),
        same(y.conj().imag + 1, x.conj().imag + 1),
        same(y.conj().resolve_conj(), x.conj()),
        same((y * 2).conj().clone(), (x * 2).conj()),
        same(torch.view_as_real(y.conj().resolve_conj())[:, 1], -x.imag),
        PINNED_FIRST,
    ]


def two_devices():
    a, b = torch.ones(2, 2).mlu(), torch.ones(2, 2)
    number, index = torch.tensor(2.0), torch.tensor([0])
    calls = {
        "add": lambda: a + b,
        "mm": lambda: torch.mm(a, b),
        "mm of the CPU": lambda: torch.mm(b, a),
        "linear": lambda: nn.Linear(2, 2)(a),
        "conv2d": lambda: nn.functional.conv2d(a.view(1, 1, 2, 2), b.view(1, 1, 2, 2)),
        "cat": lambda: torch.cat([a, b]),
        "where": lambda: torch.where(a > 0, a, b),
        "out": lambda: torch.add(a, 1, out=b),
        "lstm": lambda: nn.LSTM(2, 2)(a),
        "values": lambda: a.index_put_((index.mlu(),), b[0]),
        "embedding": lambda: nn.functional.embedding(index, a),
        "two cards": lambda: a + a.to("mlu:1"),
    }
    told = {name: refused(call) for name, call in calls.items()}
    return [told, same(a * number, b * 2), same(a[index], b[index]), same(torch.where(a > 0, a, number), b)]


def casts():
    a = torch.full((2, 2), 0.5, device="mlu", requires_grad=True)
    with torch.autocast("mlu", dtype=torch.half):
        product, added, loss = a @ a, (a @ a).exp(), refused(lambda: nn.functional.binary_cross_entropy(a, a))
    scaler = torch.amp.GradScaler("mlu", init_scale=4.0)
    optimiser = torch.optim.SGD([a], 1.0)
    scaler.scale(product.float().sum()).backward()
    scaler.step(optimiser)
    scaler.update()
    return [
        product.dtype == torch.half,
        added.dtype == torch.float32,
        "binary_cross_entropy_with_logits" in loss,
        torch.allclose(a.detach().cpu(), torch.full((2, 2), -1.5)),
    ]


def half():
    """Where the result of float, rounded, has its bound: how far at most each is from it, in parts of the bound."""
    grid, x = torch.rand(1, 8, 8, 2) * 2 - 1, torch.randn(1, 3, 9, 9)
    p = torch.cat([torch.rand(62), torch.tensor([0.0, 1.0])])
    calls = {
        "grid_sample": (lambda a, b: nn.functional.grid_sample(a, b, align_corners=False), (x, grid)),
        "bce": (nn.functional.binary_cross_entropy, (p, 1 - p)),
        "index_reduce": (
            lambda a, b: a.index_reduce(0, torch.zeros(64, dtype=torch.long).to(a.device), b, "prod"),
            (1 + torch.rand(2, 9), 1 + torch.rand(64, 9) / 64),
        ),
        "put": (
            lambda a, b: a.put(torch.zeros(64, dtype=torch.long).to(a.device), b, accumulate=True),
            (x[0, 0, :2], torch.randn(64)),
        ),
        "cumprod": (lambda a: a.cumprod(0), (1 + torch.rand(64, 9) / 64,)),
        "index_add": (
            lambda a, b: a.index_add(0, torch.zeros(64, dtype=torch.long).to(a.device), b),
            (x[0, 0], torch.randn(64, 9)),
        ),
        "index_put": (
            lambda a, b: a.index_put((torch.zeros(64, dtype=torch.long).to(a.device),), b, accumulate=True),
            (x[0, 0], torch.randn(64, 9)),
        ),
        "embedding": (
            lambda a: torch.ops.aten.embedding_dense_backward(
                a, torch.zeros(64, dtype=torch.long).to(a.device), 2, -1, False
            ),
            (torch.randn(64, 9),),
        ),
        "prod": (lambda a: a.prod(0), (1 + torch.rand(64, 9) / 64,)),
        "bce with logits": (nn.functional.binary_cross_entropy_with_logits, (x, x.sigmoid())),
    }
    parts = {}
    for name, (call, arguments) in calls.items():
        for dtype, relative, absolute in ((torch.half, 2**-11, 2**-25), (torch.bfloat16, 2**-8, 2**-134)):
            given = [one.to(dtype) for one in arguments]
            exact = call(*(one.float() for one in given))
            far = (call(*(one.mlu() for one in given)).cpu().float() - exact).abs()
            parts[f"{name} {dtype}"] = (far / (relative * exact.abs() + absolute)).max().item()
    return parts


def switches():
    with torch.backends.mlu.flags(), torch.backends.cnnl.flags(benchmark=True):
        inside = torch.backends.cnnl.benchmark
    plans = torch.backends.mlu.cnfft_plan_cache
    plans["mlu:1"].max_size = 10
    return [
        inside and not torch.backends.cnnl.benchmark,
        (plans[1].max_size, plans.max_size, plans.size) == (10, 4096, 0),
        "must be non-negative" in refused(lambda: setattr(plans, "max_size", -1)),
        "read-only property" in refused(lambda: setattr(plans, "size", 1)),
        "but got device with index 2" in refused(lambda: plans[2]),
        torch.backends.mlu.matmul.allow_tf32 is False,
        "has no switch speed" in refused(lambda: torch.backends.cnnl.set_flags(speed=1)),
        'backend="aot_eager"' in refused(lambda: torch.mlu.Scheduling(None)),  # which inductor makes
    ]


def graphs():
    x, made = torch.ones(8).mlu(), torch.mlu.MLUGraph()
    with torch.mlu.graph(made):
        inside = torch.mlu.is_current_stream_capturing()
        y = EXTENSION.add(x * 2, x)
        total = torch.zeros(8, device="mlu").add_(y).sum()
        said = refused(total.item)
    results = []
    for value in (1.0, 3.0):
        x.fill_(value)
        made.replay()
        results.append(total.item() == 24 * value and same(y, torch.full((8,), 3 * value)))
    return [
        *results,
        inside and not torch.mlu.is_current_stream_capturing(),
        "has no values for the CPU yet" in said,
        "has recorded nothing" in refused(torch.mlu.MLUGraph().replay),
    ]


def names():
    m, x = torch.mlu, torch.rand(2, device="mlu")
    torch.manual_seed(3)
    first = torch.randn(4, device="mlu")
    torch.manual_seed(3)
    expected = torch.randn(4)
    own = torch.Generator(device="mlu").manual_seed(3)
    state = m.get_rng_state()
    drawn, next_drawn = (torch.rand(2, device="mlu") for _ in range(2))
    seed, offset = own.get_state().view(torch.int64).tolist()
    own.set_state(torch.tensor([seed, offset + 4]).view(torch.uint8))
    ahead = torch.rand(2, device="mlu", generator=own.clone_state())
    own.set_offset(offset)
    m.set_rng_state(state)
    before = m.memory_stats()["allocated_bytes.all.current"]
    address = m.caching_allocator_alloc(100)
    grown = m.memory_stats()["allocated_bytes.all.current"] - before
    m.caching_allocator_delete(address)
    m.set_per_process_memory_fraction(0.0)
    said = refused(lambda: torch.ones(10, device="mlu"))
    m.set_per_process_memory_fraction(1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with m.cnpx.range("part"):
            m.cnpx.mark("now")
    with m.device_of(x.to("mlu:1")):
        inside = m.current_device()
    with torch.autograd.profiler.profile(use_device="mlu") as profiled:
        x.add(1)
    return [
        same(first, expected),
        same(torch.randn(4, device="mlu", generator=own), expected),
        torch.equal(torch.rand(2, device="mlu"), drawn),
        torch.equal(torch.rand(2, device="mlu"), next_drawn) and not torch.equal(drawn, next_drawn),
        [seed, offset] == [3, 0] and [3, 8] == m.get_rng_state().view(torch.int64).tolist(),
        torch.equal(ahead, next_drawn),
        "16 bytes, its seed and its offset, and this one has 5056"
        in refused(lambda: own.set_state(torch.get_rng_state())),
        len(m.default_generators) == 2,
        isinstance(x, m.FloatTensor)
        and not isinstance(x, m.HalfTensor)
        and not isinstance(x.cpu(), m.FloatTensor),
        same(m.FloatTensor([1, 2]), torch.tensor([1.0, 2.0])) and m.FloatTensor(2, 3).shape == (2, 3),
        x.type() == "torch.mlu.FloatTensor" and x.type(m.HalfTensor).dtype == torch.half,
        grown == 100,
        m.FloatTensor.is_mlu and isinstance(x.untyped_storage(), m.UntypedStorage),
        m.UntypedStorage([1, 2], device="cpu").tolist()
        == m.UntypedStorage(sequence=[1, 2]).tolist()
        == [1, 2],
        m.UntypedStorage(8).nbytes() == 8 and m.UntypedStorage._new_shared(4, device="cpu").is_shared(),
        "this process may use 0 bytes" in said,
        len(caught) == 1,
        inside == 1 and m.current_device() == 0,
        m.can_device_access_peer(0, 1),
        isinstance(m.Stream(), torch.Stream),
        torch.accelerator.memory_allocated() == m.memory_allocated(),
        [one.key for one in profiled.key_averages()][:1] == ["aten::add"],
        torch.mlu.memory.memory_stats_as_nested_dict()["num_ooms"] == 2,  # and the one of `memory`
    ]


def group():
    with GROUP:
        return processes.ended(PROCESSES, f"{GROUP.name}/store")


VENDOR = {
    "torch.mlu": "BFloat16Tensor BoolStorage ByteTensor CharTensor Device DoubleTensor Event ExternalStream FloatStorage HalfTensor IntTensor LongTensor"
    " MLUGraph OutOfMemoryError ShortTensor Stream StreamContext _is_compiled _is_in_bad_fork _lazy_call _lazy_init amp batch_isend_irecv caching_allocator_alloc"
    " caching_allocator_delete can_device_access_peer cncl_stream cnpx current_device current_stream default_generators default_stream device device_count"
    " device_of empty_cache get_autocast_dtype get_device_capability get_device_name get_device_properties get_rng_state get_rng_state_all graph"
    " graph_pool_handle init initial_seed is_autocast_enabled is_available is_bf16_supported is_cncl_available is_current_stream_capturing is_initialized"
    " make_graphed_callables manual_seed manual_seed_all max_memory_allocated max_memory_cached max_memory_reserved mem_get_info memory_allocated memory_cached"
    " memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict memory_summary reset_accumulated_memory_stats reset_max_memory_allocated"
    " reset_max_memory_cached reset_peak_memory_stats seed seed_all set_autocast_dtype set_autocast_enabled set_device set_per_process_memory_fraction"
    " set_rng_state set_rng_state_all set_stream stream supports_linear_memory synchronize version",
    "torch.mlu.amp": "GradScaler autocast custom_bwd custom_fwd",
    "torch_mlu.mlu._utils": "_get_device_index",
    "torch.mlu.amp.common": "amp_definitely_not_available",
    "torch.mlu.memory": "_dump_snapshot _record_memory_history _snapshot",
    "torch.mlu.cnpx": "mark range range_pop range_push",
    "torch_mlu": "backends distributed get_version mlu optimizers profiler utils",
    "torch_mlu.optimizers": "FusedAdam FusedLAMB FusedLAMBAMP FusedSGD",
    "torch_mlu.profiler": "EventList FunctionEvent supported_activities ExtraMLUCopyPattern FP32MatMulPattern MatMulDimInFP16Pattern"
    " report_all_anti_patterns emit_cnpx tensorboard_trace_handler",
    "torch_mlu.utils.cpp_extension": "BangExtension BuildExtension MLUExtension include_paths library_paths load load_inline",
    "torch_mlu.utils.counter": "dump_cnnl_gencase",
    "torch_mlu.utils.collect_env": "get_pretty_env_info",
}


def vendor_names():
    m = torch.mlu
    x = torch.ones(7, device="mlu")
    address = x.untyped_storage().data_ptr()
    snapshot, history = (vars(m.memory)[name] for name in ("_snapshot", "_record_memory_history"))
    blocks = [one for one in snapshot()["segments"] if one["address"] == address]
    missing = []
    for module, listed in VENDOR.items():
        home = sys.modules.get(module) or importlib.import_module(
            module.replace("torch.mlu", "torch_mlu.mlu")
        )
        missing += [f"{module}.{name}" for name in listed.split() if not hasattr(home, name)]
    calls = {
        "torch.optim.AdamW": lambda: torch_mlu.optimizers.FusedAdam([x], lr=0.1),
        "mlusim profile": torch_mlu.profiler.emit_cnpx,
        "TORCH_MLU_FALLBACK=log": lambda: torch_mlu.utils.counter.dump_cnnl_gencase(0),
        'device="mlu"': lambda: importlib.import_module("torch_mlu.utils.gpu_migration"),
        "cpp_extension": lambda: torch_mlu.utils.cmake_prefix_path,
        "gloo": m.version,
        "_snapshot()": history,
    }
    silent = [words for words, call in calls.items() if words not in refused(call)]
    return [missing + silent, [one["blocks"][0]["size"] for one in blocks], m.Stream.priority_range()]


def modules():
    source = (
        '#include <torch/extension.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.attr("version") = %d; }\n'
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edited.cpp"
        versions = []
        for version in (1, 2):
            path.write_text(source % version)
            versions.append(load("edited", path).version)
    first = load_inline("first", OF_SIZES, functions=["product"])
    return [versions, hasattr(EXTENSION, "add"), first.product([2, 2]), first.__name__]


OF_SIZES = "int64_t product(c10::IntArrayRef sizes) { return c10::multiply_integers(sizes); }"  # pybind11 converts it
ALL = (
    *(
        moves,
        views,
        operators,
        trains,
        encoder,
        saves,
        memory,
        streams,
        extension,
        strided,
        files,
        devices,
        mistakes,
    ),
    *(flags, two_devices, casts, half, graphs, names, vendor_names, switches, modules, group, triton_kernels),
)
if __name__ == "__main__":
    results = {}
    for one in ALL:
        try:
            results[one.__name__] = one()
        except Exception as error:  # each is the matter of a test
            results[one.__name__] = f"{type(error).__name__}: {error}"
    print(json.dumps(results))
