// The device's management library: information about a card that programs query while they run.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#pragma GCC visibility push(default)
typedef enum {
  CNDEV_SUCCESS = 0,
  CNDEV_ERROR_NO_DRIVER = 1,
  CNDEV_ERROR_UNINITIALIZED = 3,
  CNDEV_ERROR_INVALID_ARGUMENT = 4,
  CNDEV_ERROR_INVALID_DEVICE_ID = 5,
  CNDEV_ERROR_UNKNOWN = 6,
  CNDEV_ERROR_NOT_SUPPORTED = 13,
} cndevRet_t;
enum { CNDEV_VERSION_1 = 1, CNDEV_VERSION_2, CNDEV_VERSION_3, CNDEV_VERSION_4, CNDEV_VERSION_5, CNDEV_VERSION_6 };
typedef int32_t cndevDevice_t;
typedef struct {
  int version;
  int number;
} cndevCardInfo_t;
typedef struct {
  int version;
  int dataWidth, bandWidth, bandWidthDecimal;  // bits; GB/s; decimals of the GB/s
} cndevDDRInfo_t;
typedef struct {
  int version;
  int boardFreq, ddrFreq;  // MHz
} cndevFrequencyInfo_t;
typedef struct {
  int version;
  unsigned int pid;
  uint64_t physicalMemoryUsed, virtualMemoryUsed;  // KiB
} cndevProcessInfo_t;
typedef struct {
  int version;
  int64_t physicalMemoryTotal, physicalMemoryUsed, virtualMemoryTotal, virtualMemoryUsed;  // MiB
} cndevMemoryInfo_t;
typedef struct {
  int version;
  int averageCoreUtilization, coreUtilization[80];
} cndevUtilizationInfo_t;
typedef struct {
  int version;
  int temperature, board, chip, cluster[20];
} cndevTemperatureInfo_t;
typedef struct {
  int version;
  int usage, cap;  // W
} cndevPowerInfo_t;
typedef struct {
  int version;
  int mcuMajorVersion, mcuMinorVersion, mcuBuildVersion, driverMajorVersion, driverMinorVersion, driverBuildVersion;
} cndevVersionInfo_t;
typedef struct {
  uint32_t version;
  uint64_t int4Tensor, int8Tensor, int16Tensor, fp16Tensor, bf16Tensor, fp32Tensor;  // products per cycle and core; 0: no published rate
  uint64_t fp16Vector, bf16Vector, fp32Vector, int8Vector, int16Vector;  // operations per cycle and core
} cndevDeviceMaxPerformance_t;
#ifdef __cplusplus
extern "C" {
#endif
cndevRet_t cndevInit(int);
cndevRet_t cndevRelease(void);
const char *cndevGetErrorString(cndevRet_t);
cndevRet_t cndevGetDeviceCount(cndevCardInfo_t *);
cndevRet_t cndevGetDeviceHandleByIndex(int, cndevDevice_t *);
const char *cndevGetCardNameStringByDevId(cndevDevice_t);
const char *getCardNameStringByDevId(cndevDevice_t);
cndevRet_t cndevGetDDRInfo(cndevDDRInfo_t *, cndevDevice_t);
cndevRet_t cndevGetFrequencyInfo(cndevFrequencyInfo_t *, cndevDevice_t);
cndevRet_t cndevGetProcessInfo(unsigned int *, cndevProcessInfo_t *, cndevDevice_t);
cndevRet_t cndevGetMemoryUsage(cndevMemoryInfo_t *, cndevDevice_t);
cndevRet_t cndevGetDeviceUtilizationInfo(cndevUtilizationInfo_t *, cndevDevice_t);
cndevRet_t cndevGetTemperatureInfo(cndevTemperatureInfo_t *, cndevDevice_t);
cndevRet_t cndevGetPowerInfo(cndevPowerInfo_t *, cndevDevice_t);
cndevRet_t cndevGetVersionInfo(cndevVersionInfo_t *, cndevDevice_t);
cndevRet_t cndevGetDeviceMaxPerformance(cndevDeviceMaxPerformance_t *, cndevDevice_t);
void cndevCheckErrors(cndevRet_t);
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
