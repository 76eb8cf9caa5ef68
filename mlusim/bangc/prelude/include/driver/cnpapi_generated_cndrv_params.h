// The parameters of the driver's calls, as the tracing library passes them to a callback.
#pragma once
#include "cn_api.h"

typedef struct cnInvokeKernel_params_st {
  CNkernel hkernel;
  unsigned int dimx, dimy, dimz;
  KernelClass c;
  unsigned int reserve;
  CNqueue hqueue;
  void **kernelParams;
  void **extra;
} cnInvokeKernel_params;
