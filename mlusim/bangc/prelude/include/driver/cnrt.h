// The run-time of the driver.  The numbers of errors, attributes and types are those of the vendor's cnrt.h 6.14.
#pragma once
#ifndef __mlusim_stands_in__
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#endif

#pragma GCC visibility push(default)

#define CNRT_MAJOR_VERSION 6
#define CNRT_MINOR_VERSION 99
#define CNRT_PATCH_VERSION 0
#define CNRT_VERSION 69900

// ---- types ------------------------------------------------------------------------------------
#define MLUSIM_CNRT_ERRORS(X) \
  X(cnrtSuccess, 0, "no error") \
  X(cnrtErrorNotReady, 1, "the work is not done yet") \
  X(cnrtErrorInit, 100002, "the driver is not initialised") \
  X(cnrtErrorNoDevice, 100004, "there is no such device") \
  X(cnrtErrorDeviceInvalid, 100005, "the device is invalid") \
  X(cnrtErrorArgsInvalid, 100006, "an argument is invalid") \
  X(cnrtErrorSys, 100007, "the system refused") \
  X(cnrtErrorSysNoMem, 100010, "the host has not that much memory left") \
  X(cnrtErrorInvalidResourceHandle, 100014, "this is not a handle") \
  X(cnrtErrorIllegalState, 100015, "this is not possible now") \
  X(cnrtErrorNotSupport, 100050, "the simulator does not do this") \
  X(cnrtErrorOpsNotPermitted, 100051, "this is not permitted") \
  X(cnrtErrorQueue, 100060, "this is not a queue, or one that has failed") \
  X(cnrtErrorNoMem, 100100, "the device has not that much memory left") \
  X(cnrtErrorAssert, 100128, "an assertion of a kernel does not hold") \
  X(cnrtErrorKernelTrap, 100132, "a kernel did what the machine cannot do") \
  X(cnrtErrorKernelUserTrap, 100133, "a kernel has ended itself") \
  X(cnrtErrorNotFound, 100301, "what is asked for is not there") \
  X(cnrtErrorInvalidKernel, 100302, "this is not a kernel") \
  X(cnrtErrorUnsupportedKernelVersion, 100303, "another compiler made the kernel") \
  X(cnrtErrorQueueCaptureUnsupported, 100360, "a queue that is being captured cannot do this") \
  X(cnrtErrorQueueCaptureInvalidated, 100361, "an error has ended the capture of the queue") \
  X(cnrtErrorQueueCaptureWrongThread, 100362, "another thread has begun the capture of the queue") \
  X(cnrtErrorQueueCaptureMerged, 100363, "two captures would become one") \
  X(cnrtErrorQueueCaptureUnjoined, 100364, "a queue of the capture has not come back to the first one") \
  X(cnrtErrorQueueCaptureIsolation, 100365, "a captured queue would wait for work outside of the capture") \
  X(cnrtErrorQueueCaptureUnmatched, 100366, "the queue is not being captured") \
  X(cnrtErrorTaskTopoEntityUpdateFailure, 100400, "what was captured cannot be changed so") \
  X(cnrtErrorNoKernel, 101312, "there is no such kernel") \
  X(cnrtErrorNoModule, 101315, "there is no code for this device") \
  X(cnrtErrorSetOnActiveProcess, 632002, "the process uses the device already") \
  X(cnrtErrorDevice, 632006, "another device has this") \
  X(cnrtErrorNoAttribute, 632009, "there is no such attribute") \
  X(cnrtErrorMemcpyDirectionInvalid, 632013, "there is no such direction") \
  X(cnrtErrorBusy, 632014, "the device is busy") \
  X(cnrtErrorCndrvFuncCall, 632015, "a call of cndrv has failed") \
  X(cnrtErrorCndevFuncCall, 632017, "a call of cndev has failed") \
  X(cnrtErrorNoCnrtContext, 632019, "there is no context") \
  X(cnrtErrorCndrvFuncNotFound, 632020, "cndrv has no such function") \
  X(cnrtErrorInvalidSymbol, 632100, "there is no such symbol") \
  X(cnrtErrorUnknown, 999991, "an error without a name")
