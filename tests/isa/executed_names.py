"""The tests, below ``tests``, that hold the vendor's names to their definitions, each with its names."""

EXECUTED = """
isa/test_isa_arithmetic.py::test_arithmetic_rounds_once_to_its_own_type
    __bang_add __bang_sub __bang_mul __bang_add_scalar __bang_sub_scalar __bang_mul_scalar
isa/test_isa_arithmetic.py::test_arithmetic_toward_zero
    __bang_add_tz __bang_sub_tz __bang_mul_tz
isa/test_isa_arithmetic.py::test_band_scalar_takes_the_bits_of_floats
    __bang_band_scalar
isa/test_isa_arithmetic.py::test_bitwise_rows
    __bang_band __bang_bor __bang_bnot __bang_bxor
isa/test_isa_arithmetic.py::test_comparisons_give_one_or_zero_in_the_same_type
    __bang_eq __bang_gt __bang_lt __bang_le __bang_ge_scalar __bang_lt_scalar __bang_gt_scalar
    __bang_le_scalar __bang_eq_scalar __bang_ne_scalar __bang_gt_bitindex __bang_ge_bitindex
    __bang_ne __bang_ge __bang_eq_bitindex __bang_ne_bitindex __bang_lt_bitindex __bang_le_bitindex
isa/test_isa_arithmetic.py::test_cycle_repeats_its_segment
    __bang_cycle_mul __bang_cycle_add __bang_cycle_add_tz __bang_cycle_sub __bang_cycle_lt
    __bang_cycle_le __bang_cycle_eq __bang_cycle_and __bang_cycle_band __bang_cycle_minequal
    __bang_cycle_maxequal __bang_cycle_ne __bang_cycle_gt __bang_cycle_ge __bang_cycle_or
    __bang_cycle_xor __bang_cycle_bor __bang_cycle_bxor __bang_cycle_nan_maximum
    __bang_cycle_nan_minimum
isa/test_isa_arithmetic.py::test_extremes_have_their_behaviour_toward_nan
    __bang_nan_maximum __bang_nan_minimum __bang_maximum __bang_minimum __bang_maxequal
    __bang_minequal __bang_maxeq_scalar __bang_mineq_scalar
isa/test_isa_arithmetic.py::test_float_division_rounds_once
    __bang_div
isa/test_isa_arithmetic.py::test_float_remainder_is_fmod
    __bang_rem
isa/test_isa_arithmetic.py::test_logic_takes_anything_but_zero_as_true
    __bang_and __bang_or __bang_not __bang_xor __bang_and_scalar __bang_or_scalar __bang_xor_scalar
isa/test_isa_arithmetic.py::test_shift_right_fills_with_zeros
    __bang_srl
isa/test_isa_arithmetic.py::test_square_and_absolute_value
    __bang_square __bang_abs __bang_neg
isa/test_isa_arithmetic.py::test_the_older_spellings_with_a_scalar
    __bang_add_const __bang_sub_const __bang_mul_const
isa/test_isa_atomics.py::test_compare_and_swap
    __bang_atomic_cas __bang_atomic_reduce_cas
isa/test_isa_atomics.py::test_reductions_and_fetches
    __bang_atomic_reduce_add __bang_atomic_reduce_add_async __bang_atomic_reduce_max
    __bang_atomic_reduce_min __bang_atomic_reduce_and __bang_atomic_reduce_or
    __bang_atomic_reduce_xor __bang_atomic_reduce_exch __bang_atomic_reduce_inc
    __bang_atomic_reduce_dec __bang_atomic_add __bang_atomic_max __bang_atomic_min __bang_atomic_and
    __bang_atomic_or __bang_atomic_xor __bang_atomic_exch __bang_atomic_inc __bang_atomic_dec
isa/test_isa_conversions.py::test_float_to_integer_at_the_edges
    __bang_float2int32 __bang_float2int32_tz __bang_float2int32_rd __bang_half2int16_rd
    __bang_float2int16_rd __bang_half2int32_tz __bang_half2int32_rd __bang_half2int8_dn
    __bang_float2int8_dn __bang_float2int16_dn __bang_float2int32_oz __bang_float2int32_up
    __bang_float2int32_dn __bang_float2int32_rn __bang_float2int32_rm __bang_float2int16_tz
    __bang_float2int16_oz __bang_float2int16_up __bang_float2int16_rn __bang_float2int16_rm
    __bang_float2int8_tz __bang_float2int8_oz __bang_float2int8_up __bang_float2int8_rd
    __bang_float2int8_rn __bang_float2int8_rm __bang_half2int32_oz __bang_half2int32_up
    __bang_half2int32_dn __bang_half2int32_rn __bang_half2int32_rm __bang_half2int16_tz
    __bang_half2int16_oz __bang_half2int16_up __bang_half2int16_dn __bang_half2int16_rn
    __bang_half2int16_rm __bang_half2int8_tz __bang_half2int8_oz __bang_half2int8_up
    __bang_half2int8_rd __bang_half2int8 __bang_half2int8_rn __bang_half2int8_rm
    __bang_half2uchar_dn __bang_float2uchar_dn __bang_float2int_tz __bang_half2int32
isa/test_isa_conversions.py::test_integer_to_float
    __bang_uint322float __bang_short2half
    __bang_int322float __bang_int322float_rn __bang_int322float_rd __bang_int82float
    __bang_int322float_tz __bang_int322float_oz __bang_int322float_up __bang_int322float_dn
    __bang_int322float_rm __bang_int322half __bang_int322half_tz __bang_int322half_rd
    __bang_int322half_rn __bang_int162half __bang_int162half_rd __bang_int162half_rn
    __bang_int162float __bang_int82half __bang_uchar2half __bang_uchar2float __bang_int2float
isa/test_isa_conversions.py::test_integer_to_integer
    __bang_uchar2int32 __bang_int322uchar
    __bang_int322int16 __bang_int322int8 __bang_int162int8 __bang_int82int16 __bang_int82int32
    __bang_int162int32 __bang_uchar2int16
isa/test_isa_conversions.py::test_narrowing_of_any_bits
    __bang_float2half_rn __bang_float2half_tz __bang_float2half_rd __bang_float2half_dn
    __bang_float2bfloat16_tz __bang_float2half_oz __bang_float2half_up __bang_float2half_rm
    __bang_float2bfloat16_oz __bang_float2bfloat16_up __bang_float2bfloat16_dn
    __bang_float2bfloat16_rd __bang_float2bfloat16_rn __bang_float2bfloat16_rm __bang_float2half
    __bang_float2bfloat16
isa/test_isa_conversions.py::test_scalar_conversions_are_those_of_one_element
    __float2short_tz __float2short_oz __float2short_up __float2short_dn __float2short_rd
    __float2short_rn __half2short_tz __half2short_oz __half2short_up __half2short_dn
    __half2short_rd __half2short_rn
    __float2int32 __float2int32_up __float2int32_rd __half2int32 __half2int32_up __float2half_rn
    __half2float __half2float_rn __float2int32_tz __float2int32_oz __float2int32_dn __float2int32_rn
    __float2int32_rm __half2int32_tz __half2int32_oz __half2int32_dn __half2int32_rd __half2int32_rn
    __half2int32_rm __float2half_tz __float2half_oz __float2half_up __float2half_dn __float2half_rd
    __float2half_rm __float2half __float2bfloat16 __float2bfloat16_rn __bfloat162float __float2int
    __float2int_tz __float2int_oz __float2int_up __float2int_dn __float2int_rd __float2int_rn
    __half2int __half2int_tz __half2int_oz __half2int_up __half2int_dn __half2int_rd __half2int_rn
isa/test_isa_conversions.py::test_stochastic_rounding_takes_a_neighbour_as_often_as_it_is_near
    __bang_float2tf32_sr
isa/test_isa_conversions.py::test_widening_is_exact
    __bang_half2float __bang_bfloat162float
isa/test_isa_diagnostics.py::test_a_dump_of_memory_shows_its_bytes
    __breakdump_vector
isa/test_isa_diagnostics.py::test_a_dump_of_scalars_shows_values_and_bits
    __breakdump_scalar
isa/test_isa_diagnostics.py::test_an_old_sync_waits_for_the_pipe_of_its_direction
    __sync_copy_wram_to_gdram __sync_copy_dram_to_nram __sync_copy_nram_to_dram
    __sync_copy_dram_to_sram __sync_copy_sram_to_dram __sync_copy_dram_to_wram
    __sync_copy_wram_to_dram
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
    __nramset_async
isa/test_isa_fills.py::test_asserts_end_the_kernel_with_their_text
    __assert_fail __assert
isa/test_isa_fills.py::test_loads_and_stores_name_their_space
    __load_nram __load_gdram __load_sram __store_gdram __store_sram __load_ldram __store_nram
    __store_ldram
isa/test_isa_fills.py::test_move_copies_bytes_in_the_compute_stream
    __bang_move
isa/test_isa_fills.py::test_pointer_tests
    __is_dram __is_nram __is_wram __is_sram
isa/test_isa_fills.py::test_printf_takes_up_to_sixteen_values
    __bang_printf
isa/test_isa_fills.py::test_the_type_of_the_value_says_how_wide_an_element_is
    __gdramset __memset_nram __bang_write_value __nramset __sramset __ldramset
isa/test_isa_fills.py::test_fills_of_one_type
    __nramset_half __nramset_float __nramset_short __nramset_int
isa/test_isa_fills.py::test_write_zero
    __bang_write_zero
isa/test_isa_functions.py::test_functions_are_right_to_two_units_in_the_last_place
    __bang_active_abs __bang_recip __bang_active_reciphp __bang_active_exphp __bang_pow2 __bang_log2
    __bang_sqrt __bang_sin __bang_cos __bang_floor __cn_vector_sin_f32 __cn_vector_cos_f32
    __bang_log __bang_ceil __bang_trunc __bang_round __bang_rsqrt __bang_active_log
    __bang_active_loghp __bang_active_sqrt __bang_active_sqrthp __bang_active_rsqrt
    __bang_active_rsqrthp __bang_active_recip __bang_active_recip_greater_1 __bang_active_sin
    __bang_active_cos __bang_active_pow2 __bang_active_sign __bang_active_exp
    __bang_active_exp_less_0 __bang_active_sigmoid __bang_active_tanh __bang_relu __bang_active_relu
isa/test_isa_functions.py::test_gelu_has_the_documented_form
    __bang_active_gelu
isa/test_isa_functions.py::test_library_functions_of_one_number
    __cn_scalar_sin_f32 __cn_scalar_cos_f32 __cn_scalar_sin_f16 __cn_scalar_cos_f16
isa/test_isa_functions.py::test_accurate_roots_and_finite_numbers
    __cn_vector_accurate_sqrt_f32 __cn_scalar_accurate_sqrt_f32 __cn_scalar_isfinite_f32
isa/test_isa_functions.py::test_library_functions_of_two_vectors
    __cn_vector_hypot_f32 __cn_vector_cast_f32_to_s32 __cn_vector_mod_scalar_u64
isa/test_isa_functions.py::test_relun_cuts_off_at_both_ends
    __bang_relun
isa/test_isa_fusion.py::test_fusion_of_vectors_scalars_and_cycles
    __bang_fusion
isa/test_isa_gather.py::test_gather_takes_each_piece_from_its_offset
    __gather __bang_gather_async __gather_async
isa/test_isa_gather.py::test_gather_of_assembly_is_in_order_with_vectors
    __mlisa_gather_vector
isa/test_isa_gather.py::test_extension_repeats_each_piece
    __extension
isa/test_isa_gather.py::test_scatter_puts_each_piece_at_its_offset
    __scatter_async __scatter
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
    __bang_maxpool_value_index __bang_maxpool_index
isa/test_isa_pool_indices.py::test_unpool_puts_numbers_back_to_their_places
    __bang_unpool
isa/test_isa_registers.py::test_a_mask_leaves_lanes_out
    __vv_move_m __vv_move_z __vv_add_m __vv_add_z __vv_sub_m __vv_sub_z __vv_mul_m __vv_mul_z
    __vv_div_m __vv_div_z __vv_rem_m __vv_rem_z __vv_neg_m __vv_neg_z __vv_and_m __vv_and_z __vv_or_m __vv_or_z
    __vv_xor_m __vv_xor_z __vv_not_m __vv_not_z __vv_land_m __vv_land_z __vv_lor_m __vv_lor_z
    __vv_lxor_m __vv_lxor_z __vv_lnot_m __vv_lnot_z
isa/test_isa_registers.py::test_comparisons_make_masks
    __vv_setp_eq __vv_setp_ne __vv_setp_lt __vv_setp_le __vv_setp_gt __vv_setp_ge
isa/test_isa_registers.py::test_each_lane_is_computed_by_itself
    __vv_sub __vv_neg __vv_not __vv_and __vv_or __vv_xor __vv_trixor __vv_mul __vv_mulh __vv_add
    __vv_land __vv_lor __vv_lxor __vv_lnot __vv_sll __vv_srl __vv_sra __vv_eq __vv_ne __vv_lt
    __vv_le __vv_gt __vv_ge
isa/test_isa_registers.py::test_floats_are_divided_and_rounded_once
    __vv_div
isa/test_isa_registers.py::test_integers_are_divided_as_in_c
    __vv_rem
isa/test_isa_registers.py::test_load_reads_as_many_elements_as_asked
    __vv_load __vv_load_m __vv_load_z __vv_store_m
isa/test_isa_registers.py::test_masks_are_combined_and_chosen_by
    __vv_select
isa/test_isa_registers.py::test_move_and_index
    __vv_move __vv_index
isa/test_isa_registers.py::test_store_writes_as_many_elements_as_asked
    __vv_store
isa/test_isa_registers.py::test_the_length_is_that_of_a_register_in_bytes
    __vv_get_length
isa/test_isa_selection.py::test_compare_and_filter
    __bang_fcmpfilter
isa/test_isa_selection.py::test_counts_and_searches
    __bang_count __bang_findfirst1 __bang_findlast1
isa/test_isa_selection.py::test_extremes_come_with_their_first_index
    __bang_argmax __bang_argmin __bang_max __bang_min __bang_fabsmax __bang_fabsmin
isa/test_isa_selection.py::test_filter_keeps_the_chosen_in_order
    __bang_filter __bang_filter_bitindex __bang_collect __bang_collect_bitindex
    __bang_maskmove_bitindex
isa/test_isa_selection.py::test_lut_looks_up
    __bang_lut
isa/test_isa_selection.py::test_maskmove_moves_bytes
    __bang_maskmove
isa/test_isa_selection.py::test_popcnt_counts_bits
    __bang_popcnt
isa/test_isa_selection.py::test_select_has_a_line_with_the_count
    __bang_select __bang_select_bitindex
isa/test_isa_selection.py::test_sums_add_lanes_and_then_halves
    __bang_sum __bang_reduce_sum
isa/test_isa_selection.py::test_transpose
    __bang_transpose
isa/test_isa_shapes.py::test_channels_move
    __bang_reshape_nchw2nhwc __bang_reshape_nhwc2nchw
isa/test_isa_shapes.py::test_pad_puts_a_border_around_the_picture
    __bang_pad
isa/test_isa_shapes.py::test_pools
    __bang_sumpool __bang_minpool __bang_avgpool __bang_maxpool
isa/test_isa_shapes.py::test_reshape_filter_gives_each_lane_its_filters
    __bang_reshape_filter
isa/test_isa_shapes.py::test_turns
    __bang_rotate90 __bang_rotate180 __bang_rotate270 __bang_mirror
isa/test_isa_syncs.py::test_a_barrier_lets_nobody_go_on_before_all_have_come
    __sync_cluster __sync_all_ipu __sync_all_ipu_within_cluster __sync_all __sync_all_mpu
isa/test_isa_syncs.py::test_a_directed_sync_waits_for_its_producers
    __sync_io_move_compute
isa/test_isa_syncs.py::test_a_mutex_is_held_by_one_task_at_a_time
    __bang_lock __bang_unlock
isa/test_isa_syncs.py::test_a_sync_puts_the_vector_unit_in_order_with_a_copy
    __sync_compute
isa/test_isa_syncs.py::test_a_sync_waits_for_its_pipes_and_for_no_other
    __sync __sync_move __sync_io
isa/test_isa_syncs.py::test_every_core_knows_what_it_is
    __is_mpu __is_ipu
isa/test_isa_syncs.py::test_half_a_barrier_is_over_with_its_count_of_arrivals
    __sync_cluster_arrive __sync_cluster_wait __sync_all_arrive __sync_all_wait
isa/test_isa_tensor.py::test_conv_by_its_definition
    __bang_conv
isa/test_isa_tensor.py::test_matmul_is_the_product_with_the_filters
    __bang_matmul
isa/test_isa_tiles.py::test_each_place_multiplies_all_its_channels
    __bang_expand_channel_mul __bang_expand_channel_mul_add
isa/test_isa_tiles.py::test_incseq_counts_from_zero
    __bang_incseq
isa/test_isa_tiles.py::test_the_old_look_ups
    __bang_lut_s16 __bang_lut_s32
isa/test_isa_tiles.py::test_the_old_strided_copy_counts_pieces
    __memcpy_nram_to_nram
isa/test_isa_tiles.py::test_tiles
    __bang_tiling_2d_b8 __bang_tiling_2d_b16 __bang_tiling_2d_b32 __bang_tiling_2d_b64
    __bang_tiling_2d_b128 __bang_tiling_2d_b256 __bang_tiling_2d_b512 __bang_tiling_2d_b1024
    __bang_trans_tiling_2d_b8 __bang_trans_tiling_2d_b16 __bang_trans_tiling_2d_b32
machine/test_copies.py::test_three_d_copies_move_the_bytes_of_the_definition
    __memcpy
machine/test_copies.py::test_two_d_copies_move_the_bytes_of_the_definition
    __memcpy_async
mluops/test_mluop_arithmetic.py::test_division_is_the_documented_one
    __mluop_div
mluops/test_mluop_arithmetic.py::test_remainders_of_whole_numbers_are_exact
    __mluop_mod
mluops/test_mluop_copies.py::test_loads_bring_the_rows
    __mluop_load_str_2D
mluops/test_mluop_copies.py::test_planes_are_loaded_and_stored_unchanged
    __mluop_load_str_3D __mluop_store_str_3D
mluops/test_mluop_copies.py::test_stores_leave_the_rows_and_nothing_else
    __mluop_store_str_2D
mluops/test_mluop_functions.py::test_conversion_rounds_to_the_nearest_even
    __mluop_float2half
mluops/test_mluop_functions.py::test_functions_are_the_documented_compositions
    __mluop_exp __mluop_log __mluop_sigmoid
mluops/test_mluop_functions.py::test_minimum_and_maximum_are_those_of_c
    __mluop_max __mluop_min
mluops/test_mluop_functions.py::test_pooling_sums_rows
    __mluop_recursive_sum_pool
mluops/test_mluop_functions.py::test_type_tests
    __mluop_is_half __mluop_is_float
mluops/test_mluop_gather.py::test_a_gather_takes_pieces_that_the_mask_selects
    __mluop_gather __mluop_gather_async
mluops/test_mluop_gather.py::test_a_scatter_stores_pieces_that_the_mask_selects
    __mluop_scatter
mluops/test_mluop_sequences.py::test_a_sequence_of_any_length_counts_from_zero
    __mluop_get_stage_indices_tfuse __mluop_gen_stage_index
mluops/test_mluop_sequences.py::test_counting_in_floats
    __mluop_get_indices
isa/test_isa_public_names.py::test_names_of_public_code
    __bang_mlp __abort __bang_active_gelup __cn_scalar_max_f32 __cn_scalar_min_f32 __bang_ge_const
    __bang_bxor_scalar __bang_minpool_index
isa/test_isa_conversions.py::test_float_to_integer_of_any_bits
    __bang_half2uchar_tz __bang_half2uchar_oz __bang_half2uchar_up __bang_half2uchar_rd
    __bang_half2uchar_rn __bang_half2uchar_rm __bang_float2uchar_tz __bang_float2uchar_oz
    __bang_float2uchar_up __bang_float2uchar_rd __bang_float2uchar_rn __bang_float2uchar_rm
    __bang_float2uint32_tz __bang_float2uint32_oz __bang_float2uint32_up __bang_float2uint32_dn
    __bang_float2uint32_rd __bang_float2uint32_rn __bang_float2uint32_rm __bang_float2int_oz
    __bang_float2int_up __bang_float2int_dn __bang_float2int_rd __bang_float2int_rn
    __bang_float2int_rm __bang_half2short_oz __bang_half2short_up __bang_half2short_dn
    __bang_half2short_rd __bang_half2short_tz
"""


def listed_tests() -> dict[str, str]:
    """Return the test of each name, as the vendor spells it."""
    found, test = {}, ""
    for line in EXECUTED.strip().splitlines():
        if line.startswith(" "):
            found |= dict.fromkeys(line.split(), test)
        else:
            test = line
    return found
