// The driver interface below the run-time.  The numbers of errors, attributes and types are those of the vendor's cn_api.h 2.15.
#pragma once
#include "cnrt.h"

#pragma GCC visibility push(default)

#define MLUSIM_CN_ERRORS(X) \
  X(CN_SUCCESS, 0, "no error") \
  X(CN_ERROR_NOT_READY, 1, "the work is not done yet") \
  X(CN_ERROR_NOT_INITIALIZED, 100002, "the driver is not initialised") \
  X(CN_ERROR_NO_DEVICE, 100004, "there is no such device") \
  X(CN_ERROR_INVALID_DEVICE, 100005, "the device is invalid") \
  X(CN_ERROR_INVALID_VALUE, 100006, "an argument is invalid") \
  X(CN_ERROR_OPERATING_SYSTEM, 100007, "the system refused") \
  X(CN_ERROR_SYSTEM_OUT_OF_MEMORY, 100010, "the host has not that much memory left") \
  X(CN_ERROR_INVALID_HANDLE, 100014, "this is not a handle") \
  X(CN_ERROR_ILLEGAL_STATE, 100015, "this is not possible now") \
  X(CN_OPS_ERROR_NOT_SUPPORTED, 100050, "the simulator does not do this") \
  X(CN_OPS_ERROR_NOT_PERMITTED, 100051, "this is not permitted") \
  X(CN_QUEUE_ERROR_INVALID, 100060, "this is not a queue, or one that has failed") \
  X(CN_NOTIFIER_ERROR_INVALID, 100080, "this is not a notifier") \
  X(CN_MEMORY_ERROR_OUT_OF_MEMORY, 100100, "the device has not that much memory left") \
  X(CN_INVOKE_ERROR_ASSERT, 100128, "an assertion of a kernel does not hold") \
  X(CN_INVOKE_ERROR_KERNEL_TRAP, 100132, "a kernel did what the machine cannot do") \
  X(CN_INVOKE_ERROR, 100200, "a kernel went wrong") \
  X(CN_CONTEXT_ERROR_INVALID, 100201, "this is not a context") \
  X(CN_ERROR_NOT_FOUND, 100301, "what is asked for is not there") \
  X(CN_ERROR_INVALID_KERNEL, 100302, "this is not a kernel") \
  X(CN_ERROR_QUEUE_CAPTURE_UNSUPPORTED, 100360, "a queue that is being captured cannot do this") \
  X(CN_FATBIN_ERROR_NO_KERNEL, 101312, "there is no such kernel") \
  X(CN_ERROR_UNKNOWN, 200000, "an error without a name")
typedef enum {
#define MLUSIM_ERROR(name, number, text) name = number,
  MLUSIM_CN_ERRORS(MLUSIM_ERROR)
#undef MLUSIM_ERROR
} CNresult;
#define CN_ERROR_NOT_SUPPORTED CN_OPS_ERROR_NOT_SUPPORTED
#define CN_INVOKE_ERROR_TRAP CN_INVOKE_ERROR_KERNEL_TRAP
#define CN_INVOKE_ERROR_NO_KERNEL CN_FATBIN_ERROR_NO_KERNEL

typedef enum {
  CN_KERNEL_CLASS_BLOCK = 1,
  CN_KERNEL_CLASS_UNION = 4,
  CN_KERNEL_CLASS_UNION2 = 8,
  CN_KERNEL_CLASS_UNION4 = 16,
  CN_KERNEL_CLASS_UNION8 = 32,
  CN_KERNEL_CLASS_UNION16 = 64,
  CN_KERNEL_CLASS_NONE = 0xFF,
} KernelClass;
#define CN_KERNEL_CLASS_UNION1 CN_KERNEL_CLASS_UNION
typedef struct CNctx_st *CNcontext;
typedef struct CNmodule_st *CNmodule;
typedef struct cnrtQueue *CNqueue;
typedef struct cnrtNotifierSt *CNnotifier;
typedef const void *CNkernel;
typedef unsigned long long CNdev;
typedef CNdev CNdevice;
typedef unsigned long long CNaddr;
typedef unsigned long long cn_uint64_t;
typedef void (*CNhostFn)(void *);
typedef struct CNipcMemHandle_st *CNIpcMemHandle;
typedef cnrtIpcNotifierHandle CNIpcNotifierHandle;
typedef enum { CN_CTX_CONFIG_VISIBLE_CLUSTER, CN_CTX_CONFIG_VISIBLE_CLUSTER_NUM, CN_CTX_CONFIG_UNION_LIMIT } CNctxConfigParamType;
typedef union CNctxConfigParam_union {
  cn_uint64_t visibleCluster, visibleClusterNumber;
  KernelClass unionLimit;
} CNctxConfigParam;

