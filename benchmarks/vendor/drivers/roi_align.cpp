// Aligned pooling of regions, with a descriptor made for it.
#include "core/context.h"
#include "core/tensor.h"
#include "mlu_op.h"
mluOpStatus_t DriveRoiAlign(mluOpHandle_t handle, int pooled_height, int pooled_width, int sampling_ratio, float spatial_scale, int pool_mode,
                            bool aligned, const mluOpTensorDescriptor_t input_desc, const void *input,
                            const mluOpTensorDescriptor_t boxes_desc, const void *boxes, const mluOpTensorDescriptor_t output_desc,
                            void *output, const mluOpTensorDescriptor_t argmax_x_desc, void *argmax_x,
                            const mluOpTensorDescriptor_t argmax_y_desc, void *argmax_y) {
  mluOpRoiAlignForwardDescriptor_t desc;
  mluOpCreateRoiAlignForwardDescriptor(&desc);
  mluOpStatus_t status =
      mluOpSetRoiAlignForwardDescriptor_v2(desc, pooled_height, pooled_width, sampling_ratio, spatial_scale, pool_mode, aligned);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return mluOpRoiAlignForward_v2(handle, desc, input_desc, input, boxes_desc, boxes, output_desc, output,
                                 argmax_x_desc ? argmax_x_desc : output_desc, argmax_x, argmax_y_desc ? argmax_y_desc : output_desc,
                                 argmax_y);  // of the mean they say nothing
}
