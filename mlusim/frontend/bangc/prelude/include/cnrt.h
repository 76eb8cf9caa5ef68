// The driver's interface as programs and host functions use it.
#pragma once
#include "mlusim_base.h"

typedef struct cnrtDim3 {
  unsigned int x, y, z;
} cnrtDim3_t;
typedef struct dim3 {
  unsigned int x, y, z;
} dim3_t;
typedef enum {
  cnrtFuncTypeBlock = 1,
  cnrtFuncTypeUnion1 = 4,
  cnrtFuncTypeUnion2 = 8,
  cnrtFuncTypeUnion4 = 16,
  cnrtFuncTypeUnion8 = 32,
  cnrtFuncTypeUnion16 = 64,
  cnrtFuncTypeMutable = 128,
} cnrtFunctionType_t;
#define CNRT_FUNC_TYPE_BLOCK cnrtFuncTypeBlock
#define CNRT_FUNC_TYPE_UNION1 cnrtFuncTypeUnion1
#define CNRT_FUNC_TYPE_UNION2 cnrtFuncTypeUnion2
#define CNRT_FUNC_TYPE_UNION4 cnrtFuncTypeUnion4
#define CNRT_FUNC_TYPE_UNION8 cnrtFuncTypeUnion8
#define CNRT_FUNC_TYPE_UNION16 cnrtFuncTypeUnion16
typedef struct cnrtQueue *cnrtQueue_t;
typedef struct cnrtNotifierSt *cnrtNotifier_t;
// The numbers of errors are inferred; programs have them by name.
typedef enum {
  cnrtSuccess = 0,  // no error
  cnrtErrorNotReady = 100002,  // the work is not done yet
  cnrtErrorInit = 100003,  // the driver is not initialised
  cnrtErrorNoDevice = 100011,  // there is no such device
  cnrtErrorNoMem = 100014,  // the device has not that much memory left
  cnrtErrorArgsInvalid = 100053,  // an argument is invalid
} cnrtRet_t;
typedef cnrtRet_t cnrtError_t;
typedef unsigned long long cnrtDev_t;
// Values are inferred; kernels only compare them.
typedef enum {
  CNRT_INVALID = 0x0, CNRT_FLOAT16 = 0x12, CNRT_FLOAT32 = 0x13, CNRT_FLOAT64 = 0x14,
  CNRT_INT4 = 0x20, CNRT_INT8 = 0x21, CNRT_INT16 = 0x22, CNRT_INT32 = 0x23, CNRT_INT64 = 0x24,
  CNRT_UINT8 = 0x31, CNRT_UINT16 = 0x32, CNRT_UINT32 = 0x33, CNRT_UINT64 = 0x34, CNRT_BOOL = 0x41
} cnrtDataType_t;
#define CNRT_RET_SUCCESS cnrtSuccess
typedef enum {
  cnrtMemcpyHostToDev,
  cnrtMemcpyDevToDev,
  cnrtMemcpyDevToHost,
  cnrtMemcpyHostToHost,
} cnrtMemTransDir_t;
#define CNRT_MEM_TRANS_DIR_HOST2DEV cnrtMemcpyHostToDev
#define CNRT_MEM_TRANS_DIR_DEV2HOST cnrtMemcpyDevToHost
#define CNRT_MEM_TRANS_DIR_DEV2DEV cnrtMemcpyDevToDev
#define CNRT_MEM_TRANS_DIR_HOST2HOST cnrtMemcpyHostToHost
typedef enum {
  cnrtAttrClusterCount,
  cnrtAttrMcorePerCluster,
  cnrtAttrNramSizePerMcore,
  cnrtAttrWeightRamSizePerMcore,
  cnrtAttrSramSizePerMcluster,
  cnrtAttrMaxUnionTypePerTask,
} cnrtDeviceAttr_t;

extern "C" {
void __mlusim_check(cnrtRet_t, const char *, const char *, int);  // says what failed, and ends the program
void __mlusim_refused(const char *, const char *, int);  // keeps which check of a parameter does not hold
cnrtRet_t cnrtGetLastError();
cnrtRet_t cnrtPeekAtLastError();
const char *cnrtGetErrorStr(cnrtRet_t);
const char *cnrtGetErrorName(cnrtRet_t);
cnrtRet_t cnrtInit(unsigned int);
void cnrtDestroy();
cnrtRet_t cnrtGetDeviceCount(unsigned int *);
cnrtRet_t cnrtSetDevice(int);
cnrtRet_t cnrtGetDevice(int *);
cnrtRet_t cnrtQueueCreate(cnrtQueue_t *);
cnrtRet_t cnrtQueueDestroy(cnrtQueue_t);
cnrtRet_t cnrtQueueSync(cnrtQueue_t);
cnrtRet_t cnrtSyncDevice();
cnrtRet_t cnrtMalloc(void **, size_t);
cnrtRet_t cnrtFree(void *);
cnrtRet_t cnrtHostMalloc(void **, size_t);
cnrtRet_t cnrtFreeHost(void *);
cnrtRet_t cnrtMemcpy(void *, const void *, size_t, cnrtMemTransDir_t);
cnrtRet_t cnrtMemcpyAsync(void *, const void *, size_t, cnrtQueue_t, cnrtMemTransDir_t);
cnrtRet_t cnrtMemsetAsync(void *, int, size_t, cnrtQueue_t);
cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t);
cnrtRet_t cnrtQueryNotifier(cnrtNotifier_t);
cnrtRet_t cnrtMemset(void *, int, size_t);
cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t *);
cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t);
cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t, cnrtQueue_t);
cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t, cnrtNotifier_t, float *);
cnrtRet_t cnrtNotifierElapsedTime(cnrtNotifier_t, cnrtNotifier_t, float *);
cnrtRet_t cnrtDeviceGetAttribute(int *, cnrtDeviceAttr_t, int);
}
template <class T> cnrtRet_t cnrtMalloc(T **p, size_t n) { return cnrtMalloc((void **)p, n); }

// What the parser makes of `kernel<<<dim, type, queue>>>`.
int __cudaPushCallConfiguration(cnrtDim3_t, cnrtFunctionType_t, cnrtQueue_t = nullptr);
int cudaConfigureCall(cnrtDim3_t, cnrtFunctionType_t, cnrtQueue_t = nullptr);
#ifndef CNRT_CHECK
#define CNRT_CHECK(call) __mlusim_check((call), #call, __FILE__, __LINE__)
#endif
