// Calls of the closed library for which the simulator has stand-ins, written in NumPy.  Templates pass each argument to
// the simulator with the type that the program uses.  A call without a stand-in is refused with a sentence.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <type_traits>

#include "cnrt.h"

#define CNNL_MAJOR 2
#define CNNL_MINOR 2
#define CNNL_PATCHLEVEL 6
#define CNNL_VERSION 20206

typedef enum { CNNL_STATUS_SUCCESS = 0, CNNL_STATUS_BAD_PARAM = 3, CNNL_STATUS_INTERNAL_ERROR = 4, CNNL_STATUS_NOT_SUPPORTED = 7 } cnnlStatus_t;
typedef enum {
  CNNL_DTYPE_INVALID = 0, CNNL_DTYPE_HALF = 1, CNNL_DTYPE_FLOAT = 2, CNNL_DTYPE_INT8 = 3, CNNL_DTYPE_INT16 = 4, CNNL_DTYPE_INT31 = 5,
  CNNL_DTYPE_INT32 = 6, CNNL_DTYPE_UINT8 = 7, CNNL_DTYPE_BOOL = 8, CNNL_DTYPE_INT64 = 9, CNNL_DTYPE_UINT32 = 11, CNNL_DTYPE_UINT64 = 12,
  CNNL_DTYPE_UINT16 = 13, CNNL_DTYPE_DOUBLE = 14, CNNL_DTYPE_COMPLEX_HALF = 15, CNNL_DTYPE_COMPLEX_FLOAT = 16, CNNL_DTYPE_BFLOAT16 = 17
} cnnlDataType_t;
typedef enum {
  CNNL_LAYOUT_NCHW, CNNL_LAYOUT_NHWC, CNNL_LAYOUT_HWCN, CNNL_LAYOUT_NDHWC, CNNL_LAYOUT_ARRAY, CNNL_LAYOUT_NCDHW, CNNL_LAYOUT_TNC,
  CNNL_LAYOUT_NTC, CNNL_LAYOUT_NC, CNNL_LAYOUT_NLC, CNNL_LAYOUT_NCL
} cnnlTensorLayout_t;
typedef enum { CNNL_POINTER_MODE_HOST, CNNL_POINTER_MODE_DEVICE } cnnlPointerMode_t;
typedef enum { CNNL_NOT_PROPAGATE_NAN, CNNL_PROPAGATE_NAN } cnnlNanPropagation_t;
typedef enum { CNNL_OP_TENSOR_ADD, CNNL_OP_TENSOR_SUB, CNNL_OP_TENSOR_MUL } cnnlOpTensorDesc_t;
typedef enum { CNNL_SCATTERND_ADD, CNNL_SCATTERND_SUB, CNNL_SCATTERND_MUL, CNNL_SCATTERND_UPDATE } cnnlScatterNdMode_t;
typedef enum { CNNL_UNSORT_REVERSE, CNNL_SORT_ASCEND, CNNL_UNSORT_FORWARD, CNNL_SORT_REVERSE } cnnlUniqueSort_t;
typedef enum { CNNL_REDUCE_ADD, CNNL_REDUCE_AVG, CNNL_REDUCE_MUL, CNNL_REDUCE_MAX, CNNL_REDUCE_MIN } cnnlReduceOp_t;
typedef enum { CNNL_REDUCE_NO_INDICES, CNNL_REDUCE_FLATTENED_INDICES, CNNL_REDUCE_ONLY_INDICES } cnnlReduceIndices_t;
typedef enum { CNNL_32BIT_INDICES, CNNL_16BIT_INDICES } cnnlIndicesType_t;
typedef enum {
  CNNL_POOLING_MAX, CNNL_POOLING_AVERAGE_COUNT_INCLUDE_PADDING, CNNL_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
} cnnlPoolingMode_t;
typedef enum { CNNL_CONVOLUTION_FWD_ALGO_DIRECT } cnnlConvolutionForwardAlgo_t;
typedef enum { CNNL_ACTIVATION_SIGMOID, CNNL_ACTIVATION_RELU, CNNL_ACTIVATION_TANH } cnnlActivationMode_t;
typedef enum { CNNL_SEQDATA_NTC, CNNL_SEQDATA_TNC } cnnlSeqDataLayout_t;
typedef enum { CNNL_GRU_ALGO_V1, CNNL_GRU_ALGO_V2 } cnnlGruAlgo_t;
typedef enum { CNNL_GRU_MODE_V1, CNNL_GRU_MODE_V2 } cnnlGruMode_t;
typedef enum { CNNL_GRU_FORWARD, CNNL_GRU_BIDIRECTIONAL } cnnlGruDirection_t;
typedef enum { CNNL_GRU_IH_RZN } cnnlGruWeightOrder_t;
typedef enum { CNNL_GRU_LDNC } cnnlGruLayout_t;
typedef enum {
  CNNL_MATMUL_DESC_TRANSA, CNNL_MATMUL_DESC_TRANSB, CNNL_MATMUL_DESC_COMPUTE_TYPE, CNNL_MATMUL_ALLOW_TF32
} cnnlMatMulDescAttribute_t;
typedef enum {
  CNNL_NMS_DESC_OUTPUT_MODE, CNNL_NMS_DESC_IOU_THRESHOLD, CNNL_NMS_DESC_MAX_OUTPUT_SIZE, CNNL_NMS_DESC_CONFIDENCE_THRESHOLD,
  CNNL_NMS_DESC_OFFSET, CNNL_NMS_DESC_INPUT_LAYOUT, CNNL_NMS_DESC_PAD_TO_MAX_OUTPUT_SIZE, CNNL_NMS_DESC_BOX_MODE
} cnnlNmsDescAttribute_t;
typedef enum { CNNL_NMS_OUTPUT_TARGET_INDICES } cnnlNmsOutputMode_t;
typedef enum { CNNL_NMS_BOX_DIAGONAL } cnnlNmsBoxPointMode_t;
typedef enum { CNNL_NMS_HARD_NMS } cnnlNmsMethodMode_t;
typedef enum { CNNL_NMS_ALGO_EXCLUDE_BOUNDARY } cnnlNmsAlgo_t;


