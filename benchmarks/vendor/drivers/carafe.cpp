// Carafe, with a descriptor made for it.
#include "core/context.h"
#include "core/tensor.h"
#include "mlu_op.h"
mluOpStatus_t DriveCarafeForward(mluOpHandle_t handle, int dimnb, int kernel_size, int group_size, int scale_factor,
                                 const mluOpTensorDescriptor_t input_desc, const void *input, const mluOpTensorDescriptor_t mask_desc,
                                 const void *mask, const mluOpTensorDescriptor_t output_desc, void *output) {
  mluOpCarafeDescriptor_t desc;
  mluOpCreateCarafeDescriptor(&desc);
  mluOpSetCarafeDescriptor(desc, dimnb, kernel_size, group_size, scale_factor);
  return mluOpCarafeForward(handle, desc, input_desc, input, mask_desc, mask, output_desc, output);
}
mluOpStatus_t DriveCarafeBackward(mluOpHandle_t handle, int dimnb, int kernel_size, int group_size, int scale_factor,
                                  const mluOpTensorDescriptor_t input_desc, const void *input, const mluOpTensorDescriptor_t mask_desc,
                                  const void *mask, const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
                                  const mluOpTensorDescriptor_t grad_input_desc, void *grad_input, const mluOpTensorDescriptor_t grad_mask_desc,
                                  void *grad_mask) {
  mluOpCarafeDescriptor_t desc;
  mluOpCreateCarafeDescriptor(&desc);
  mluOpSetCarafeDescriptor(desc, dimnb, kernel_size, group_size, scale_factor);
  return mluOpCarafeBackward(handle, desc, input_desc, input, mask_desc, mask, grad_output_desc, grad_output, grad_input_desc, grad_input,
                             grad_mask_desc, grad_mask);
}
