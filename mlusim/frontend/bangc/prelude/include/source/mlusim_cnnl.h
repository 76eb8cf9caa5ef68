// Tensor descriptors of the closed library: what its stand-ins read of a tensor.
#pragma once
struct cnnlTensorStruct {
  int dim;
  cnnlDataType_t dtype;
  int64_t dims[8];
};
typedef cnnlTensorStruct *cnnlTensorDescriptor_t;

inline cnnlStatus_t cnnlCreateTensorDescriptor(cnnlTensorDescriptor_t *desc) {
  *desc = new cnnlTensorStruct();
  return CNNL_STATUS_SUCCESS;
}
inline cnnlStatus_t cnnlDestroyTensorDescriptor(cnnlTensorDescriptor_t desc) {
  delete desc;
  return CNNL_STATUS_SUCCESS;
}
template <class T>
cnnlStatus_t cnnlSetTensorDescriptor_v2(cnnlTensorDescriptor_t desc, cnnlTensorLayout_t, cnnlDataType_t dtype, int dim, const T *dims) {
  desc->dim = dim;
  desc->dtype = dtype;
  for (int axis = 0; axis < dim; ++axis) desc->dims[axis] = dims[axis];
  return CNNL_STATUS_SUCCESS;
}
