// Pairs of indices of a sparse convolution, with a descriptor made for it.
#include "cnrt.h"
#include "core/context.h"
#include "core/tensor.h"
#include "mlu_op.h"
mluOpStatus_t DriveIndicePairs(mluOpHandle_t handle, int batch, const int *pad, const int *stride, const int *dilation, const int *input_space,
                               const int *filter_space, const int *output_space, int sub_m, const mluOpTensorDescriptor_t indices_desc,
                               const void *indices, const mluOpTensorDescriptor_t indice_pairs_desc, void *indice_pairs,
                               const mluOpTensorDescriptor_t out_indices_desc, void *out_indices, const mluOpTensorDescriptor_t indice_num_desc,
                               void *indice_num) {
  mluOpSparseConvolutionDescriptor_t desc;
  size_t size = 0;
  void *workspace = nullptr;
  mluOpCreateSparseConvolutionDescriptor(&desc);
  mluOpStatus_t status = mluOpSetSparseConvolutionDescriptor(desc, 5, batch, pad, stride, dilation, input_space, filter_space, output_space, sub_m, 0, 0);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  status = mluOpGetIndicePairsWorkspaceSize(handle, desc, indices_desc, indice_pairs_desc, out_indices_desc, indice_num_desc, &size);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  if (size > 0) cnrtMalloc(&workspace, size);
  return mluOpGetIndicePairs(handle, desc, indices_desc, indices, workspace, size, indice_pairs_desc, indice_pairs, out_indices_desc, out_indices,
                             indice_num_desc, indice_num);
}
