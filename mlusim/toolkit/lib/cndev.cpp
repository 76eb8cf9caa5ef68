// cndev: an idle card of the simulator's board.
#include "cndev.h"

#include <cstring>
#include <string>

#include "wire.h"

using namespace mlusim;

namespace {

cndevRet_t known(int device) { return there_is(device) ? CNDEV_SUCCESS : CNDEV_ERROR_INVALID_DEVICE_ID; }

}  // namespace

extern "C" {
cndevRet_t cndevInit(int) { return CNDEV_SUCCESS; }
cndevRet_t cndevRelease(void) { return CNDEV_SUCCESS; }
const char *cndevGetErrorString(cndevRet_t code) {
  switch (code) {
    case CNDEV_SUCCESS: return "no error";
    case CNDEV_ERROR_INVALID_DEVICE_ID: return "there is no such device";
    case CNDEV_ERROR_NOT_SUPPORTED: return "the simulator does not do this";
    default: return "an error";
  }
}
void cndevCheckErrors(cndevRet_t code) {
  if (code == CNDEV_SUCCESS) return;
  fprintf(stderr, "cndev: %s\n", cndevGetErrorString(code));
  exit(1);
}
cndevRet_t cndevGetDeviceCount(cndevCardInfo_t *info) {
  info->number = (int)ask(OP_DEVICES).value;
  return CNDEV_SUCCESS;
}
cndevRet_t cndevGetDeviceHandleByIndex(int number, cndevDevice_t *device) {
  *device = number;
  return known(number);
}
const char *cndevGetCardNameStringByDevId(cndevDevice_t device) {
  static thread_local std::string name;
  name = ask(OP_NAME, {}, nullptr, nullptr, 0, device).data;
  return name.c_str();
}
const char *getCardNameStringByDevId(cndevDevice_t device) { return cndevGetCardNameStringByDevId(device); }
cndevRet_t cndevGetDDRInfo(cndevDDRInfo_t *info, cndevDevice_t device) {
  if (known(device) != CNDEV_SUCCESS) return known(device);
  uint64_t mb = board_attribute("mlusimBandwidthMB", device);  // the bandwidth from which the simulator computes efficiencies
  info->dataWidth = (int)board_attribute("cnrtAttrGmemBusWidth", device);
  info->bandWidth = (int)(mb / 1000);
  int rest = (int)(mb % 1000);
  while (rest && rest % 10 == 0) rest /= 10;
  info->bandWidthDecimal = rest;
  return CNDEV_SUCCESS;
}
cndevRet_t cndevGetFrequencyInfo(cndevFrequencyInfo_t *info, cndevDevice_t device) {
  if (known(device) != CNDEV_SUCCESS) return known(device);
  info->boardFreq = (int)board_attribute("cnrtAttrIpuClockRate", device) / 1000;
  info->ddrFreq = (int)board_attribute("cnrtAttrMemClockRate", device) / 1000;
  return CNDEV_SUCCESS;
}
cndevRet_t cndevGetProcessInfo(unsigned *count, cndevProcessInfo_t *, cndevDevice_t device) {
  *count = 0;  // no other program uses the simulated card
  return known(device);
}
cndevRet_t cndevGetMemoryUsage(cndevMemoryInfo_t *info, cndevDevice_t device) {
  if (known(device) != CNDEV_SUCCESS) return known(device);
  std::string memory = ask(OP_MEMORY, {}, nullptr, nullptr, 0, device).data;
  uint64_t both[2] = {};
  if (memory.size() == sizeof both) memcpy(both, memory.data(), sizeof both);
  info->physicalMemoryTotal = info->virtualMemoryTotal = (int64_t)(both[1] >> 20);
  info->physicalMemoryUsed = info->virtualMemoryUsed = (int64_t)((both[1] - both[0]) >> 20);
  return CNDEV_SUCCESS;
}
cndevRet_t cndevGetDeviceUtilizationInfo(cndevUtilizationInfo_t *info, cndevDevice_t device) {
  int version = info->version;
  *info = {};
  info->version = version;
  return known(device);
}
cndevRet_t cndevGetTemperatureInfo(cndevTemperatureInfo_t *, cndevDevice_t) { return CNDEV_ERROR_NOT_SUPPORTED; }
cndevRet_t cndevGetPowerInfo(cndevPowerInfo_t *, cndevDevice_t) { return CNDEV_ERROR_NOT_SUPPORTED; }
cndevRet_t cndevGetVersionInfo(cndevVersionInfo_t *info, cndevDevice_t device) {
  int version = info->version;
  *info = {};
  info->version = version;
  info->driverMajorVersion = 6;
  return known(device);
}
cndevRet_t cndevGetDeviceMaxPerformance(cndevDeviceMaxPerformance_t *info, cndevDevice_t device) {
  if (known(device) != CNDEV_SUCCESS) return known(device);
  auto rate = [&](const char *name) { return (uint64_t)board_attribute(name, device); };
  info->int4Tensor = rate("mlusimTensor_int4");
  info->int8Tensor = rate("mlusimTensor_int8");
  info->int16Tensor = rate("mlusimTensor_int16");
  info->fp16Tensor = rate("mlusimTensor_half");
  info->bf16Tensor = rate("mlusimTensor_bfloat16");
  info->fp32Tensor = rate("mlusimTensor_float");
  info->fp16Vector = rate("mlusimVector_half");
  info->bf16Vector = rate("mlusimVector_bfloat16");
  info->fp32Vector = rate("mlusimVector_float");
  info->int8Vector = info->int16Vector = 0;
  return CNDEV_SUCCESS;
}
}
