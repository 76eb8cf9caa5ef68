// Convolutions with moved taps, with a descriptor made for them.
#include "core/context.h"
#include "core/tensor.h"
#include "mlu_op.h"
static mluOpDCNDescriptor_t Described(int dimnb, const int *pad, const int *stride, const int *dilation, int deformable_group, int conv_group,
                                      int im2col_step) {
  mluOpDCNDescriptor_t desc;
  mluOpCreateDCNDescriptor(&desc);
  mluOpSetDCNDescriptor(desc, dimnb, pad, stride, dilation, deformable_group, conv_group, im2col_step, MLUOP_DTYPE_FLOAT);
  return desc;
}
mluOpStatus_t DriveDCNForward(mluOpHandle_t handle, int dimnb, const int *pad, const int *stride, const int *dilation, int deformable_group,
                              int conv_group, int im2col_step, const mluOpTensorDescriptor_t input_desc, const void *input,
                              const mluOpTensorDescriptor_t offset_desc, const void *offset, const mluOpTensorDescriptor_t mask_desc,
                              const void *mask, const mluOpTensorDescriptor_t weight_desc, const void *weight,
                              const mluOpTensorDescriptor_t bias_desc, const void *bias, const mluOpTensorDescriptor_t output_desc,
                              void *output) {
  size_t size = 0;
  mluOpDCNDescriptor_t desc = Described(dimnb, pad, stride, dilation, deformable_group, conv_group, im2col_step);
  mluOpGetDCNForwardWorkspaceSize(handle, desc, input_desc, offset_desc, mask_desc, weight_desc, bias_desc, output_desc, &size);
  return mluOpDCNForward(handle, desc, input_desc, input, offset_desc, offset, mask_desc, mask, weight_desc, weight, bias_desc, bias, nullptr,
                         size, output_desc, output);
}
mluOpStatus_t DriveDCNBackwardData(mluOpHandle_t handle, int dimnb, const int *pad, const int *stride, const int *dilation,
                                   int deformable_group, int conv_group, int im2col_step, const mluOpTensorDescriptor_t input_desc,
                                   const void *input, const mluOpTensorDescriptor_t offset_desc, const void *offset,
                                   const mluOpTensorDescriptor_t mask_desc, const void *mask, const mluOpTensorDescriptor_t weight_desc,
                                   const void *weight, const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
                                   const mluOpTensorDescriptor_t grad_input_desc, void *grad_input,
                                   const mluOpTensorDescriptor_t grad_offset_desc, void *grad_offset,
                                   const mluOpTensorDescriptor_t grad_mask_desc, void *grad_mask) {
  size_t size = 0;
  mluOpDCNDescriptor_t desc = Described(dimnb, pad, stride, dilation, deformable_group, conv_group, im2col_step);
  mluOpGetDCNBakcwardDataWorkspaceSize(handle, desc, input_desc, offset_desc, mask_desc, weight_desc, grad_output_desc, grad_input_desc,
                                       grad_offset_desc, grad_mask_desc, &size);
  return mluOpDCNBackwardData(handle, desc, input_desc, input, offset_desc, offset, mask_desc, mask, weight_desc, weight, grad_output_desc,
                              grad_output, nullptr, size, grad_input_desc, grad_input, grad_offset_desc, grad_offset, grad_mask_desc,
                              grad_mask);
}
mluOpStatus_t DriveDCNBackwardWeight(mluOpHandle_t handle, int dimnb, const int *pad, const int *stride, const int *dilation,
                                     int deformable_group, int conv_group, int im2col_step, const mluOpTensorDescriptor_t input_desc,
                                     const void *input, const mluOpTensorDescriptor_t offset_desc, const void *offset,
                                     const mluOpTensorDescriptor_t mask_desc, const void *mask,
                                     const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
                                     const mluOpTensorDescriptor_t grad_weight_desc, void *grad_weight,
                                     const mluOpTensorDescriptor_t grad_bias_desc, void *grad_bias) {
  size_t size = 0;
  mluOpDCNDescriptor_t desc = Described(dimnb, pad, stride, dilation, deformable_group, conv_group, im2col_step);
  mluOpGetDCNBackwardWeightWorkspaceSize(handle, desc, input_desc, offset_desc, mask_desc, grad_output_desc, grad_weight_desc, grad_bias_desc,
                                         &size);
  return mluOpDCNBackwardWeight(handle, desc, input_desc, input, offset_desc, offset, mask_desc, mask, grad_output_desc, grad_output, nullptr,
                                size, grad_weight_desc, grad_weight, grad_bias_desc, grad_bias);
}
