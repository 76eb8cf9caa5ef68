"""The page of coverage: every name of the vendor, what it is here, how certain that is, which test executes it."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from attrs import frozen

import mlusim.bang
from mlusim.errors import UsageError
from mlusim.isa.declare import Intrinsic
from mlusim.isa.table import FAMILIES, ISA

# A test, below ``tests``, is followed by the names that it holds to their definition. ``name=7`` is used 7
# times by the kernels of Cambricon/mlu-ops, ``name=?`` is used there without a count that is known, and a
# name alone is documented or follows from the suffixes of its family.

LISTED = """
isa/test_isa_arithmetic.py::test_arithmetic_rounds_once_to_its_own_type
    __bang_add=223 __bang_sub=190 __bang_mul=228 __bang_add_scalar=102 __bang_sub_scalar=43
    __bang_mul_scalar=345
isa/test_isa_arithmetic.py::test_arithmetic_toward_zero
    __bang_add_tz __bang_sub_tz __bang_mul_tz
isa/test_isa_arithmetic.py::test_band_scalar_takes_the_bits_of_floats
    __bang_band_scalar=3
isa/test_isa_arithmetic.py::test_bitwise_rows
    __bang_band=50 __bang_bor=6 __bang_bnot=8 __bang_bxor
isa/test_isa_arithmetic.py::test_comparisons_give_one_or_zero_in_the_same_type
    __bang_eq=7 __bang_gt=5 __bang_lt=1 __bang_le=12 __bang_ge_scalar=56 __bang_lt_scalar=36
    __bang_gt_scalar=22 __bang_le_scalar=14 __bang_eq_scalar=11 __bang_ne_scalar=1
    __bang_gt_bitindex=9 __bang_ge_bitindex=1 __bang_ne __bang_ge __bang_eq_bitindex
    __bang_ne_bitindex __bang_lt_bitindex __bang_le_bitindex
isa/test_isa_arithmetic.py::test_cycle_repeats_its_segment
    __bang_cycle_mul=65 __bang_cycle_add=23 __bang_cycle_add_tz __bang_cycle_sub=7 __bang_cycle_lt=12 __bang_cycle_le=6
    __bang_cycle_eq=2 __bang_cycle_and=9 __bang_cycle_band=3 __bang_cycle_minequal=8
    __bang_cycle_maxequal=3 __bang_cycle_ne __bang_cycle_gt __bang_cycle_ge __bang_cycle_or
    __bang_cycle_xor __bang_cycle_bor __bang_cycle_bxor __bang_cycle_nan_maximum
    __bang_cycle_nan_minimum
isa/test_isa_arithmetic.py::test_extremes_have_their_behaviour_toward_nan
    __bang_nan_maximum=4 __bang_nan_minimum=1 __bang_maximum=2 __bang_minimum=1 __bang_maxequal=23
    __bang_minequal=21 __bang_maxeq_scalar=8 __bang_mineq_scalar
isa/test_isa_arithmetic.py::test_float_division_rounds_once
    __bang_div=24
isa/test_isa_arithmetic.py::test_float_remainder_is_fmod
    __bang_rem=2
isa/test_isa_arithmetic.py::test_logic_takes_anything_but_zero_as_true
    __bang_and=107 __bang_or=12 __bang_not=39 __bang_xor __bang_and_scalar __bang_or_scalar
    __bang_xor_scalar
isa/test_isa_arithmetic.py::test_shift_right_fills_with_zeros
    __bang_srl=1
isa/test_isa_arithmetic.py::test_square_and_absolute_value
    __bang_square=8 __bang_abs=17 __bang_neg
isa/test_isa_arithmetic.py::test_the_older_spellings_with_a_scalar
    __bang_add_const __bang_sub_const __bang_mul_const
isa/test_isa_atomics.py::test_compare_and_swap
    __bang_atomic_cas __bang_atomic_reduce_cas