typedef enum {
#define MLUSIM_ERROR(name, number, text) name = number,
  MLUSIM_CNRT_ERRORS(MLUSIM_ERROR)
#undef MLUSIM_ERROR
} cnrtRet_t;
typedef cnrtRet_t cnrtError_t;
#define cnrtErrorQueueInvalid cnrtErrorQueue
#define cnrtErrorNotifierInvalid cnrtErrorInvalidResourceHandle
#define CNRT_RET_SUCCESS cnrtSuccess
#define CNRT_RET_ERR_INVALID cnrtErrorArgsInvalid
#define CNRT_RET_ERR_NOMEM cnrtErrorNoMem
#define CNRT_RET_ERR_NODEV cnrtErrorNoDevice
#define CNRT_RET_ERR_UNKNOWN cnrtErrorUnknown

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
  cnrtFuncTypeMutable = -1,
} cnrtFunctionType_t;
#define CNRT_FUNC_TYPE_BLOCK cnrtFuncTypeBlock
#define CNRT_FUNC_TYPE_UNION1 cnrtFuncTypeUnion1
#define CNRT_FUNC_TYPE_UNION2 cnrtFuncTypeUnion2
#define CNRT_FUNC_TYPE_UNION4 cnrtFuncTypeUnion4
#define CNRT_FUNC_TYPE_UNION8 cnrtFuncTypeUnion8
#define CNRT_FUNC_TYPE_UNION16 cnrtFuncTypeUnion16
#define CNRT_FUNC_TYPE_MUTABLE cnrtFuncTypeMutable
typedef struct cnrtQueue *cnrtQueue_t;
typedef struct cnrtNotifierSt *cnrtNotifier_t;
typedef void (*cnrtHostFn_t)(void *);
typedef unsigned long long cnrtDev_t;

typedef enum {
  cnrtMemcpyHostToDev,
  cnrtMemcpyDevToDev,
  cnrtMemcpyDevToHost,
  cnrtMemcpyHostToHost,
  cnrtMemcpyPeerToPeer,
  cnrtMemcpyNoDirection,
} cnrtMemTransDir_t;
#define CNRT_MEM_TRANS_DIR_HOST2DEV cnrtMemcpyHostToDev
#define CNRT_MEM_TRANS_DIR_DEV2HOST cnrtMemcpyDevToHost
#define CNRT_MEM_TRANS_DIR_DEV2DEV cnrtMemcpyDevToDev
#define CNRT_MEM_TRANS_DIR_HOST2HOST cnrtMemcpyHostToHost
#define CNRT_MEM_TRANS_DIR_PEER2PEER cnrtMemcpyPeerToPeer
#define CNRT_MEM_TRANS_DIR_NODIR cnrtMemcpyNoDirection
typedef enum { cnrtMemTypeUnregistered, cnrtMemTypeHost, cnrtMemTypeDevice } cnrtMemType_t;
typedef struct {
  cnrtMemType_t type;
  int device;
  void *devicePointer, *hostPointer;
} cnrtPointerAttributes_t;

typedef enum {
  CNRT_NOTIFIER_DEFAULT = 0x0,
  CNRT_NOTIFIER_DISABLE_TIMING_SW = 0x2,
  CNRT_NOTIFIER_DISABLE_TIMING = 0x2,
  CNRT_NOTIFIER_DISABLE_TIMING_ALL = 0x4,  // without time measurement
  CNRT_NOTIFIER_INTERPROCESS = 0x8,        // only together with DISABLE_TIMING_ALL
} cnrtNotifierFlags_t;
typedef enum { CNRT_NOTIFIER_PLACE_DEFAULT, CNRT_NOTIFIER_PLACE_EXTERNAL } cnrtNotifierPlaceFlags_t;
typedef enum { CNRT_NOTIFIER_WAIT_DEFAULT, CNRT_NOTIFIER_WAIT_EXTERNAL } cnrtNotifierWaitFlags_t;
typedef void *cnrtIpcMemHandle;
#define CNRT_IPC_HANDLE_SIZE 8
#define CNRT_IPC_HANDLE_SIZE_BYTES (CNRT_IPC_HANDLE_SIZE * sizeof(uint64_t))
typedef struct cnrtIpcNotifierHandle_st { uint64_t res[CNRT_IPC_HANDLE_SIZE]; } cnrtIpcNotifierHandle_v1;
typedef cnrtIpcNotifierHandle_v1 cnrtIpcNotifierHandle;

