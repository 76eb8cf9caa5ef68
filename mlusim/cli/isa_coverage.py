"""Every vendor's name that is covered, and its row."""

from attrs import frozen

import mlusim.bang
from mlusim.errors import UsageError
from mlusim.isa.declare import Intrinsic
from mlusim.isa.table import ISA

# ``name=7``: the kernels of Cambricon/mlu-ops use it 7 times; ``name=?``: they use it an unknown number of
# times; a name alone is documented, or follows from the suffixes of its family.
# ``tests/isa/executed_names.py`` lists the test that compares each of them with its definition.

LISTED = """
__bang_add=223 __bang_sub=190 __bang_mul=228 __bang_add_scalar=102 __bang_sub_scalar=43
__bang_mul_scalar=345 __bang_add_tz __bang_sub_tz __bang_mul_tz __bang_band_scalar=3 __bang_band=50
__bang_bor=6 __bang_bnot=8 __bang_bxor __bang_eq=7 __bang_gt=5 __bang_lt=1 __bang_le=12
__bang_ge_scalar=56 __bang_lt_scalar=36 __bang_gt_scalar=22 __bang_le_scalar=14 __bang_eq_scalar=11
__bang_ne_scalar=1 __bang_gt_bitindex=9 __bang_ge_bitindex=1 __bang_ne __bang_ge __bang_eq_bitindex
__bang_ne_bitindex __bang_lt_bitindex __bang_le_bitindex __bang_cycle_mul=65 __bang_cycle_add=23
__bang_cycle_add_tz __bang_cycle_sub=7 __bang_cycle_lt=12 __bang_cycle_le=6 __bang_cycle_eq=2
__bang_cycle_and=9 __bang_cycle_band=3 __bang_cycle_minequal=8 __bang_cycle_maxequal=3 __bang_cycle_ne
__bang_cycle_gt __bang_cycle_ge __bang_cycle_or __bang_cycle_xor __bang_cycle_bor __bang_cycle_bxor
__bang_cycle_nan_maximum __bang_cycle_nan_minimum __bang_nan_maximum=4 __bang_nan_minimum=1
__bang_maximum=2 __bang_minimum=1 __bang_maxequal=23 __bang_minequal=21 __bang_maxeq_scalar=8
__bang_mineq_scalar __bang_div=24 __bang_rem=2 __bang_and=107 __bang_or=12 __bang_not=39 __bang_xor
__bang_and_scalar __bang_or_scalar __bang_xor_scalar __bang_srl=1 __bang_square=8 __bang_abs=17
__bang_neg __bang_add_const __bang_sub_const __bang_mul_const __bang_atomic_cas __bang_atomic_reduce_cas
__bang_atomic_reduce_add=49 __bang_atomic_reduce_add_async __bang_atomic_reduce_max=1
__bang_atomic_reduce_min=1 __bang_atomic_reduce_and __bang_atomic_reduce_or __bang_atomic_reduce_xor
__bang_atomic_reduce_exch __bang_atomic_reduce_inc __bang_atomic_reduce_dec __bang_atomic_add
__bang_atomic_max __bang_atomic_min __bang_atomic_and __bang_atomic_or __bang_atomic_xor
__bang_atomic_exch __bang_atomic_inc __bang_atomic_dec __bang_float2int32=41 __bang_float2int32_tz=11
__bang_float2int32_rd=4 __bang_half2int16_rd=9 __bang_float2int16_rd=3 __bang_half2int32_tz=3
__bang_half2int32_rd=1 __bang_half2int8_dn=1 __bang_float2int8_dn=1 __bang_float2int16_dn=1
__bang_float2int32_oz __bang_float2int32_up __bang_float2int32_dn __bang_float2int32_rn
__bang_float2int32_rm __bang_float2int16_tz __bang_float2int16_oz __bang_float2int16_up
__bang_float2int16_rn __bang_float2int16_rm __bang_float2int8_tz __bang_float2int8_oz
__bang_float2int8_up __bang_float2int8_rd __bang_float2int8_rn __bang_float2int8_rm __bang_half2int32_oz
__bang_half2int32_up __bang_half2int32_dn __bang_half2int32_rn __bang_half2int32_rm __bang_half2int16_tz
__bang_half2int16_oz __bang_half2int16_up __bang_half2int16_dn __bang_half2int16_rn __bang_half2int16_rm
__bang_half2int8_tz __bang_half2int8_oz __bang_half2int8_up __bang_half2int8_rd __bang_half2int8
__bang_half2int8_rn __bang_half2int8_rm __bang_half2uchar_dn __bang_float2uchar_dn __bang_float2int_tz
__bang_half2int32 __bang_int322float=17 __bang_int322float_rn=9 __bang_int322float_rd=2
__bang_int82float=1 __bang_int322float_tz __bang_int322float_oz __bang_int322float_up
__bang_int322float_dn __bang_int322float_rm __bang_int322half __bang_int322half_tz __bang_int322half_rd
__bang_int322half_rn __bang_int162half __bang_int162half_rd __bang_int162half_rn __bang_int162float
__bang_int82half __bang_uchar2half __bang_uchar2float __bang_int2float __bang_int322int16=2
__bang_int322int8 __bang_int162int8 __bang_int82int16 __bang_int82int32 __bang_int162int32
__bang_uchar2int16 __bang_float2half_rn=4 __bang_float2half_tz=2 __bang_float2half_rd=2
__bang_float2half_dn=1 __bang_float2bfloat16_tz=1 __bang_float2half_oz __bang_float2half_up
__bang_float2half_rm __bang_float2bfloat16_oz __bang_float2bfloat16_up __bang_float2bfloat16_dn
__bang_float2bfloat16_rd __bang_float2bfloat16_rn __bang_float2bfloat16_rm __bang_float2half
__bang_float2bfloat16 __float2int32=8 __float2int32_up=6 __float2int32_rd=2 __half2int32=2
__half2int32_up=2 __float2half_rn=? __half2float=? __half2float_rn __float2int32_tz __float2int32_oz
__float2int32_dn __float2int32_rn __float2int32_rm __half2int32_tz __half2int32_oz __half2int32_dn
__half2int32_rd __half2int32_rn __half2int32_rm __float2half_tz __float2half_oz __float2half_up
__float2half_dn __float2half_rd __float2half_rm __float2half __float2bfloat16 __float2bfloat16_rn
__bfloat162float __float2int __float2int_tz __float2int_oz __float2int_up __float2int_dn __float2int_rd
__float2int_rn __half2int __half2int_tz __half2int_oz __half2int_up __half2int_dn __half2int_rd
__half2int_rn __bang_float2tf32_sr __bang_half2float=27 __bang_bfloat162float __breakdump_vector
__breakdump_scalar __sync_copy_gdram_to_nram __sync_copy_nram_to_gdram __sync_copy_gdram_to_wram
__sync_copy_gdram_to_sram __sync_copy_sram_to_gdram __sync_copy_gdram_to_ldram __sync_copy_gdram_to_gdram
__sync_copy_nram_to_nram __sync_copy_nram_to_wram __sync_copy_wram_to_nram __sync_copy_sram_to_nram
__sync_copy_nram_to_sram __sync_copy_sram_to_wram __sync_copy_wram_to_sram __bang_discrete_atomic_add
__bang_discrete_atomic_max __bang_discrete_atomic_min __bang_discrete_atomic_and
__bang_discrete_atomic_or __bang_discrete_atomic_xor __bang_discrete_atomic_exch
__bang_discrete_atomic_inc __bang_discrete_atomic_dec __nramset_async=11 __assert_fail __assert
__load_nram=8 __load_gdram=6 __load_sram=2 __store_gdram=2 __store_sram=2 __load_ldram __store_nram
__store_ldram __bang_move=13 __is_dram=2 __is_nram __is_wram __is_sram __bang_printf=5 __gdramset=13
__memset_nram=5 __bang_write_value=318 __nramset __sramset __ldramset __nramset_half __nramset_float
__nramset_short __nramset_int __bang_write_zero __bang_active_abs=7 __bang_recip=15
__bang_active_reciphp=2 __bang_active_exphp=1 __bang_pow2=11 __bang_log2=12 __bang_sqrt=4 __bang_sin=6
__bang_cos=6 __bang_floor=13 __cn_vector_sin_f32=5 __cn_vector_cos_f32=2 __bang_log __bang_ceil
__bang_trunc __bang_round __bang_rsqrt __bang_active_log __bang_active_loghp __bang_active_sqrt
__bang_active_sqrthp __bang_active_rsqrt __bang_active_rsqrthp __bang_active_recip
__bang_active_recip_greater_1 __bang_active_sin __bang_active_cos __bang_active_pow2 __bang_active_sign
__bang_active_exp __bang_active_exp_less_0 __bang_active_sigmoid __bang_active_tanh __bang_relu
__bang_active_relu __bang_active_gelu __cn_scalar_sin_f32=3 __cn_scalar_cos_f32=3 __cn_scalar_sin_f16=2
__cn_scalar_cos_f16=2 __cn_vector_hypot_f32=1 __cn_vector_cast_f32_to_s32=1 __cn_vector_mod_scalar_u64=1
__cn_vector_accurate_sqrt_f32 __cn_scalar_accurate_sqrt_f32 __cn_scalar_isfinite_f32
__bang_relun __bang_fusion=49 __gather=6 __bang_gather_async=2 __gather_async=? __mlisa_gather_vector
__extension __scatter_async=? __scatter __mlisa_div_scalar __mlisa_fuse_2 __mlisa_fuse_3 __mlisa_fuse_5
__mlisa_fuse_1 __mlisa_findlast1 __mlisa_fuse_4 __bang_avgpool_bp __bang_maxpool_bp
__bang_maxpool_value_index=1 __bang_maxpool_index __bang_unpool __vv_xor=16 __vv_trixor=8 __vv_mul=8
__vv_mulh=8 __vv_add=? __vv_move=11 __vv_index=2 __vv_store=17 __vv_get_length=? __bang_fcmpfilter
__bang_count=10 __bang_findfirst1=4 __bang_findlast1=1 __bang_argmax=16 __bang_argmin=3 __bang_max
__bang_min __bang_fabsmax __bang_fabsmin __bang_filter=71 __bang_filter_bitindex=6 __bang_collect
__bang_collect_bitindex __bang_maskmove_bitindex __bang_lut=31 __bang_maskmove __bang_popcnt
__bang_select __bang_select_bitindex __bang_sum=8 __bang_reduce_sum __bang_transpose=212
__bang_reshape_nchw2nhwc __bang_reshape_nhwc2nchw __bang_pad=22 __bang_sumpool=22 __bang_minpool=4
__bang_avgpool __bang_maxpool __bang_reshape_filter=8 __bang_rotate90=7 __bang_rotate180=10
__bang_rotate270=7 __bang_mirror=6 __sync_cluster=27 __sync_all_ipu=23 __sync_all_ipu_within_cluster=2
__sync_all __sync_all_mpu __sync_io_move_compute=21 __bang_lock __bang_unlock __sync_compute=45
__sync=205 __sync_move=61 __sync_io=2 __is_mpu=79 __is_ipu=8 __sync_cluster_arrive __sync_cluster_wait
__sync_all_arrive __sync_all_wait __bang_conv=4 __bang_matmul=16 __bang_mlp __bang_expand_channel_mul=4
__bang_expand_channel_mul_add=1 __bang_incseq=3 __bang_lut_s16 __bang_lut_s32 __memcpy_nram_to_nram
__bang_tiling_2d_b8 __bang_tiling_2d_b16 __bang_tiling_2d_b32 __bang_tiling_2d_b64 __bang_tiling_2d_b128
__bang_tiling_2d_b256 __bang_tiling_2d_b512 __bang_tiling_2d_b1024 __bang_trans_tiling_2d_b8
__bang_trans_tiling_2d_b16 __bang_trans_tiling_2d_b32 __memcpy=522 __memcpy_async=607 __mluop_div=?
__mluop_mod=? __mluop_load_str_2D __mluop_load_str_3D __mluop_store_str_3D
__mluop_store_str_2D __mluop_float2half=? __mluop_exp=? __mluop_log=? __mluop_sigmoid=? __mluop_max=46
__mluop_min=? __mluop_recursive_sum_pool=? __mluop_is_half=1 __mluop_is_float=? __mluop_gather=?
__mluop_gather_async=? __mluop_scatter=?
__mluop_get_stage_indices_tfuse=? __mluop_gen_stage_index=? __mluop_get_indices=?
__abort __sync_copy_wram_to_gdram __sync_copy_dram_to_nram __sync_copy_nram_to_dram
__sync_copy_dram_to_sram __sync_copy_sram_to_dram __sync_copy_dram_to_wram __sync_copy_wram_to_dram
__float2short_tz __float2short_oz __float2short_up __float2short_dn __float2short_rd __float2short_rn
__half2short_tz __half2short_oz __half2short_up __half2short_dn __half2short_rd __half2short_rn
__bang_active_gelup __cn_scalar_max_f32 __cn_scalar_min_f32 __bang_ge_const __bang_bxor_scalar
__bang_minpool_index __bang_half2uchar_tz __bang_half2uchar_oz __bang_half2uchar_up __bang_half2uchar_rd
__bang_half2uchar_rn __bang_half2uchar_rm __bang_float2uchar_tz __bang_float2uchar_oz
__bang_float2uchar_up __bang_float2uchar_rd __bang_float2uchar_rn __bang_float2uchar_rm
__bang_float2uint32_tz __bang_float2uint32_oz __bang_float2uint32_up __bang_float2uint32_dn
__bang_float2uint32_rd __bang_float2uint32_rn __bang_float2uint32_rm __bang_float2int_oz
__bang_float2int_up __bang_float2int_dn __bang_float2int_rd __bang_float2int_rn __bang_float2int_rm
__bang_half2short_oz __bang_half2short_up __bang_half2short_dn __bang_half2short_rd __bang_half2short_tz
__bang_uint322float __bang_short2half __bang_uchar2int32 __bang_int322uchar
__vv_sub __vv_and __vv_or __vv_not __vv_neg __vv_move_m __vv_move_z __vv_add_m __vv_add_z __vv_sub_m
__vv_sub_z __vv_mul_m __vv_mul_z __vv_div __vv_div_m __vv_div_z __vv_neg_m __vv_neg_z __vv_and_m
__vv_and_z __vv_or_m __vv_or_z __vv_xor_m __vv_xor_z __vv_not_m __vv_not_z __vv_land __vv_land_m
__vv_land_z __vv_lor __vv_lor_m __vv_lor_z __vv_lxor __vv_lxor_m __vv_lxor_z __vv_lnot __vv_lnot_m
__vv_lnot_z __vv_sll __vv_srl __vv_sra __vv_eq __vv_ne __vv_lt __vv_le __vv_gt __vv_ge __vv_setp_eq
__vv_setp_ne __vv_setp_lt __vv_setp_le __vv_setp_gt __vv_setp_ge __vv_select __vv_load __vv_load_m
__vv_load_z __vv_store_m __vv_rem __vv_rem_m __vv_rem_z
"""


@frozen
class VendorName:
    """One name: in the vendor's spelling, and its ``uses`` ("" if none are known)."""

    spelling: str
    uses: str

    @property
    def bare(self) -> str:
        """The name in Python."""
        return self.spelling.lstrip("_")


def vendor_names() -> tuple[VendorName, ...]:
    """Return all names, in the order of the list."""
    pairs = (entry.partition("=") for entry in LISTED.split())
    return tuple(VendorName(spelling, uses) for spelling, _, uses in pairs)


def row_of(name: VendorName) -> Intrinsic | None:
    """Return the row of the table for *name*, or None for a helper.

    Raises `UsageError` for a name that is neither.
    """
    # A name that is a keyword of Python ends in an underscore, as assert_.
    row = ISA.get(name.bare) or ISA.get(name.bare + "_")
    if row is None and not callable(getattr(mlusim.bang, name.bare, None)):
        raise UsageError(
            f"{name.spelling} is listed as covered and is nowhere; add it or take it off the list"
        )
    return row