isa/test_isa_atomics.py::test_reductions_and_fetches
    __bang_atomic_reduce_add=49 __bang_atomic_reduce_add_async __bang_atomic_reduce_max=1 __bang_atomic_reduce_min=1
    __bang_atomic_reduce_and __bang_atomic_reduce_or __bang_atomic_reduce_xor
    __bang_atomic_reduce_exch __bang_atomic_reduce_inc __bang_atomic_reduce_dec __bang_atomic_add
    __bang_atomic_max __bang_atomic_min __bang_atomic_and __bang_atomic_or __bang_atomic_xor
    __bang_atomic_exch __bang_atomic_inc __bang_atomic_dec
isa/test_isa_conversions.py::test_float_to_integer_at_the_edges
    __bang_float2int32=41 __bang_float2int32_tz=11 __bang_float2int32_rd=4 __bang_half2int16_rd=9
    __bang_float2int16_rd=3 __bang_half2int32_tz=3 __bang_half2int32_rd=1 __bang_half2int8_dn=1
    __bang_float2int8_dn=1 __bang_float2int16_dn=1 __bang_float2int32_oz __bang_float2int32_up
    __bang_float2int32_dn __bang_float2int32_rn __bang_float2int32_rm __bang_float2int16_tz
    __bang_float2int16_oz __bang_float2int16_up __bang_float2int16_rn __bang_float2int16_rm
    __bang_float2int8_tz __bang_float2int8_oz __bang_float2int8_up __bang_float2int8_rd
    __bang_float2int8_rn __bang_float2int8_rm __bang_half2int32_oz __bang_half2int32_up
    __bang_half2int32_dn __bang_half2int32_rn __bang_half2int32_rm __bang_half2int16_tz
    __bang_half2int16_oz __bang_half2int16_up __bang_half2int16_dn __bang_half2int16_rn
    __bang_half2int16_rm __bang_half2int8_tz __bang_half2int8_oz __bang_half2int8_up
    __bang_half2int8_rd __bang_half2int8 __bang_half2int8_rn __bang_half2int8_rm __bang_half2uchar_dn
    __bang_float2uchar_dn __bang_float2int_tz __bang_half2int32
isa/test_isa_conversions.py::test_integer_to_float
    __bang_int322float=17 __bang_int322float_rn=9 __bang_int322float_rd=2 __bang_int82float=1
    __bang_int322float_tz __bang_int322float_oz __bang_int322float_up __bang_int322float_dn
    __bang_int322float_rm __bang_int322half __bang_int322half_tz __bang_int322half_rd
    __bang_int322half_rn __bang_int162half __bang_int162half_rd __bang_int162half_rn
    __bang_int162float __bang_int82half __bang_uchar2half __bang_uchar2float __bang_int2float
isa/test_isa_conversions.py::test_integer_to_integer
    __bang_int322int16=2 __bang_int322int8 __bang_int162int8 __bang_int82int16 __bang_int82int32
    __bang_int162int32 __bang_uchar2int16
isa/test_isa_conversions.py::test_narrowing_of_any_bits
    __bang_float2half_rn=4 __bang_float2half_tz=2 __bang_float2half_rd=2 __bang_float2half_dn=1
    __bang_float2bfloat16_tz=1 __bang_float2half_oz __bang_float2half_up __bang_float2half_rm
    __bang_float2bfloat16_oz __bang_float2bfloat16_up __bang_float2bfloat16_dn
    __bang_float2bfloat16_rd __bang_float2bfloat16_rn __bang_float2bfloat16_rm __bang_float2half
    __bang_float2bfloat16