// A three-dimensional copy of *extent*, whose width is in bytes.
typedef struct { size_t x, y, z; } cnrtPos_t;
typedef struct { size_t pitch; void *ptr; size_t xsize, ysize; } cnrtPitchedPtr_t;
typedef struct { size_t depth, height, width; } cnrtExtent_t;
typedef struct cnrtMemcpy3dParam_st {
  void *dst;
  cnrtPos_t dstPos;
  cnrtPitchedPtr_t dstPtr;
  cnrtExtent_t extent;
  cnrtMemTransDir_t dir;
  void *src;
  cnrtPos_t srcPos;
  cnrtPitchedPtr_t srcPtr;
} cnrtMemcpy3dParam_t;

// A captured queue: its work can be submitted to queues repeatedly.
typedef struct CNtaskTopo_st *cnrtTaskTopo_t;
typedef struct CNtaskTopoEntity_st *cnrtTaskTopoEntity_t;
typedef struct CNtaskTopoNode_st *cnrtTaskTopoNode_t;
typedef enum { cnrtQueueCaptureStatusNone, cnrtQueueCaptureStatusActive, cnrtQueueCaptureStatusInvalidated } cnrtQueueCaptureStatus_t;
typedef cnrtQueueCaptureStatus_t cnrtQueueCaptureStatus;
typedef enum { cnrtQueueCaptureModeGlobal, cnrtQueueCaptureModeThreadLocal, cnrtQueueCaptureModeRelaxed } cnrtQueueCaptureMode_t;
typedef cnrtQueueCaptureMode_t cnrtQueueCaptureMode;

#define MLUSIM_CNRT_ATTRIBUTES(X) \
  X(cnrtAttrComputeCapabilityMajor, 0x01) X(cnrtAttrComputeCapabilityMinor, 0x02) X(cnrtAttrFP16ComputingSupported, 0x04) \
  X(cnrtAttrINT8ComputingSupported, 0x06) X(cnrtAttrBF16ComputingSupported, 0x07) X(cnrtAttrComputeMode, 0x09) \
  X(cnrtAttrQueueSize, 0x101) X(cnrtAttrNotifierSize, 0x102) X(cnrtAttrSupportQueuePriorities, 0x103) \
  X(cnrtAttrIPCNotifierSupported, 0x10a) X(cnrtAttrMaxDimX, 0x201) X(cnrtAttrMaxDimY, 0x202) X(cnrtAttrMaxDimZ, 0x203) \
  X(cnrtAttrMaxClusterCountPerUnionTask, 0x204) X(cnrtAttrClusterCount, 0x205) X(cnrtAttrMcorePerCluster, 0x206) \
  X(cnrtAttrMaxClusterPerUnionLimitTask, 0x209) X(cnrtAttrISAVersion, 0x20a) X(cnrtAttrIsMultipleTensorProcessor, 0x20b) \
  X(cnrtAttrMaxL2CacheSize, 0x301) X(cnrtAttrNramSizePerMcore, 0x302) X(cnrtAttrWramSizePerMcore, 0x303) \
  X(cnrtAttrSramSizePerMcore, 0x306) X(cnrtAttrMaxPersistingL2CacheSize, 0x309) X(cnrtAttrAvailableGlobalMemorySize, 0x312) \
  X(cnrtAttrEccEnable, 0x401) X(cnrtAttrIpuClockRate, 0x402) X(cnrtAttrMemClockRate, 0x403) X(cnrtAttrGmemBusWidth, 0x404) \
  X(cnrtAttrTotalMemSize, 0x405) X(cnrtAttrPciBusID, 0x406) X(cnrtAttrPciDeviceID, 0x407) X(cnrtAttrPciDomainID, 0x408)
