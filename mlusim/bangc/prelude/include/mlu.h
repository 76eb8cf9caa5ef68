// The device side of BANG C: qualifiers, types, built-in variables, and every intrinsic.
#pragma once
#include "mlusim_base.h"

#define __BANG__ 1
#define __mlu_entry__ __attribute__((global))
#define __mlu_global__ __attribute__((global))
#define __mlu_func__ __attribute__((device))
#define __mlu_device__ __attribute__((device))
#define __mlu_vector__ __attribute__((device))
#define __mlu_host__ __attribute__((host))
#define __mlu_builtin__ extern
#define __nram__ __mlusim_space__("nram")
#define __wram__ __mlusim_space__("wram")
#define __mlu_shared__ __mlusim_space__("sram")
#define __ldram__ __mlusim_space__("ldram")
#define __mlu_const__ __mlusim_space__("const")

#define __MLU_NRAM_SIZE__ __mlusim_nram_kib__
#define __MLU_WRAM_SIZE__ __mlusim_wram_kib__
#define __MLU_SRAM_SIZE__ __mlusim_sram_kib__

#define __mlusim_builtin__(type, name) extern __attribute__((device)) const type name
__mlusim_builtin__(int, taskId);
__mlusim_builtin__(int, taskIdX);
__mlusim_builtin__(int, taskIdY);
__mlusim_builtin__(int, taskIdZ);
__mlusim_builtin__(int, taskDim);
__mlusim_builtin__(int, taskDimX);
__mlusim_builtin__(int, taskDimY);
__mlusim_builtin__(int, taskDimZ);
__mlusim_builtin__(int, clusterId);
__mlusim_builtin__(int, clusterDim);
__mlusim_builtin__(int, coreId);
__mlusim_builtin__(int, coreDim);

#include "cnrt.h"
#include "cn_api.h"
#include "mlusim_intrinsics.h"
#include "mlusim_math.h"
