"""The extension of ``add.mlu``, with functions that fail."""

from pathlib import Path

from torch_mlu.utils.cpp_extension import load_inline

SOURCE = (Path(__file__).parent / "add.mlu").read_text()
STREAM = "#include <framework/core/MLUStream.h>\n"  # which texts need not have
DECLARED = "torch::Tensor add(torch::Tensor x, torch::Tensor y);"
EXTENSION = load_inline(
    name="added",
    cpp_sources=f"{DECLARED} void fails(int64_t how); int64_t counts(std::vector<double> x);",
    bang_sources=SOURCE.replace(STREAM, "\n"),
    functions=["add", "fails", "counts"],
    extra_cflags=["-O3"],
    extra_ldflags=["-lcnrt"],
    extra_bang_cflags=["-O3", "-lm"],
)