isa/test_isa_conversions.py::test_scalar_conversions_are_those_of_one_element
    __float2int32=8 __float2int32_up=6 __float2int32_rd=2 __half2int32=2 __half2int32_up=2
    __float2half_rn=? __half2float=? __half2float_rn __float2int32_tz __float2int32_oz __float2int32_dn
    __float2int32_rn __float2int32_rm __half2int32_tz __half2int32_oz __half2int32_dn
    __half2int32_rd __half2int32_rn __half2int32_rm __float2half_tz __float2half_oz __float2half_up
    __float2half_dn __float2half_rd __float2half_rm __float2half __float2bfloat16 __float2bfloat16_rn
    __bfloat162float __float2int __float2int_tz __float2int_oz __float2int_up __float2int_dn __float2int_rd
    __float2int_rn __half2int __half2int_tz __half2int_oz __half2int_up __half2int_dn __half2int_rd
    __half2int_rn
isa/test_isa_conversions.py::test_stochastic_rounding_takes_a_neighbour_as_often_as_it_is_near
    __bang_float2tf32_sr
isa/test_isa_conversions.py::test_widening_is_exact
    __bang_half2float=27 __bang_bfloat162float
isa/test_isa_diagnostics.py::test_a_dump_of_memory_shows_its_bytes
    __breakdump_vector
isa/test_isa_diagnostics.py::test_a_dump_of_scalars_shows_values_and_bits
    __breakdump_scalar
isa/test_isa_diagnostics.py::test_an_old_sync_waits_for_the_pipe_of_its_direction
    __sync_copy_gdram_to_nram __sync_copy_nram_to_gdram __sync_copy_gdram_to_wram
    __sync_copy_gdram_to_sram __sync_copy_sram_to_gdram __sync_copy_gdram_to_ldram
    __sync_copy_gdram_to_gdram __sync_copy_nram_to_nram __sync_copy_nram_to_wram
    __sync_copy_wram_to_nram __sync_copy_sram_to_nram __sync_copy_nram_to_sram
    __sync_copy_sram_to_wram __sync_copy_wram_to_sram
isa/test_isa_discrete.py::test_each_element_is_changed_where_its_offset_leads
    __bang_discrete_atomic_add __bang_discrete_atomic_max __bang_discrete_atomic_min
    __bang_discrete_atomic_and __bang_discrete_atomic_or __bang_discrete_atomic_xor
    __bang_discrete_atomic_exch __bang_discrete_atomic_inc __bang_discrete_atomic_dec
isa/test_isa_fills.py::test_an_asynchronous_fill_lands_at_the_sync
    __nramset_async=11
isa/test_isa_fills.py::test_asserts_end_the_kernel_with_their_text
    __assert_fail __assert
isa/test_isa_fills.py::test_loads_and_stores_name_their_space
    __load_nram=8 __load_gdram=6 __load_sram=2 __store_gdram=2 __store_sram=2 __load_ldram
    __store_nram __store_ldram
isa/test_isa_fills.py::test_move_copies_bytes_in_the_compute_stream
    __bang_move=13
isa/test_isa_fills.py::test_pointer_tests
    __is_dram=2 __is_nram __is_wram __is_sram
isa/test_isa_fills.py::test_printf_takes_up_to_sixteen_values
    __bang_printf=5
isa/test_isa_fills.py::test_the_type_of_the_value_says_how_wide_an_element_is
    __gdramset=13 __memset_nram=5 __bang_write_value=318 __nramset __sramset __ldramset
isa/test_isa_fills.py::test_fills_of_one_type
    __nramset_half __nramset_float __nramset_short __nramset_int
isa/test_isa_fills.py::test_write_zero
    __bang_write_zero