typedef enum {
#define MLUSIM_ATTRIBUTE(name, number) name = number,
  MLUSIM_CNRT_ATTRIBUTES(MLUSIM_ATTRIBUTE)
#undef MLUSIM_ATTRIBUTE
} cnrtDeviceAttr_t;
// Names of older versions.
#define cnrtAttrWeightRamSizePerMcore cnrtAttrWramSizePerMcore
#define cnrtAttrSramSizePerMcluster cnrtAttrSramSizePerMcore
#define cnrtAttrMaxUnionTypePerTask cnrtAttrMaxClusterCountPerUnionTask
#define cnrtAttrClusterClockRate cnrtAttrIpuClockRate
#define cnrtAttrMaxQueueCount cnrtAttrQueueSize
#define cnrtAttrMaxNotifierCount cnrtAttrNotifierSize
#define cnrtAttrPciBusId cnrtAttrPciBusID
#define cnrtAttrPciDeviceId cnrtAttrPciDeviceID
#define cnrtAttrPciDomainId cnrtAttrPciDomainID
typedef struct {
  char name[64];
  size_t availableMem, totalMem;  // MiB
  int clusterCount, McorePerCluster, mcorePerCluster, clusterClockRate, ISAVersion, computeCapabilityMajor, computeCapabilityMinor;
  int nramSizePerMcore, wramSizePerMcore, sramSizePerMcluster, maxL2CacheSize, maxUnionTypePerTask, memClockRate, gmemBusWidth;
  int pciBusID, pciDeviceID, pciDomainID;
} cnrtDeviceProp_t;
typedef struct {
  char device_name[64];
  int core_num;
} cnrtDeviceInfo_t;

typedef enum {
  cnrtDouble = 0x1, cnrtFloat, cnrtHalf, cnrtBfloat, cnrtUlonglong = 0x11, cnrtUint, cnrtUshort, cnrtUchar,
  cnrtLonglong = 0x21, cnrtInt, cnrtShort, cnrtChar, cnrtBoolean = 0x31
} cnrtDataType_V2_t;
typedef enum { cnrtRounding_rn, cnrtRounding_rz, cnrtRounding_rd, cnrtRounding_ru, cnrtRounding_ro, cnrtRounding_rm } cnrtRoundingMode_t;
#define cnrtRounding_to_zero cnrtRounding_rz
typedef cnrtRoundingMode_t cnrtQuantizedMode_t;
typedef struct cnrtQuantizedParam *cnrtQuantizedParam_t;
typedef enum {
  CNRT_INVALID = 0x0, CNRT_FLOAT16 = 0x12, CNRT_FLOAT32 = 0x13, CNRT_FLOAT64 = 0x14,
  CNRT_INT4 = 0x20, CNRT_INT8 = 0x21, CNRT_INT16 = 0x22, CNRT_INT32 = 0x23, CNRT_INT64 = 0x24,
  CNRT_UINT8 = 0x31, CNRT_UINT16 = 0x32, CNRT_UINT32 = 0x33, CNRT_UINT64 = 0x34, CNRT_BOOL = 0x41
} cnrtDataType_t;