// ---- descriptors ------------------------------------------------------------------------------
struct cnnlTensorStruct {
  int64_t dim, dtype, layout, dims[16];
};
typedef cnnlTensorStruct *cnnlTensorDescriptor_t;
typedef struct cnnlContext *cnnlHandle_t;
#define MLUSIM_CNNL_DESCRIPTORS(X) \
  X(OpTensorDescriptor) X(TransposeDescriptor) X(MatMulDescriptor) X(MatMulAlgo) X(MatMulHeuristicResult) X(ReduceDescriptor) \
  X(UniqueDescriptor) X(NmsDescriptor) X(RoiAlignDescriptor) X(DCNDescriptor) X(PoolingDescriptor) \
  X(ConvolutionDescriptor) X(GruDescriptor) X(SeqDataDescriptor)
#define MLUSIM_DESCRIPTOR(name) typedef struct cnnl##name##_struct *cnnl##name##_t;
MLUSIM_CNNL_DESCRIPTORS(MLUSIM_DESCRIPTOR)
#undef MLUSIM_DESCRIPTOR

static inline cnnlStatus_t cnnlCreateTensorDescriptor(cnnlTensorDescriptor_t *desc) {
  *desc = new cnnlTensorStruct();
  return CNNL_STATUS_SUCCESS;
}
static inline cnnlStatus_t cnnlDestroyTensorDescriptor(cnnlTensorDescriptor_t desc) {
  delete desc;
  return CNNL_STATUS_SUCCESS;
}
template <class T>
cnnlStatus_t cnnlSetTensorDescriptor_v2(cnnlTensorDescriptor_t desc, cnnlTensorLayout_t layout, cnnlDataType_t dtype, int dim, const T *dims) {
  if (!desc || dim < 0 || dim > 16 || (dim && !dims)) return CNNL_STATUS_BAD_PARAM;
  desc->dim = dim;
  desc->dtype = dtype;
  desc->layout = layout;
  for (int axis = 0; axis < dim; ++axis) desc->dims[axis] = dims[axis];
  return CNNL_STATUS_SUCCESS;
}
template <class T>
cnnlStatus_t cnnlSetTensorDescriptor(cnnlTensorDescriptor_t desc, cnnlTensorLayout_t layout, cnnlDataType_t dtype, int dim, const T *dims) {
  return cnnlSetTensorDescriptor_v2(desc, layout, dtype, dim, dims);
}
// The stand-ins accept dense tensors only; other strides are refused.
template <class T>
cnnlStatus_t cnnlSetTensorDescriptorEx_v2(
    cnnlTensorDescriptor_t desc, cnnlTensorLayout_t layout, cnnlDataType_t dtype, int dim, const T *dims, const T *strides) {
  T step = 1;
  for (int axis = dim - 1; axis >= 0; --axis) {
    if (dims[axis] != 1 && strides[axis] != step) return CNNL_STATUS_NOT_SUPPORTED;
    step *= dims[axis];
  }
  return cnnlSetTensorDescriptor_v2(desc, layout, dtype, dim, dims);
}
template <class T>
cnnlStatus_t cnnlSetTensorDescriptorEx(
    cnnlTensorDescriptor_t desc, cnnlTensorLayout_t layout, cnnlDataType_t dtype, int dim, const T *dims, const T *strides) {
  return cnnlSetTensorDescriptorEx_v2(desc, layout, dtype, dim, dims, strides);
}