isa/test_isa_functions.py::test_functions_are_right_to_two_units_in_the_last_place
    __bang_active_abs=7 __bang_recip=15 __bang_active_reciphp=2 __bang_active_exphp=1 __bang_pow2=11
    __bang_log2=12 __bang_sqrt=4 __bang_sin=6 __bang_cos=6 __bang_floor=13 __cn_vector_sin_f32=5
    __cn_vector_cos_f32=2 __bang_log __bang_ceil __bang_trunc __bang_round __bang_rsqrt
    __bang_active_log __bang_active_loghp __bang_active_sqrt __bang_active_sqrthp __bang_active_rsqrt
    __bang_active_rsqrthp __bang_active_recip __bang_active_recip_greater_1 __bang_active_sin
    __bang_active_cos __bang_active_pow2 __bang_active_sign
    __bang_active_exp __bang_active_exp_less_0 __bang_active_sigmoid __bang_active_tanh __bang_relu __bang_active_relu
isa/test_isa_functions.py::test_gelu_has_the_documented_form
    __bang_active_gelu
isa/test_isa_functions.py::test_library_functions_of_one_number
    __cn_scalar_sin_f32=3 __cn_scalar_cos_f32=3 __cn_scalar_sin_f16=2 __cn_scalar_cos_f16=2
isa/test_isa_functions.py::test_library_functions_of_two_vectors
    __cn_vector_hypot_f32=1 __cn_vector_cast_f32_to_s32=1 __cn_vector_mod_scalar_u64=1
isa/test_isa_functions.py::test_relun_cuts_off_at_both_ends
    __bang_relun
isa/test_isa_fusion.py::test_fusion_of_vectors_scalars_and_cycles
    __bang_fusion=49
isa/test_isa_gather.py::test_gather_takes_each_piece_from_its_offset
    __gather=6 __bang_gather_async=2 __gather_async=?
isa/test_isa_gather.py::test_gather_of_assembly_is_in_order_with_vectors
    __mlisa_gather_vector
isa/test_isa_gather.py::test_extension_repeats_each_piece
    __extension
isa/test_isa_gather.py::test_scatter_puts_each_piece_at_its_offset
    __scatter_async=? __scatter
isa/test_isa_mlisa.py::test_division_by_a_scalar
    __mlisa_div_scalar
isa/test_isa_mlisa.py::test_five_steps_one_after_the_other
    __mlisa_fuse_2 __mlisa_fuse_3 __mlisa_fuse_5
isa/test_isa_mlisa.py::test_a_fused_instruction_of_one_step
    __mlisa_fuse_1
isa/test_isa_mlisa.py::test_the_highest_bit
    __mlisa_findlast1
isa/test_isa_mlisa.py::test_the_mask_of_what_is_no_number
    __mlisa_fuse_4
isa/test_isa_pool_indices.py::test_average_gives_each_window_s_share_back
    __bang_avgpool_bp
isa/test_isa_pool_indices.py::test_gradients_go_to_the_largest_and_add_up
    __bang_maxpool_bp
isa/test_isa_pool_indices.py::test_places_of_the_largest
    __bang_maxpool_value_index=1 __bang_maxpool_index
isa/test_isa_pool_indices.py::test_unpool_puts_numbers_back_to_their_places
    __bang_unpool
isa/test_isa_registers.py::test_each_lane_is_computed_by_itself
    __vv_xor=16 __vv_trixor=8 __vv_mul=8 __vv_mulh=8 __vv_add=?
isa/test_isa_registers.py::test_move_and_index
    __vv_move=11 __vv_index=2
isa/test_isa_registers.py::test_store_writes_as_many_elements_as_asked
    __vv_store=17
isa/test_isa_registers.py::test_the_length_is_that_of_a_register_in_bytes
    __vv_get_length=?
isa/test_isa_selection.py::test_compare_and_filter
    __bang_fcmpfilter
isa/test_isa_selection.py::test_counts_and_searches
    __bang_count=10 __bang_findfirst1=4 __bang_findlast1=1
isa/test_isa_selection.py::test_extremes_come_with_their_first_index
    __bang_argmax=16 __bang_argmin=3 __bang_max __bang_min __bang_fabsmax __bang_fabsmin
isa/test_isa_selection.py::test_filter_keeps_the_chosen_in_order
    __bang_filter=71 __bang_filter_bitindex=6 __bang_collect __bang_collect_bitindex
    __bang_maskmove_bitindex
