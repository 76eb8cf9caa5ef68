// One step of AdamW by the light library, which takes no descriptors.
#include "core/context.h"
#include "core/tensor.h"
#include "mlu_op.h"
#include "kernels_light/adam_w_light/adam_w_light_union1.mlu"  // for the instances of its templates
mluOpStatus_t DriveAdamWLight(mluOpHandle_t handle, float lr, float beta1, float beta2, float bias1, float bias2, float epsilon,
                              float weight_decay, float scale, bool use_nesterov, bool need_remove_nan,
                              const mluOpTensorDescriptor_t param_desc, void *param, const mluOpTensorDescriptor_t paramh_desc, void *paramh,
                              const mluOpTensorDescriptor_t momentum_desc, void *momentum, const mluOpTensorDescriptor_t velocity_desc,
                              void *velocity, const mluOpTensorDescriptor_t grad_desc, void *grad) {
  size_t size = mluOpGetTensorElementNum(momentum_desc) * sizeof(float);
  if (need_remove_nan) {
    bangc_kernels::mluAdamW(handle->queue, lr, beta1, beta2, bias1, bias2, epsilon, weight_decay, scale, use_nesterov, need_remove_nan, size,
                            (float *)paramh, (float *)grad, (float *)param, (float *)momentum, (float *)velocity);
  } else {
    bangc_kernels::mluAdamW(handle->queue, lr, beta1, beta2, bias1, bias2, epsilon, weight_decay, scale, use_nesterov, need_remove_nan, size,
                            (bang_bfloat16_t *)paramh, (bang_bfloat16_t *)grad, (float *)param, (float *)momentum, (float *)velocity);
  }
  return MLUOP_STATUS_SUCCESS;
}