// ---- how a call reaches the simulator ---------------------------------------------------------
#pragma GCC visibility push(default)
extern "C" {
void *__mlusim_cnnl_begin(const char *name);
void __mlusim_cnnl_integer(void *call, long long value);
void __mlusim_cnnl_real(void *call, double value);
void __mlusim_cnnl_tensor(void *call, const void *desc);
void __mlusim_cnnl_tensors(void *call, const void *const *descs);
void __mlusim_cnnl_handle(void *call, const void *handle);
void __mlusim_cnnl_place(void *call, const void *place);  // where the simulator stores a handle that it creates
void __mlusim_cnnl_pointers(void *call, const void *const *pointers);
void __mlusim_cnnl_pointer(void *call, const void *pointer, char kind, unsigned size);  // kind of the element (i, u, f or v) and its bytes
int __mlusim_cnnl_end(void *call);
}
#pragma GCC visibility pop

namespace mlusim_cnnl {
template <class T, class = void> struct Element {  // what a pointer points to; by default a structure that only the simulator knows
  static void add(void *call, const T *p) { __mlusim_cnnl_handle(call, p); }
};
template <class T> struct Element<T, typename std::enable_if<std::is_arithmetic<T>::value || std::is_enum<T>::value>::type> {
  static void add(void *call, const T *p) {
    __mlusim_cnnl_pointer(call, p, std::is_floating_point<T>::value ? 'f' : std::is_signed<T>::value ? 'i' : 'u', sizeof(T));
  }
};
template <> struct Element<void, void> {
  static void add(void *call, const void *p) { __mlusim_cnnl_pointer(call, p, 'v', 1); }
};
template <> struct Element<cnnlTensorStruct, void> {
  static void add(void *call, const cnnlTensorStruct *p) { __mlusim_cnnl_tensor(call, p); }
};
template <class T, size_t N> struct Element<T[N], void> {
  static void add(void *call, const T (*p)[N]) { Element<T>::add(call, &p[0][0]); }
};
template <class T> struct Element<T *, void> {
  static void add(void *call, const void *p) { __mlusim_cnnl_place(call, p); }
};
template <> struct Element<cnnlTensorStruct *, void> {
  static void add(void *call, const void *p) { __mlusim_cnnl_tensors(call, (const void *const *)p); }
};
template <> struct Element<void *, void> {
  static void add(void *call, const void *p) { __mlusim_cnnl_pointers(call, (const void *const *)p); }
};
template <> struct Element<const void *, void> : Element<void *, void> {};
template <> struct Element<const cnnlTensorStruct *, void> : Element<cnnlTensorStruct *, void> {};

template <class T, class = void> struct Argument {  // half and similar types
  static void add(void *call, T value) { __mlusim_cnnl_real(call, (double)(float)value); }
};
template <class T> struct Argument<T, typename std::enable_if<std::is_integral<T>::value || std::is_enum<T>::value>::type> {
  static void add(void *call, T value) { __mlusim_cnnl_integer(call, (long long)value); }
};
template <class T> struct Argument<T *, void> {
  static void add(void *call, T *value) { Element<typename std::remove_cv<T>::type>::add(call, value); }
};
template <> struct Argument<decltype(nullptr), void> {
  static void add(void *call, decltype(nullptr)) { __mlusim_cnnl_pointer(call, nullptr, 'v', 1); }
};
template <class... A> cnnlStatus_t send(const char *name, A... given) {
  void *call = __mlusim_cnnl_begin(name);
  int each[] = {0, (Argument<A>::add(call, given), 0)...};
  (void)each;
  return (cnnlStatus_t)__mlusim_cnnl_end(call);
}
}  // namespace mlusim_cnnl