isa/test_isa_selection.py::test_lut_looks_up
    __bang_lut=31
isa/test_isa_selection.py::test_maskmove_moves_bytes
    __bang_maskmove
isa/test_isa_selection.py::test_popcnt_counts_bits
    __bang_popcnt
isa/test_isa_selection.py::test_select_has_a_line_with_the_count
    __bang_select __bang_select_bitindex
isa/test_isa_selection.py::test_sums_add_lanes_and_then_halves
    __bang_sum=8 __bang_reduce_sum
isa/test_isa_selection.py::test_transpose
    __bang_transpose=212
isa/test_isa_shapes.py::test_channels_move
    __bang_reshape_nchw2nhwc __bang_reshape_nhwc2nchw
isa/test_isa_shapes.py::test_pad_puts_a_border_around_the_picture
    __bang_pad=22
isa/test_isa_shapes.py::test_pools
    __bang_sumpool=22 __bang_minpool=4 __bang_avgpool __bang_maxpool
isa/test_isa_shapes.py::test_reshape_filter_gives_each_lane_its_filters
    __bang_reshape_filter=8
isa/test_isa_shapes.py::test_turns
    __bang_rotate90=7 __bang_rotate180=10 __bang_rotate270=7 __bang_mirror=6
isa/test_isa_syncs.py::test_a_barrier_lets_nobody_go_on_before_all_have_come
    __sync_cluster=27 __sync_all_ipu=23 __sync_all_ipu_within_cluster=2 __sync_all __sync_all_mpu
isa/test_isa_syncs.py::test_a_directed_sync_waits_for_its_producers
    __sync_io_move_compute=21
isa/test_isa_syncs.py::test_a_mutex_is_held_by_one_task_at_a_time
    __bang_lock __bang_unlock
isa/test_isa_syncs.py::test_a_sync_puts_the_vector_unit_in_order_with_a_copy
    __sync_compute=45
isa/test_isa_syncs.py::test_a_sync_waits_for_its_pipes_and_for_no_other
    __sync=205 __sync_move=61 __sync_io=2
isa/test_isa_syncs.py::test_every_core_knows_what_it_is
    __is_mpu=79 __is_ipu=8
isa/test_isa_syncs.py::test_half_a_barrier_is_over_with_its_count_of_arrivals
    __sync_cluster_arrive __sync_cluster_wait __sync_all_arrive __sync_all_wait
isa/test_isa_tensor.py::test_conv_by_its_definition
    __bang_conv=4
isa/test_isa_tensor.py::test_matmul_is_the_product_with_the_filters
    __bang_matmul=16
isa/test_isa_tensor.py::test_mlp_is_a_layer_with_bias
    __bang_mlp
isa/test_isa_tiles.py::test_each_place_multiplies_all_its_channels
    __bang_expand_channel_mul=4 __bang_expand_channel_mul_add=1
isa/test_isa_tiles.py::test_incseq_counts_from_zero
    __bang_incseq=3
isa/test_isa_tiles.py::test_the_old_look_ups
    __bang_lut_s16 __bang_lut_s32
isa/test_isa_tiles.py::test_the_old_strided_copy_counts_pieces
    __memcpy_nram_to_nram
isa/test_isa_tiles.py::test_tiles
    __bang_tiling_2d_b8 __bang_tiling_2d_b16 __bang_tiling_2d_b32 __bang_tiling_2d_b64
    __bang_tiling_2d_b128 __bang_tiling_2d_b256 __bang_tiling_2d_b512 __bang_tiling_2d_b1024
    __bang_trans_tiling_2d_b8 __bang_trans_tiling_2d_b16 __bang_trans_tiling_2d_b32
machine/test_copies.py::test_three_d_copies_move_the_bytes_of_the_definition
    __memcpy=522
