"""The types of the library's header that host functions of these tests name."""

HEADER = """\
#pragma once
#include <stdint.h>
typedef enum { MLUOP_STATUS_SUCCESS = 0, MLUOP_STATUS_BAD_PARAM = 3, MLUOP_STATUS_INTERNAL_ERROR = 4, MLUOP_STATUS_NOT_SUPPORTED = 7 } mluOpStatus_t;
typedef enum { MLUOP_LAYOUT_NCHW = 0, MLUOP_LAYOUT_NHWC = 1, MLUOP_LAYOUT_ARRAY = 4 } mluOpTensorLayout_t;
typedef enum { MLUOP_DTYPE_INVALID, MLUOP_DTYPE_HALF, MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_INT8, MLUOP_DTYPE_INT16, MLUOP_DTYPE_INT31,
  MLUOP_DTYPE_INT32, MLUOP_DTYPE_INT64, MLUOP_DTYPE_BOOL, MLUOP_DTYPE_UINT8, MLUOP_DTYPE_UINT16, MLUOP_DTYPE_UINT32, MLUOP_DTYPE_UINT64,
  MLUOP_DTYPE_BFLOAT16, MLUOP_DTYPE_DOUBLE, MLUOP_DTYPE_COMPLEX_HALF, MLUOP_DTYPE_COMPLEX_FLOAT } mluOpDataType_t;
typedef enum { MLUOP_POINTER_MODE_DEVICE } mluOpPointerMode_t;
struct mluOpContext;
typedef struct mluOpContext *mluOpHandle_t;
struct mluOpTensorStruct;
typedef struct mluOpTensorStruct *mluOpTensorDescriptor_t;
"""