// ---- calls ------------------------------------------------------------------------------------
#define MLUSIM_CNNL_CALLS(X) \
  X(Create) X(Destroy) X(SetQueue) X(SetOpTensorDescriptor) X(SetTransposeDescriptor) X(SetMatMulDescAttr) \
  X(SetReduceDescriptor_v2) X(SetUniqueDescriptor) X(SetNmsDescAttr) X(SetRoiAlignDescriptor_v2) X(SetDCNDescriptor) \
  X(SetConvolutionDescriptor) X(SetGruDescriptor_v2) X(SetPooling2dDescriptor_v2) X(SetSeqDataDescriptor) \
  X(GetMatMulAlgoHeuristic) X(GetMatMulHeuristicResult) X(GetBatchMatMulExAlgoHeuristic) X(GetBatchMatMulExHeuristicResult) \
  X(GetAddNWorkspaceSize) X(GetOpTensorWorkspaceSize) X(GetReduceOpWorkspaceSize_v2) X(GetTopKTensorWorkspaceSize) \
  X(GetTransposeWorkspaceSize) X(GetUniqueWorkspaceSize) X(GetConcatWorkspaceSize) X(GetNmsWorkspaceSize_v4) \
  X(GetDCNForwardWorkspaceSize) X(GetDCNBakcwardDataWorkspaceSize) X(GetDCNBackwardWeightWorkspaceSize) \
  X(GetConvolutionForwardWorkspaceSize) X(GetGruWorkspaceSize_v3) X(GetPoolingWorkspaceSize_v2) \
  X(GetSyncBatchNormStatsWorkspaceSize) X(GetSyncBatchnormBackwardReduceWorkspaceSize) X(AddN_v2) X(BatchMatMulEx) X(Concat) \
  X(ConvolutionForward) X(Gru_v2) X(PoolingForward_v2) X(Copy_v2) X(Fill_v3) X(GatherNd_v2) X(MatMul_v2) X(OpTensor) X(Pad) X(Reduce_v2) X(ScatterNd_v2) X(StridedSlice_v2) \
  X(TopKTensor_v3) X(Transform_v2) X(Transpose_v2) X(Unique_v2) X(DCNForward) X(DCNBackwardData) X(DCNBackwardWeight) X(Nms_v2) \
  X(RoiAlign_v2) X(RoiAlignBackward_v2) X(RoiPoolingForward) X(RoiPoolingBackward) X(SyncBatchNormStats_v2) \
  X(SyncBatchNormGatherStatsWithCounts) X(SyncBatchNormElemt) X(SyncBatchnormBackwardReduce_v2) X(SyncBatchNormBackwardElemt) \
  X(SyncBatchNormBackwardElemtV2)
#define MLUSIM_CALL(name) \
  template <class... A> cnnlStatus_t cnnl##name(A... given) { return mlusim_cnnl::send("cnnl" #name, given...); }
#define MLUSIM_DESCRIPTOR(name) MLUSIM_CALL(Create##name) MLUSIM_CALL(Destroy##name)
MLUSIM_CNNL_CALLS(MLUSIM_CALL)
MLUSIM_CNNL_DESCRIPTORS(MLUSIM_DESCRIPTOR)
#undef MLUSIM_DESCRIPTOR
#undef MLUSIM_CALL
static inline const char *cnnlGetErrorString(cnnlStatus_t status) {
  return status == CNNL_STATUS_SUCCESS ? "CNNL_STATUS_SUCCESS" : status == CNNL_STATUS_NOT_SUPPORTED ? "CNNL_STATUS_NOT_SUPPORTED" : "CNNL_STATUS_BAD_PARAM";
}