machine/test_copies.py::test_two_d_copies_move_the_bytes_of_the_definition
    __memcpy_async=607
mluops/test_mluop_arithmetic.py::test_division_is_the_documented_one
    __mluop_div=?
mluops/test_mluop_arithmetic.py::test_reciprocals
    __mluop_recip=?
mluops/test_mluop_arithmetic.py::test_remainders_of_whole_numbers_are_exact
    __mluop_mod=?
mluops/test_mluop_copies.py::test_loads_bring_the_rows
    __mluop_load_str_2D
mluops/test_mluop_copies.py::test_planes
    __mluop_load_str_3D __mluop_store_str_3D
mluops/test_mluop_copies.py::test_stores_leave_the_rows_and_nothing_else
    __mluop_store_str_2D
mluops/test_mluop_functions.py::test_conversion_rounds_to_the_nearest_even
    __mluop_float2half=?
mluops/test_mluop_functions.py::test_functions_are_the_documented_compositions
    __mluop_exp=? __mluop_log=? __mluop_sigmoid=?
mluops/test_mluop_functions.py::test_minimum_and_maximum_are_those_of_c
    __mluop_max=46 __mluop_min=?
mluops/test_mluop_functions.py::test_pooling_sums_rows
    __mluop_recursive_sum_pool=?
mluops/test_mluop_functions.py::test_type_tests
    __mluop_is_half=1 __mluop_is_float=?
mluops/test_mluop_gather.py::test_gathers
    __mluop_gather=? __mluop_gather_async=?
mluops/test_mluop_gather.py::test_scatters
    __mluop_scatter=? __mluop_scatter_async=?
mluops/test_mluop_random.py::test_streams
    __mluop_gen_random_u32=?
mluops/test_mluop_random.py::test_the_upper_bound_is_never_reached
    __mluop_cvt_uniform=?
mluops/test_mluop_random.py::test_uniform_numbers_are_the_upper_bits
    __mluop_gen_uniform=?
mluops/test_mluop_sequences.py::test_counting
    __mluop_gen_integer_incr_seq_=2 __mluop_get_stage_indices_tfuse=? __mluop_gen_stage_index=?
mluops/test_mluop_sequences.py::test_counting_in_floats
    __mluop_get_indices=?
mluops/test_mluop_sequences.py::test_doubling_goes_on_from_anywhere
    __mluop_arange_base_=4 __mluop_arange_by_expand_=3
mluops/test_mluop_sequences.py::test_one_register
    __mluop_arange_vv_=3
"""


@frozen
class VendorName:
    """One name: as the vendor spells it, its ``uses`` ("" for none that are known), and its test."""

    spelling: str
    uses: str
    test: str

    @property
    def bare(self) -> str:
        """The name as Python has it."""
        return self.spelling.lstrip("_")


def vendor_names() -> tuple[VendorName, ...]:
    """Return all names, in the order of the list."""
    found: list[VendorName] = []
    test = ""
    for line in LISTED.strip().splitlines():
        # A line that is not indented names the test of those below.
        if not line.startswith(" "):
            test = line
            continue
        for entry in line.split():
            spelling, _, uses = entry.partition("=")
            found.append(VendorName(spelling, uses, test))
    return tuple(found)


LANGUAGE: Mapping[str, str] = MappingProxyType(
    {
        "__mlu_global__": "`@kernel`",
        "__mlu_entry__": "`@kernel`",
        "__mlu_func__": "a Python function",
        "__mlu_builtin__": "an attribute of `mlu`, such as `mlu.taskId`",
        "__mlu_device__": "a tensor of the device",
        "__mlu_const__": "a tensor passed as const",
        "__mlu_shared__": "`mlu.shared(dtype, count)`",
        "__mlu_vector__": "a Python function with registers, such as `vv_float()`",
        "__nram__": "`mlu.nram(dtype, count)`",
        "__wram__": "`mlu.wram(dtype, count)`",
        "__ldram__": "`mlu.ldram(dtype, count)`",
    }
)
OUR_FORMS = (
    "bang_div_addition",
    "bang_conv_bias",
    "bang_count_stored",
    "bang_findfirst1_stored",
    "bang_findlast1_stored",
)
"""Rows for longer forms of a vendor's name, which a call of that name reaches."""

