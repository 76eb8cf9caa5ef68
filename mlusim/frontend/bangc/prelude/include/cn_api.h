// The lower driver's names that host functions mention.
#pragma once
#include "cnrt.h"

typedef enum {
  CN_KERNEL_CLASS_NONE = 0,
  CN_KERNEL_CLASS_BLOCK = 1,
  CN_KERNEL_CLASS_UNION = 4,
  CN_KERNEL_CLASS_UNION2 = 8,
  CN_KERNEL_CLASS_UNION4 = 16,
  CN_KERNEL_CLASS_UNION8 = 32,
  CN_KERNEL_CLASS_UNION16 = 64,
} KernelClass;
typedef void *CNcontext;
typedef int CNdev;
typedef struct CNctxConfigParam_st {
  int unionLimit, visibleClusterNumber;
} CNctxConfigParam;
typedef enum { CN_CTX_CONFIG_UNION_LIMIT, CN_CTX_CONFIG_VISIBLE_CLUSTER_NUM } CNctxConfigParamType;
typedef enum {
  CN_DEVICE_ATTRIBUTE_MAX_CLUSTER_COUNT,
  CN_DEVICE_ATTRIBUTE_MAX_CORE_COUNT_PER_CLUSTER,
  CN_DEVICE_ATTRIBUTE_NRAM_SIZE_PER_CORE,
  CN_DEVICE_ATTRIBUTE_WEIGHT_RAM_SIZE_PER_CORE,
  CN_DEVICE_ATTRIBUTE_MAX_SHARED_RAM_SIZE_PER_CLUSTER,
  CN_DEVICE_ATTRIBUTE_MAX_BLOCK_TASK_DIM_X,
  CN_DEVICE_ATTRIBUTE_MAX_BLOCK_TASK_DIM_Y,
  CN_DEVICE_ATTRIBUTE_MAX_BLOCK_TASK_DIM_Z,
} CNdevice_attribute;
typedef enum { CN_SUCCESS } CNresult;
extern "C" {
CNresult cnDeviceGetAttribute(int *, CNdevice_attribute, CNdev);
CNresult cnCtxGetCurrent(CNcontext *);
CNresult cnGetCtxConfigParam(CNcontext, CNctxConfigParamType, CNctxConfigParam *);
}
