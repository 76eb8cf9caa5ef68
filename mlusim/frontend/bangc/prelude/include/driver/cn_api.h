// The driver below the run-time.  Numbers of errors and attributes are inferred; programs have them by name.
#pragma once
#include "cnrt.h"

#pragma GCC visibility push(default)

#define MLUSIM_CN_ERRORS(X) \
  X(CN_SUCCESS, 0, "no error") \
  X(CN_ERROR_NOT_READY, 100002, "the work is not done yet") \
  X(CN_ERROR_NOT_INITIALIZED, 100003, "the driver is not initialised") \
  X(CN_ERROR_INVALID_DEVICE, 100011, "there is no such device") \
  X(CN_MEMORY_ERROR_OUT_OF_MEMORY, 100014, "the device has not that much memory left") \
  X(CN_INVOKE_ERROR_NO_KERNEL, 100031, "there is no such kernel") \
  X(CN_INVOKE_ERROR_TRAP, 100032, "a kernel did what the machine cannot do") \
  X(CN_QUEUE_ERROR_INVALID, 100041, "this is no queue") \
  X(CN_NOTIFIER_ERROR_INVALID, 100042, "this is no notifier") \
  X(CN_ERROR_INVALID_VALUE, 100053, "an argument is invalid") \
  X(CN_OPS_ERROR_NOT_SUPPORTED, 100061, "the simulator does not do this") \
  X(CN_ERROR_UNKNOWN, 999999, "an error without a name")
typedef enum {
#define MLUSIM_ERROR(name, number, text) name = number,
  MLUSIM_CN_ERRORS(MLUSIM_ERROR)
#undef MLUSIM_ERROR
} CNresult;
#define CN_ERROR_NOT_SUPPORTED CN_OPS_ERROR_NOT_SUPPORTED

typedef enum {
  CN_KERNEL_CLASS_NONE = 0,
  CN_KERNEL_CLASS_BLOCK = 1,
  CN_KERNEL_CLASS_UNION = 4,
  CN_KERNEL_CLASS_UNION2 = 8,
  CN_KERNEL_CLASS_UNION4 = 16,
  CN_KERNEL_CLASS_UNION8 = 32,
  CN_KERNEL_CLASS_UNION16 = 64,
} KernelClass;
#define CN_KERNEL_CLASS_UNION1 CN_KERNEL_CLASS_UNION
typedef struct CNctx_st *CNcontext;
typedef struct CNmodule_st *CNmodule;
typedef struct cnrtQueue *CNqueue;
typedef struct cnrtNotifierSt *CNnotifier;
typedef const void *CNkernel;
typedef int CNdev;
typedef CNdev CNdevice;
typedef unsigned long long CNaddr;
typedef unsigned long long cn_uint64_t;
typedef void (*CNhostFn)(void *);
typedef union CNctxConfigParam_union {
  KernelClass unionLimit;
  int visibleClusterNumber;
  unsigned int visibleCluster;
} CNctxConfigParam;
typedef enum { CN_CTX_CONFIG_UNION_LIMIT, CN_CTX_CONFIG_VISIBLE_CLUSTER, CN_CTX_CONFIG_VISIBLE_CLUSTER_NUM } CNctxConfigParamType;

#define MLUSIM_CN_ATTRIBUTES(X) \
  X(CN_DEVICE_ATTRIBUTE_MAX_CLUSTER_COUNT) X(CN_DEVICE_ATTRIBUTE_MAX_CORE_COUNT_PER_CLUSTER) \
  X(CN_DEVICE_ATTRIBUTE_NRAM_SIZE_PER_CORE) X(CN_DEVICE_ATTRIBUTE_WEIGHT_RAM_SIZE_PER_CORE) \
  X(CN_DEVICE_ATTRIBUTE_MAX_SHARED_RAM_SIZE_PER_CLUSTER) X(CN_DEVICE_ATTRIBUTE_MAX_BLOCK_TASK_DIM_X) \
  X(CN_DEVICE_ATTRIBUTE_MAX_BLOCK_TASK_DIM_Y) X(CN_DEVICE_ATTRIBUTE_MAX_BLOCK_TASK_DIM_Z) \
  X(CN_DEVICE_ATTRIBUTE_MLU_ISA_VERSION) X(CN_DEVICE_ATTRIBUTE_CLUSTER_CLOCK_RATE) \
  X(CN_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) X(CN_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) \
  X(CN_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_TOTAL_SIZE) X(CN_DEVICE_ATTRIBUTE_MAX_L2_CACHE_SIZE) \
  X(CN_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE) X(CN_DEVICE_ATTRIBUTE_MAX_CLUSTER_COUNT_PER_UNION_TASK) \
  X(CN_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) X(CN_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) \
  X(CN_DEVICE_ATTRIBUTE_MAX_QUEUE_COUNT) X(CN_DEVICE_ATTRIBUTE_MAX_NOTIFIER_COUNT) \
  X(CN_DEVICE_ATTRIBUTE_LINEAR_MAPPING_SUPPORTED) X(CN_DEVICE_ATTRIBUTE_LINEAR_RECOMMEND_GRANULARITY) \
  X(CN_DEVICE_ATTRIBUTE_PCI_BUS_ID) X(CN_DEVICE_ATTRIBUTE_PCI_DEVICE_ID) X(CN_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)
typedef enum {
#define MLUSIM_ATTRIBUTE(name) name,
  MLUSIM_CN_ATTRIBUTES(MLUSIM_ATTRIBUTE)
#undef MLUSIM_ATTRIBUTE
} CNdevice_attribute;
typedef enum { CN_MEM_ATTRIBUTE_ISLINEAR, CN_MEM_ATTRIBUTE_TYPE, CN_MEM_ATTRIBUTE_DEVICE_ORDINAL } CNmem_attribute;

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
CNresult cnGetCtxMaxParallelUnionTasks(CNcontext, KernelClass, int *);
CNresult cnMalloc(CNaddr *, cn_uint64_t);
CNresult cnZmalloc(CNaddr *, cn_uint64_t);
CNresult cnMallocConstant(CNaddr *, cn_uint64_t);
CNresult cnFree(CNaddr);
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
