// One step of AdamW, with a descriptor made for it.
#include "core/context.h"
#include "core/tensor.h"
#include "mlu_op.h"
mluOpStatus_t DriveAdamW(mluOpHandle_t handle, const mluOpTensorDescriptor_t param_desc, void *param, const mluOpTensorDescriptor_t step_desc, void *step, const mluOpTensorDescriptor_t momentum_desc,
                         void *momentum, const mluOpTensorDescriptor_t velocity_desc, void *velocity, const mluOpTensorDescriptor_t grad_desc,
                         void *grad, float lr, float beta1, float beta2, float bias1, float bias2, float epsilon, float weight_decay, float scale,
                         bool need_remove_nan) {
  mluOpAdamWDescriptor_t desc;
  bool nesterov = false;
  mluOpCreateAdamWDescriptor(&desc);
  mluOpSetAdamWDescAttr(desc, MLUOP_ADAMW_WEIGHT_DECAY, &weight_decay, sizeof(float));
  mluOpSetAdamWDescAttr(desc, MLUOP_ADAMW_GRAD_SCALE, &scale, sizeof(float));
  mluOpSetAdamWDescAttr(desc, MLUOP_ADAMW_USE_NESTEROV, &nesterov, sizeof(bool));
  mluOpSetAdamWDescAttr(desc, MLUOP_ADAMW_NEED_REMOVE_NAN, &need_remove_nan, sizeof(bool));
  mluOpStatus_t status = mluOpAdamW(handle, desc, param_desc, param, step_desc, step, momentum_desc, momentum, velocity_desc, velocity, grad_desc,
                                    grad, lr, beta1, beta2, bias1, bias2, epsilon);
  mluOpDestroyAdamWDescriptor(desc);
  return status;
}