#define MLUSIM_CN_ATTRIBUTES(X) \
  X(CN_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0x1) X(CN_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0x2) \
  X(CN_DEVICE_ATTRIBUTE_FP16_COMPUTING_SUPPORTED, 0x4) X(CN_DEVICE_ATTRIBUTE_INT8_COMPUTING_SUPPORTED, 0x6) \
  X(CN_DEVICE_ATTRIBUTE_BF16_COMPUTING_SUPPORTED, 0x7) X(CN_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0x9) \
  X(CN_DEVICE_ATTRIBUTE_MAX_QUEUE_COUNT, 0x101) X(CN_DEVICE_ATTRIBUTE_MAX_NOTIFIER_COUNT, 0x102) \
  X(CN_DEVICE_ATTRIBUTE_QUEUE_PRIORITIES_SUPPORTED, 0x103) X(CN_DEVICE_ATTRIBUTE_IPCNOTIFIER_SUPPORTED, 0x10a) \
  X(CN_DEVICE_ATTRIBUTE_MAX_BLOCK_TASK_DIM_X, 0x201) X(CN_DEVICE_ATTRIBUTE_MAX_BLOCK_TASK_DIM_Y, 0x202) \
  X(CN_DEVICE_ATTRIBUTE_MAX_BLOCK_TASK_DIM_Z, 0x203) X(CN_DEVICE_ATTRIBUTE_MAX_CLUSTER_COUNT_PER_UNION_TASK, 0x204) \
  X(CN_DEVICE_ATTRIBUTE_MAX_CLUSTER_COUNT, 0x205) X(CN_DEVICE_ATTRIBUTE_MAX_CORE_COUNT_PER_CLUSTER, 0x206) \
  X(CN_DEVICE_ATTRIBUTE_MAX_CLUSTERS_PER_UNION_LIMIT_TASK, 0x209) X(CN_DEVICE_ATTRIBUTE_MLU_ISA_VERSION, 0x20a) \
  X(CN_DEVICE_ATTRIBUTE_IS_MULTIPLE_TENSOR_PROCESSOR, 0x20b) X(CN_DEVICE_ATTRIBUTE_MAX_L2_CACHE_SIZE, 0x301) \
  X(CN_DEVICE_ATTRIBUTE_NRAM_SIZE_PER_CORE, 0x302) X(CN_DEVICE_ATTRIBUTE_WEIGHT_RAM_SIZE_PER_CORE, 0x303) \
  X(CN_DEVICE_ATTRIBUTE_MAX_SHARED_RAM_SIZE_PER_CLUSTER, 0x306) X(CN_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 0x309) \
  X(CN_DEVICE_ATTRIBUTE_LINEAR_MAPPING_SUPPORTED, 0x310) X(CN_DEVICE_ATTRIBUTE_LINEAR_RECOMMEND_GRANULARITY, 0x311) \
  X(CN_DEVICE_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY_SIZE, 0x312) X(CN_DEVICE_ATTRIBUTE_ECC_ENABLED, 0x401) \
  X(CN_DEVICE_ATTRIBUTE_CLUSTER_CLOCK_RATE, 0x402) X(CN_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 0x403) \
  X(CN_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 0x404) X(CN_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_TOTAL_SIZE, 0x405) \
  X(CN_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0x406) X(CN_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0x407) \
  X(CN_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0x408)
typedef enum {
#define MLUSIM_ATTRIBUTE(name, number) name = number,
  MLUSIM_CN_ATTRIBUTES(MLUSIM_ATTRIBUTE)
#undef MLUSIM_ATTRIBUTE
} CNdevice_attribute;
#define CN_DEVICE_ATTRIBUTE_NEURAL_RAM_SIZE_PER_CORE CN_DEVICE_ATTRIBUTE_NRAM_SIZE_PER_CORE
typedef enum { CN_MEM_ATTRIBUTE_TYPE = 0x1, CN_MEM_ATTRIBUTE_DEVICE_ORDINAL = 0x7, CN_MEM_ATTRIBUTE_ISLINEAR = 0x18 } CNmem_attribute;
typedef enum {
  CN_NOTIFIER_DEFAULT = 0x0,
  CN_NOTIFIER_DISABLE_TIMING_SW = 0x2,
  CN_NOTIFIER_DISABLE_TIMING = 0x2,
  CN_NOTIFIER_DISABLE_TIMING_ALL = 0x4,
  CN_NOTIFIER_INTERPROCESS = 0x8,
} CNNotifierFlags_t;

