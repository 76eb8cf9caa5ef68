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
typedef enum { CN_SUCCESS } CNresult;
extern "C" {
CNresult cnCtxGetCurrent(CNcontext *);
CNresult cnGetCtxConfigParam(CNcontext, CNctxConfigParamType, CNctxConfigParam *);
}