HEAD = """# Coverage of the vendor's names

{used} of {used} names that the vendor's kernels use, and {others} more of its headers and documents, are here; each is
executed by a test against a definition by loops; a sync or barrier against who waits for what, a print, a dump or an
assertion against what it says.

The first table has the names that begin with two underscores and are called in the kernels of Cambricon/mlu-ops
(revision 73adc65, `grep -rhoE '\\b__[a-z_0-9]+ *\\('` without attributes and compiler extensions): {used} of them.
It was put together from a survey of these kernels: {counted} names with the number of their uses, and {helpers} of
the helper library and {uncounted} others of which only the use is known, not the number.  One or another of the last
may be declared there rather than used.

The marks: **C** certain, **D** derived, **I** inferred from use, **U** unknown with a default chosen, **-** a helper made of intrinsics.

`tests/isa/test_isa_coverage.py` executes each test of the tables, sees the intrinsic or helper executed in it, then
replaces it by one that does nothing and sees the test fail.  Made by `python -m mlusim.manual.isa_pages`.
"""
TABLE = "| name | uses | here | | described in | executed by |\n| --- | --- | --- | --- | --- | --- |"


def coverage_page() -> str:
    """Return the page as Markdown."""
    names = vendor_names()
    used = [name for name in names if name.uses]
    others = [name for name in names if not name.uses]
    helpers = sum(name.uses == "?" and name.bare.startswith("mluop_") for name in names)
    uncounted = sum(name.uses == "?" for name in names)
    text = HEAD.format(
        used=len(used),
        others=len(others),
        counted=len(used) - uncounted,
        helpers=helpers,
        uncounted=uncounted - helpers,
    )
    parts = [
        text,
        "## Names that kernels use\n",
        *_table(used),
        "\n## Other names\n",
        "Documented and not used at that revision, or one of a family's suffixes.\n",
        *_table(others),
        "\n## Words of the language\n",
        "| word | here |\n| --- | --- |",
        *(f"| `{word}` | {here} |" for word, here in LANGUAGE.items()),
    ]
    return "\n".join(parts) + "\n"


def row_of(name: VendorName) -> Intrinsic | None:
    """Return the row of the table that *name* is, or None for a helper.

    Raises `UsageError` for a name that is neither.
    """
    # A name that is a word of Python ends with an underscore, as assert_.
    row = ISA.get(name.bare) or ISA.get(name.bare + "_")
    if row is None and not callable(getattr(mlusim.bang, name.bare, None)):
        raise UsageError(
            f"{name.spelling} is listed as covered and is nowhere; add it or take it off the list"
        )
    return row


def _table(names: list[VendorName]) -> Iterator[str]:
    order = {row.name: n for n, row in enumerate(ISA.values())}
    rows = [(name, row_of(name)) for name in names]
    yield TABLE
    # In the order of the table, helpers behind, so that a family stays together.
    for name, row in sorted(
        rows, key=lambda pair: (len(order) if pair[1] is None else order[pair[1].name], pair[0].bare)
    ):
        test = name.test.replace("::", "`, `")
        yield f"| `{name.spelling}` | {name.uses} | {_here(name, row)} | `{test}` |"


def _here(name: VendorName, row: Intrinsic | None) -> str:
    if row is None:
        return f"`{name.bare}(mlu, ...)` | - | [helpers](../helpers.md)"
    family = next(family.name for family in FAMILIES if row in family.rows)
    return f"`mlu.{row.name}` | {row.certainty} | [{family}]({family}.md#{row.spelling})"