#ifdef __cplusplus
extern "C" {
#endif
CNresult cnInit(unsigned int);
CNresult cnGetErrorString(CNresult, const char **);
CNresult cnGetErrorName(CNresult, const char **);
CNresult cnGetLibVersion(int *, int *, int *);
CNresult cnGetDriverVersion(int *, int *, int *);
CNresult cnDeviceGet(CNdev *, int);
CNresult cnDeviceGetCount(int *);
CNresult cnDeviceGetName(char *, int, CNdev);
CNresult cnDeviceGetAttribute(int *, CNdevice_attribute, CNdev);
CNresult cnDeviceTotalMem(cn_uint64_t *, CNdev);
CNresult cnCtxCreate(CNcontext *, unsigned int, CNdev);
CNresult cnCtxDestroy(CNcontext);
CNresult cnCtxGetCurrent(CNcontext *);
CNresult cnCtxSetCurrent(CNcontext);
CNresult cnCtxPush(CNcontext);
CNresult cnCtxPop(CNcontext *);
CNresult cnCtxGetDevice(CNdev *);
CNresult cnCtxSync(void);
CNresult cnSharedContextAcquire(CNcontext *, CNdev);
CNresult cnSharedContextRelease(CNdev);
CNresult cnGetCtxConfigParam(CNcontext, CNctxConfigParamType, CNctxConfigParam *);
CNresult cnSetCtxConfigParam(CNcontext, CNctxConfigParamType, CNctxConfigParam *);
CNresult cnGetCtxConfigParam_pt(CNcontext, CNctxConfigParamType, CNctxConfigParam *);  // per thread; the vendor's header calls these
CNresult cnSetCtxConfigParam_pt(CNcontext, CNctxConfigParamType, CNctxConfigParam *);
CNresult cnGetCtxMaxParallelUnionTasks(CNcontext, KernelClass, int *);
CNresult cnMalloc(CNaddr *, cn_uint64_t);
CNresult cnZmalloc(CNaddr *, cn_uint64_t);
CNresult cnMallocConstant(CNaddr *, cn_uint64_t);
CNresult cnFree(CNaddr);
CNresult cnIpcGetMemHandle(CNIpcMemHandle *, CNaddr);
CNresult cnIpcOpenMemHandle(CNaddr *, CNIpcMemHandle, unsigned int);
CNresult cnIpcCloseMemHandle(CNaddr);
CNresult cnMallocHost(void **, size_t);
CNresult cnFreeHost(void *);
CNresult cnMemGetInfo(cn_uint64_t *, cn_uint64_t *);
CNresult cnGetMemAttribute(void *, CNmem_attribute, CNaddr);
CNresult cnGetMemAddressRange(CNaddr *, cn_uint64_t *, CNaddr);
CNresult cnMemcpy(CNaddr, CNaddr, cn_uint64_t);
CNresult cnMemcpyHtoD(CNaddr, const void *, cn_uint64_t);
CNresult cnMemcpyDtoH(void *, CNaddr, cn_uint64_t);
CNresult cnMemcpyDtoD(CNaddr, CNaddr, cn_uint64_t);
CNresult cnMemcpyAsync(CNaddr, CNaddr, cn_uint64_t, CNqueue);
CNresult cnMemcpyHtoDAsync(CNaddr, const void *, cn_uint64_t, CNqueue);
CNresult cnMemcpyDtoHAsync(void *, CNaddr, cn_uint64_t, CNqueue);
CNresult cnMemcpyDtoDAsync(CNaddr, CNaddr, cn_uint64_t, CNqueue);
CNresult cnMemsetD8(CNaddr, unsigned char, cn_uint64_t);
CNresult cnMemsetD32(CNaddr, unsigned int, cn_uint64_t);
CNresult cnMemsetD8Async(CNaddr, unsigned char, cn_uint64_t, CNqueue);
CNresult cnMemsetD32Async(CNaddr, unsigned int, cn_uint64_t, CNqueue);
CNresult cnCreateQueue(CNqueue *, unsigned int);
CNresult cnDestroyQueue(CNqueue);
CNresult cnQueueSync(CNqueue);
CNresult cnQueryQueue(CNqueue);
CNresult cnQueueGetContext(CNqueue, CNcontext *);
CNresult cnQueueWaitNotifier(CNnotifier, CNqueue, unsigned int);
CNresult cnCreateNotifier(CNnotifier *, unsigned int);
CNresult cnDestroyNotifier(CNnotifier);
CNresult cnPlaceNotifier(CNnotifier, CNqueue);
CNresult cnWaitNotifier(CNnotifier);
CNresult cnQueryNotifier(CNnotifier);
CNresult cnIpcGetNotifierHandle(CNIpcNotifierHandle *, CNnotifier);
CNresult cnIpcOpenNotifierHandle(CNnotifier *, CNIpcNotifierHandle);
CNresult cnNotifierDuration(CNnotifier, CNnotifier, float *);     // us
CNresult cnNotifierElapsedTime(CNnotifier, CNnotifier, float *);  // ms
CNresult cnInvokeHostFunc(CNqueue, CNhostFn, void *);
CNresult cnInvokeKernel(CNkernel, unsigned int, unsigned int, unsigned int, KernelClass, unsigned int, CNqueue, void **, void **);
CNresult cnModuleLoad(const char *, CNmodule *);
CNresult cnModuleLoadFatBinary(const void *, CNmodule *);
CNresult cnModuleUnload(CNmodule);
CNresult cnModuleGetKernel(CNmodule, const char *, CNkernel *);
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
