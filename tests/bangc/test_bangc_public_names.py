"""Names that public kernels call and older headers declare: each is there, or refused at its line with what to do instead."""

import re
from pathlib import Path

import pytest

from manual.coverage_page import refused_names
from mlusim.bangc.errors import SourceError
from mlusim.isa.prototypes import all_prototypes
from mlusim.isa.table import REPLACED, is_intrinsic

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "isa.md"

ROUNDED = ("tz", "oz", "up", "dn", "rd", "rn")
NAMES = (
    "__abort", "__bang_active_gelup", "__bang_conv_partial", "__bang_count_bitindex", "__bang_ge_const", "__bang_histogram",
    "__bang_minpool_index", "__bang_mul_pad", "__bang_mul_reduce_sum", "__bang_rand", "__bang_short2half", "__bang_tiling_2d",
    "__bang_tiling_3d", "__sync_copy", "__bang_mlp", "__bang_matmul", "__bang_bxor_scalar", "__cn_scalar_max_f32",
    *(f"__bang_half2short_{how}" for how in ("dn", "oz", "rd", "tz", "up")),
    *(f"__bang_taylor{n}_{name}" for n in (3, 4) for name in ("cos", "sigmoid", "sin", "softplus", "tanh")),
    *(f"__{have}2short_{how}" for have in ("float", "half") for how in ROUNDED),
    *(f"__sync_copy_{one}_to_{other}" for one in ("nram", "sram", "wram") for other in ("dram",)),
    *(f"__sync_copy_dram_to_{other}" for other in ("nram", "sram", "wram")),
    "__bang_float2uchar_rm", "__bang_float2int_rm", "__bang_float2uint32_rm", "__bang_uint322float", "__bang_uchar2int32",
    "__bang_int322uchar", "__vv_load", "__vv_setp_ne", "__vv_store_m", "__vv_select", "__vv_and", "__vv_or", "__vv_not",
    "__vv_rem", "__vv_div_m", "__vv_sll", "__vv_load_m", "vv_bfloat16", "vv_int64", "vv_uint64",
)  # fmt: skip
HERE = {prototype.spelling for prototype in all_prototypes()}
OTHERS = ("__bang_", "vv_int32", "vv_uint32")  # that a sentence may name
REFUSED = [name for name in NAMES if name not in HERE]


def told(load, *lines):
    """What is said of each line of a kernel that is refused."""
    body = "\n".join(lines)
    with pytest.raises(SourceError) as refused:
        load(f"#include <bang.h>\n__nram__ int buf[64];\n__mlu_entry__ void K(int *o) {{\n{body}\n}}\n")
    return [diagnostic.message for diagnostic in refused.value.diagnostics if diagnostic.line > 3]


def test_each_name_is_there_or_refused_with_what_replaces_it(load):
    """One sentence each, which names a row of the table or another way that a kernel has."""
    lines = [f"{name} it{n};" if name.startswith("vv_") else f"{name}(o);" for n, name in enumerate(REFUSED)]
    sentences = told(load, *lines)

    assert [] == [name for name in REFUSED if name not in REPLACED]
    for name, sentence in zip(REFUSED, sentences, strict=True):
        assert f"'{name}'; {REPLACED[name]}" in sentence
        named = re.findall(r"__\w+|vv_\w+", REPLACED[name])
        assert named
        assert all(is_intrinsic(one) or one in OTHERS for one in named)


@pytest.mark.parametrize("call", ["__vv_load(w, (unsigned char *)buf)", "__vv_store((short *)buf, w)"])
def test_a_register_does_not_convert(load, call):
    """Public code loads bytes into registers of 32 bits, and stores these as 16: in NRAM there are conversions."""
    (sentence,) = told(load, f"vv_uint32 w; {call};")

    assert (
        "a register takes elements of its own type: convert them in NRAM, as __bang_uchar2int32" in sentence
    )


def test_the_page_lists_what_is_refused():
    """As the table has it; `refused_names` makes the lines."""
    assert "\n".join(refused_names()) in PAGE.read_text(encoding="utf-8")


OF_OTHER_HEADERS = """\
#include <bang.h>
#include <cn_api.h>
#include <cndev.h>
#include "aten/utils/cnnl_util.h"
#include "framework/core/mlu_guard.h"
static_assert(CN_DEVICE_ATTRIBUTE_MAX_CLUSTER_COUNT == 0x205 && CN_DEVICE_ATTRIBUTE_MAX_CORE_COUNT_PER_CLUSTER == 0x206, "");
static_assert(CN_DEVICE_ATTRIBUTE_NRAM_SIZE_PER_CORE == 0x302 && CN_DEVICE_ATTRIBUTE_WEIGHT_RAM_SIZE_PER_CORE == 0x303, "");
static_assert(CN_DEVICE_ATTRIBUTE_MAX_SHARED_RAM_SIZE_PER_CLUSTER == 0x306, "");
static cndevDeviceMaxPerformance_t most;
static decltype(cndevGetDeviceMaxPerformance(&most, 0)) asked;
static decltype(&cnGetCtxConfigParam_pt) config;
using Guard = torch_mlu::mlu::MLUGuard;
static decltype(torch_mlu::cnnl_contiguous(at::Tensor())) *tensor;
__mlu_entry__ void K(int *o) { o[0] = 1; }
"""


def test_names_of_the_driver_and_of_torch_are_there(load):
    """Those that public code uses, with the numbers of the vendor's header; a name that is missing at file scope refuses the file."""
    module = load(OF_OTHER_HEADERS)

    assert "K" == module["K"].name
