// A transform, with a plan made for it.
#include "cnrt.h"
#include "core/context.h"
#include "core/tensor.h"
#include "mlu_op.h"
mluOpStatus_t DriveFFT(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void *input, const mluOpTensorDescriptor_t output_desc,
                       void *output, int rank, const int *n, float scale_factor, int direction) {
  mluOpFFTPlan_t plan;
  size_t reserve_size = 0, workspace_size = 0;
  void *reserve = nullptr, *workspace = nullptr;
  mluOpSetTensorDescriptorOnchipDataType(input_desc, MLUOP_DTYPE_FLOAT);
  mluOpCreateFFTPlan(&plan);
  mluOpStatus_t status = mluOpMakeFFTPlanMany(handle, plan, input_desc, output_desc, rank, n, &reserve_size, &workspace_size);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  if (reserve_size > 0) cnrtMalloc(&reserve, reserve_size);
  if (workspace_size > 0) cnrtMalloc(&workspace, workspace_size);
  status = mluOpSetFFTReserveArea(handle, plan, reserve);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return mluOpExecFFT(handle, plan, input, scale_factor, workspace, output, direction);
}