#ifdef __cplusplus
extern "C" {
#endif
// ---- errors and devices -----------------------------------------------------------------------
cnrtRet_t cnrtGetLastError(void);
cnrtRet_t cnrtPeekAtLastError(void);
const char *cnrtGetErrorStr(cnrtRet_t);
const char *cnrtGetErrorName(cnrtRet_t);
cnrtRet_t cnrtGetLibVersion(int *, int *, int *);
cnrtRet_t cnrtDriverGetVersion(int *, int *, int *);
cnrtRet_t cnrtGetDeviceCount(unsigned int *);
cnrtRet_t cnrtSetDevice(int);
cnrtRet_t cnrtGetDevice(int *);
cnrtRet_t cnrtGetDeviceProperties(cnrtDeviceProp_t *, int);
cnrtRet_t cnrtDeviceGetAttribute(int *, cnrtDeviceAttr_t, int);
cnrtRet_t cnrtDeviceGetPCIBusId(char *, int, int);
cnrtRet_t cnrtDeviceGetByPCIBusId(int *, const char *);
cnrtRet_t cnrtDeviceReset(void);
cnrtRet_t cnrtSyncDevice(void);
enum { cnrtDeviceScheduleSpin, cnrtDeviceScheduleBlock, cnrtDeviceScheduleYield };  // how the host waits; it has no effect in the simulator
cnrtRet_t cnrtSetDeviceFlag(unsigned int);
cnrtRet_t cnrtGetDeviceFlag(unsigned int *);
cnrtRet_t cnrtDeviceCanAccessPeer(int *, int, int);
cnrtRet_t cnrtGetPeerAccessibility(unsigned int *, int, int);
// ---- memory -----------------------------------------------------------------------------------
cnrtRet_t cnrtMalloc(void **, size_t);
cnrtRet_t cnrtMallocConstant(void **, size_t);
cnrtRet_t cnrtMallocFrameBuffer(void **, size_t, int);
cnrtRet_t cnrtFree(void *);
cnrtRet_t cnrtFreeArray(void **, int);
cnrtRet_t cnrtHostMalloc(void **, size_t);
cnrtRet_t cnrtHostMallocFlag(void **, size_t, unsigned int);
cnrtRet_t cnrtMallocHost(void **, size_t);
cnrtRet_t cnrtFreeHost(void *);
cnrtRet_t cnrtMemcpy(void *, const void *, size_t, cnrtMemTransDir_t);
cnrtRet_t cnrtMemcpyAsync(void *, const void *, size_t, cnrtQueue_t, cnrtMemTransDir_t);
cnrtRet_t cnrtMemcpyAsync_V2(void *, const void *, size_t, cnrtQueue_t, cnrtMemTransDir_t);
cnrtRet_t cnrtMemcpyAsync_V3(void *, const void *, size_t, cnrtQueue_t, cnrtMemTransDir_t);
cnrtRet_t cnrtMemcpyPeer(void *, int, void *, int, size_t);
cnrtRet_t cnrtMemcpyPeerAsync(void *, int, void *, int, size_t, cnrtQueue_t);
cnrtRet_t cnrtMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, cnrtMemTransDir_t);
cnrtRet_t cnrtMemcpy3D(const cnrtMemcpy3dParam_t *);
cnrtRet_t cnrtMemcpyToSymbol(const void *, const void *, size_t, size_t, cnrtMemTransDir_t);
cnrtRet_t cnrtMemcpyFromSymbol(void *, const void *, size_t, size_t, cnrtMemTransDir_t);
cnrtRet_t cnrtMemcpyToSymbolAsync(const void *, const void *, size_t, size_t, cnrtMemTransDir_t, cnrtQueue_t);
cnrtRet_t cnrtMemcpyFromSymbolAsync(void *, const void *, size_t, size_t, cnrtMemTransDir_t, cnrtQueue_t);
cnrtRet_t cnrtMemcpyToSymbolAsync_V2(const void *, const void *, size_t, size_t, cnrtMemTransDir_t, cnrtQueue_t);
cnrtRet_t cnrtMemcpyFromSymbolAsync_V2(void *, const void *, size_t, size_t, cnrtMemTransDir_t, cnrtQueue_t);
cnrtRet_t cnrtGetSymbolAddress(void **, const void *);
cnrtRet_t cnrtGetSymbolSize(size_t *, const void *);
cnrtRet_t cnrtAcquireMemHandle(cnrtIpcMemHandle *, void *);
cnrtRet_t cnrtMapMemHandle(void **, cnrtIpcMemHandle, int);
cnrtRet_t cnrtUnMapMemHandle(void *);
cnrtRet_t cnrtMemset(void *, int, size_t);
cnrtRet_t cnrtMemsetAsync(void *, int, size_t, cnrtQueue_t);
cnrtRet_t cnrtMemsetD8(void *, unsigned char, size_t);
cnrtRet_t cnrtMemsetD32(void *, unsigned int, size_t);
cnrtRet_t cnrtMemsetD8Async(void *, unsigned char, size_t, cnrtQueue_t);
cnrtRet_t cnrtMemsetD32Async(void *, unsigned int, size_t, cnrtQueue_t);
cnrtRet_t cnrtMemGetInfo(size_t *, size_t *);
cnrtRet_t cnrtPointerGetAttributes(cnrtPointerAttributes_t *, const void *);
// ---- queues and notifiers ---------------------------------------------------------------------
cnrtRet_t cnrtQueueCreate(cnrtQueue_t *);
cnrtRet_t cnrtQueueCreateWithPriority(cnrtQueue_t *, unsigned int, int);
cnrtRet_t cnrtQueueGetPriority(cnrtQueue_t, int *);
cnrtRet_t cnrtDeviceGetQueuePriorityRange(int *, int *);
cnrtRet_t cnrtQueueDestroy(cnrtQueue_t);
cnrtRet_t cnrtQueueSync(cnrtQueue_t);
cnrtRet_t cnrtQueueQuery(cnrtQueue_t);
cnrtRet_t cnrtQueueWaitNotifier(cnrtNotifier_t, cnrtQueue_t, unsigned int);
cnrtRet_t cnrtQueueWaitNotifierWithFlags(cnrtNotifier_t, cnrtQueue_t, unsigned int);
cnrtRet_t cnrtInvokeHostFunc(cnrtQueue_t, cnrtHostFn_t, void *);
cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t *);
cnrtRet_t cnrtNotifierCreateWithFlags(cnrtNotifier_t *, unsigned int);
cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t);
cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t, cnrtQueue_t);
cnrtRet_t cnrtPlaceNotifierWithFlags(cnrtNotifier_t, cnrtQueue_t, unsigned int);
cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t);
cnrtRet_t cnrtQueryNotifier(cnrtNotifier_t);
cnrtRet_t cnrtIpcGetNotifierHandle(cnrtIpcNotifierHandle *, cnrtNotifier_t);
cnrtRet_t cnrtIpcOpenNotifierHandle(cnrtNotifier_t *, cnrtIpcNotifierHandle);
cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t, cnrtNotifier_t, float *);     // us
cnrtRet_t cnrtNotifierElapsedTime(cnrtNotifier_t, cnrtNotifier_t, float *);  // ms
// ---- captured queues --------------------------------------------------------------------------
cnrtRet_t cnrtQueueBeginCapture(cnrtQueue_t, cnrtQueueCaptureMode_t);
cnrtRet_t cnrtQueueEndCapture(cnrtQueue_t, cnrtTaskTopo_t *);
cnrtRet_t cnrtQueueIsCapturing(cnrtQueue_t, cnrtQueueCaptureStatus_t *);
cnrtRet_t cnrtQueueGetCaptureInfo(cnrtQueue_t, cnrtQueueCaptureStatus_t *, uint64_t *, cnrtTaskTopo_t *, const cnrtTaskTopoNode_t **, size_t *);
cnrtRet_t cnrtThreadExchangeQueueCaptureMode(cnrtQueueCaptureMode_t *);
cnrtRet_t cnrtTaskTopoGetNodes(cnrtTaskTopo_t, cnrtTaskTopoNode_t *, size_t *);
cnrtRet_t cnrtTaskTopoInstantiate(cnrtTaskTopoEntity_t *, cnrtTaskTopo_t, cnrtTaskTopoNode_t *, char *, size_t);
cnrtRet_t cnrtTaskTopoEntityInvoke(cnrtTaskTopoEntity_t, cnrtQueue_t);
cnrtRet_t cnrtTaskTopoEntityDestroy(cnrtTaskTopoEntity_t);
cnrtRet_t cnrtTaskTopoDestroy(cnrtTaskTopo_t);
// ---- launches ---------------------------------------------------------------------------------
cnrtRet_t cnrtInvokeKernel(const void *, cnrtDim3_t, cnrtFunctionType_t, void **, size_t, cnrtQueue_t);
// ---- numbers ----------------------------------------------------------------------------------
cnrtRet_t cnrtCastDataType_V2(void *, cnrtDataType_V2_t, void *, cnrtDataType_V2_t, int, cnrtQuantizedParam_t, cnrtQuantizedMode_t);
cnrtRet_t cnrtCreateQuantizedParam(cnrtQuantizedParam_t *, int, float, int);
cnrtRet_t cnrtDestroyQuantizedParam(cnrtQuantizedParam_t);
cnrtRet_t cnrtCastDataType(void *, cnrtDataType_t, void *, cnrtDataType_t, int, cnrtQuantizedParam_t);
cnrtRet_t cnrtConvertFloatToHalf(uint16_t *, float);
cnrtRet_t cnrtConvertHalfToFloat(float *, uint16_t);
// ---- names of older drivers -------------------------------------------------------------------
typedef enum { CNRT_CHANNEL_TYPE_DUPLICATE = -1, CNRT_CHANNEL_TYPE_0 = 0 } cnrtChannelType_t;
typedef struct cnrtKernelParamsBuffer *cnrtKernelParamsBuffer_t;
typedef struct cnrtKernelInitParam *cnrtKernelInitParam_t;
typedef struct {
  unsigned int *affinity;
} cnrtInvokeParam_t;
cnrtRet_t cnrtInit(unsigned int);
void cnrtDestroy(void);
cnrtRet_t cnrtGetDeviceHandle(cnrtDev_t *, int);
cnrtRet_t cnrtSetCurrentDevice(cnrtDev_t);
cnrtRet_t cnrtGetCurrentDevice(cnrtDev_t *);
cnrtRet_t cnrtGetDeviceInfo(cnrtDeviceInfo_t *, cnrtDev_t);
cnrtRet_t cnrtCreateQueue(cnrtQueue_t *);
cnrtRet_t cnrtDestroyQueue(cnrtQueue_t);
cnrtRet_t cnrtSyncQueue(cnrtQueue_t);
cnrtRet_t cnrtCreateNotifier(cnrtNotifier_t *);
cnrtRet_t cnrtDestroyNotifier(cnrtNotifier_t *);
cnrtRet_t cnrtGetKernelParamsBuffer(cnrtKernelParamsBuffer_t *);
cnrtRet_t cnrtKernelParamsBufferAddParam(cnrtKernelParamsBuffer_t, void *, size_t);
cnrtRet_t cnrtKernelParamsBufferMarkParam(cnrtKernelParamsBuffer_t);
cnrtRet_t cnrtDestroyKernelParamsBuffer(cnrtKernelParamsBuffer_t);
cnrtRet_t cnrtCreateKernelInitParam(cnrtKernelInitParam_t *);
cnrtRet_t cnrtInitKernelMemory(const void *, cnrtKernelInitParam_t);
cnrtRet_t cnrtDestroyKernelInitParamAndMemory(cnrtKernelInitParam_t);
cnrtRet_t cnrtInvokeKernel_V2(const void *, cnrtDim3_t, cnrtKernelParamsBuffer_t, cnrtFunctionType_t, cnrtQueue_t);
cnrtRet_t cnrtInvokeKernel_V3(const void *, cnrtKernelInitParam_t, cnrtDim3_t, cnrtKernelParamsBuffer_t, cnrtFunctionType_t, cnrtQueue_t, void *);
// ---- called by compiled code ------------------------------------------------------------------
void __bangRegisterFunction(void **, const char *, char *, const char *, int, cnrtDim3_t *, cnrtDim3_t *, int *);
void __mlusim_check(cnrtRet_t, const char *, const char *, int);  // prints which call failed, and ends the program
#ifdef __cplusplus
}
template <class T> __attribute__((always_inline)) static inline cnrtRet_t cnrtMalloc(T **p, size_t n) { return cnrtMalloc((void **)p, n); }
template <class T> __attribute__((always_inline)) static inline cnrtRet_t cnrtHostMalloc(T **p, size_t n) { return cnrtHostMalloc((void **)p, n); }
#endif
#ifndef CNRT_CHECK
#define CNRT_CHECK(call) __mlusim_check((call), #call, __FILE__, __LINE__)
#endif

#if defined(__CUDA__) || defined(__mlusim_launches__)  // clang compiles `kernel<<<dim, type, queue>>>` to these; they call the driver's own functions, which tools may hook
extern "C" {
unsigned __cudaPushCallConfiguration(cnrtDim3_t, cnrtFunctionType_t, cnrtQueue_t = nullptr);
int cudaConfigureCall(cnrtDim3_t, cnrtFunctionType_t, cnrtQueue_t = nullptr);
__attribute__((used, visibility("hidden"))) inline int cudaLaunchKernel(
    const void *stub, cnrtDim3_t dim, cnrtDim3_t block, void **args, size_t, cnrtQueue_t queue) {
  return (int)cnrtInvokeKernel(stub, dim, (cnrtFunctionType_t)block.x, args, 0, queue);
}
__attribute__((used, visibility("hidden"))) inline int __cudaRegisterFunction(
    void **handle, const char *stub, char *device, const char *name, int limit, void *, void *, void *, void *, int *size) {
  __bangRegisterFunction(handle, stub, device, name, limit, nullptr, nullptr, size);
  return 0;
}
}
#endif
#pragma GCC visibility pop
